"""The slow twin of the checker: whether a certificate's claim is true, by trying every rule.

It reads the certificate's own description of the problem, so that it can judge certificates that
were changed. Nothing here is shared with `opdt.verify`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

RIGHT, LEFT = {">=", "==", "in", "is missing"}, {"<", "!=", "in", "is present"}


class Oracle:
    """Every rule of a certificate's problem on some rows."""

    def __init__(self, certificate: dict[str, Any], cells: dict[str, Any], units: Any) -> None:
        self.claim, self.problem = certificate["claim"], certificate["problem"]
        self.cells = [list(cells[of["name"]]) for of in self.problem["features"]]
        self.labels = [str(cell) for cell in cells[self.problem["target"]]]
        n_rows = len(self.labels)
        self.units = np.ones(n_rows, int) if units is None else np.array(units, int)
        self.w = Fraction(self.problem["w"])

    def is_true(self) -> bool:
        """Whether no rule exceeds the bound, and the rule is one of them and does what is said."""
        rules = {}
        for chain in self._chains():
            for conditions in product(*chain):
                if self._fits([c for c in conditions if c is not None]):
                    covered = np.ones(len(self.labels), bool)
                    for condition in conditions:
                        if condition is not None:
                            covered &= condition[-1]
                    rules[covered.tobytes()] = covered
        bound = self.claim["bound"]
        for label in sorted(set(self.labels)):
            if self.problem["label"] not in (None, label):
                continue
            for covered in rules.values():
                worth = self._worth(covered, label)
                if worth is not None and (bound is None or worth > bound):
                    return False
        return self.claim["rule"] is None or self._rule_is_true(rules)

    def _rule_is_true(self, rules: dict[bytes, Any]) -> bool:
        rule = self.claim["rule"]
        names = [of["name"] for of in self.problem["features"]]
        covered = np.ones(len(self.labels), bool)
        for of in rule["conditions"]:
            covered &= self._holds(names.index(of["feature"]), of["op"], of["value"])
        wrong = np.array([label != rule["label"] for label in self.labels])
        counted = [int(self.units[covered].sum()), int(self.units[covered & wrong].sum())]
        asked = self.problem["label"] in (None, rule["label"]) and rule["label"] in self.labels
        return (
            asked
            and covered.tobytes() in rules
            and counted == [self.claim["covered"], self.claim["errors"]]
            and self._worth(covered, rule["label"]) == self.claim["value"]
        )

    def _worth(self, covered: Any, label: str) -> int | None:
        """What a rule is worth in units; None if it breaks a limit."""
        wrong = np.array([other != label for other in self.labels])
        rows, errors = int(self.units[covered].sum()), int(self.units[covered & wrong].sum())
        limits = self.problem["limits"]
        most = [(rows, limits["max_covered"]), (errors, limits["max_errors"])]
        if rows < limits["min_covered"] or any(m is not None and n > m for n, m in most):
            return None
        if rows - errors < Fraction(limits["min_precision"]) * rows:
            return None
        return int(rows * self.w.denominator - errors * self.w.numerator)

    def _chains(self) -> list[list[list[Any]]]:
        tree, chains = self.problem["structure"], []
        n_leaves = len(tree["target"])
        for leaf in range(n_leaves, 2 * n_leaves):
            if not tree["target"][leaf - n_leaves]:
                continue
            chain, node = [], leaf
            while node > 1:
                right, node = node % 2 == 1, node // 2
                if tree["split"][node - 1]:
                    chain.append(self._choices(tree["group"][node - 1], right))
            chains.append(chain)
        return chains

    def _choices(self, group: str, right: bool) -> list[Any]:
        """Conditions (feature, op, value, rows) that a node may apply, or None for nothing."""
        features = self.problem["features"]
        of = range(len(features)) if group == "all" else self.problem["groups"][group]
        forced = group != "all" and all(features[f]["kind"] == "level" for f in of)
        out: list[Any] = [None] if right and not forced else []
        for feature in of:
            for op, value in self._conditions(feature):
                if op in (RIGHT if right else LEFT):
                    out.append((feature, op, value, self._holds(feature, op, value)))
        return out

    def _conditions(self, feature: int) -> list[tuple[str, Any]]:
        problem, key = self.problem, str(feature)
        if feature in problem["forbidden"]:
            return []
        known = [cell for cell in self.cells[feature] if not gone(cell)]
        out: list[tuple[str, Any]] = []
        if problem["features"][feature]["kind"] == "level":
            values = sorted({text(cell) for cell in known})
            ops = ["==", "!="]
            out += [(op, value) for op in ops for value in values]
            held = problem["subsets"].get(key)
            if held is not None and key not in problem["directions"]:
                sizes = range(2, min(len(held), len(values) - 2) + 1)
                out += [("in", some) for size in sizes for some in combinations(held, size)]
        else:
            values = sorted(set(known))
            out += [(op, value) for op in (">=", "<") for value in values[1:]]
        if key in problem["directions"]:
            out = [each for each in out if each[0] == problem["directions"][key]]
        if problem["missing_conditions"] and len(known) < len(self.cells[feature]):
            out += [("is missing", None), ("is present", None)]
        return out

    def _holds(self, feature: int, op: str, value: Any) -> Any:
        if isinstance(value, str) and op in (">=", "<"):
            value = np.datetime64(value)
        return np.array([holds(cell, op, value) for cell in self.cells[feature]], bool)

    def _fits(self, conditions: list[Any]) -> bool:
        used = [c[0] for c in conditions]
        if not set(self.problem["required"]) <= set(used):
            return False
        if not self.problem["once"]:
            return True
        return all(is_one([c for c in conditions if c[0] == feature]) for feature in set(used))


def is_one(conditions: list[Any]) -> bool:
    """Whether conditions on one feature come to a single one."""
    ops = {op for _, op, *_ in conditions}
    if ops >= {">=", "<"}:
        return False
    excluded = {value for _, op, value, *_ in conditions if op == "!="}
    return len(excluded) <= 1 or bool(ops & {"==", "in"})


def holds(cell: Any, op: str, value: Any) -> bool:
    if gone(cell):
        return op == "is missing"
    if op in ("is missing", "is present"):
        return op == "is present"
    if op in (">=", "<"):
        return bool(cell >= value) == (op == ">=")
    if op == "in":
        return text(cell) in value
    return (text(cell) == value) == (op == "==")


def gone(cell: Any) -> bool:
    return cell is None or bool(cell != cell)


def text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
