"""The trade-off panel in a real browser: slider, frontier, depth and limits."""

from __future__ import annotations

import math

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import choose, element, text_of, wait_for
from studio.web.opened import Asked, answered, open_dataset

SLIDE = """
    const slider = document.querySelector("[data-testid=price-slider]");
    for (const position of arguments[0]) {
        slider.value = position;
        slider.dispatchEvent(new Event("input", {bubbles: true}));
    }
    slider.dispatchEvent(new Event("change", {bubbles: true}));
"""


@pytest.fixture(scope="module")
def wines():
    return Asked("wines")


def points(page):
    """The points of the frontier, once it is whole."""
    wait_for(lambda: "no others" in text_of(page, "frontier-note"))
    return page.find_elements("css selector", "[data-testid=frontier-point]")


def price(page) -> float:
    return float(element(page, "price").get_property("value"))


def write(page, testid: str, text: str) -> None:
    box = element(page, testid)
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys(text or Keys.DELETE, Keys.ENTER)


# -- the price -------------------------------------------------------------------------------------


def test_the_slider_changes_the_rule_to_that_of_discover(page, wines):
    open_dataset(page, "wines")
    seen = set()
    for positions in ([380, 300, 200, 30], [40, 90, 200, 395], [150]):
        page.execute_script(SLIDE, positions)
        answered(page, price(page))
        seen.add(text_of(page, "sentence"))
        assert text_of(page, "sentence") == wines.sentence(w=price(page))
    assert len(seen) > 1
    element(page, "undo").click()  # a whole movement is one step
    wait_for(lambda: text_of(page, "rule") and price(page) != 10)
    for _ in range(2):
        element(page, "undo").click()
    answered(page, 10.0)
    assert price(page) == 10
    assert element(page, "undo").get_attribute("disabled") is not None


def test_the_slider_is_moved_by_keys(page, wines):
    open_dataset(page, "wines")
    points(page)
    slider = element(page, "price-slider")
    slider.send_keys(Keys.ARROW_LEFT)
    wait_for(lambda: price(page) < 10)
    answered(page, price(page))
    slider.send_keys(Keys.HOME)
    wait_for(lambda: price(page) == 1)
    answered(page, 1.0)
    assert text_of(page, "sentence") == wines.sentence(w=1.0)
    slider.send_keys(Keys.END)
    wait_for(lambda: price(page) > 1)
    answered(page, price(page))
    assert text_of(page, "sentence") == wines.sentence(w=1e9)  # beyond the last breakpoint


def test_a_price_can_be_written_and_one_below_one_is_refused(page, wines):
    open_dataset(page, "wines")
    write(page, "price", "1.7")
    answered(page, 1.7)
    assert text_of(page, "sentence") == wines.sentence(w=1.7)
    write(page, "price", "0.5")
    assert "'w'" in wait_for(lambda: text_of(page, "error"))
    wait_for(lambda: price(page) == 1.7)


# -- the frontier ----------------------------------------------------------------------------------


def test_a_click_on_a_point_asks_for_its_rule(page, wines):
    open_dataset(page, "wines")
    frontier = opdt_frontier(wines)
    drawn = points(page)
    counts = [_counts(each) for each in drawn]
    assert counts == [(each.covered, each.errors) for each in frontier]
    for place in (0, len(drawn) - 1):
        ActionChains(page).move_to_element(points(page)[place]).click().perform()
        wait_for(lambda place=place: _is_chosen(points(page)[place]))
        assert text_of(page, "sentence") == wines.sentence(**frontier[place].choice())


