"""The rule, live."""

from __future__ import annotations

from nicegui import ui

from opdt.report import RuleReport
from opdt.report.formats import format_count, format_share
from opdt.studio.outcome import Outcome
from opdt.studio.session import Session
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import panel, words


def rule_panel(session: Session) -> None:
    """Build the panel."""
    with panel("The rule", "rule-panel") as section:
        body = ui.element("div").props("aria-live=polite")

    def draw(_: object = None) -> None:
        outcome = session.outcome
        body.clear()
        section.classes(
            add="studio-idle" if outcome is None else "",
            remove="" if outcome is None else "studio-idle",
        )
        with body:
            if outcome is None:
                words("p", _next_step(session), "studio-soft")
            else:
                _draw(outcome)

    draw()
    listen(session, "outcome", draw)
    listen(session, "data", draw)
    listen(session, "work", lambda _: draw() if session.outcome is None else None)


def _draw(outcome: Outcome) -> None:
    words("p", outcome.sentence, "studio-rule").props("data-testid=sentence")
    with ui.element("div").classes("studio-row"):
        state = "good" if outcome.is_proven else "open"
        words("span", outcome.badge, f"studio-badge {state}").props("data-testid=badge")
    for title, report in (("Training rows", outcome.train), ("Held-out rows", outcome.held_out)):
        if report is not None:
            _draw_report(title, report)


def _draw_report(title: str, report: RuleReport) -> None:
    words("h3", title, "studio-subtitle")
    testid = "train" if title.startswith("Train") else "held-out"
    with ui.element("div").classes("studio-figures").props(f"data-testid=report-{testid}"):
        low, high = (format_share(bound) for bound in report.interval)
        _figure(
            "Precision", format_share(report.precision), f"{report.level:.0%} from {low} to {high}"
        )
        _figure(
            "Coverage",
            format_share(report.coverage),
            f"{report.covered:,} of {report.n_rows:,} rows",
        )
        _figure("Errors", f"{report.errors:,}", "covered, of another class")
        _figure("VI", format_count(report.vi), f"an error costs {format_count(report.w)} rows")


def _figure(title: str, value: str, detail: str) -> None:
    with ui.element("div").classes("studio-figure"):
        words("div", title)
        words("div", value)
        words("div", detail)


def _next_step(session: Session) -> str:
    if session.loaded is None:
        return "Open a table, and the best rule appears here."
    if session.work.label is None:
        return "Choose the column of the classes, and the best rule appears here."
    return "Searching …"
