from __future__ import annotations

import pytest

from opdt.baselines import available_baselines, get_baseline
from opdt.discovery import discover
from opdt.experiments.cell import Cell
from opdt.experiments.comparison import METHODS
from opdt.experiments.data import train_test, whole_table
from opdt.experiments.measure_rule import measure
from opdt.report import rule_report
from opdt.rules import rule_from_dict

pytestmark = pytest.mark.filterwarnings("ignore::opdt.errors.OpdtWarning")
PACKAGES = {"brs", "irep", "ripper", "skope"}


def cell_of(method, **more):
    return Cell.of(
        "rule", dataset="blood_transfusion", split=1, **METHODS[method].parameters, **more
    )


@pytest.mark.parametrize("method", [m for m in METHODS if m not in PACKAGES])
def test_the_numbers_are_those_of_the_rule_on_the_rows(small_data, method):
    record = measure(cell_of(method))
    data = train_test("blood_transfusion", 1)
    rule = rule_from_dict(record["json"])
    assert (record["rule"], record["conditions"]) == (str(rule), len(rule))
    for part, X, y in (("train", data.X_train, data.y_train), ("test", data.X_test, data.y_test)):
        report = rule_report(rule, X, y)
        covered, errors = report.covered, report.errors
        assert record[part] == {
            "rows": {"train": 32, "test": 8}[part],
            "covered": covered,
            "errors": errors,
            "vi": covered - 10 * errors,
            "coverage": covered / len(y),
            "precision": (covered - errors) / covered if covered else None,
        }


@pytest.mark.parametrize("depth", [2, 3])
def test_opdt_finds_the_optimum_and_proves_it(small_data, depth):
    record = measure(Cell.of("rule", dataset="pima", split=0, method="opdt", depth=depth))
    table = train_test("pima", 0).table
    best = discover(table, max_depth=depth, engine="exhaustive")
    assert record["train"]["vi"] == record["bound"] == best.value
    assert record["proven"] is True
    assert record["cpu_seconds"] >= 0
    assert record["wall_seconds"] > 0


@pytest.mark.parametrize("dataset", ["pima", "blood_transfusion"])
def test_the_best_of_the_separated_structures_is_as_good_as_all_features(small_data, dataset):
    found = [
        measure(
            Cell.of("rule", dataset=dataset, split=0, method="opdt", depth=2, separate=separate)
        )
        for separate in (True, False)
    ]
    assert found[0]["train"]["vi"] == found[1]["train"]["vi"] == found[0]["bound"]
    assert found[0]["proven"] is True


def test_the_planted_rule_is_found_on_rows_without_exception(small_data):
    record = measure(Cell.of("rule", dataset="pima", split=0, method="opdt", depth=2))
    data = train_test("pima", 0)
    ill = (data.X_train["glucose"] >= 120) & (data.X_train["bmi"] >= 30)
    # Two conditions tell either all who are ill or more of the others; the planted rule is a floor.
    assert record["train"]["vi"] >= int(ill.sum())
    assert record["train"]["errors"] == 0


def test_another_price_of_an_error_is_a_parameter(small_data):
    cheap = measure(cell_of("opdt", w=1.0))
    assert cheap["train"]["vi"] == cheap["train"]["covered"] - cheap["train"]["errors"]
    assert cheap["train"]["vi"] >= measure(cell_of("opdt"))["train"]["vi"]


def test_without_a_rule_nothing_is_covered(small_data, monkeypatch):
    bsccart = type(get_baseline("bsccart"))
    monkeypatch.setattr(bsccart, "_fit", lambda self, table: [])
    record = measure(cell_of("bsccart"))
    assert (record["rule"], record["json"], record["n_rules"]) == (None, None, 0)
    assert record["test"] == {
        "rows": 8,
        "covered": 0,
        "errors": 0,
        "vi": 0.0,
        "coverage": 0.0,
        "precision": None,
    }


@pytest.mark.parametrize("method", sorted(PACKAGES))
def test_a_seed_gives_the_same_record_but_for_the_time(small_data, method):
    if method not in available_baselines():
        pytest.skip(f"the package of {method} is not installed")
    first, again = (measure(cell_of(method, seed=3)) for _ in range(2))
    for record in (first, again):
        del record["cpu_seconds"], record["wall_seconds"]
    assert first == again


def test_the_whole_table_has_all_rows(small_data):
    assert whole_table("pima").n_rows == 40


def test_hepatitis_is_proven_on_the_papers_split_sizes(uci_folder, monkeypatch):
    monkeypatch.setenv("OPDT_DATA", str(uci_folder))
    record = measure(Cell.of("rule", dataset="hepatitis", split=0, method="opdt", depth=2))
    assert (record["train"]["rows"], record["test"]["rows"]) == (64, 16)
    assert record["proven"] is True
    assert record["train"]["vi"] == record["train"]["covered"] - 10 * record["train"]["errors"]
