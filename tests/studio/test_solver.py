from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings

import opdt
import opdt.datasets
from opdt.errors import InputError, OpdtError
from opdt.solution import Solution, Status, StopReason
from opdt.studio.outcome import badge_of
from opdt.studio.regions import MAX_POINTS
from opdt.studio.solver import Kept, Solver, warm_up
from opdt.studio.tables import load_dataset, load_file
from opdt.studio.web.panels.rule import _proof
from opdt.studio.work import Pinned, Work
from studio.works import first, patients, works

PATIENTS = patients()
SOLVER = Solver(PATIENTS)


def discovered(solver: Solver, work: Work) -> Solution:
    train = solver.split(work).train
    return opdt.discover(train.X, train.y, **work.arguments())


def attempt(ask: Callable[[], Solution]) -> tuple[Solution | None, str | None]:
    try:
        return ask(), None
    except OpdtError as error:
        return None, str(error)


def same(one: Solution, other: Solution) -> None:
    for name in ("rule", "value", "bound", "status", "stopped_by", "covered", "errors", "engine"):
        assert getattr(one, name) == getattr(other, name)
    if one.rule is not None and other.rule is not None:
        assert str(one.rule) == str(other.rule)


@given(works())
@pytest.mark.filterwarnings("ignore::opdt.errors.OpdtWarning")
def test_the_rule_is_that_of_discover(work: Work) -> None:
    expected, refusal = attempt(lambda: discovered(SOLVER, work))
    found, sentence = attempt(lambda: SOLVER.find(work))
    assert sentence == refusal
    if expected is not None and found is not None:
        same(found, expected)


@pytest.mark.filterwarnings("ignore::opdt.errors.OpdtWarning")
@pytest.mark.parametrize("name", opdt.datasets.names())
def test_the_rule_of_each_dataset_is_that_of_discover_at_every_price(
    name: str, uci_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPDT_DATA", str(uci_folder))
    solver = Solver(load_dataset(name))
    work = first(solver.loaded)
    for said in ({"w": 2.0}, {"w": 10.0}, {"w": 5.0, "min_precision": 0.8}, {"max_depth": 1}):
        work = work.change(**said)
        same(solver.find(work), discovered(solver, work))


@settings(max_examples=25)
@given(works())
def test_the_numbers_beside_a_rule_are_those_of_its_rows(work: Work) -> None:
    try:
        outcome = SOLVER.solve(work)
    except OpdtError:
        assume(False)
    if outcome.rule is None:
        assert outcome.train is None
        assert outcome.sentence.endswith(".")
        return
    split = SOLVER.split(work)
    for part, report, funnel, wrong in (
        (split.train, outcome.train, outcome.funnel, outcome.wrong),
        (split.held_out, outcome.held_out, outcome.funnel_held_out, outcome.wrong_held_out),
    ):
        if part is None:
            assert (report, funnel, wrong) == (None, (), None)
            continue
        covered = outcome.rule.covers(part.X)
        right = np.array([label == outcome.rule.label for label in part.y])
        assert (report.covered, report.errors) == (covered.sum(), (covered & ~right).sum())
        assert (funnel[0].covered, funnel[0].errors) == (len(right), (~right).sum())
        assert (funnel[-1].covered, funnel[-1].errors) == (report.covered, report.errors)
        assert len(funnel) == len(outcome.rule) + 1
        assert all(a.covered >= b.covered for a, b in pairwise(funnel))
        assert [row.number for row in wrong.rows] == (part.rows[covered & ~right] + 1).tolist()
        assert wrong.total == report.errors
        for row in wrong.rows:
            assert row.label == PATIENTS.frame["state"].iloc[row.number - 1]
            assert row.cells == PATIENTS.cells([row.number - 1], wrong.columns)[0]


@settings(max_examples=25)
@given(works())
def test_the_rows_of_a_region_lie_inside_exactly_if_they_are_covered(work: Work) -> None:
    try:
        outcome = SOLVER.solve(work)
    except OpdtError:
        assume(False)
    region = outcome.region
    assume(region is not None and outcome.rule is not None)
    train = SOLVER.split(work).train
    covered = set((train.rows[outcome.rule.covers(train.X)] + 1).tolist())
    assert covered <= {point.number for point in region.points}
    for point in region.points:
        inside = any(
            x_low <= point.x < x_high and y_low <= point.y < y_high
            for x_low, x_high, y_low, y_high in region.boxes
        )
        assert inside == point.covered == (point.number in covered)
        assert region.classes[point.label] == PATIENTS.frame["state"].iloc[point.number - 1]


def test_a_region_of_many_rows_is_a_sample_with_all_errors() -> None:
    solver = Solver(patients(4000))
    outcome = solver.solve(first(solver.loaded, label="ill", w=2.0))
    assert outcome.region is not None
    assert outcome.wrong is not None
    assert len(outcome.region.points) == MAX_POINTS < outcome.region.n_rows
    shown = {point.number for point in outcome.region.points}
    assert {row.number for row in outcome.wrong.rows} <= shown


def test_only_what_has_changed_is_prepared_again() -> None:
    solver = Solver(PATIENTS)
    work = first(PATIENTS)
    searcher = solver.searcher(work)
    assert solver.searcher(work.change(w=3.0, label="ill")) is searcher
    assert solver.searcher(work.change(min_precision=0.9)) is not searcher
    assert solver.table(work.change(min_precision=0.9)) is solver.table(work)
    assert solver.table(work.change(held_out=0.5)) is not solver.table(work)
    solver.clear()
    assert solver.searcher(work) is not searcher


def test_no_more_is_kept_than_was_agreed() -> None:
    kept = Kept(2)
    for key in ("a", "b", "a", "c"):
        kept.get(key, lambda key=key: [key])
    again = object()
    assert kept.get("a", lambda: again) == ["a"]
    assert kept.get("b", lambda: again) is again


def test_without_a_label_there_is_no_answer_but_a_sentence() -> None:
    with pytest.raises(InputError, match="choose the column"):
        SOLVER.solve(Work())


def test_a_stopped_search_says_what_it_has_found() -> None:
    cancel = threading.Event()
    cancel.set()
    outcome = SOLVER.solve(first(PATIENTS, max_depth=3, w=1.5), cancel=cancel)
    assert outcome.solution.stopped_by is StopReason.CANCELLED
    assert not outcome.is_proven
    assert outcome.badge.startswith("not proven (stopped after ")
    assert outcome.solution.bound >= SOLVER.find(first(PATIENTS, max_depth=3, w=1.5)).value


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.OPTIMAL, "proven optimal in 20 ms"),
        (Status.NO_PATTERN, "proven in 20 ms: no pattern"),
        (Status.INFEASIBLE, "proven in 20 ms: no rule meets the demands"),
        (Status.FEASIBLE, "not proven (time limit after 20 ms), gap 3"),
    ],
)
def test_the_badge_says_what_is_proven(status: Status, words: str) -> None:
    rest = {"stopped_by": StopReason.TIME} if status is Status.FEASIBLE else {}
    bound = 5.0 if status is Status.FEASIBLE else 2.0
    assert badge_of(Solution(None, 2.0, bound, status, seconds=0.02, **rest)) == words


