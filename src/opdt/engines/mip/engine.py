"""The engine that hands the paper's model, or the path model, to a solver of such models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from opdt.checks import check_bool, check_choice, check_int
from opdt.engines.base import Engine, Outcome
from opdt.engines.mip import bounds, paper, vectors
from opdt.engines.mip.model import Floats, Model
from opdt.engines.mip.path import Path, formulate_path
from opdt.engines.mip.progress import Journal, Read
from opdt.engines.mip.scaling import SCALINGS, indistinct
from opdt.engines.mip.solver import (
    SOLVERS,
    Adapter,
    Listener,
    SolverAnswer,
    SolverSettings,
    get_adapter,
    supervise,
)
from opdt.engines.mip.start import Start, check_warm_start, find_start, warn_unusable
from opdt.engines.tree import SplitTree
from opdt.errors import EngineFailure, InputError
from opdt.problem import Chain, CodedRule, Problem
from opdt.problem.groups import ALL
from opdt.rules import Rule
from opdt.solution import Clock, LimitReached, StopReason

FORMULATIONS = ("paper", "path")
# A warm start may violate rows by rounding errors of its sums, no more.
START_TOLERANCE = 1e-9
UNFINISHED = "none: a limit was reached while the model was built"


@dataclass(frozen=True)
class MIPDetails:
    """What a solution of the MIP engine tells beside the rule.

    Attributes
    ----------
    tree : SplitTree or None
        The whole tree; None where there is no rule.
    solver, formulation : str
    n_variables, n_rows, n_entries : int
        Size of the (largest) model.
    start : str
        Where the warm start came from and its VI, or why there is none.
    notes : tuple of str
        What the solver was asked for and cannot do, and rules that had to be left out.
    """

    tree: SplitTree | None
    solver: str
    formulation: str
    n_variables: int
    n_rows: int
    n_entries: int
    start: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class MIPEngine(Engine):
    """Solves the paper's mixed-integer program with a solver of one's choice.

    Parameters
    ----------
    solver : {"scip", "highs", "gurobi"}
        SCIP and HiGHS come with ``pip install 'opdt[mip]'``, Gurobi with ``'opdt[gurobi]'`` and a
        licence of one's own.
    formulation : {"paper", "path"}
        The paper's tree, or the equivalent model of a single path, which is ours and gets real
        bounds where the paper's has none.
    warm_start : bool, str or Rule
        True or "bsccart" starts from the tree of BSCCART as in the paper; "rscrules" and
        "search" from the rule of that engine; a `Rule` from that rule.
    priorities : bool
        Branch on the topology of the tree (a and d) before anything else, as in the paper. HiGHS
        cannot; `Solution.details` says so.
    scaling : {"rank", "minmax"}
        How numeric features get into [0, 1]: by rank, which is safe, or by minimum and maximum as
        in the paper, refused where values are too close for a solver. No concern of "path".
    structured : bool
        False leaves the Branching Structure Constraints out of the paper's model, as the paper does
        to measure what they are worth. Only the structure of all features on every level is
        solved so, since the rules of the model then have that structure and no other.
    seed : int
        Of the solver's random choices.

    Notes
    -----
    One thread is used unless the budget asks for more (SCIP uses one in any case). Of equally
    good rules the solver decides which is returned.

    Examples
    --------
    >>> MIPEngine(solver="highs", formulation="path").formulation
    'path'
    """

    name: ClassVar[str] = "mip"
    proves_optimality: ClassVar[bool] = True

    solver: str = "scip"
    formulation: str = "paper"
    warm_start: bool | str | Rule = True
    priorities: bool = True
    scaling: str = "rank"
    structured: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (
            ("solver", tuple(SOLVERS)),
            ("formulation", FORMULATIONS),
            ("scaling", SCALINGS),
        ):
            check_choice(name, getattr(self, name), tuple(allowed))
        check_warm_start(self.warm_start)
        for name in ("priorities", "structured"):
            check_bool(name, getattr(self, name))
        if not self.structured and self.formulation != "paper":
            raise InputError(
                "'structured' can be False only with formulation='paper'; the path model is made "
                "of the structure."
            )
        check_int("seed", self.seed, 0)

    def refuses(self, problem: Problem) -> str | None:
        """Refuse what the formulation cannot say."""
        if self.formulation == "path":
            return None
        if not self.structured and not _is_free(problem):
            return (
                "without structure constraints the model finds rules of all features only; leave "
                "'structure' out or use structured=True"
            )
        return paper_refuses(problem, self.scaling)

    def models(self, problem: Problem) -> tuple[Model, ...]:
        """The models of a problem, to be written to files or looked at.

        The paper's is one; there is a path model for each class and each chain of the structure.
        """
        if why := self.refuses(problem):
            raise InputError(f"there is no model of this problem: {why}.")
        if self.formulation == "paper":
            return (paper.formulate(problem, self.scaling, structured=self.structured)[0],)
        paths = (formulate_path(problem, chain, label) for label, chain in path_parts(problem))
        return tuple(path.model for path in paths if path is not None)

    def _solve(self, problem: Problem, clock: Clock) -> Outcome:
        adapter = get_adapter(self.solver)
        start = find_start(problem, self.warm_start, clock)
        solve = solve_paper if self.formulation == "paper" else solve_paths
        return solve(ModelTask(self, adapter, problem, clock, start))


@dataclass(frozen=True, eq=False)
class ModelTask:
    """Everything one call of the engine needs."""

    engine: MIPEngine
    adapter: Adapter
    problem: Problem
    clock: Clock
    start: Start

    def settings(self) -> SolverSettings:
        """The solver's settings for what is left of the budget."""
        budget = self.clock.budget
        return SolverSettings(
            nodes=budget.nodes,
            memory=budget.memory_limit,
            threads=1 if budget.n_jobs is None else budget.n_threads,
            seed=self.engine.seed % 2**31,
            gap=bounds.absolute_gap(self.problem),
            priorities=self.engine.priorities,
        )

    def notes(self) -> tuple[str, ...]:
        """What was asked for and is not to be had."""
        notes = []
        if self.engine.priorities and not self.adapter.HAS_PRIORITIES:
            notes.append(f"{self.engine.solver} has no branching priorities; they are left out")
        if self.clock.budget.memory_limit is not None and self.engine.solver == "highs":
            notes.append("highs has no memory limit; it is left out")
        return tuple(notes)

    def details(self, journal: Journal, models: list[Model], start: str) -> MIPDetails:
        """The details of a solution found with these models."""
        largest = max(models, key=lambda model: model.n_entries, default=None)
        sizes = (0, 0, 0)
        if largest is not None:
            sizes = (largest.n_variables, largest.n_rows, largest.n_entries)
        return MIPDetails(
            journal.tree,
            self.adapter.version(),
            self.engine.formulation,
            *sizes,
            start=start,
            notes=(*self.notes(), *journal.notes),
        )


