"""The rule panel in a real browser: words, numbers, funnel, region, and searches that take long."""

from __future__ import annotations

import random
import re

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import choose, click, element, text_of, wait_for
from opdt import Condition, Rule
from opdt.report.formats import format_count, format_share
from opdt.rules.export.prose import condition_in_words
from opdt.studio.web.panels.wording import advice, rule_parts
from studio.web.opened import Asked, answered, open_dataset

ATTACK = "<img src=x onerror=document.title='owned'> {{1+1}} \"quoted\""
SECTIONS = ("sentence", "report-train", "report-held-out", "funnel", "region")


@pytest.fixture(scope="module")
def tumours():
    return Asked("tumours")


def resize(page, width: int, height: int) -> None:
    page.set_window_size(width, height)
    inner = "return [window.innerWidth, window.innerHeight]"
    now = page.execute_script(inner)
    page.set_window_size(2 * width - now[0], 2 * height - now[1])


# -- what is said ----------------------------------------------------------------------------------


def test_numbers_are_those_of_the_rule_on_both_parts_of_the_rows(page, tumours):
    open_dataset(page, "tumours")
    outcome = tumours.solver.solve(tumours.first)
    assert text_of(page, "sentence") == tumours.sentence()
    assert text_of(page, "badge").startswith("proven optimal in ")
    for testid, report in (("report-train", outcome.train), ("report-held-out", outcome.held_out)):
        told = element(page, testid).text
        low, high = (format_share(end) for end in report.interval)
        for text in (
            f"{report.n_rows} rows",
            format_share(report.precision),
            f"95% interval {low.removesuffix(' %')} to {high}",
            format_share(report.coverage),
            f"of {report.covered} rows",
            format_count(report.value),
        ):
            assert text in told
    stages = [each.text for each in page.find_elements("css selector", "[data-testid=stage]")]
    assert len(stages) == len(outcome.funnel) == 3
    for told, stage, unseen in zip(stages, outcome.funnel, outcome.funnel_held_out, strict=True):
        left = "all rows" if stage.condition is None else condition_in_words(stage.condition)
        assert left in told
        numbers = [str(stage.covered), format_share(stage.precision), str(unseen.covered)]
        assert re.search(r"\s+".join(map(re.escape, numbers)), told)


def test_the_sentence_and_the_status_are_told_to_screen_readers(page):
    open_dataset(page, "irises")
    script = "return document.querySelector(arguments[0]).closest('[aria-live=polite]') !== null"
    for testid in ("sentence", "badge"):
        assert page.execute_script(script, f"[data-testid={testid}]")
    for testid in ("price-slider", "region-picture"):
        assert element(page, testid).get_attribute("aria-label")


@pytest.mark.parametrize(
    "rule",
    [
        Rule([], "ill"),
        Rule([Condition("age", "<", 40.0)], "ill"),
        Rule([Condition("age", "<", 40.0), Condition("age", ">=", 20.0)], "ill"),
        Rule([Condition("a and b is 3", "<", 3.0), Condition("b is", "==", "If x is ")], "ill"),
        Rule([Condition("two\nlines", "<", 3.0), Condition("c", "==", "x and c is y")], "ill"),
        Rule([Condition("c", "<", 3.0)], "x, then the class is y."),
    ],
    ids=str,
)
def test_the_parts_of_a_sentence_are_the_sentence(rule):
    parts = rule_parts(rule.to_english(), rule)
    assert "".join(text for _, text in parts) == rule.to_english()
    assert [kind for kind, _ in parts].count("class") == 1


def test_names_of_features_and_the_class_stand_out():
    rule = Rule([Condition("age", "<", 40.0), Condition("blood pressure (mm)", ">=", 90.0)], "ill")
    assert rule_parts(rule.to_english(), rule) == [
        ("word", "If "),
        ("name", "age"),
        ("test", " is below 40"),
        ("word", " and "),
        ("name", "blood pressure (mm)"),
        ("test", " is at least 90"),
        ("word", ", then the class is "),
        ("class", "ill"),
        ("word", "."),
    ]


