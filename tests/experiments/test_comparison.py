from __future__ import annotations

from math import sqrt

import pytest

from opdt.errors import InputError
from opdt.experiments import comparison
from opdt.experiments.cell import Cell
from opdt.experiments.comparison import APPENDIX, METHODS, TEST, TRAINING
from opdt.experiments.experiment import ExperimentSettings, Results
from opdt.experiments.published import find_published

SETTINGS = ExperimentSettings(splits=2, seeds=2, datasets=("pima",))


def part(covered, errors, rows=100):
    return {
        "rows": rows,
        "covered": covered,
        "errors": errors,
        "vi": covered - 10.0 * errors,
        "coverage": covered / rows,
        "precision": (covered - errors) / covered if covered else None,
    }


def record(train, test, seconds=0.5):
    return {"cpu_seconds": seconds, "proven": True, "train": part(*train), "test": part(*test)}


def cell(method, split, **more):
    return Cell.of("rule", dataset="pima", split=split, **METHODS[method].parameters, **more)


def results(records, failures=None, settings=SETTINGS):
    keyed = {cell.key: value for cell, value in records.items()}
    reasons = {cell.key: text for cell, text in (failures or {}).items()}
    return Results(comparison.cells(settings), keyed, reasons, settings)


RECORDS = {
    cell("opdt", 0): record((30, 0), (10, 1), 0.25),
    cell("opdt", 1): record((40, 1), (0, 0), 0.75),
    cell("opdt-all", 0): record((30, 0), (10, 1)),
    cell("opdt-all", 1): record((40, 1), (0, 0)),
    cell("opdt-3", 0): record((35, 0), (12, 1)),
    cell("opdt-3", 1): record((50, 0), (8, 0)),
    cell("ripper", 0, seed=0): record((10, 0), (5, 0)),
    cell("ripper", 0, seed=1): record((20, 1), (5, 1)),
    cell("ripper", 1, seed=0): record((6, 0), (0, 0)),
    cell("ripper", 1, seed=1): record((8, 0), (4, 0)),
}


def entry(table, method, row="Pima Indians Diabetes"):
    at = [column.name for column in table.columns].index(method)
    return table.rows[row][at]


def test_means_are_over_seeds_first_and_then_over_splits():
    table = TRAINING.tables(results(RECORDS))[0]
    # Split 0: (10 + 10) / 2 = 10; split 1: (6 + 8) / 2 = 7.
    ripper = entry(table, "RIPPER")
    assert (ripper.ours, ripper.n) == (8.5, 2)
    assert ripper.ours_sd == pytest.approx(sqrt(2 * 1.5**2))
    opdt = entry(table, "OPDT")
    assert (opdt.ours, opdt.ours_sd, opdt.n) == (30.0, 0.0, 2)


def test_the_papers_mean_is_of_its_table_and_its_deviation_of_its_appendix():
    opdt = entry(TRAINING.tables(results(RECORDS))[0], "OPDT")
    assert opdt.paper == 89.1
    assert opdt.paper_sd == find_published("full", "pima", "opdt", "VI").sd
    assert opdt.difference == pytest.approx(30 - 89.1)
    assert entry(TRAINING.tables(results(RECORDS))[0], "OPDT depth 3").paper is None


def test_a_rule_that_covers_no_row_counts_with_precision_zero():
    (table,) = APPENDIX.tables(results(RECORDS))
    row = dict(zip([c.name for c in table.columns], table.rows["OPDT"], strict=True))
    assert row["test precision"].ours == pytest.approx((0.9 + 0.0) / 2)
    assert row["test coverage"].ours == pytest.approx((0.10 + 0.0) / 2)
    assert row["test VI"].ours == (0 + 0) / 2
    assert row["training precision"].ours == pytest.approx((1 + 39 / 40) / 2)
    assert (row["runtime"].ours, row["runtime"].is_time) == (0.5, True)
    assert row["training VI"].paper == find_published("full", "pima", "opdt", "VI").mean


def test_what_the_third_condition_adds_is_taken_split_by_split():
    table = TEST.tables(results(RECORDS))[-1]
    values = [each.ours for each in table.rows["Pima Indians Diabetes"]]
    # Test: depth 2 has 10 - 10 = 0 and 0; depth 3 has 12 - 10 = 2 and 8.
    assert values == [30.0, 42.5, 0.0, 5.0, 12.5, 5.0]


