"""The rule's sentence in parts, and what to change where there is no rule."""

from __future__ import annotations

from opdt.report.formats import format_count, format_share
from opdt.report.rows import sentence as as_sentence
from opdt.rules import Rule
from opdt.solution import Status
from opdt.studio.outcome import RuleOutcome
from opdt.studio.work import Work
from opdt.verdict import Verdict, VerdictLevel

# Green is for a rule that the rows speak for; that it is proven the best does not make it true.
_TONES = {
    VerdictLevel.SUPPORTED: "good",
    VerdictLevel.WEAK: "open",
    VerdictLevel.NOT_SUPPORTED: "bad",
}
_AND, _THEN = " and ", ", then the class is "


def judged(verdict: Verdict | None) -> dict[str, str] | None:
    """A verdict for the page: its level and colour, the reason and the cure."""
    if verdict is None:
        return None
    return {
        "tone": _TONES[verdict.level],
        "level": str(verdict.level).capitalize(),
        "reason": as_sentence(verdict.reason),
        "cure": verdict.cure,
    }


def sentence_parts(outcome: RuleOutcome) -> list[tuple[str, str]]:
    """The sentence in parts that follow each other without a gap, each with its kind.

    Kinds are "word" (If, and, then), "name" (of a feature), "test" (what is asked of it), "class",
    and "plain" for a sentence that is no rule.
    """
    if outcome.rule is None:
        return [("plain", outcome.sentence)]
    return rule_parts(outcome.sentence, outcome.rule)


def rule_parts(sentence: str, rule: Rule) -> list[tuple[str, str]]:
    """The parts of a rule's sentence; where a name cannot be told apart, it stays in a test."""
    before, then, label = sentence.rpartition(_THEN)
    if not before:
        return [("plain", sentence)]
    starts = _starts(before, rule)
    parts = [("word", before[: starts[0][0]])] if starts else [("test", before)]
    ends = [*(start for start, _ in starts[1:]), len(before)]
    for (start, length), end in zip(starts, ends, strict=False):
        name, rest = before[start : start + length], before[start + length : end]
        test = rest.removesuffix(_AND) if end < len(before) else rest
        parts += [("name", name), ("test", test), ("word", rest[len(test) :])]
    parts += [("word", then), ("class", label.removesuffix(".")), ("word", ".")]
    return [(kind, text) for kind, text in parts if text]


def _starts(before: str, rule: Rule) -> list[tuple[int, int]]:
    """Where in a sentence the names of the features begin, and how long they are."""
    starts: list[tuple[int, int]] = []
    end = 0
    for feature in rule.features:
        found = [
            (at + len(word), len(shown))
            for word in ("If ", _AND)
            for shown in (feature, f"“{feature}”")
            if (at := before.find(f"{word}{shown} is ", end)) >= 0
        ]
        if found:
            starts.append(min(found))
            end = sum(starts[-1])
    return starts


def advice(outcome: RuleOutcome) -> str | None:
    """What to change where there is no rule; None where there is one."""
    if outcome.rule is not None:
        return None
    status, work = outcome.solution.status, outcome.work
    if status is Status.NO_PATTERN:
        return (
            f"An error costs {format_count(work.w)} rows. Make it cheaper in the trade-off, or "
            f"allow more than {_conditions(work.max_depth)}."
        )
    if status is Status.INFEASIBLE:
        return _relax(work)
    return "Search longer, or allow fewer conditions."


def _relax(work: Work) -> str:
    """The demands that could give way."""
    ways = []
    if work.min_precision:
        ways.append(f"ask for less precision than {format_share(work.min_precision)}")
    if work.min_coverage:
        ways.append(f"ask for less coverage than {_amount(work.min_coverage)}")
    if work.max_errors is not None:
        ways.append(f"allow more than {format_count(work.max_errors)} errors")
    if work.required:
        ways.append("require fewer features")
    if work.forbidden:
        ways.append("forbid fewer features")
    if work.directions:
        ways.append("give up a direction")
    ways.append(f"allow more than {_conditions(work.max_depth)}")
    text = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])}, or {ways[-1]}"
    return text[:1].upper() + text[1:] + "."


def _amount(coverage: float) -> str:
    if isinstance(coverage, int):
        return f"{coverage:,} rows"
    return format_share(coverage)


def _conditions(depth: int) -> str:
    return "one condition" if depth == 1 else f"{depth} conditions"
