"""The parts of a report that call on the rest of the library: claims, pictures, other prices."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from opdt.errors import InputError
from opdt.problem import Constraints
from opdt.problem.arguments import resolve_demands
from opdt.report.formats import format_count, format_lift, format_share
from opdt.rules import Rule, RuleList, RuleSet
from opdt.solution import Solution
from opdt.table import Source, Table

if TYPE_CHECKING:
    from pathlib import Path

    from opdt.analysis.path import Segment
    from opdt.analysis.permutation import PermutationTest
    from opdt.certificates import Certificate
    from opdt.report.report import Subject
    from opdt.report.rows import ReportRows

SEARCH = ("max_depth", "structure", "groups", "label", "constraints", "engine")
DEMANDS = ("constraints", "min_coverage", "min_precision", "max_coverage")
SQL_DIALECTS = {
    "postgres": "PostgreSQL",
    "duckdb": "DuckDB",
    "sqlite": "SQLite",
    "mysql": "MySQL",
    "tsql": "SQL Server",
    "bigquery": "BigQuery",
    "snowflake": "Snowflake",
    "spark": "Spark",
}
PATH_SECONDS = 20.0  # other prices of an error are a bonus; a report must not wait for them


def asked(settings: Mapping[str, Any], solution: Solution | None) -> list[tuple[str, str]]:
    """Names and values of what was asked for, those left at nothing aside."""
    lines = []
    for name, value in settings.items():
        if value is None or name in ("structure", "constraints") or value == {}:
            continue
        if name == "groups":
            lines += [(f"group {g}", ", ".join(map(str, some))) for g, some in value.items()]
        elif name == "roles":
            lines += [(f"role of {column}", kind) for column, kind in value.items()]
        else:
            lines.append((name, format_count(value) if isinstance(value, float) else str(value)))
    lines += _demands(settings.get("constraints"))
    if not settings and solution is not None:
        lines.append(("engine", solution.engine))
    return lines


def claims_of(
    subject: Subject,
    table: Table,
    parts: Sequence[ReportRows],
    permutations: int,
    test: PermutationTest | None = None,
) -> dict[str, Any]:
    """What may and what may not be claimed, one sentence each, and the verdict."""
    from opdt.analysis.claims import claim
    from opdt.analysis.intervals import holdout_report
    from opdt.analysis.permutation import permutation_test

    if permutations and test is None:
        test = permutation_test(
            table,
            n_permutations=permutations,
            w=subject.w,
            objective=subject.solution.objective,
            **_search(subject, "engine"),
        )
    holdout = None
    if len(parts) > 1 and subject.rule is not None:
        holdout = holdout_report(subject.rule, parts[1].source, parts[1].labels)
    found = claim(subject.solution, test=test, holdout=holdout)
    return {
        "claims": [found.may],
        "not_claims": [found.may_not],
        "verdict": None if found.verdict is None else found.verdict.to_dict(),
    }


def verified(certificate: Certificate | str | Path, source: Source, y: Any) -> dict[str, str]:
    """What the independent checker says about a certificate on these rows, and its file."""
    from opdt.certificates import Certificate, read_source
    from opdt.verify import VERSION, Rejected

    if not isinstance(certificate, Certificate):
        certificate = Certificate.load(certificate)
    try:
        said = certificate.check(read_source(certificate, source, y))
    except Rejected as error:
        raise InputError(f"the certificate does not hold for these rows: {error}") from None
    return {
        "said": said.removeprefix("verified: "),
        "checker": f"opdt-verify, format {VERSION}",
        "file": base64.b64encode(certificate.to_bytes()).decode(),
    }


def path_lines(
    subject: Subject, table: Table
) -> tuple[tuple[Segment, ...], list[dict[str, Any]] | None]:
    """The best rules for all prices of an error, and the lines that show them."""
    from opdt.analysis.path import weight_path

    if not subject.settings:
        return (), None
    path = weight_path(table, time_limit=PATH_SECONDS, **_search(subject))
    lines = [
        {
            "w": _range(segment),
            "rule": "no rule" if segment.rule is None else str(segment.rule),
            "covers": format_count(segment.covered),
            "errors": format_count(segment.errors),
            "precision": format_share(segment.precision),
            "lift": format_lift(segment.lift),
            "verdict": None if segment.verdict is None else segment.verdict.to_dict(),
            "here": _is_here(segment, subject),
        }
        for segment in path.segments
    ]
    return path.segments, lines


def exports_of(rule: Rule | RuleList | RuleSet) -> list[dict[str, str]]:
    """The rule in the languages of those who will use it; those that cannot say it are left out."""
    ways: list[tuple[str, Callable[[], str]]] = [("JSON, for opdt apply", rule.to_json)]
    if find_spec("sqlglot") is not None:
        ways += [
            (f"SQL for {name}", partial(rule.to_sql, dialect))
            for dialect, name in SQL_DIALECTS.items()
        ]
    ways += [
        ("Python", rule.to_python),
        ("pandas", rule.to_pandas),
        ("polars", rule.to_polars_source),
        ("LaTeX", rule.to_latex),
        ("PMML", rule.to_pmml),
    ]
    exports = []
    for name, write in ways:
        with suppress(InputError):
            exports.append({"name": name, "text": write().strip()})
    return exports


def pictures_of(
    subject: Subject, parts: Sequence[ReportRows], segments: Sequence[Segment]
) -> list[dict[str, Any]]:
    """The pictures of a report; none where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        return []
    from opdt import plot

    rule, known = subject.rule, parts[-1]
    drawn = [
        picture(
            f"The rule's region on the {known.on}: covered rows lie inside, errors are marked.",
            lambda ax: plot.region(rule, known.source, known.labels, ax=ax),
            (7.0, 5.0),
            wide=True,
        ),
        picture(
            "What each condition leaves, on the rows the rule was found on.",
            lambda ax: plot.funnel(rule, parts[0].source, parts[0].labels, ax=ax),
            (7.0, 3.2),
            wide=True,
        ),
    ]
    if len(segments) > 1:
        drawn.append(
            picture(
                "Precision against coverage of the best rules for all prices w of an error.",
                lambda ax: plot.trade_off(segments, ax=ax),
            )
        )
    if len(subject.solution.trace) > 1:
        drawn.append(
            picture(
                "How the best value and the proven bound met.",
                lambda ax: plot.progress(subject.solution, ax=ax),
            )
        )
    return drawn


