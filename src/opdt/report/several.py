"""The report of a rule list or a rule set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.intervals import share_interval
from opdt.counts import RuleCounts
from opdt.report.formats import format_count, format_lift, format_share
from opdt.report.parts import asked, exports_of
from opdt.report.rows import TEST, TRAIN, ReportRows, data_of, made_by, sentence
from opdt.rules import RuleList, RuleSet
from opdt.rules.counting import count_masks
from opdt.solution import Status
from opdt.table import Table
from opdt.verdict import SAME_ROWS, Evidence, Verdict, judge

ON = {TRAIN: "rows they were found on", TEST: "rows they have not seen"}
NOT_CLAIMED = (
    "That an accuracy on the rows the rules were found on holds on others.",
    "That each rule is good alone: the rules of one page are there for each other.",
    "That the last line, the class of all other rows, is a finding. It is what is left.",
    "That changing what a rule mentions would change the outcome.",
)


def rules_of(model: Any) -> RuleList | RuleSet | None:
    """The rules of a fitted OPDTRuleList or OPDTRuleSet; None for all other models."""
    for name in ("rule_list_", "rule_set_"):
        found = getattr(model, name, None)
        if isinstance(found, RuleList | RuleSet):
            return found
    return None


def several_context(
    model: Any,
    rules: RuleList | RuleSet,
    table: Table,
    parts: Sequence[ReportRows],
    title: str | None,
) -> dict[str, Any]:
    """The values of the page."""
    proof, proven = _proof(model, rules)
    settings = model.get_params(deep=False)
    made = made_by()
    shown = [(part, rules.predict(part.source).tolist()) for part in reversed(parts)]
    verdict = _verdict(model, rules, parts)
    return {
        "title": title or "A few rules, and what is proven about them",
        "rule": False,
        "no_rule": _heading(rules),
        "proof": sentence(proof),
        "proven": proven,
        "verdict": None if verdict is None else verdict.to_dict(),
        **made,
        "versions": made["versions"] + ".",
        "several": {
            "lines": str(rules).splitlines(),
            "english": rules.to_english().splitlines(),
            "cards": [_card(part, predicted) for part, predicted in shown],
            "counted": _counted(rules),
            "judged": SAME_ROWS,
            "tables": [_rules_table(rules, part, _evidence(model)) for part, _ in shown],
            "confusion": [_confusion(part, predicted, table) for part, predicted in shown],
        },
        "has_test": len(parts) > 1,
        "not_claims": NOT_CLAIMED,
        **data_of(table),
        "settings": asked(settings, None),
        "structure": None if settings.get("structure") is None else str(settings["structure"]),
        "path": None,
        "verified": None,
        "exports": exports_of(rules),
    }


def _heading(rules: RuleList | RuleSet) -> str:
    n = f"{len(rules)} rule{'s' * (len(rules) != 1)}"
    if isinstance(rules, RuleSet):
        return f"A set of {n} for {rules.label}"
    return f"A list of {n}, of which the first that fires decides"


def _proof(model: Any, rules: RuleList | RuleSet) -> tuple[str, bool]:
    if isinstance(rules, RuleSet):
        found = model.solution_
        loss, bound = format_count(found.value), format_count(found.bound)
        if found.status is Status.OPTIMAL:
            return f"proven: no set of such rules has a smaller loss than {loss}", True
        return f"loss {loss}; no set of such rules is below {bound}", False
    open_ends = sum(step.solution.status is not Status.OPTIMAL for step in model.steps_)
    if open_ends:
        return f"{open_ends} of the {len(rules)} rules are not proven to be the best", False
    return (
        "each rule is proven to be the best on the rows that the rules before it leave; "
        "that the list is the best list is not",
        True,
    )


def _card(part: ReportRows, predicted: list[Any]) -> dict[str, str]:
    n = len(predicted)
    k = sum(said == label for said, label in zip(predicted, part.labels, strict=True))
    low, high = share_interval(k, n)
    return {
        "on": ON[part.on],
        "value": format_share(k / n),
        "detail": f"{k:,} of {n:,} rows; 95 % interval {format_share(low)} to {format_share(high)}",
    }


def _counted(rules: RuleList | RuleSet) -> str:
    if isinstance(rules, RuleList):
        return "Rows count for the first rule that fires on them."
    return "Rows count for every rule that fires on them."


def _evidence(model: Any) -> tuple[Evidence | None, ...]:
    """What the rows that the rules were found on say about each of them."""
    if hasattr(model, "steps_"):
        return tuple(step.evidence for step in model.steps_)
    return tuple(model.solution_.of_rules)


def _verdict(model: Any, rules: RuleList | RuleSet, parts: Sequence[ReportRows]) -> Verdict | None:
    """On a set as a whole; a list is judged rule by rule."""
    if isinstance(rules, RuleList) or not rules.rules:
        return None
    held = None
    if len(parts) > 1:
        fires, everything = rules.covers(parts[1].source), np.ones(parts[1].source.n_rows, bool)
        held = _counts(fires, everything, parts[1].of_class(rules.label))
    return judge(model.solution_.evidence, held_out=held)


def _counts(
    rows: NDArray[np.bool_], among: NDArray[np.bool_], is_class: NDArray[np.bool_]
) -> RuleCounts:
    return count_masks(rows[among], is_class[among])


def _rules_table(
    rules: RuleList | RuleSet, part: ReportRows, evidence: Sequence[Evidence | None]
) -> dict[str, Any]:
    """A line for each rule, and one for the rows on which none fires.

    A rule of a list is compared with the rows that the rules before it leave.
    """
    nowhere = np.ones(part.source.n_rows, dtype=bool)
    lines = []
    for rule, known in zip(rules.rules, evidence, strict=True):
        rows, among = rule.covers(part.source), np.ones_like(nowhere)
        if isinstance(rules, RuleList):
            rows, among = rows & nowhere, nowhere.copy()
        nowhere &= ~rows
        counts = _counts(rows, among, part.of_class(rule.label))
        verdict = judge(known, held_out=counts if part.on == TEST else None)
        lines.append(_line(str(rule), counts) | {"verdict": verdict.to_dict()})
    if rules.default is not None:
        everything = np.ones_like(nowhere)
        counts = _counts(nowhere, everything, part.of_class(rules.default))
        lines.append(_line(f"all other rows: {rules.default}", counts) | {"verdict": None})
    return {"on": ON[part.on], "lines": lines}


def _line(words: str, counts: RuleCounts) -> dict[str, Any]:
    n, k = counts.covered, counts.correct
    share = k / n if n else float("nan")
    return {
        "rule": words,
        "rows": f"{n:,}",
        "errors": f"{n - k:,}",
        "precision": format_share(share),
        "lift": format_lift(share * counts.n_rows / counts.n_class if counts.n_class else 0.0),
    }


def _confusion(part: ReportRows, predicted: list[Any], table: Table) -> dict[str, Any]:
    classes = table.classes.tolist()
    said = {each: i for i, each in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    for answer, label in zip(predicted, part.labels, strict=True):
        if answer in said and label in said:
            counts[said[label], said[answer]] += 1
    return {
        "on": ON[part.on],
        "classes": [str(each) for each in classes],
        "lines": [
            (str(each), [(f"{n:,}", i != j) for j, n in enumerate(row)])
            for i, (each, row) in enumerate(zip(classes, counts.tolist(), strict=True))
        ],
    }
