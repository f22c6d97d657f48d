from __future__ import annotations

import csv
import re
from collections import Counter
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from opdt.baselines.registry import BASELINES
from opdt.datasets import names
from opdt.datasets.registry import SOURCES
from opdt.errors import InputError
from opdt.experiments import published as module
from opdt.experiments.published import (
    TABLES,
    find_published,
    published,
    published_datasets,
    published_improvement,
    published_steps,
    published_weights,
)

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(module.__file__).parent / "paper"
METHODS = ["opdt", "bsccart", "rscrules", "brs", "ids", "irep", "prism", "ripper"]
STRUCTURES = ["all-all", "num-num", "num-cat", "cat-num", "cat-cat"]
LABELS = {
    "structures": "table:OPDT_by_BSC",
    "enhancements": "table:OPDT_by_Warmstrat_BPO",
    "training": "table:OPDT_train_details",
    "testing": "table:OPDT_test_details",
    "full": "table:OPDT_train_test_details",
    "solution_time": "table:OPDT_solution_time",
}


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a file as text, digits as printed."""
    return list(csv.DictReader((FOLDER / f"{name}.csv").read_text("utf-8").splitlines()))


@pytest.mark.parametrize(
    ("table", "configurations", "quantities"),
    [
        ("enhancements", 4, 2),
        ("training", 8, 2),
        ("testing", 8, 1),
        ("full", 8, 7),
        ("solution_time", 1, 2),
    ],
)
def test_a_table_has_a_number_in_every_cell(table, configurations, quantities):
    cells = published(table)
    assert len({each[:4] for each in cells}) == len(cells)
    assert Counter(each.dataset for each in cells) == dict.fromkeys(
        names(), configurations * quantities
    )
    assert len({each.configuration for each in cells}) == configurations
    assert len({each[2:4] for each in cells}) == quantities


def test_the_structure_table_leaves_out_the_three_datasets_without_categorical_features():
    cells = published("structures")
    without = {"blood_transfusion", "breast_cancer", "pima"}
    assert {each.dataset for each in cells} == set(names()) - without
    assert list(dict.fromkeys(each.configuration for each in cells)) == STRUCTURES
    # Where the paper prints a dash instead of a number.
    dashes = {"heart_failure", "indian_liver", "parkinsons"}
    assert {d for d in names() if not find_published("structures", d, "cat-cat", "VI")} == (
        dashes | without
    )
    assert len(cells) == (12 * 5 - 3) * 2


def test_methods_have_the_names_of_the_baselines():
    for table in ("training", "testing", "full"):
        assert list(dict.fromkeys(each.configuration for each in published(table))) == METHODS
    assert set(METHODS[1:]) == {name for name, entry in BASELINES.items() if entry.in_paper}


@pytest.mark.parametrize("table", ["training", "testing"])
def test_the_comparison_tables_are_the_appendix_rounded(table):
    full = {
        (r["dataset"], r["configuration"], r["part"], r["quantity"]): r["mean"]
        for r in rows("full")
    }
    for row in rows(table):
        exact = Decimal(full[row["dataset"], row["configuration"], row["part"], row["quantity"]])
        shown = Decimal(row["mean"])
        # A tie may go either way: the paper rounds numbers that have more digits still.
        assert shown in {
            exact.quantize(Decimal("0.01"), mode) for mode in (ROUND_HALF_UP, ROUND_HALF_EVEN)
        }, row


def test_the_dataset_table_adds_up():
    for each in published_datasets():
        assert each.numeric + each.categorical == each.features
        assert each.negative + each.positive == each.rows
    assert [each.dataset for each in published_datasets()] == names()


def test_the_sensitivity_table_adds_up():
    weights = published_weights()
    assert [each.w for each in weights] == [10, 9, 8, 7, 6, 5, 4, 3, 2]
    for each in weights:
        assert each.vi == each.train.covered - each.w * (each.train.covered - each.train.correct)
        for part, n_rows in ((each.train, 64), (each.test, 16)):
            assert part.rows == n_rows
            # The paper prints 13/16 = 0.8125 as 0.812 and 9/16 = 0.5625 as 0.562.
            assert part.precision == pytest.approx(part.correct / part.covered, abs=0.00051)
            assert part.coverage == pytest.approx(part.covered / part.rows, abs=0.00051)


def test_the_steps_rise_and_end_with_the_proof():
    for grouping, n_steps, proof in (("importance", 7, 90.8), ("none", 6, 446.4)):
        steps = [each for each in published_steps() if each.grouping == grouping]
        assert [each.step for each in steps] == [*range(1, n_steps + 1), None]
        assert [each.vi for each in steps] == sorted(each.vi for each in steps)
        assert [each.seconds for each in steps] == sorted(each.seconds for each in steps)
        assert (steps[-1].vi, steps[-1].seconds) == (41, proof)


def test_the_improvement_is_from_8_to_32_in_12_seconds():
    assert [tuple(each) for each in published_improvement()] == [
        ("bsccart", 8, None),
        ("opdt", 32, 12),
    ]


def test_an_unknown_table_is_refused():
    with pytest.raises(InputError, match="'table' must be 'structures', "):
        published("nine")


def test_a_number_the_paper_does_not_have_is_none():
    assert find_published("full", "german", "opdt", "VI", "test") == (
        "german", "opdt", "test", "VI", -7.9, 10.609,
    )  # fmt: skip
    assert find_published("structures", "pima", "all-all", "VI") is None


@pytest.fixture(scope="module")
def tex() -> str:
    path = ROOT.parent / "shared" / "paper" / "opdt-paper.tex"
    if not path.is_file():
        pytest.skip("the paper's source is not here")
    return path.read_text("utf-8")


def table_of(tex: str, label: str) -> str:
    """The text between a table's last foot and its end, without what only decorates."""
    start = tex.index(rf"\label{{{label}}}")
    body = tex[tex.index(r"\endlastfoot", start) : tex.index(r"\end{xltabular}", start)]
    return re.sub(r"\\(textbf|underline|hphantom\{0+\})|[{}]", "", body)


