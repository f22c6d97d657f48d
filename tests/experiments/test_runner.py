from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading

import pytest

from experiments.toys import toy, write_small_data
from opdt.errors import InputError, OpdtError
from opdt.experiments.comparison import TRAINING
from opdt.experiments.experiment import ExperimentSettings
from opdt.experiments.runner import Interrupted, RunProgress, read_results, run
from opdt.experiments.store import ResultStore

SETTINGS = ExperimentSettings()


def doubles(results):
    return {cell["x"]: record["double"] for cell, record in results.select("toy")}


def test_every_cell_is_measured_in_order_and_kept(toy_kinds, tmp_path):
    results = run([toy()], tmp_path, SETTINGS)
    assert toy_kinds.DONE == [0, 1, 2, 3, 4]
    assert doubles(results) == {0: 0, 1: 2, 2: 4, 3: 6, 4: 8}
    assert doubles(read_results([toy()], tmp_path, SETTINGS)) == doubles(results)


def test_a_second_run_measures_only_what_is_new(toy_kinds, tmp_path):
    run([toy(3)], tmp_path, SETTINGS)
    before = (tmp_path / "cells.jsonl").read_bytes()
    results = run([toy(5)], tmp_path, SETTINGS)
    assert toy_kinds.DONE == [0, 1, 2, 3, 4]
    assert (tmp_path / "cells.jsonl").read_bytes().startswith(before)
    assert doubles(results) == {0: 0, 1: 2, 2: 4, 3: 6, 4: 8}


def test_results_hold_only_the_cells_that_were_asked_for(toy_kinds, tmp_path):
    run([toy(5)], tmp_path, SETTINGS)
    assert doubles(run([toy(2)], tmp_path, SETTINGS)) == {0: 0, 1: 2}


def test_cells_that_two_experiments_share_are_measured_once(toy_kinds, tmp_path):
    results = run([toy(3), toy(4, name="more")], tmp_path, SETTINGS)
    assert toy_kinds.DONE == [0, 1, 2, 3]
    assert doubles(results.only(toy(3).cells(SETTINGS))) == {0: 0, 1: 2, 2: 4}


def test_a_cell_that_fails_does_not_stop_the_run_and_is_tried_again(toy_kinds, tmp_path):
    toy_kinds.BROKEN.add(1)
    told: list[RunProgress] = []
    results = run([toy(3)], tmp_path, SETTINGS, progress=told.append)
    assert doubles(results) == {0: 0, 2: 4}
    assert results.why_missing("toy", x=1) == "there is no double of 1."
    assert results.why_missing("toy", x=0) == ""
    assert [each.failure for each in told] == ["", "", "there is no double of 1.", ""]
    toy_kinds.BROKEN.clear()
    assert doubles(run([toy(3)], tmp_path, SETTINGS)) == {0: 0, 1: 2, 2: 4}
    assert toy_kinds.DONE == [0, 2, 1]


def test_an_error_that_nobody_expected_is_kept_with_its_name(toy_kinds, tmp_path):
    results = run([toy(2, kind="divide")], tmp_path, SETTINGS)
    assert results.why_missing("divide", x=0) == "ZeroDivisionError: division by zero"
    assert results.record("divide", x=1) == {"quotient": 1.0}


def test_what_was_not_measured_says_so(toy_kinds, tmp_path):
    run([toy(2)], tmp_path, SETTINGS)
    results = read_results([toy(3)], tmp_path, SETTINGS)
    assert results.why_missing("toy", x=2) == results.why_missing("toy") == "not measured yet"


def test_ctrl_c_keeps_what_is_finished_and_nothing_else(toy_kinds, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted):
        run([toy(5, kind="interrupted")], tmp_path, SETTINGS)
    assert signal.getsignal(signal.SIGINT) is before
    found = ResultStore(tmp_path).read()
    assert [outcome.record for outcome in found.values()] == [{"double": 2 * x} for x in range(3)]