def test_hollow_points_limit_the_errors(page, wines):
    open_dataset(page, "wines")
    choose(page, "depth", "1")
    wait_for(lambda: text_of(page, "sentence") == wines.sentence(max_depth=1))
    frontier = opdt_frontier(wines, max_depth=1)
    hollow = next(k for k, each in enumerate(frontier) if each.w_from is None)
    wait_for(lambda: len(points(page)) == len(frontier))
    ActionChains(page).move_to_element(points(page)[hollow]).click().perform()
    errors = str(frontier[hollow].errors)
    wait_for(lambda: element(page, "max-errors").get_property("value") == errors)
    expected = wines.sentence(max_depth=1, **frontier[hollow].choice())
    wait_for(lambda: text_of(page, "sentence") == expected)


def test_points_are_reached_and_chosen_by_keys(page, wines):
    open_dataset(page, "wines")
    drawn = points(page)
    assert len(drawn) > 2
    start = next(each for each in drawn if each.get_attribute("tabindex") == "0")
    page.execute_script("arguments[0].focus()", start)
    page.switch_to.active_element.send_keys(Keys.END)
    last = points(page)[-1]
    wait_for(lambda: page.switch_to.active_element == last)
    page.switch_to.active_element.send_keys(Keys.ARROW_LEFT, Keys.ENTER)
    wait_for(lambda: _is_chosen(points(page)[-2]))
    frontier = opdt_frontier(wines)
    assert text_of(page, "sentence") == wines.sentence(**frontier[-2].choice())


def test_a_point_tells_its_rule_and_numbers(page, wines):
    open_dataset(page, "wines")
    point = opdt_frontier(wines)[-1]
    ActionChains(page).move_to_element(points(page)[-1]).perform()
    told = wait_for(lambda: text_of(page, "frontier-tip"))
    assert point.rule.to_english() in told
    assert f"{100 * point.precision:.1f} % precise" in told
    assert f"covers {100 * point.coverage:.1f} %" in told
    assert f"{point.errors} errors" in told
    assert point.rule.to_english() in points(page)[-1].get_attribute("aria-label")


def opdt_frontier(asked: Asked, **said):
    """The points of the frontier as the core has them; its exactness is tested there."""
    return asked.solver.trade_off(asked.first.change(**said)).points


def _counts(point) -> tuple[int, int]:
    return int(point.get_attribute("data-covered")), int(point.get_attribute("data-errors"))


def _is_chosen(point) -> bool:
    return point.get_attribute("aria-selected") == "true"


# -- depth and limits ------------------------------------------------------------------------------


def test_depth_and_limits_are_those_of_discover(page, wines):
    open_dataset(page, "wines")
    said = {"max_depth": 1}
    choose(page, "depth", "1")
    wait_for(lambda: text_of(page, "sentence") == wines.sentence(**said))
    for testid, text, name, value in (
        ("price", "1", "w", 1.0),
        ("min-precision", "97", "min_precision", 0.97),
        ("min-coverage", "20", "min_coverage", 0.2),
        ("max-errors", "0", "max_errors", 0),
        ("min-precision", "", "min_precision", 0.0),
    ):
        write(page, testid, text)
        said[name] = value
        expected = wines.discovered(**said)
        if expected.rule is None:
            wait_for(lambda: "No rule" in text_of(page, "sentence"))
            assert "precision" in text_of(page, "advice")
        else:
            sentence = expected.rule.to_english()
            wait_for(lambda sentence=sentence: text_of(page, "sentence") == sentence)


def test_coverage_can_be_a_number_of_rows(page, wines):
    open_dataset(page, "wines")
    choose(page, "coverage-unit", "rows")
    n_rows = math.ceil(wines.discovered().covered) + 5
    write(page, "min-coverage", str(n_rows))
    wait_for(lambda: text_of(page, "sentence") == wines.sentence(min_coverage=n_rows))


def test_what_cannot_be_asked_is_refused_and_taken_back(page):
    open_dataset(page, "wines")
    before = text_of(page, "sentence")
    write(page, "min-precision", "120")
    assert "min_precision" in wait_for(lambda: text_of(page, "error"))
    wait_for(lambda: element(page, "min-precision").get_property("value") == "")
    assert text_of(page, "sentence") == before