def picture(
    caption: str, draw: Any, size: tuple[float, float] = (5.0, 4.0), *, wide: bool = False
) -> dict[str, Any]:
    """A picture as SVG inside the page; as an image it can neither load nor run anything."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    draw(figure.add_subplot())
    content = io.BytesIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    data = base64.b64encode(content.getvalue()).decode()
    uri = f"data:image/svg+xml;base64,{data}"
    return {"uri": uri, "alt": caption, "caption": caption, "wide": wide}


def _is_here(segment: Segment, subject: Subject) -> bool:
    """Whether a line of the path is where the rule comes from: its price, or the rule itself."""
    if subject.solution.objective == "vi":
        return segment.w_from <= subject.w <= segment.w_to
    return segment.rule == subject.rule


def _search(subject: Subject, *without: str) -> dict[str, Any]:
    """The settings of the search, but for the objective and the price of an error."""
    names = [name for name in SEARCH if name not in without]
    known = {name: subject.settings[name] for name in names if name in subject.settings}
    given = subject.settings
    known["constraints"] = resolve_demands(
        subject.solution.objective, *(given.get(name) for name in DEMANDS)
    )
    return known


SUMS = ("segments", "parities")  # of `Constraints`: each says itself in words


def _demands(constraints: Any) -> list[tuple[str, str]]:
    if constraints is None:
        return []
    given = constraints if isinstance(constraints, Constraints) else Constraints(**constraints)
    usual = Constraints()
    lines = []
    for field in fields(Constraints):
        value = getattr(given, field.name)
        if value == getattr(usual, field.name):
            continue
        if isinstance(value, Mapping):
            value = ", ".join(f"{name} {op}" for name, op in value.items())
        elif isinstance(value, tuple):
            value = "; ".join(map(str, value)) if field.name in SUMS else ", ".join(value)
        lines.append((field.name.replace("_", " "), str(value)))
    return lines


def _range(segment: Segment) -> str:
    low, high = format_count(segment.w_from), format_count(segment.w_to)
    return low if low == high else f"{low} to {high}"