def test_pinned_rules_stand_side_by_side() -> None:
    work = first(PATIENTS, w=3.0)
    rule = SOLVER.solve(work).rule
    assert rule is not None
    (one,) = SOLVER.compare(work.change(pinned=(Pinned(rule, "mine"),)))
    outcome = SOLVER.solve(work)
    assert one.unseen is not None
    assert (one.seen.counts, one.unseen.counts) == (outcome.train, outcome.held_out)
    assert one.note == "mine"


def test_pinned_rules_on_columns_that_are_left_out_are_not_measured() -> None:
    work = first(PATIENTS, w=3.0)
    rule = SOLVER.solve(work).rule
    assert rule is not None
    work = work.change(pinned=(Pinned(rule, ""),))
    ignored = work.change(roles={**work.roles, rule.features[0]: "ignored"})
    assert SOLVER.compare(ignored) == ()
    assert len(SOLVER.compare(work)) == 1


def test_every_point_of_the_trade_off_can_be_chosen() -> None:
    work = first(PATIENTS, label="ill", max_errors=1)
    paths = []
    trade_off = SOLVER.trade_off(work, on_path=paths.append)
    assert trade_off.is_complete
    assert paths[0].frontier is None
    assert [point.rule for point in paths[0].points] == [
        point.rule for point in trade_off.points if point.w_from is not None
    ]
    errors = [point.errors for point in trade_off.points]
    assert errors == sorted(set(errors))
    assert errors[-1] > 1  # the limit that was chosen before does not end it
    for point in trade_off.points:
        chosen = SOLVER.solve(work.change(**point.choice()))
        assert (chosen.train.covered, chosen.train.errors) == (point.covered, point.errors)
        assert chosen.train.precision == pytest.approx(point.precision)
        assert chosen.rule is not None
        held_out = SOLVER.split(work).held_out
        assert held_out is not None
        on_others = opdt.rule_report(point.rule, held_out.X, held_out.y)
        assert point.held_out_coverage == on_others.coverage


def test_a_pattern_is_real_and_noise_is_not() -> None:
    told = []
    work = first(PATIENTS)
    test = SOLVER.is_it_real(work, n_permutations=99, progress=told.append)
    train = SOLVER.split(work).train
    expected = opdt.permutation_test(train.X, train.y, n_permutations=99, max_depth=2)
    assert test.p_value == expected.p_value <= 0.05
    assert told[-1].done == 99
    noise = Solver(patients(40, seed=1))
    shuffled = np.random.default_rng(0).permutation(noise.loaded.frame["state"].to_numpy())
    noise.loaded.frame["state"] = shuffled
    assert noise.is_it_real(first(noise.loaded), n_permutations=99).p_value > 0.05


def test_alternatives_are_within_one_per_cent_of_the_optimum() -> None:
    work = first(PATIENTS, w=2.0)
    best = SOLVER.find(work).value
    found = SOLVER.alternatives(work)
    assert found.complete
    assert found.optimum == best
    assert all(each.value >= 0.99 * best for each in found)


def test_everything_can_be_warmed_up() -> None:
    warm_up()


def test_what_the_proof_leaves_out_stands_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "levels.csv"
    rows = [f"l{n % 14:02},{'ab'[n % 3 > 0]}" for n in range(84)]
    path.write_text("\n".join(["level,y", *rows]) + "\n")
    solver = Solver(load_file(path))
    work = first(solver.loaded, target="y", held_out=0.0, subsets=True)
    outcome = solver.solve(work)
    assert "are made of the 11 most frequent of its 14 levels; nothing is proven" in _proof(outcome)
    assert "nothing is proven" not in _proof(solver.solve(work.change(subsets=False)))
