"""Rows that the rule gets wrong, the test by chance, and rules nearly as good, on the page."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import opdt
from browser import choose, element, text_of, wait_for
from opdt.analysis.permutation import format_p_value, permutation_test
from opdt.studio.web.panels.alternatives import exchange_sentence, list_alternatives
from opdt.studio.web.panels.evidence import PAGE, result_words, wrong_parts
from studio.web.opened import Asked, answered, open_dataset

ATTACK = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
CELL = "<img src=x onerror=document.title='owned'>"  # short: free text would be no feature
N_ROWS = 900


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """Half of the rows are of the class where the value is large, and a third of them is wrong."""
    draw = random.Random(5)
    lines = [f'value,"{ATTACK}",empty,class']
    for number in range(N_ROWS):
        value = draw.randrange(100)
        label = ATTACK if (value >= 50) != (draw.random() < 0.33) else "other"
        lines.append(f'{value},"{draw.choice("ab")}{CELL}",{"" if number else "x"},"{label}"')
    path = tmp_path_factory.mktemp("noisy") / "noisy.csv"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def tumours():
    return Asked("tumours")


def click(page, testid: str, place: int = 0) -> None:
    """Click on an element that may be out of sight."""

    def clicked() -> bool:
        found = page.find_elements("css selector", f'[data-testid="{testid}"]')
        if len(found) <= place:
            return False
        page.execute_script("arguments[0].click()", found[place])
        return True

    wait_for(clicked)


def texts(page, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent.trim())"
    return page.execute_script(script, selector)


def write(page, testid: str, text: str) -> None:
    from selenium.webdriver.common.keys import Keys

    element(page, testid).send_keys(Keys.CONTROL, "a")
    element(page, testid).send_keys(text, Keys.ENTER)


# -- rows that it gets wrong -----------------------------------------------------------------------


def test_the_covered_rows_of_another_class_are_listed(page, tumours):
    open_dataset(page, "tumours")
    rule = tumours.discovered().rule
    split = tumours.solver.split(tumours.first)
    for testid, part in (("wrong-train", split.train), ("wrong-held-out", split.held_out)):
        click(page, testid)
        wrong = rule.covers(part.X) & (part.y != rule.label).to_numpy()
        numbers = [f"{row + 1}" for row in part.rows[wrong]]
        wait_for(lambda numbers=numbers: texts(page, "[data-testid=wrong-row] th") == numbers)
        assert text_of(page, testid).endswith(str(len(numbers)))
        heads = texts(page, "[data-testid=wrong-table] thead th")
        assert heads[:4] == ["row", "its class", *rule.features]
        cells = texts(page, "[data-testid=wrong-row] td:nth-child(3)")
        own = part.X[rule.features[0]].to_numpy()[wrong]
        assert [float(cell.replace(",", "")) for cell in cells] == own.tolist()
        assert set(texts(page, "[data-testid=wrong-row] td:nth-child(2)")) == {"malignant"}


def test_without_an_error_it_says_so(page):
    open_dataset(page, "wines")
    assert Asked("wines").discovered().errors == 0
    wait_for(lambda: "None: all 41 training rows" in text_of(page, "wrong-none"))


def test_many_wrong_rows_come_in_pages_and_are_only_ever_text(page, noisy):
    page.find_element("css selector", "[data-testid=upload-input]").send_keys(str(noisy))
    wait_for(lambda: "noisy.csv" in text_of(page, "data-summary"))
    choose(page, "target", "class")
    choose(page, "label", ATTACK)
    choose(page, "held-out", "none")
    write(page, "price", "1.1")
    answered(page, 1.1)
    rows = wait_for(lambda: texts(page, "[data-testid=wrong-row] th"))
    assert len(rows) == PAGE
    solution = opdt.discover(noisy, "class", label=ATTACK, w=1.1, max_depth=2)
    wait_for(lambda: f"{int(solution.errors):,}" in text_of(page, "wrong-range"))
    assert solution.errors > 200
    assert "the first 200 are listed" in text_of(page, "wrong-range")
    click(page, "wrong-next")
    wait_for(lambda: text_of(page, "wrong-range").startswith("11 to 20"))
    later = texts(page, "[data-testid=wrong-row] th")
    assert min(map(int, later)) > max(map(int, rows))
    click(page, "wrong-previous")
    wait_for(lambda: text_of(page, "wrong-range").startswith("1 to 10"))
    assert f"a{CELL}" in text_of(page, "wrong-table")
    assert "missing" in text_of(page, "wrong-table")
    click(page, "ask-alternatives")
    wait_for(lambda: text_of(page, "alternatives-facts"))
    click(page, "pin")
    wait_for(lambda: ATTACK in text_of(page, "pinned"))
    assert page.execute_script("return document.querySelectorAll('main img').length") == 0


# -- is it real? -----------------------------------------------------------------------------------


def test_the_p_value_is_that_of_the_permutation_test_and_goes_with_its_rule(page):
    irises = Asked("irises")
    open_dataset(page, "irises")
    choose(page, "depth", "1")
    wait_for(lambda: text_of(page, "sentence") == irises.sentence(max_depth=1))
    click(page, "ask-real")
    train = irises.solver.split(irises.first).train
    test = permutation_test(train.X, train.y, seed=0, w=10.0, max_depth=1)
    wait_for(lambda: text_of(page, "p-value") == f"p = {format_p_value(test.p_value)}", 60)
    assert "Of 999 tables" in text_of(page, "real-says")
    assert "does not say" in text_of(page, "real-not")
    page.refresh()
    wait_for(lambda: text_of(page, "p-value"))
    choose(page, "depth", "2")
    wait_for(lambda: text_of(page, "real-outdated"))
    assert text_of(page, "p-value") == ""


def test_a_test_can_be_stopped_and_keeps_what_it_has_found(page):
    open_dataset(page, "tumours")
    choose(page, "depth", "3")
    click(page, "ask-real")
    wait_for(lambda: re.match(r"[1-9]\d* of 999", text_of(page, "real-words")), 60)
    click(page, "stop-real")
    wait_for(lambda: text_of(page, "p-value"))
    assert "stopped before all 999" in text_of(page, "real-detail")
    done = int(re.search(r"Of (\d+) tables", text_of(page, "real-says"))[1])
    assert 0 < done < 999
    assert "none had any rule" in text_of(page, "real-says")
    assert text_of(page, "p-value") == f"p = {format_p_value(2 / (2 + done))}"


def test_chance_is_called_chance():
    random_rows = np.random.default_rng(0)
    X = {"a": random_rows.random(60), "b": random_rows.random(60)}
    told = result_words(permutation_test(X, random_rows.integers(0, 2, 60), n_permutations=99))
    assert told["tone"] == "open"
    assert "may well make" in told["says"]
    assert "ended early" in told["detail"]


# -- rules nearly as good --------------------------------------------------------------------------


def test_the_rules_nearly_as_good_are_listed_and_can_be_pinned(page, tumours):
    open_dataset(page, "tumours")
    click(page, "ask-alternatives")
    wait_for(lambda: text_of(page, "alternatives-facts"))
    train = tumours.solver.split(tumours.first).train
    found = opdt.rashomon_set(train.X, train.y, within=0.01, w=10.0, max_depth=2)
    assert text_of(page, "alternatives-facts") == found.facts()
    levels = texts(page, "[data-testid=alternative-verdict]")
    assert set(levels) <= {"Supported", "Weak", "Not supported"}
    assert len(levels) == len(texts(page, "[data-testid=alternative]"))
    values = texts(page, "[data-testid=alternative] td:nth-child(2)")
    assert values == [f"{each.value:g}" for each in found.patterns]
    rows = texts(page, "[data-testid=alternative-rows]")
    assert rows[0] == "the rule"
    best, second = (each.rule.covers(train.X) for each in found.patterns[:2])
    assert not (second & ~best).any()
    assert rows[1] == f"{(best & ~second).sum()} fewer"
    click(page, "pin-alternative", 1)
    sentence = found.patterns[1].rule.to_english()
    wait_for(lambda: sentence in text_of(page, "pinned"))
    wait_for(lambda: texts(page, "[data-testid=pin-alternative]")[1] == "Pinned")
    choose(page, "within", "2 %")
    more = opdt.rashomon_set(train.X, train.y, within=0.02, w=10.0, max_depth=2, limit=500)
    wait_for(lambda: text_of(page, "alternatives-facts") == more.facts())
    click(page, "alternatives-next")
    total = len(more.patterns)
    wait_for(lambda: f"7 to 12 of {total}" in text_of(page, "alternatives-range"))
    page.refresh()
    wait_for(lambda: text_of(page, "alternatives-facts") == more.facts())
    shown = "return document.querySelector('[data-testid=within]').selectedOptions[0].text"
    assert page.execute_script(shown) == "2 %"
    choose(page, "depth", "1")
    wait_for(lambda: text_of(page, "alternatives-outdated"))
    assert texts(page, "[data-testid=alternative]") == []


def test_features_that_can_be_exchanged_are_named_in_a_sentence():
    data = {"age": [25, 31, 47, 52, 60], "pulse": [60, 62, 80, 85, 95]}
    state = ["well", "well", "ill", "ill", "ill"]
    found = opdt.rashomon_set(data, state, label="ill", max_depth=1)
    assert exchange_sentence(found) == "age or pulse can take each other's place."
    ages = {"age": data["age"]}
    alone = opdt.rashomon_set(ages, state, label="ill", max_depth=1, within=0.5)
    assert "the same feature, age," in exchange_sentence(alone)
    assert exchange_sentence(opdt.rashomon_set({"age": [1, 2]}, [0, 1], w=2, label=0)) == ""


def test_a_place_that_is_not_on_the_list_is_no_rule(tumours):
    found = tumours.solver.alternatives(tumours.first)
    rule = tumours.discovered().rule
    listing = list_alternatives(found, rule, tumours.solver.parts(tumours.first))
    assert listing.rule(0, 0) == rule
    assert listing.rule(0, 1) == found.patterns[0].equivalents[0]
    for place, way in ((99, 0), (0, 99), (-1, 0), ("0", 0), (0, None), (True, 0)):
        assert listing.rule(place, way) is None


def test_without_held_out_rows_there_is_one_part():
    irises = Asked("irises")
    assert list(wrong_parts(irises.solver.solve(irises.first))) == ["train", "held-out"]
    assert list(wrong_parts(irises.solver.solve(irises.first.change(held_out=0.0)))) == ["train"]
    assert wrong_parts(None) == {}


# -- the verdict -----------------------------------------------------------------------------------


def colours(page) -> tuple[str, str]:
    """The colours of the word of the verdict and of the proof."""
    script = "return getComputedStyle(document.querySelector(arguments[0])).color"
    return tuple(
        page.execute_script(script, f"[data-testid={name}]") for name in ("verdict-level", "badge")
    )


def test_the_verdict_stands_beside_the_proof_and_green_is_for_supported_only(page, tmp_path):
    open_dataset(page, "tumours")
    wait_for(lambda: "(p = 0.010)" in text_of(page, "verdict-reason"))  # a test nobody asked for
    assert text_of(page, "verdict-level") == "Supported"
    assert "held-out rows" in text_of(page, "verdict-reason")
    green, blue = colours(page)
    assert green != blue
    draw = random.Random(1)
    lines = [f"{draw.randrange(50)},{draw.choice('xyz')},{draw.choice('uv')}" for _ in range(150)]
    (tmp_path / "noise.csv").write_text("\n".join(["a,b,y", *lines]))
    page.find_element("css selector", "[data-testid=upload-input]").send_keys(
        str(tmp_path / "noise.csv")
    )
    wait_for(lambda: "noise.csv" in text_of(page, "data-summary"))
    choose(page, "target", "y")
    answered(page, 10.0)
    wait_for(lambda: "no rarity" in text_of(page, "verdict-reason"))
    assert text_of(page, "verdict-level") == "Not supported"
    assert "Do not rely on it" in text_of(page, "verdict-cure")
    red, proof = colours(page)
    assert proof == blue
    assert red not in (green, blue)
