"""The report of a rule list or a rule set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.intervals import share_interval
from opdt.report.formats import format_count, format_share
from opdt.report.parts import asked, exports_of
from opdt.report.rows import TEST, TRAIN, Rows, data_of, made_by, sentence
from opdt.rules import RuleList, RuleSet
from opdt.solution import Status
from opdt.table import Table

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
    parts: Sequence[Rows],
    title: str | None,
) -> dict[str, Any]:
    """The values of the page."""
    proof, proven = _proof(model, rules)
    settings = model.get_params(deep=False)
    made = made_by()
    shown = [(part, rules.predict(part.source).tolist()) for part in reversed(parts)]
    return {
        "title": title or "A few rules, and what is proven about them",
        "rule": False,
        "no_rule": _heading(rules),
        "proof": sentence(proof),
        "proven": proven,
        "verdict": None,
        **made,
        "versions": made["versions"] + ".",
        "several": {
            "lines": str(rules).splitlines(),
            "english": rules.to_english().splitlines(),
            "cards": [_card(part, predicted) for part, predicted in shown],
            "counted": _counted(rules),
            "tables": [_rules_table(rules, part) for part, _ in shown],
            "confusion": [_confusion(part, predicted, table) for part, predicted in shown],
        },
        "has_test": len(parts) > 1,
        "not_claims": NOT_CLAIMED,
        **data_of(table),
        "settings": asked(settings, None),
        "structure": None if settings.get("structure") is None else str(settings["structure"]),
        "path": None,
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
        loss, bound = format_count(found.loss), format_count(found.bound)
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


def _card(part: Rows, predicted: list[Any]) -> dict[str, str]:
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


def _rules_table(rules: RuleList | RuleSet, part: Rows) -> dict[str, Any]:
    """A line for each rule, and one for the rows on which none fires."""
    fires = [rule.covers(part.source) for rule in rules.rules]
    nowhere = np.ones(part.source.n_rows, dtype=bool)
    lines = []
    for rule, rows in zip(rules.rules, fires, strict=True):
        mine = rows & nowhere if isinstance(rules, RuleList) else rows
        nowhere &= ~rows
        lines.append(_line(str(rule), mine, part.of_class(rule.label)))
    if rules.default is not None:
        lines.append(
            _line(f"all other rows: {rules.default}", nowhere, part.of_class(rules.default))
        )
    return {"on": ON[part.on], "lines": lines}


def _line(words: str, rows: NDArray[np.bool_], is_class: NDArray[np.bool_]) -> dict[str, str]:
    n, k = int(rows.sum()), int((rows & is_class).sum())
    return {
        "rule": words,
        "rows": f"{n:,}",
        "errors": f"{n - k:,}",
        "precision": format_share(k / n if n else float("nan")),
    }


def _confusion(part: Rows, predicted: list[Any], table: Table) -> dict[str, Any]:
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
