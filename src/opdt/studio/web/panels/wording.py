"""The rule's sentence in parts, and what to change where there is no rule."""

from __future__ import annotations

from opdt.report.formats import format_count
from opdt.report.rows import sentence as as_sentence
from opdt.report.text import THEN, THEN_CLASS
from opdt.rules import Rule
from opdt.solution import Status
from opdt.studio.best_in import BestIn, choice_of
from opdt.studio.limits import limits_of
from opdt.studio.outcome import RuleOutcome
from opdt.studio.work import Work
from opdt.verdict import Verdict, VerdictLevel

# Green is for a rule that the rows speak for; that it is proven the best does not make it true.
_TONES = {
    VerdictLevel.SUPPORTED: "good",
    VerdictLevel.WEAK: "open",
    VerdictLevel.NOT_SUPPORTED: "bad",
}
_AND = " and "


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
    then = THEN_CLASS if THEN_CLASS in sentence else THEN
    before, _, label = sentence.rpartition(then)
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
    status = outcome.solution.status
    if not status.is_proven:
        return "Search longer, or allow fewer conditions."
    if outcome.narrow:
        ways = [each.loosen for each in outcome.narrow]
        one = "this limit" if len(ways) == 1 else "any one of these limits"
        deeper = f"Or allow more than {_conditions(outcome.work.max_depth)}."
        return f"{_either(ways)} Without {one} there is a rule. {deeper}"
    return _worth_more(outcome.work) if status is Status.NO_PATTERN else _relax(outcome.work)


def _worth_more(work: Work) -> str:
    """What makes rules worth something where none is."""
    deeper = f"allow more than {_conditions(work.max_depth)}"
    best_in = work.objective
    if best_in == "vi":
        price = format_count(work.w)
        return f"An error costs {price} rows. Make it cheaper in the trade-off, or {deeper}."
    ways = {
        "money": "lower the cost, raise the benefit",
        "mean": f"choose a {'lower' if _is_high(best_in) else 'higher'} threshold",
        "uplift": "lower the cost of treating",
        "survival": f"choose a {'smaller' if _is_high(best_in) else 'larger'} ratio",
    }
    way = ways.get(choice_of(best_in))
    return _either([deeper] if way is None else [way, deeper])


def _is_high(best_in: BestIn) -> bool:
    return getattr(best_in, "direction", "high") == "high"


def _relax(work: Work) -> str:
    """The demands that could give way."""
    ways = [each.loosen for each in limits_of(work)]
    if work.required:
        ways.append("require fewer features")
    if work.forbidden:
        ways.append("forbid fewer features")
    if work.directions:
        ways.append("give up a direction")
    return _either([*ways, f"allow more than {_conditions(work.max_depth)}"])


def _either(ways: list[str]) -> str:
    text = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])}, or {ways[-1]}"
    return text[:1].upper() + text[1:] + "."


def _conditions(depth: int) -> str:
    return "one condition" if depth == 1 else f"{depth} conditions"