@pytest.mark.parametrize(
    ("said", "cure"),
    [
        ({"min_precision": 1.0, "min_coverage": 0.9}, "less precision than 100.0 %"),
        ({"max_errors": 0, "min_coverage": 100}, "less coverage than 100 rows"),
        ({"max_errors": 0, "min_coverage": 0.9}, "allow more than 0 errors"),
        ({"min_precision": 1.0, "min_coverage": 0.9, "max_depth": 1}, "more than one condition"),
    ],
)
def test_demands_that_no_rule_meets_are_named(said, cure):
    asked = Asked("irises")
    outcome = asked.solver.solve(asked.first.change(**said))
    assert outcome.rule is None
    assert cure in (told := advice(outcome) or "")
    assert told.endswith(".")


# -- the region ------------------------------------------------------------------------------------


def test_rows_tell_their_values_when_pointed_at(page, tumours):
    open_dataset(page, "tumours")
    region = tumours.solver.solve(tumours.first).region
    picture = element(page, "region-picture")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", picture)
    assert f"{len(region.points)} training rows" in picture.get_attribute("aria-label")
    page.execute_script("arguments[0].focus()", picture)
    picture.send_keys(Keys.ARROW_RIGHT)
    first = wait_for(lambda: text_of(page, "region-tip"))
    point = min(region.points, key=lambda each: each.x)
    assert f"Row {point.number} " in first
    assert region.classes[point.label] in first
    for name, value in point.cells:
        assert f"{name} {value}" in first
    ActionChains(page).move_to_element(picture).perform()
    ring = page.find_elements("css selector", "[data-testid=region] .chart-ring")
    ActionChains(page).move_to_element_with_offset(picture, 0, 0).perform()
    assert len(ring) <= 1
    drawn = page.find_elements("css selector", "[data-testid=region-picture] path.region-mark")
    assert 2 <= len(drawn) <= 4  # two classes, inside and outside


def test_a_rule_of_one_feature_is_drawn_over_the_classes(page):
    open_dataset(page, "irises")
    choose(page, "depth", "1")
    element(page, "region-picture")
    wait_for(lambda: "petal length" in text_of(page, "region"))
    told = text_of(page, "region-picture")
    assert all(name in told for name in ("setosa", "versicolor", "virginica"))


# -- searches that take long -----------------------------------------------------------------------


def test_a_deep_search_can_be_stopped_and_tells_what_is_known(page, tmp_path):
    # Noise, of which four conditions are not proven for minutes: the search cannot end by itself.
    draw = random.Random(0)
    rows = [
        ",".join([*(f"{draw.gauss():.3f}" for _ in range(30)), draw.choice(["ill"] * 4 + ["well"])])
        for _ in range(900)
    ]
    names = ",".join([*(f"x{at}" for at in range(30)), "state"])
    (tmp_path / "deep.csv").write_text("\n".join([names, *rows]))
    page.find_element("css selector", "[data-testid=upload-input]").send_keys(
        str(tmp_path / "deep.csv")
    )
    choose(page, "target", "state")
    answered(page, 10.0)
    before = text_of(page, "sentence")
    choose(page, "depth", "4")

    def searching():
        sentence, words = text_of(page, "sentence"), text_of(page, "search-words")
        return "best VI" in words and (sentence, words)

    sentence, words = wait_for(searching)
    assert sentence == before  # until there is another
    value, bound = (
        float(each.replace(",", "")) for each in re.findall(r"(?:far|above) ([\d.,]+\d)", words)
    )
    assert value <= bound
    click(page, "stop")
    wait_for(lambda: text_of(page, "badge").startswith("stopped after "))
    assert "best so far" in text_of(page, "badge")
    proof = text_of(page, "proof")
    found = re.match(
        r"VI ([\d.,]+); no allowed rule has a VI above ([\d.,]+), .* ([\d.,]+) better", proof
    )
    value, bound, gap = (float(each.replace(",", "")) for each in found.groups())
    assert value <= bound
    assert gap == pytest.approx(bound - value)
    assert not page.find_elements("css selector", "[data-testid=searching]")
    click(page, "again")
    choose(page, "depth", "2")
    wait_for(lambda: text_of(page, "sentence") == before)
    answered(page, 10.0)