def test_a_missing_cell_is_a_note_and_the_rest_is_averaged():
    failed = cell("ripper", 1, seed=1)
    some = {each: value for each, value in RECORDS.items() if each != failed}
    table = TRAINING.tables(results(some, {failed: "it broke."}))[0]
    ripper = entry(table, "RIPPER")
    assert (ripper.ours, ripper.note) == ((10 + 6) / 2, "it broke.")
    brs = entry(table, "BRS")
    assert (brs.ours, brs.n, brs.note) == (None, 0, "not measured yet")


def test_proofs_are_counted():
    table = TRAINING.tables(results(RECORDS))[-1]
    assert [column.name for column in table.columns] == ["OPDT", "OPDT all–all", "OPDT depth 3"]
    assert [each.ours for each in table.rows["Pima Indians Diabetes"]] == [2, 2, 2]


def test_the_best_are_counted_for_us_and_for_the_paper():
    best = TRAINING.tables(results(RECORDS))[1]
    assert (entry(best, "OPDT", "best").ours, entry(best, "OPDT", "best").paper) == (1, 1)
    assert entry(best, "RIPPER", "best").ours == 0
    assert entry(best, "RIPPER", "among the four best").ours == 1
    # The paper's four best on Pima: OPDT 89.10, RSCRULES 37.40, BSCCART 36.20, Ripper 26.88.
    four = {m: entry(best, m, "among the four best").paper for m in ("IREP", "RIPPER", "BSCCART")}
    assert four == {"IREP": 0, "RIPPER": 1, "BSCCART": 1}


def test_there_is_a_cell_for_each_dataset_split_method_and_seed():
    found = comparison.cells(ExperimentSettings(splits=3, seeds=4))
    seeded = {"brs": 4, "irep": 4, "ripper": 4, "skope": 4}
    runnable = [m for m in METHODS.values() if not comparison._why_skipped(m)]
    assert len(found) == 15 * 3 * sum(seeded.get(m.name, 1) for m in runnable)
    assert len({each.key for each in found}) == len(found)


def test_methods_within_structures_learn_in_each_of_them_and_stand_beside_all_features():
    for name in ("opdt", "bsccart", "rscrules"):
        separate, together = METHODS[name].parameters, METHODS[f"{name}-all"].parameters
        assert separate == {**together, "separate": True} != together
        assert METHODS[name].in_paper
        assert not METHODS[f"{name}-all"].in_paper


def test_agreement_is_counted_by_deviations_and_by_errors():
    table = TRAINING.tables(results(RECORDS))[2]
    deviation, errors = table.rows
    # 30 is more than a standard deviation of 6.6 below the paper's 89.1; RIPPER's sd is 7.8.
    assert (entry(table, "OPDT", deviation).ours, entry(table, "OPDT", errors).ours) == (0, 0)
    assert entry(table, "BRS", errors).ours is None
    assert all(column.ours_only for column in table.columns)


def test_the_seeds_of_single_methods_can_be_limited():
    limited = ExperimentSettings(seeds=5, seeds_of=(("brs", 2),))
    seeds = {m.name: len(m.seeds(limited)) for m in METHODS.values()}
    assert (seeds["brs"], seeds["ripper"], seeds["irep"], seeds["opdt"]) == (2, 5, 5, 1)


def test_without_a_cap_the_seeds_are_the_papers():
    seeds = {m.name: len(m.seeds(ExperimentSettings())) for m in METHODS.values()}
    assert (seeds["brs"], seeds["ripper"], seeds["opdt"], seeds["cart"]) == (50, 10, 1, 1)


def test_bayesian_rule_sets_come_last():
    names = [each["method"] for each in comparison.cells(ExperimentSettings(splits=1, seeds=1))]
    if "brs" in names:
        assert set(names[names.index("brs") :]) == {"brs"}


def test_a_method_whose_package_is_missing_is_skipped_with_a_sentence(monkeypatch):
    monkeypatch.setattr(
        comparison, "missing_package", lambda name: "imodels" if name == "brs" else None
    )
    sentence = "BRS is skipped: it needs imodels; run: pip install 'opdt[baselines]'."
    assert TRAINING.skipped(SETTINGS) == [sentence]
    assert TRAINING.skipped(ExperimentSettings(methods=("opdt",))) == []
    assert all(each["method"] != "brs" for each in comparison.cells(SETTINGS))
    assert entry(TRAINING.tables(results(RECORDS))[0], "BRS").note == sentence


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match="'methods' has 'riper'"):
        comparison.cells(ExperimentSettings(methods=("riper",)))
