"""The trade-off: the price of an error, the exact frontier, and limits on the rule."""

from __future__ import annotations

import math
from typing import Any

from nicegui import ui

from opdt.problem.structure import MAX_DEPTH
from opdt.report import RuleReport
from opdt.report.formats import format_count, format_share
from opdt.studio.session import Session
from opdt.studio.trade_off import MAX_POINTS, TradeOff, TradeOffPoint
from opdt.studio.web.panels.controls import dropdown
from opdt.studio.web.panels.view import View
from opdt.studio.web.panels.wording import judged
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import COMPONENTS, field, panel, short, words

_FIRST_MOST = 100.0  # the largest price of the slider as long as no breakpoint is known
_BEYOND = 1.5  # how far it goes beyond the last one
_OFFERED_DEPTHS = (1, 2, 3, 4)


class PriceView(View, component=COMPONENTS / "studio_price.js"):
    """The slider and the number."""


class FrontierView(View, component=COMPONENTS / "studio_frontier.js"):
    """Rules by coverage and precision."""


class NumberView(View, component=COMPONENTS / "studio_number.js"):
    """A number with its name."""

    def __init__(self, label: str, testid: str, unit: str, most: float, step: str = "any") -> None:
        super().__init__(value="")
        self.props.update(label=label, testid=testid, unit=unit, most=most, step=step)


def trade_off_panel(session: Session) -> None:
    """Build the panel."""
    _TradeOffPanel(session)


