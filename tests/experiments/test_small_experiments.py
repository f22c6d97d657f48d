"""The dataset table, the sensitivity to w and the improved tree, on the paper's data."""

from __future__ import annotations

import pytest

from opdt.experiments import dataset_table, improvement, sensitivity
from opdt.experiments.cell import measure
from opdt.experiments.experiment import ExperimentSettings, Results
from opdt.experiments.published import published_weights

pytest.importorskip("pandas")


@pytest.fixture
def results(uci_folder, monkeypatch):
    """Measure the cells of an experiment on the paper's data."""
    monkeypatch.setenv("OPDT_DATA", str(uci_folder))

    def run(module, settings: ExperimentSettings) -> Results:
        cells = module.cells(settings)
        return Results(cells, {cell.key: measure(cell) for cell in cells}, settings=settings)

    return run


def test_the_dataset_table_is_the_papers_in_all_cells(results):
    (table,) = dataset_table.tables(results(dataset_table, ExperimentSettings()))
    entries = list(table.entries())
    assert len(entries) == 15 * 7
    for entry in entries:
        assert entry.ours == entry.paper, entry


class TestSensitivity:
    settings = ExperimentSettings(splits=2)

    def test_vi_and_errors_rise_as_w_falls(self, results):
        found = results(sensitivity, self.settings)
        for split in range(2):
            records = [
                found[sensitivity.weight_cell(split, each.w).key] for each in published_weights()
            ]
            assert all(each["proven"] for each in records)
            for name in ("vi", "errors"):
                values = [each["train"][name] for each in records]
                assert values == sorted(values)
            assert {each["train"]["rows"] for each in records} == {64}
            assert {each["test"]["rows"] for each in records} == {16}

    def test_counts_are_shown_as_the_paper_shows_them(self, results):
        found = results(sensitivity, self.settings)
        counts, means = sensitivity.tables(found)
        row = counts.rows["8"]
        assert [entry.paper for entry in row[:4]] == [
            "0.978 (45/46)", "0.719 (46/64)", "0.923 (12/13)", "0.812 (13/16)",
        ]  # fmt: skip
        part = found[sensitivity.weight_cell(sensitivity.SHOWN_SPLIT, 8).key]["train"]
        right, covered = part["covered"] - part["errors"], part["covered"]
        assert row[0].ours == f"{right / covered:.3f} ({right}/{covered})"
        assert row[1].ours == f"{covered / 64:.3f} ({covered}/64)"
        values = [found[sensitivity.weight_cell(s, 8).key]["train"]["vi"] for s in range(2)]
        assert means.rows["8"][4].ours == sum(values) / 2
        assert means.rows["8"][4].paper == 38

    def test_a_rule_that_covers_no_row_has_no_precision(self):
        part = {"covered": 0, "errors": 0, "rows": 16, "precision": None, "coverage": 0.0}
        assert sensitivity._ours_text(part, "precision") == "– (0/0)"
        assert sensitivity._ours_text(part, "coverage") == "0.000 (0/16)"

    def test_the_path_is_drawn(self, results, tmp_path):
        pytest.importorskip("matplotlib")
        (path,) = sensitivity.figures(results(sensitivity, ExperimentSettings(splits=1)), tmp_path)
        assert path.read_bytes().startswith(b"\x89PNG")


class TestImprovement:
    def test_the_optimum_is_at_least_what_bsccart_finds(self, results):
        found = results(improvement, ExperimentSettings(splits=1))
        for record in found.values():
            assert 0 <= record["bsccart"]["vi"] <= record["opdt"]["vi"] == record["opdt"]["bound"]
        figure, means = improvement.tables(found)
        assert [entry.paper for entry in figure.rows["German"]] == [8, 32, None]
        low, high, rise = (entry.ours for entry in means.rows["num-num"])
        assert high - low == rise

    def test_both_trees_are_drawn(self, results, tmp_path):
        pytest.importorskip("matplotlib")
        none = results(improvement, ExperimentSettings(datasets=("pima",)))
        assert improvement.figures(none, tmp_path) == []
        empty = Results([], {}, settings=ExperimentSettings(splits=1))
        (path,) = improvement.figures(empty, tmp_path)
        assert path.read_bytes().startswith(b"\x89PNG")
