"""Pinned rules on the page: pinned, compared, renamed, removed, kept."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from browser import choose, element, text_of, wait_for
from opdt import rule_report
from opdt.report.formats import format_count, format_lift, format_share
from opdt.studio.web.panels.pins import LONGEST_NOTE, rule_numbers
from studio.web.opened import Asked, new_tab, open_dataset

NOTE = "<b>first</b> thought"


@pytest.fixture
def page(browser, server):
    with new_tab(browser, server.url) as page:
        open_dataset(page, "wines")
        yield page


@pytest.fixture(scope="module")
def wines():
    return Asked("wines")


def lines(page, testid: str, place: int = 0) -> list[list[str]]:
    """The numbers of a rule: VI, precision, lift, coverage and errors on both parts of the rows."""
    script = """
        const rule = document.querySelectorAll(`[data-testid="${arguments[0]}"]`)[arguments[1]];
        const cells = (line) => [...line.querySelectorAll("td b")].map((cell) => cell.textContent);
        return [...rule.querySelectorAll("[data-testid=pinned-line]")].map(cells);
    """
    return wait_for(lambda: page.execute_script(script, testid, place))


def sentences(page) -> list[str]:
    script = """
        const found = document.querySelectorAll("[data-testid=pinned] .ev-rule");
        return [...found].map((each) => each.textContent);
    """
    return page.execute_script(script)


def notes(page) -> list[str]:
    script = (
        "return [...document.querySelectorAll('[data-testid=pinned-note]')].map((e) => e.value)"
    )
    return page.execute_script(script)


def expected(asked: Asked, rule, **said) -> list[list[str]]:
    work = asked.first.change(**said)
    reports = [
        rule_report(rule, part.X, part.y, work.w) for part in asked.solver.split(work) if part
    ]
    return [
        [
            format_count(each.value),
            format_share(each.precision),
            format_lift(each.lift),
            format_share(each.coverage),
            f"{each.errors:,}",
        ]
        for each in reports
    ]


def test_a_pinned_rule_stays_beside_the_present_one(page, wines):
    first = wines.discovered().rule
    element(page, "pin-note").send_keys(NOTE, Keys.ENTER)
    wait_for(lambda: sentences(page) == [first.to_english()])
    assert notes(page) == [NOTE]
    assert not element(page, "pin").is_enabled()  # it is pinned
    wait_for(lambda: text_of(page, "pinned-verdict") == "Supported")
    assert lines(page, "pinned") == expected(wines, first)
    choose(page, "depth", "1")
    second = wines.discovered(max_depth=1).rule
    assert second != first
    wait_for(lambda: second.to_english() in text_of(page, "present"))
    assert lines(page, "present") == expected(wines, second)
    assert lines(page, "pinned") == expected(wines, first)
    wait_for(lambda: element(page, "pin").is_enabled())
    element(page, "pin").click()
    wait_for(lambda: sentences(page) == [first.to_english(), second.to_english()])
    page.refresh()
    wait_for(lambda: sentences(page) == [first.to_english(), second.to_english()])
    assert notes(page) == [NOTE, ""]
    assert lines(page, "pinned", 1) == expected(wines, second)


def test_notes_change_and_rules_go_and_undo_brings_them_back(page, wines):
    sentence = wines.discovered().rule.to_english()
    element(page, "pin").click()
    note = element(page, "pinned-note")
    note.send_keys("for the ward", Keys.TAB)
    wait_for(lambda: element(page, "redo").get_attribute("disabled") is not None)
    choose(page, "depth", "1")
    wait_for(lambda: text_of(page, "present"))
    assert notes(page) == ["for the ward"]
    element(page, "undo").click()
    wait_for(lambda: text_of(page, "present") == "")
    element(page, "unpin").click()
    wait_for(lambda: sentences(page) == [])
    element(page, "undo").click()
    wait_for(lambda: sentences(page) == [sentence])
    assert notes(page) == ["for the ward"]
    element(page, "undo").click()
    wait_for(lambda: notes(page) == [""])
    element(page, "undo").click()
    wait_for(lambda: sentences(page) == [])


def test_the_numbers_of_a_pinned_rule_follow_the_price_of_an_error(page, wines):
    rule = wines.discovered().rule
    element(page, "pin").click()
    wait_for(lambda: sentences(page))
    price = element(page, "price")
    price.send_keys(Keys.CONTROL, "a")
    price.send_keys("1", Keys.ENTER)
    wait_for(lambda: lines(page, "pinned") == expected(wines, rule, w=1.0))
    now = wines.discovered(w=1.0)
    wait_for(lambda: lines(page, "present") == expected(wines, now.rule, w=1.0))
    train = wines.solver.split(wines.first).train
    difference = rule_report(rule, train.X, train.y, 1.0).value - now.value
    assert difference < 0
    assert f"−{format_count(-difference)}" in text_of(page, "pinned")


def test_a_rule_without_its_column_has_no_numbers(page, wines):
    element(page, "pin").click()
    wait_for(lambda: sentences(page))
    assert wines.discovered().rule.features[0] == wines.solver.loaded.names[0]
    if not page.find_elements("css selector", "[data-testid=kind]"):
        element(page, "data-columns").click()
    choose(page, "kind", "ignored")  # the first column of the table
    wait_for(lambda: text_of(page, "pinned-unmeasured"))
    element(page, "undo").click()
    wait_for(lambda: lines(page, "pinned") == expected(wines, wines.discovered().rule))


def test_differences_have_a_sign_and_say_which_is_better():
    X, y = {"age": [20, 30, 40, 50]}, ["well", "ill", "ill", "ill"]
    from opdt import Condition, Rule

    wide, narrow = (
        rule_report(Rule([Condition("age", ">=", least)], "ill"), X, y, w=2.0) for least in (15, 35)
    )
    vi, precision, lift, coverage, errors = rule_numbers(wide, narrow)
    assert (lift["text"], lift["detail"]) == (
        format_lift(wide.lift),
        f"all rows {format_share(wide.base_rate)}",
    )
    assert vi["text"] == "2"  # 4 rows, one of them wrong at the price of 2
    assert "difference" not in vi  # the other has 2 rows and no error
    assert (precision["difference"], precision["tone"]) == ("−25.0 pp", "worse")
    assert (coverage["difference"], coverage["tone"]) == ("+50.0 pp", "better")
    assert (errors["difference"], errors["tone"]) == ("+1", "worse")
    assert "difference" not in rule_numbers(wide)[1]
    nothing = rule_report(Rule([Condition("age", ">=", 99)], "ill"), X, y, w=2.0)
    assert rule_numbers(nothing, wide)[1]["text"] == "–"
    assert rule_numbers(nothing, wide)[1]["detail"] == "no row is covered"
    assert LONGEST_NOTE >= 100
