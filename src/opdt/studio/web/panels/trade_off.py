"""The trade-off: the price of an error, the exact frontier, and limits on the rule."""

from __future__ import annotations

import math
from typing import Any

from nicegui import ui

from opdt.analysis.ranking import has_classes
from opdt.analysis.worth_path import WorthPath
from opdt.problem.structure import MAX_DEPTH
from opdt.report import RuleReport
from opdt.report.formats import format_count, format_share
from opdt.studio.questions import lacks
from opdt.studio.session import Session
from opdt.studio.trade_off import MAX_POINTS, TradeOff, TradeOffPoint
from opdt.studio.web.panels.controls import Dropdown, dropdown, number
from opdt.studio.web.panels.segments import SegmentLimits
from opdt.studio.web.panels.view import View
from opdt.studio.web.panels.wording import judged
from opdt.studio.web.panels.worth_path import WorthPathView, choice, worth_path_state
from opdt.studio.web.sessions import listen
from opdt.studio.web.theme import COMPONENTS, field, panel, short, words
from opdt.studio.work import Work

_FIRST_MOST = 100.0  # the largest price of the slider as long as no breakpoint is known
_BEYOND = 1.5  # how far it goes beyond the last one
_OFFERED_DEPTHS = (1, 2, 3, 4)
_BY_PRICE = " A click on a point asks for its rule by its price of an error (VI)."


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
        self._in_rows: dict[str, bool] = {}  # whether a coverage is a number of rows
        self._units: dict[str, Dropdown] = {}
        self._refused = 0  # so that a refused number gives way to the one that counts
        with panel("Trade-off", "trade-off-panel", step=4):
            self._first = words("p", "First choose the target.", "studio-soft studio-small")
            self._body = ui.element("div").classes("trade-off")
        with self._body:
            self._price = PriceView(**self._price_state())
            self._price.on("price", lambda event: self._say(merge="w", w=event.args))
            self._price.on("settle", lambda _: session.settle())
            self._frontier = FrontierView(**self._frontier_state())
            self._frontier.on("choose", self._choose)
            self._path = WorthPathView(**worth_path_state(None, session.work, tracing=False))
            self._path.on("choose", self._choose_step)
            self._draw_job()
            self._draw_limits()
        self._show()
        for topic in ("work", "outcome", "refusal", "trade_off", "busy"):
            listen(session, topic, self._show)
        listen(session, "data", self._forget)

    def _forget(self, _: object) -> None:
        self._known = None
        self._segments.forget()
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
                self._draw_unit("min_coverage", "Unit of the minimum coverage", "coverage-unit")
            with ui.element("div").classes("trade-off-coverage"):
                self._most = NumberView("Largest coverage", "max-coverage", "", 1e9)
                self._most.on(
                    "written", lambda e: self._limit("max_coverage", e.args, self._budget)
                )
                self._draw_unit("max_coverage", "Unit of the largest coverage", "budget-unit")
        self._segments = SegmentLimits(self._session)

    def _draw_unit(self, name: str, label: str, testid: str) -> None:
        """Coverage is a share of the rows, or their number."""
        given = getattr(self._session.work, name)
        self._in_rows[name] = isinstance(given, int) and bool(given)

        def picked(unit: str) -> None:
            self._in_rows[name] = unit == "rows"
            said: dict[str, Any] = {name: 0 if name == "min_coverage" else None}
            self._say(**said)

        self._units[name] = Dropdown(
            {"share": "% of rows", "rows": "rows"},
            "rows" if self._in_rows[name] else "share",
            picked,
            label=label,
            testid=testid,
        )

    def _show_units(self) -> None:
        """A project or an undone step may have the other unit."""
        for name, box in self._units.items():
            given = getattr(self._session.work, name)
            if given:
                self._in_rows[name] = isinstance(given, int)
            box.show("rows" if self._in_rows[name] else "share")

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
        if self._in_rows["min_coverage"]:
            return int(text or 0)
        return _share(text)

    def _budget(self, text: str) -> float | None:
        if not text:
            return None
        return int(text) if self._in_rows["max_coverage"] else _share(text)

    def _choose(self, event: Any) -> None:
        """Ask for the rule of a point; points that are gone by now ask nothing."""
        trade_off, told = self._session.trade_off, event.args
        if not isinstance(trade_off, TradeOff):
            return
        for point in trade_off.points:
            if (point.covered, point.errors) == (told.get("covered"), told.get("errors")):
                self._session.settle()
                self._say(objective="vi", **point.choice())
                return

    def _choose_step(self, event: Any) -> None:
        """Ask for the rule of a step of the path, by its threshold, cost or ratio."""
        path = self._session.trade_off
        if not isinstance(path, WorthPath) or (place := number(event.args, len(path))) is None:
            return
        if (wanted := choice(path.objective, path[place])) is not None:
            self._say(objective=wanted)

    # -- what is shown --------------------------------------------------------------------------

    def _show(self, _: object = None) -> None:
        session, work = self._session, self._session.work
        ready = session.loaded is not None and _is_asked(work)
        self._first.set_visibility(not ready)
        self._body.set_visibility(ready)
        if not ready:
            return
        found = session.trade_off
        self._known = found if isinstance(found, TradeOff) else self._known
        by_errors = isinstance(work.objective, str)
        self._price.set_visibility(work.objective == "vi")
        self._frontier.set_visibility(by_errors)
        self._path.set_visibility(not by_errors)
        tracing = "trade_off" in session.busy
        if by_errors:
            self._price.show(**self._price_state())
            self._frontier.show(**self._frontier_state())
        else:
            path = found if isinstance(found, WorthPath) else None
            rule = None if session.outcome is None else session.outcome.rule
            self._path.show(**worth_path_state(path, work, rule, tracing=tracing))
        self._stop.set_visibility(tracing)
        self._ask.set_text("Trace the frontier" if by_errors else "Find the best rules")
        unfinished = found is None or not _is_finished(found)
        self._ask.set_visibility(unfinished and not tracing and session.outcome is not None)
        self._segments.draw()
        self._show_units()
        if self._depth != work.max_depth:
            self._depth = work.max_depth
            self._show_depths()
        for view in (self._precision, self._errors):
            view.set_visibility(has_classes(work.objective))
        for view, value in (
            (self._precision, 100 * work.min_precision),
            (self._coverage, self._shown("min_coverage")),
            (self._most, self._shown("max_coverage")),
            (self._errors, work.max_errors),
        ):
            empty = value is None or (value == 0 and view in (self._precision, self._coverage))
            view.show(value="" if empty else f"{value:.10g}", refused=self._refused)

    def _shown(self, name: str) -> float | None:
        """A coverage in the unit that is chosen for it."""
        value: float | None = getattr(self._session.work, name)
        return value if value is None or self._in_rows[name] else 100 * value

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
        session = self._session
        found = session.trade_off if isinstance(session.trade_off, TradeOff) else None
        stale = found is None and bool(session.busy & {"solve", "trade_off"})
        shown = self._known if stale else found
        report = None if session.outcome is None else session.outcome.train
        points = () if shown is None else shown.points
        return {
            "points": self._drawn(shown),
            "here": None if stale or not points or report is None else _here(points, report),
            "stale": stale,
            "note": _note(found, tracing="trade_off" in session.busy)
            + ("" if found is None or session.work.objective == "vi" else _BY_PRICE),
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


def _is_asked(work: Work) -> bool:
    """Whether the target is known; limits may still be what is lacking."""
    missing = lacks(work)
    return missing is None or (work.objective == "coverage" and work.target is not None)


def _is_finished(trade_off: TradeOff | WorthPath) -> bool:
    """Whether tracing it again would tell no more: all is there, or as much as is drawn."""
    if isinstance(trade_off, WorthPath):
        return trade_off.complete
    return trade_off.is_complete or (
        trade_off.path.complete and len(trade_off.points) >= MAX_POINTS
    )


def _share(text: str) -> float:
    return float(text or 0) / 100


def _count(text: str) -> int | None:
    return int(text) if text else None
