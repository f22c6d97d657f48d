from __future__ import annotations

from importlib import import_module

import pytest

from opdt.errors import InputError
from opdt.experiments.experiment import QUICK_SEEDS, QUICK_SPLITS, ExperimentSettings, Results
from opdt.experiments.registry import EXPERIMENTS, FIXED_DATASETS, MEASURES, get_experiment
from opdt.experiments.runner import all_cells

QUICK = ExperimentSettings(QUICK_SPLITS, QUICK_SEEDS, quick=True)


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """Any look at the data is refused."""
    monkeypatch.setenv("OPDT_DATA", str(tmp_path / "nowhere"))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_complete(no_data, name):
    experiment = get_experiment(name)
    assert experiment.name == name
    assert experiment.title
    assert experiment.reference.split()[0] in ("Table", "Figure", "Tables", "Figures")
    for settings in (ExperimentSettings(), QUICK):
        cells = experiment.cells(settings)
        assert cells
        assert len({cell.key for cell in cells}) == len(cells)
        assert {cell.kind for cell in cells} <= MEASURES.keys()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_table_can_be_made_of_nothing(no_data, name):
    experiment = get_experiment(name)
    results = Results(experiment.cells(QUICK), {}, {}, QUICK)
    for table in experiment.tables(results):
        assert table.title
        for row in table.rows.values():
            assert len(row) == len(table.columns)


@pytest.mark.parametrize("kind", MEASURES)
def test_every_kind_of_cell_has_its_function(kind):
    module, _, name = MEASURES[kind].partition(":")
    assert callable(getattr(import_module(module), name))


def test_every_kind_of_cell_is_used():
    every = [get_experiment(name) for name in EXPERIMENTS]
    assert {cell.kind for cell in all_cells(every, ExperimentSettings())} == MEASURES.keys()


def test_every_cell_is_known_to_use_some_dataset():
    """So that a run on other data is noticed."""
    every = [get_experiment(name) for name in EXPERIMENTS]
    for cell in all_cells(every, QUICK):
        assert (cell.get("dataset") is None) == (cell.kind in FIXED_DATASETS)
        if cell.kind in FIXED_DATASETS:
            module = import_module(MEASURES[cell.kind].partition(":")[0])
            assert FIXED_DATASETS[cell.kind] == module.DATASET


def test_a_quick_run_of_everything_is_declared_to_take_less_than_ten_minutes_on_two_cores():
    every = [get_experiment(name) for name in EXPERIMENTS]
    assert sum(cell.cost for cell in all_cells(every, QUICK)) < 2 * 600


@pytest.mark.parametrize(
    ("name", "words"), [("trainin", "did you mean 'training'"), ("x", "choose from")]
)
def test_an_unknown_experiment_is_refused_with_a_hint(name, words):
    with pytest.raises(InputError, match=words):
        get_experiment(name)