def _is_free(problem: Problem) -> bool:
    """Whether every node splits on all features and every leaf may be the rule."""
    structure = problem.structure
    return (
        all(structure.split)
        and set(structure.group) == {ALL}
        and set(structure.target_leaves) == set(structure.leaves)
    )


def paper_refuses(problem: Problem, scaling: str) -> str | None:
    """What the paper's formulation cannot say, or None."""
    table = problem.table
    if not problem.is_vi:
        return "the paper's model has VI as its objective; use formulation='path' for row gains"
    for feature, column in enumerate(table.columns):
        if feature in problem.forbidden:
            continue
        if column.has_missing:
            return (
                f"column {column.name!r} has missing values, and the paper's model sends every "
                "row to a leaf; drop those rows or use formulation='path'"
            )
        if feature in problem.subset_features and any(problem.subsets_of(feature)):
            return (
                f"'subsets' on feature {column.name!r} are conditions that the paper's model does "
                "not have; use formulation='path'"
            )
    for name, splits in zip(problem.structure.group, problem.structure.split, strict=True):
        if splits and not any(table.columns[f].n_values for f in problem.groups[name]):
            return f"the columns of group {name!r} have no values"
    return indistinct(problem, scaling)


def run(task: ModelTask, model: Model, journal: Journal, read: Read) -> SolverAnswer:
    """Solve one model within the budget, keeping the trace."""
    if reason := task.clock.stop(journal.nodes):
        return SolverAnswer(None, float("inf"), 0, reason)
    if task.clock.remaining() < task.adapter.STARTUP * model.n_entries:
        return SolverAnswer(
            None, float("inf"), 0, StopReason.TIME
        )  # it would begin after the limit
    listener = Listener(task.clock)
    settings = task.settings()
    if settings.nodes is not None:
        settings = replace(settings, nodes=settings.nodes - journal.nodes)
    try:
        loaded = task.adapter.load(model, settings, listener)
        task.clock.check()
    except LimitReached as stop:
        return SolverAnswer(None, float("inf"), 0, stop.reason)
    answer, journal.asked_to_stop = supervise(
        loaded, listener, lambda: journal.update(listener.take(), read)
    )
    journal.nodes += answer.nodes
    return answer


def accept(
    task: ModelTask,
    journal: Journal,
    rule: CodedRule | None,
    tree: SplitTree | None,
    claimed: float,
) -> None:
    """Keep the rule of a solver's best point, after a second look at it on the data.

    Raises
    ------
    EngineFailure
        When the solver claims more than the rule is worth, or the rule breaks a demand.
    """
    problem = task.problem
    true = 0.0 if rule is None else problem.value(problem.measure(rule).gain)
    # Integrality may be off by the solver's tolerance on both sides of several rows.
    if claimed > true + 10 * bounds.tolerance(problem):
        raise EngineFailure(
            f"{task.adapter.version()} claims a VI of {claimed:g} for a rule that is worth "
            f"{true:g} on the data; its tolerances do not suit this model."
        )
    if rule is not None and (why := problem.objection(rule)):
        if bounds.weights_resolvable(problem):
            raise EngineFailure(f"{task.adapter.version()} returned a rule, but {why}.")
        journal.notes.append(
            "a rule that misses a demand by less than the solver's tolerance was left out; "
            "round the row weights"
        )
    journal.incumbent(rule, tree, float("inf"))