class _TradeOffPanel:
    """Shows what is asked and answered of price and limits."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._depth: int | None = None
        self._known: TradeOff | None = None  # the last one, shown until there is another
        self._points: tuple[TradeOff | None, list[dict[str, Any]]] = (None, [])
        self._refused = 0  # so that a refused number gives way to the one that counts
        with panel("Trade-off", "trade-off-panel", step=4):
            self._first = words("p", "First choose the classes.", "studio-soft studio-small")
            self._body = ui.element("div").classes("trade-off")
        with self._body:
            self._price = PriceView(**self._price_state())
            self._price.on("price", lambda event: self._say(merge="w", w=event.args))
            self._price.on("settle", lambda _: session.settle())
            self._frontier = FrontierView(**self._frontier_state())
            self._frontier.on("choose", self._choose)
            self._draw_job()
            self._draw_limits()
        self._show()
        for topic in ("work", "outcome", "trade_off", "busy"):
            listen(session, topic, self._show)
        listen(session, "data", self._forget)

    def _forget(self, _: object) -> None:
        self._known = None
        self._show()

    def _draw_job(self) -> None:
        with ui.element("div").classes("studio-row"):
            self._ask = ui.button("Trace the frontier", on_click=self._session.ask_trade_off)
            self._ask.props("flat dense no-caps data-testid=trace").classes("studio-button")
            self._stop = ui.button("Stop", on_click=lambda: self._session.stop("trade_off"))
            self._stop.props("flat dense no-caps data-testid=stop-trace").classes("studio-button")
            self._stop.props["aria-label"] = "Stop tracing the frontier"

    def _draw_limits(self) -> None:
        with ui.element("div").classes("trade-off-limits"):
            with field("Most conditions"):
                self._depths = ui.element("div")
            self._precision = NumberView("Minimum precision", "min-precision", "%", 100)
            self._precision.on("written", lambda e: self._limit("min_precision", e.args, _share))
            self._errors = NumberView("Maximum errors", "max-errors", "", 1e9, "1")
            self._errors.on("written", lambda e: self._limit("max_errors", e.args, _count))
            with ui.element("div").classes("trade-off-coverage"):
                self._coverage = NumberView("Minimum coverage", "min-coverage", "", 1e9)
                self._coverage.on(
                    "written", lambda e: self._limit("min_coverage", e.args, self._amount)
                )
                self._draw_unit()

    def _draw_unit(self) -> None:
        """Coverage is a share of the rows, or their number."""
        self._in_rows = isinstance(self._session.work.min_coverage, int) and bool(
            self._session.work.min_coverage
        )

        def picked(unit: str) -> None:
            self._in_rows = unit == "rows"
            self._session.change(min_coverage=0)

        dropdown(
            {"share": "% of rows", "rows": "rows"},
            "rows" if self._in_rows else "share",
            picked,
            label="Unit of the minimum coverage",
            testid="coverage-unit",
        )

    # -- what is said ---------------------------------------------------------------------------

    def _say(self, merge: str | None = None, **said: Any) -> None:
        if not self._session.change(merge=merge, **said):
            self._refused += 1
            self._show()

    def _limit(self, name: str, text: Any, read: Any) -> None:
        """Set a limit to what was written; nothing is no limit."""
        try:
            value = read(str(text).strip())
        except ValueError:
            value = text  # refused with a sentence
        self._say(**{name: value})

    def _amount(self, text: str) -> float:
        if self._in_rows:
            return int(text or 0)
        return _share(text)

    def _choose(self, event: Any) -> None:
        """Ask for the rule of a point; points that are gone by now ask nothing."""
        trade_off, told = self._session.trade_off, event.args
        if trade_off is None:
            return
        for point in trade_off.points:
            if (point.covered, point.errors) == (told.get("covered"), told.get("errors")):
                self._session.settle()
                self._say(**point.choice())
                return

    # -- what is shown --------------------------------------------------------------------------

    def _show(self, _: object = None) -> None:
        session, work = self._session, self._session.work
        ready = session.loaded is not None and work.target is not None
        self._first.set_visibility(not ready)
        self._body.set_visibility(ready)
        if not ready:
            return
        self._known = session.trade_off or self._known
        self._price.show(**self._price_state())
        self._frontier.show(**self._frontier_state())
        tracing = "trade_off" in session.busy
        self._stop.set_visibility(tracing)
        unfinished = session.trade_off is None or not _is_finished(session.trade_off)
        self._ask.set_visibility(unfinished and not tracing and session.outcome is not None)
        if self._depth != work.max_depth:
            self._depth = work.max_depth
            self._show_depths()
        coverage = work.min_coverage
        shown = coverage if self._in_rows else 100 * coverage
        for view, value in (
            (self._precision, 100 * work.min_precision),
            (self._coverage, shown),
            (self._errors, work.max_errors),
        ):
            empty = value is None or (value == 0 and view is not self._errors)
            view.show(value="" if empty else f"{value:.10g}", refused=self._refused)

    def _show_depths(self) -> None:
        depth = self._session.work.max_depth
        offered = sorted({*_OFFERED_DEPTHS, depth, min(depth + 1, MAX_DEPTH)})
        self._depths.clear()
        with self._depths:
            dropdown(
                {str(each): str(each) for each in offered},
                str(depth),
                lambda each: self._session.change(max_depth=int(each)),
                label="Most conditions",
                testid="depth",
            )

    def _price_state(self) -> dict[str, Any]:
        session = self._session
        marks = [] if self._known is None else _breakpoints(self._known)
        most = max(10.0, _BEYOND * max(marks)) if marks else _FIRST_MOST
        outcome = session.outcome
        return {
            "price": session.work.w,
            "answered": None if outcome is None else outcome.work.w,
            "most": float(f"{most:.3g}"),
            "marks": marks,
            "refused": self._refused,
        }

    def _frontier_state(self) -> dict[str, Any]:
        session, found = self._session, self._session.trade_off
        stale = found is None and bool(session.busy & {"solve", "trade_off"})
        shown = self._known if stale else found
        report = None if session.outcome is None else session.outcome.train
        points = () if shown is None else shown.points
        return {
            "points": self._drawn(shown),
            "here": None if stale or not points or report is None else _here(points, report),
            "stale": stale,
            "note": _note(found, tracing="trade_off" in session.busy),
        }

    def _drawn(self, trade_off: TradeOff | None) -> list[dict[str, Any]]:
        """The points for the browser, made once for each trade-off."""
        if self._points[0] is not trade_off:
            points = () if trade_off is None else trade_off.points
            self._points = trade_off, [_point(each) for each in points]
        return self._points[1]


def _here(points: tuple[TradeOffPoint, ...], report: RuleReport) -> dict[str, Any]:
    """The place of the present rule, which is one of the points unless a limit forbids it."""
    counts = report.covered, report.errors
    index = next(
        (k for k, each in enumerate(points) if (each.covered, each.errors) == counts), None
    )
    return {"coverage": report.coverage, "precision": report.precision, "index": index}


def _breakpoints(trade_off: TradeOff) -> list[float]:
    return [float(each) for each in trade_off.path.breakpoints if math.isfinite(each)]


def _point(point: TradeOffPoint) -> dict[str, Any]:
    correct = point.covered - point.errors
    held = None
    if point.held_out_precision is not None and point.held_out_coverage is not None:
        held = (
            f"held out: {format_share(point.held_out_precision)} precise, covers "
            f"{format_share(point.held_out_coverage)}"
        )
    return {
        "covered": point.covered,
        "errors": point.errors,
        "precision": point.precision,
        "coverage": point.coverage,
        "prices": point.w_from is not None,
        "held": None if held is None else [_known(point.held_out_precision)],
        "rule": short(point.rule.to_english(), 300),
        "precisionText": format_share(point.precision),
        "coverageText": format_share(point.coverage),
        "counts": f"{correct:,} correct, {_errors(point.errors)}",
        "heldText": held,
        "pricesText": _prices(point),
        "verdict": judged(point.verdict),
    }


def _errors(count: int) -> str:
    return "1 error" if count == 1 else f"{count:,} errors"


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _prices(point: TradeOffPoint) -> str:
    if point.w_from is None or point.w_to is None:
        return f"the best with at most {_errors(point.errors)}, but at no price"
    low = format_count(float(f"{point.w_from:.4g}"))
    if math.isinf(point.w_to):
        return f"the best from w = {low} on"
    return f"the best for w from {low} to {format_count(float(f'{point.w_to:.4g}'))}"


def _note(trade_off: TradeOff | None, *, tracing: bool) -> str:
    if trade_off is None:
        return "Tracing the frontier …" if tracing else ""
    n_points = len(trade_off.points)
    if not trade_off.path.segments:
        return "No rule meets the demands, at any price."
    if not n_points:
        return "No rule pays for its errors, at any price."
    n_priced = sum(each.w_from is not None for each in trade_off.points)
    text = (
        f"{n_priced} {'rule is' if n_priced == 1 else 'rules are'} the best at some price (filled)"
    )
    if n_points > n_priced:
        text += f", {n_points - n_priced} for some number of errors only (hollow)"
    if tracing:
        return text + "; looking for more …"
    if trade_off.is_complete:
        return text + "; there are no others."
    if _is_finished(trade_off):
        return text + "; others lie between them."
    return text + "; there may be others."


def _is_finished(trade_off: TradeOff) -> bool:
    """Whether tracing it again would tell no more: all is there, or as much as is drawn."""
    return trade_off.is_complete or (
        trade_off.path.complete and len(trade_off.points) >= MAX_POINTS
    )


def _share(text: str) -> float:
    return float(text or 0) / 100


def _count(text: str) -> int | None:
    return int(text) if text else None
