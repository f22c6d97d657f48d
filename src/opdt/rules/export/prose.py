"""Rules for people: plain English, Markdown and LaTeX."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from opdt.rules.condition import Condition, Op, format_date, format_value
from opdt.rules.export.cases import Cases, Form, format_label
from opdt.rules.rule import Rule

_PLAIN_NAME = re.compile(r"\w[\w .()/%-]*")
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": "{-}",  # two of them would be drawn as a dash
}
_LATEX_OPS = {
    Op.GE: r"$\ge$",
    Op.LT: r"$<$",
    Op.EQ: r"$=$",
    Op.NE: r"$\ne$",
    Op.IN: r"$\in$",
}


# -- English -------------------------------------------------------------------------------------


def english(cases: Cases, then: str | None = None) -> str:
    """One sentence for each rule and one for the default, on lines of their own.

    `then` says what follows for covered rows; without it, their class.
    """

    def follows(label: Any) -> str:
        return f"the class is {_class(label)}" if then is None else then

    if cases.form is Form.SET and cases.rules:
        bodies = [_body(rule) for rule in cases.rules]
        sentences = [f"If {', or if '.join(bodies)}, then {follows(cases.labels[0])}."]
    else:
        sentences = [f"If {_body(rule)}, then {follows(rule.label)}." for rule in cases.rules]
        sentences = [
            *sentences[:1],
            *(f"Otherwise, {sentence[0].lower()}{sentence[1:]}" for sentence in sentences[1:]),
        ]
    if cases.default is not None:
        start = "Otherwise the class is" if cases.rules else "The class is"
        sentences.append(f"{start} {_class(cases.default)}.")
    return "\n".join(sentences)


def condition_in_words(condition: Condition) -> str:
    """One condition in words: `age is at least 40`."""
    return f"{_name(condition.subject)} {_predicate(condition)}"


def name_in_words(name: str) -> str:
    """The name of a column, in quotes where it would not read as one."""
    return _name(name)


def _body(rule: Rule) -> str:
    """The conditions in words, those of one feature together."""
    parts = []
    for feature in rule.features:
        conditions = [c for c in rule.conditions if c.feature == feature]
        conditions.sort(key=lambda c: c.op is Op.LT)  # from the lower limit to the upper one
        words = [_predicate(c) for c in conditions]
        words = [words[0], *(word.removeprefix("is ") for word in words[1:])]
        parts.append(f"{_name(conditions[0].subject)} {' and '.join(words)}")
    return " and ".join(parts) or "the row is any row"


def _predicate(condition: Condition) -> str:
    op, value = condition.op, condition.shown
    if op is Op.MISSING:
        return "is missing"
    if op is Op.PRESENT:
        return "is known"
    if op is Op.IN:
        return f"is one of {', '.join(_value(level, condition.zone) for level in _sorted(value))}"
    is_date, text = isinstance(value, np.datetime64), _value(value, condition.zone)
    if op is Op.GE:
        return f"is on or after {text}" if is_date else f"is at least {text}"
    if op is Op.LT:
        return f"is before {text}" if is_date else f"is below {text}"
    return f"is {text}" if op is Op.EQ else f"is known and not {text}"


def _sorted(levels: frozenset[Any]) -> list[Any]:
    return sorted(levels, key=lambda level: (type(level).__name__, level))


def _value(value: Any, zone: str = "") -> str:
    if isinstance(value, np.datetime64):
        return format_date(value, zone) if zone else format_date(value).replace("T", " ")
    return f"“{_visible(value)}”" if isinstance(value, str) else format_value(value)


def _name(name: str) -> str:
    """A name as it is, in quotes where it would not read as one."""
    return name if _PLAIN_NAME.fullmatch(name) and not name.endswith(" ") else f"“{_visible(name)}”"


def _class(label: Any) -> str:
    return _name(label) if isinstance(label, str) else format_label(label)


def _visible(text: str) -> str:
    """The text with line breaks and other characters that cannot be seen written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


# -- Markdown ------------------------------------------------------------------------------------


def markdown(cases: Cases) -> str:
    """The rule in one line; a rule list as a numbered list, a rule set as a list of its rules."""
    if cases.form is Form.RULE:
        (rule,) = cases.rules
        return f"**IF** {_spans(rule)} **THEN** {_span(format_label(rule.label))}"
    default = _span(format_label(cases.default)) if cases.default is not None else "no class"
    if cases.form is Form.LIST:
        lines = [
            f"**IF** {_spans(rule)} **THEN** {_span(format_label(rule.label))}"
            for rule in cases.rules
        ]
        lines = [*lines[:1], *(f"**ELSE** {line}" for line in lines[1:])]
        lines.append(f"**ELSE** {default}" if lines else default)
        return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    if not cases.rules:
        return f"**ALWAYS** {default}"
    rules = "\n".join(f"- {_spans(rule)}" for rule in cases.rules)
    label = _span(format_label(cases.rules[0].label))
    return f"**IF** any of\n\n{rules}\n\n**THEN** {label} **ELSE** {default}"


def _spans(rule: Rule) -> str:
    return " **AND** ".join(_span(str(c)) for c in rule.conditions) or "any row"


def _span(text: str) -> str:
    """A code span, in which nothing is markup; its fence is longer than any run of backticks."""
    text = _visible(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if not text.strip() or text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


# -- LaTeX ---------------------------------------------------------------------------------------


def latex(cases: Cases) -> str:
    """A `tabular` with one condition on each line; it needs no package but `textcomp`."""
    rows: list[tuple[str, str]] = []
    if cases.form is Form.SET and cases.rules:
        for number, rule in enumerate(cases.rules):
            body = r" \textbf{and} ".join(map(_latex_condition, rule.conditions)) or "any row"
            rows.append(("or" if number else "if", body))
        rows.append(("then", _latex(format_label(cases.rules[0].label))))
    else:
        for number, rule in enumerate(cases.rules):
            texts = [_latex_condition(c) for c in rule.conditions] or ["any row"]
            words = ["else if" if number else "if", *["and"] * (len(texts) - 1)]
            rows += [*zip(words, texts, strict=True), ("then", _latex(format_label(rule.label)))]
    if cases.default is not None:
        rows.append(("else" if rows else "always", _latex(format_label(cases.default))))
    lines = [f"\\textbf{{{word}}} & {text} \\\\" for word, text in rows]
    return "\n".join([r"\begin{tabular}{@{}ll@{}}", *lines, r"\end{tabular}"])


def _latex_condition(condition: Condition) -> str:
    name, op, value = _latex(condition.subject), condition.op, condition.shown
    if not op.needs_value:
        return f"{name} {op}"
    if op is Op.IN:
        levels = ", ".join(_latex_value(level, condition.zone) for level in _sorted(value))
        return rf"{name} {_LATEX_OPS[op]} \{{{levels}\}}"
    return f"{name} {_LATEX_OPS[op]} {_latex_value(value, condition.zone)}"


def _latex_value(value: Any, zone: str = "") -> str:
    if isinstance(value, str):
        return f"`{_latex(value)}'"
    return f"${format_value(value)}$" if _is_number(value) else _latex(_value(value, zone))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _visible(text))
