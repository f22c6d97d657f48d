"""One sentence that says what may be claimed about a rule, and one that says what may not."""

from __future__ import annotations

from dataclasses import dataclass

from opdt.analysis.intervals import HoldoutReport
from opdt.analysis.permutation import PermutationTest
from opdt.errors import InputError
from opdt.objectives import Estimate, Objective, TargetKind, words_of
from opdt.rules import Rule
from opdt.solution import Solution, Status, StopReason
from opdt.verdict import Verdict, format_p_value, judge


@dataclass(frozen=True)
class Claim:
    """What the evidence allows to say about a rule.

    Attributes
    ----------
    may : str
        One sentence that the evidence supports.
    may_not : str
        One sentence on what it does not support.
    verdict : Verdict or None
        All of it in one word, with the reason and what to do next; None without a rule.
    """

    may: str
    may_not: str
    verdict: Verdict | None = None

    def __str__(self) -> str:
        return f"{self.may}\n{self.may_not}"


def claim(
    solution: Solution | None = None,
    *,
    test: PermutationTest | None = None,
    holdout: HoldoutReport | Estimate | None = None,
) -> Claim:
    """What may be claimed about the rule of a solution, and what may not.

    Parameters
    ----------
    solution : Solution, optional
        The rule and what is proven about it; that of `test` if left out.
    test : PermutationTest, optional
        Whether a rule as good is found by chance.
    holdout : HoldoutReport or Estimate, optional
        What the rule does on rows that had no part in finding it.

    Returns
    -------
    Claim

    Examples
    --------
    >>> from opdt import discover
    >>> solution = discover({"age": [25, 31, 47, 52]}, ["well", "well", "ill", "ill"], max_depth=1)
    >>> print(claim(solution).may)
    No rule of the kind searched has a larger VI on these rows than “IF age >= 40 THEN ill”.
    """
    if solution is None:
        if test is None:
            raise InputError("'solution' or 'test' must be given; a claim is about a rule.")
        solution = test.solution
    elif test is not None and (test.solution.rule, test.value) != (solution.rule, solution.value):
        raise InputError("'test' is about another rule than 'solution'; test the same search.")
    if solution.rule is None:
        return _without_rule(solution)
    if isinstance(solution.objective, Objective) or isinstance(holdout, Estimate):
        fresh = f"on held-out rows: {holdout.said}" if isinstance(holdout, Estimate) else ""
        new = holdout is not None
        missing = _open_questions(solution, test, new=new)
    else:
        fresh = _new_rows(solution.rule, holdout)
        missing = _may_not(solution, test, holdout)
    parts = [_rank(solution, solution.rule), _chance(solution, test), fresh]
    may = "; ".join(part for part in parts if part) + "."
    verdict = judge(solution.evidence, held_out=holdout, test=test)
    return Claim(may, missing, verdict)


def _without_rule(solution: Solution) -> Claim:
    if solution.status is Status.NO_PATTERN:
        may = "No rule of the kind searched gains more than its errors cost on these rows."
    elif solution.status is Status.INFEASIBLE:
        may = "No rule of the kind searched meets the constraints on these rows."
    else:
        may = "The search ended before it found a rule, so nothing may be claimed."
    return Claim(
        may,
        "This does not show that features and classes are unrelated: other structures, prices "
        "of an error or more rows may show a pattern.",
    )


def _rank(solution: Solution, rule: Rule) -> str:
    """What is proven about the rule's place among all rules."""
    words = words_of(solution.objective)
    if solution.status is Status.OPTIMAL:
        return f"No rule of the kind searched has {words.more} on these rows than “{rule}”"
    if solution.bound == float("inf"):
        return f"“{rule}” is the best rule that was found, without any proof"
    return (
        f"“{rule}” is the best rule that was found, and no rule of the kind searched has "
        f"{words.some} more than {words.show_gap(solution.gap)} above it on these rows"
    )


def _chance(solution: Solution, test: PermutationTest | None) -> str:
    """What the permutation test says."""
    if test is None:
        return ""
    objective = solution.objective
    own = isinstance(objective, Objective) and objective.target is not TargetKind.CLASSES
    dealt = "what rows are worth is" if own else "the classes are"
    what = "what a row is worth" if own else "the class"
    where = " within the strata" if test.n_strata > 1 else ""
    p_value = f"p = {format_p_value(test.p_value)}"
    if not test.is_significant:
        return (
            f"but a rule as good is not rare when {dealt} shuffled{where} ({p_value}), so "
            "these rows alone are no evidence of a pattern"
        )
    kind = "the whole search repeated"
    return (
        f"when {dealt} shuffled{where} a rule as good is rare ({p_value}, {kind} "
        f"{test.n_done:,} times), which is evidence that the features tell something about "
        f"{what}"
    )


def _new_rows(rule: Rule, holdout: HoldoutReport | None) -> str:
    """What the held-out rows say."""
    if holdout is None:
        return ""
    if not holdout.covered:
        return f"on {holdout.n_rows:,} held-out rows the rule never fired"
    low, high = holdout.precision_interval
    text = (
        f"on {holdout.n_rows:,} held-out rows it fired {holdout.covered:,} times and was right "
        f"{holdout.correct:,} times, a precision of {holdout.precision:.1%} ({holdout.level:.0%} "
        f"interval {low:.1%} to {high:.1%}) where {holdout.base_rate:.1%} of the rows are "
        f"{rule.label}"
    )
    if holdout.p_value > 1 - holdout.level:
        text += f", which may be chance (p = {format_p_value(holdout.p_value)})"
    return text


def _open_questions(solution: Solution, test: PermutationTest | None, *, new: bool) -> str:
    """What stays open for an objective that says what rows are worth."""
    gaps = ["the same where rows come from elsewhere or later"]
    if not new:
        words = words_of(solution.objective)
        value = words.show(solution.value)
        gaps = [f"that the {words.name} of {value} on the rows it was chosen on holds for new rows"]
    if test is None:
        gaps.append("that the pattern is more than chance")
    else:
        significant = test.is_significant
        gaps.append("that each condition is needed" if significant else "that there is no pattern")
    gaps.append("that the features cause what the rows are worth")
    return f"Not shown: {', '.join(gaps[:-1])}, or {gaps[-1]}."


def _may_not(
    solution: Solution, test: PermutationTest | None, holdout: HoldoutReport | None
) -> str:
    """What stays open, most important first."""
    gaps = []
    if holdout is None:
        gaps.append(
            f"that {solution.precision:.1%}, the precision on the rows that the rule was chosen "
            "on, holds for new rows"
        )
    elif not holdout.covered:
        gaps.append("any precision on new rows")
    else:
        gaps.append("the same precision where rows come from elsewhere or later")
    if test is None:
        gaps.append("that the pattern is more than chance")
    elif test.is_significant:
        gaps.append("that each condition or threshold is needed")
    else:
        gaps.append("that there is no pattern")
    if test is not None and test.stopped_by is not StopReason.FINISHED:
        gaps.append(
            f"a sharper p-value than {test.n_done:,} of {test.n_permutations:,} permutations give"
        )
    gaps.append("that the features cause the class")
    return f"Not shown: {', '.join(gaps[:-1])}, or {gaps[-1]}."
