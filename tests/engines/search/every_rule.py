"""All rules of a small problem in the documented order, from the slow twin."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from naive import Naive, Rows
from opdt.problem import CodedRule, Problem
from strategies import coded


class Listed(NamedTuple):
    """A rule, what it is worth, and the rows it covers."""

    rule: CodedRule
    value: Fraction
    covered: Fraction
    errors: Fraction
    rows: Rows

    @property
    def pattern(self) -> tuple[int, Rows]:
        return self.rule.label, self.rows


def every_rule(problem: Problem) -> list[Listed]:
    """Each rule worth telling once: of positive value, or any where the empty one is no answer."""
    twin = Naive(problem)
    found = {}
    for tests, rows in twin.rules():
        for label in twin.labels:
            value, covered, errors = twin.count(rows, label)
            if problem.may_be_empty and value <= 0:
                continue
            if twin.enough(covered, errors) and twin.allowed(short := twin.simplify(tests)):
                rule = CodedRule(tuple(coded(twin, test) for test in short), label)
                key = (-value, len(short), errors, *twin.order(short), label)
                found[key] = Listed(rule, value, covered, errors, rows)
    return [found[key] for key in sorted(found)]


def one_per_pattern(rules: Sequence[Listed]) -> list[Listed]:
    """The first rule of each class and set of rows."""
    firsts: dict[tuple[int, Rows], Listed] = {}
    for rule in rules:
        firsts.setdefault(rule.pattern, rule)
    return list(firsts.values())