def solve_paper(task: ModelTask) -> Outcome:
    """Solve the paper's model."""
    problem = task.problem
    journal = Journal(problem, task.clock, problem.ceiling)
    try:
        engine = task.engine
        model, made = paper.formulate(
            problem, engine.scaling, structured=engine.structured, clock=task.clock
        )
        task.clock.check()
    except LimitReached as stop:
        journal.incumbent(task.start.rule, task.start.tree, bound=float("inf"))
        return journal.outcome(float("inf"), stop.reason, task.details(journal, [], UNFINISHED))
    model, started = _with_start(task, model, made)

    def read(x: Floats) -> tuple[CodedRule | None, SplitTree]:
        tree = vectors.to_tree(made, x)
        return _covering(problem, tree.rule(problem)), tree

    if model.start is not None:
        journal.incumbent(*read(model.start), bound=float("inf"))
    answer = run(task, model, journal, read)
    if answer.x is not None:
        rule, tree = read(answer.x)
        accept(task, journal, rule, tree, model.value(answer.x))
    return journal.outcome(answer.bound, answer.stopped_by, task.details(journal, [model], started))


def _with_start(task: ModelTask, model: Model, made: paper.Formulation) -> tuple[Model, str]:
    """The model with its start, if that is feasible, and words about it."""
    start = task.start
    if not start.origin:
        return model, "none"
    if start.tree is None:
        return model, f"none: {start.reason}"
    x = vectors.to_vector(made, model, start.tree)
    violations = model.violations(x)
    worst = max(violations, key=lambda family: violations[family])
    if violations[worst] > START_TOLERANCE:
        start = replace(start, reason=f"it violates the constraint {worst!r}")
        if task.engine.warm_start is not True:
            warn_unusable(start)
        return model, f"none: {start.reason}"
    return replace(model, start=x), f"{start.origin}, VI {model.value(x):g}"


def path_parts(problem: Problem) -> list[tuple[int, Chain]]:
    """Class and chain of every path model, classes with most to gain first."""
    objective = problem.objective
    promise = {k: int(objective.gains(k).clip(min=0).sum()) for k in objective.labels}
    labels = sorted(objective.labels, key=lambda k: -promise[k])
    return [(label, chain) for label in labels for chain in problem.chains]


def solve_paths(task: ModelTask) -> Outcome:
    """Solve the path models one after the other, each to beat what is known by then."""
    problem, start = task.problem, task.start
    journal = Journal(problem, task.clock, problem.ceiling)
    started = f"none: {start.reason}" if start.reason else "none"
    if start.rule is not None:
        journal.incumbent(start.rule, None, bound=float("inf"))
        started = f"{start.origin}, VI {problem.value(problem.measure(start.rule).gain):g}"
    parts = path_parts(problem)
    ceilings = [int(problem.objective.gains(k).clip(min=0).sum()) for k, _ in parts]
    settled: list[int] = []  # upper bounds on the parts solved so far, in units
    models: list[Model] = []
    stopped = StopReason.FINISHED
    for at, (label, chain) in enumerate(parts):
        journal.pending = max([*settled, *ceilings[at + 1 :]], default=None)
        if journal.gain is not None and ceilings[at] <= journal.gain:
            continue  # even covering every gaining row would not beat the incumbent
        floor = _floor(problem, journal.gain)
        try:
            path = formulate_path(problem, chain, label, floor, task.clock)
        except LimitReached as stop:
            stopped = stop.reason
            settled += ceilings[at:]
            break
        if path is None:
            continue
        models.append(path.model)
        read = _reader(path)
        answer = run(task, path.model, journal, read)
        if answer.x is not None:
            accept(task, journal, *read(answer.x), path.model.value(answer.x))
        limit = answer.bound if floor is None else max(answer.bound, floor)
        if limit > -float("inf"):
            settled.append(min(ceilings[at], bounds.attainable(problem, limit)))
        if answer.stopped_by is not StopReason.FINISHED or journal.asked_to_stop:
            stopped = journal.asked_to_stop or answer.stopped_by
            settled += ceilings[at + 1 :]
            break
    bound = max(settled, default=None)
    if journal.rule is not None:
        journal.tree = SplitTree.around(problem, journal.rule)
    return journal.finish(bound, stopped, task.details(journal, models, started))


def _reader(path: Path) -> Read:
    return lambda x: (_covering(path.problem, path.rule(x)), None)


def _covering(problem: Problem, rule: CodedRule | None) -> CodedRule | None:
    """The rule, or None where it covers nothing: the empty rule, whatever its conditions."""
    return None if rule is None or not problem.measure(rule).covered else rule


def _floor(problem: Problem, gain: int | None) -> float | None:
    """The VI that the next rule must reach: half a unit more than the best so far."""
    if gain is None:
        return None
    half = float(problem.objective.unit) / 2 if bounds.resolvable(problem) else 0.0
    return problem.value(gain) + half