def test_ctrl_c_between_two_cells_stops_the_run_too(toy_kinds, tmp_path):
    def stop(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        run([toy(5)], tmp_path, SETTINGS, progress=stop)
    assert len(ResultStore(tmp_path).read()) == 2


@pytest.mark.filterwarnings("ignore::opdt.errors.OpdtWarning")
@pytest.mark.slow
def test_several_processes_measure_the_same_and_one_that_dies_is_told(small_data, tmp_path):
    settings = ExperimentSettings(splits=5, datasets=("pima",), methods=("prism", "cart"))
    alone = run([TRAINING], tmp_path / "alone", settings)

    def kill_one(progress):
        if progress.done == 2:
            multiprocessing.active_children()[0].kill()

    out = tmp_path / "several"
    with pytest.raises(OpdtError, match=r"a worker process died.* while it measured: rule "):
        run([TRAINING], out, settings, jobs=2, progress=kill_one)
    assert multiprocessing.active_children() == []
    kept = len(ResultStore(out).read())
    assert 2 <= kept < 10
    together = run([TRAINING], out, settings, jobs=2)
    for key, record in alone.items():
        assert {**record, "cpu_seconds": 0, "wall_seconds": 0} == {
            **together[key],
            "cpu_seconds": 0,
            "wall_seconds": 0,
        }


def test_a_run_need_not_be_in_the_main_thread(toy_kinds, tmp_path):
    thread = threading.Thread(target=run, args=([toy(2)], tmp_path, SETTINGS))
    thread.start()
    thread.join()
    assert toy_kinds.DONE == [0, 1]


def test_progress_counts_to_the_end(toy_kinds, tmp_path):
    run([toy(2)], tmp_path, SETTINGS)
    told: list[RunProgress] = []
    run([toy(5)], tmp_path, SETTINGS, progress=told.append)
    assert [(each.done, each.total) for each in told] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert told[0].remaining == pytest.approx(3.0, rel=0.2)  # three cells of one second each
    assert told[-1].remaining == 0


def test_each_run_is_noted_with_its_settings_machine_and_versions(toy_kinds, tmp_path):
    run([toy(1)], tmp_path, SETTINGS)
    run([toy(2)], tmp_path, ExperimentSettings(splits=3))
    runs = json.loads((tmp_path / "run.json").read_text())["runs"]
    assert [each["settings"]["splits"] for each in runs] == [10, 3]
    assert {"opdt", "numpy"} <= runs[0]["versions"].keys()
    assert runs[0]["machine"]["cores"] == os.cpu_count()


@pytest.mark.filterwarnings("ignore::opdt.errors.OpdtWarning")
def test_a_folder_that_was_measured_on_other_data_is_refused(tmp_path):
    settings = ExperimentSettings(splits=1, datasets=("pima",), methods=("prism",))
    for n_rows in (40, 41):
        write_small_data(tmp_path / str(n_rows), n_rows)
    out = tmp_path / "out"
    before = dict(os.environ)
    run([TRAINING], out, settings, folder=tmp_path / "40")
    with pytest.raises(InputError, match="another file of dataset 'pima'"):
        run([TRAINING], out, settings, folder=tmp_path / "41")
    assert dict(os.environ) == before


def test_a_damaged_note_of_runs_is_one_sentence(toy_kinds, tmp_path):
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"run.json' is damaged"):
        run([toy()], tmp_path, SETTINGS)


@pytest.mark.parametrize("jobs", [0, -1])
def test_a_run_needs_a_process(toy_kinds, tmp_path, jobs):
    with pytest.raises(InputError, match="'jobs' must be an int >= 1"):
        run([toy()], tmp_path, SETTINGS, jobs=jobs)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"splits": 0}, "'splits'"), ({"seeds": 0}, "'seeds'"), ({"time_limit": 0.0}, "'time_limit'")],
)
def test_settings_are_checked(wrong, words):
    with pytest.raises(InputError, match=words):
        ExperimentSettings(**wrong)