def test_without_a_pattern_the_page_says_what_to_change(page, tmp_path):
    draw = random.Random(5)
    rows = [f"{draw.randrange(2)},{draw.choice(['a', 'b'])}" for _ in range(200)]
    (tmp_path / "noise.csv").write_text("\n".join(["coin,outcome", *rows]))
    page.find_element("css selector", "[data-testid=upload-input]").send_keys(
        str(tmp_path / "noise.csv")
    )
    choose(page, "target", "outcome")
    wait_for(lambda: text_of(page, "sentence").startswith("No pattern"))
    assert "An error costs 10 rows" in text_of(page, "advice")
    assert "no pattern" in text_of(page, "badge")
    for testid in ("report-train", "funnel", "region-picture"):
        assert not page.find_elements("css selector", f"[data-testid={testid}]")


# -- how it looks ----------------------------------------------------------------------------------


def test_hostile_names_are_text_everywhere(page, tmp_path):
    draw = random.Random(1)
    quoted = '"' + ATTACK.replace('"', '""') + '"'
    rows = []
    for _ in range(80):
        value, other = round(draw.uniform(0, 10), 1), draw.randrange(9)
        label = quoted if value >= 5 or draw.random() < 0.1 else "well"
        rows.append(f"{value},{other},{label}")
    head = f'{quoted},{quoted[:-1]} 2",outcome'
    (tmp_path / "hostile.csv").write_text("\n".join([head, *rows]))
    page.find_element("css selector", "[data-testid=upload-input]").send_keys(
        str(tmp_path / "hostile.csv")
    )
    choose(page, "target", "outcome")
    choose(page, "label", ATTACK)
    wait_for(lambda: text_of(page, "sentence").endswith(f"“{ATTACK}”."))
    element(page, "price-slider").send_keys(Keys.ARROW_LEFT)
    wait_for(lambda: page.find_elements("css selector", "[data-testid=frontier-point]"))
    assert ATTACK in text_of(page, "funnel")
    assert ATTACK[:30] in text_of(page, "region")
    point = page.find_elements("css selector", "[data-testid=frontier-point]")[0]
    assert ATTACK in point.get_attribute("aria-label")
    picture = element(page, "region-picture")
    page.execute_script("arguments[0].focus()", picture)
    picture.send_keys(Keys.ARROW_RIGHT)
    assert ATTACK[:50] in wait_for(lambda: text_of(page, "region-tip"))
    assert page.execute_script("return document.querySelectorAll('main img').length") == 0


def test_the_panels_are_readable_in_the_dark_and_on_a_tablet(page):
    open_dataset(page, "wines")
    resize(page, 820, 1180)
    element(page, "dark").click()
    wait_for(lambda: page.execute_script("return document.body.classList.contains('body--dark')"))
    wide = "return document.documentElement.scrollWidth <= window.innerWidth"
    wait_for(lambda: page.execute_script(wide))
    for testid in SECTIONS:
        box = element(page, testid).rect
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 820
        assert _contrast(page, testid) >= 4.5
    # The rule is out of sight while the slider is moved, so it is shown at the lower edge.
    slider = element(page, "price-slider")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", slider)
    dock = "return document.querySelector('.rule-dock')?.textContent ?? ''"
    wait_for(lambda: text_of(page, "sentence") in page.execute_script(dock))
    resize(page, 1280, 900)


def _contrast(page, testid: str) -> float:
    """Contrast of the section's text on its background, as the WCAG define it."""
    script = """
        const section = document.querySelector(`[data-testid=${arguments[0]}]`);
        const panel = section.closest(".studio-panel");
        return [getComputedStyle(section).color, getComputedStyle(panel).backgroundColor];
    """
    light = []
    for colour in page.execute_script(script, testid):
        parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        light.append(sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))
    return (max(light) + 0.05) / (min(light) + 0.05)