def line_of(body: str, title: str, configuration: str, quantity: str, table: str) -> str:
    """The line of the table that holds a number."""
    body = body[body.index(title) :]
    if table == "full":
        return next(
            line
            for line in body.split(r"\\")
            if re.search(rf"- {configuration}\b", line, re.IGNORECASE)
        )
    return body.split(r"\\")[1 if table == "training" and quantity == "runtime" else 0]


def column_of(row: dict[str, str], table: str) -> int:
    """The column of the table that a number belongs in."""
    configuration, quantity = row["configuration"], row["quantity"]
    if table in ("structures", "enhancements"):
        order = STRUCTURES if table == "structures" else ["on/on", "on/off", "off/on", "off/off"]
        return 1 + 2 * order.index(configuration) + (quantity == "VI")
    if table == "full":
        train = ["runtime", "precision", "coverage", "VI"]
        return 1 + (train.index(quantity) if row["part"] == "train" else 3 + train.index(quantity))
    if table == "solution_time":
        return 1 + (quantity == "time to solution")
    return METHODS.index(configuration) + (2 if table == "training" else 1)


@pytest.mark.parametrize("table", TABLES)
def test_every_number_stands_in_its_cell_of_the_paper(table, tex):
    body = table_of(tex, LABELS[table])
    for row in rows(table):
        title = SOURCES[row["dataset"]].title
        line = line_of(body, title, row["configuration"], row["quantity"], table)
        cell = line.split("&")[column_of(row, table)]
        assert re.findall(r"-?\d+\.?\d*", cell) == [n for n in (row["mean"], row["sd"]) if n], row


def test_every_number_of_the_small_tables_stands_in_its_line_of_the_paper(tex):
    body = table_of(tex, "table:UCI_dataset")
    for row in rows("datasets"):
        line = body[body.index(SOURCES[row["dataset"]].title) :].split(r"\\")[0]
        printed = re.findall(r"\d+", line)
        assert printed == [row[name] for name in list(row)[1:-1]]
        assert line.split("&")[-1].strip() == row["domain"]
    body = table_of(tex, "table:OPDT_sensitivity_w")
    lines = [re.findall(r"\d+\.?\d*", line) for line in body.split(r"\\")]
    for row, line in zip(rows("sensitivity"), [line for line in lines if line], strict=True):
        counts = [line[i] for i in (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14)]
        assert counts == list(row.values())
        assert (line[5], line[11]) == (row["train_covered"], row["test_covered"])


def test_every_step_stands_in_the_paper(tex):
    body = table_of(tex, "table:OPDT_LGBM_improvement").replace("---", "")
    lines = [line.split("&") for line in body.split(r"\\") if "&" in line]
    for grouping, column in (("importance", 1), ("none", 3)):
        printed = [
            tuple(re.findall(r"\d+\.?\d*", cell)[0] for cell in line[column : column + 2])
            for line in lines
            if line[column].strip()
        ]
        assert printed == [
            (r["vi"], r["seconds"]) for r in rows("importance") if r["grouping"] == grouping
        ]
    assert "yields a best VI value of 8. OPDT enhances it to 32" in tex
    assert "achieved in 12 seconds" in tex
