"""Groups, structure and demands on the page, in a real browser; the rule is `discover`'s."""

from __future__ import annotations

import random

import pytest

import opdt
from browser import choose, element, text_of, wait_for
from opdt import Structure
from opdt.report.text import rule_lines
from opdt.studio.tables import load_file
from opdt.studio.work import Work
from studio.web.opened import fresh_tab
from studio_server import running

ATTACK = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
HEAD = "age,pulse,sugar,ward,drug,sex,state"
SUGAR, WARD, WARDS = "sugar is at least", "ward is “c”", "not “a” and known and not “d”"


def patients(n_rows: int = 240, seed: int = 3) -> str:
    """Ill are the old of wards b and c, those with sugar on the old drug, and those unmeasured."""
    draw = random.Random(seed)
    lines = [HEAD]
    for _ in range(n_rows):
        age, pulse, sugar = draw.randint(20, 80), draw.randint(50, 110), draw.uniform(3, 12)
        ward, drug = draw.choice("abcd"), draw.choice(["none", "old", "new"])
        unmeasured = draw.random() < 0.1
        ill = (age >= 50 and ward in "bc") or (sugar >= 8 and drug == "old") or unmeasured
        if draw.random() < 0.01:
            ill = not ill
        shown = "" if unmeasured else pulse
        cells = [age, shown, f"{sugar:.1f}", ward, drug, draw.choice("fm")]
        lines.append(",".join(map(str, [*cells, "ill" if ill else "well"])))
    return "\n".join(lines)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "patients.csv"
    path.write_text(patients())
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("studio")
    with running(folder, str(table), "--target", "state") as server:
        yield server
        assert (folder / "stderr.txt").read_text() == ""  # no handler has failed


def open_table(browser, server, path) -> None:
    """Another table on a new page, once the one of the start is there."""
    fresh_tab(browser, server.url)
    wait_for(lambda: "patients.csv" in text_of(browser, "data-summary"))
    all_of(browser, "upload-input")[0].send_keys(str(path))
    wait_for(lambda: path.name in text_of(browser, "data-summary"))


@pytest.fixture
def page(browser, server):
    """The patients on a new page, with the class to find."""
    fresh_tab(browser, server.url)
    choose(browser, "label", "ill")
    wait_for(lambda: "the class is ill" in text_of(browser, "sentence"))
    yield browser
    problems = [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]
    assert problems == []
    assert browser.title == "opdt Studio"


@pytest.fixture(scope="module")
def rule_of(table):
    """What `discover` says with the same settings on the training rows."""
    loaded = load_file(table)

    def sentence(**said) -> str:
        work = Work(source=loaded.source, target="state").change(label="ill", **said)
        split = loaded.split("state", held_out=work.held_out, seed=work.seed)
        solution = opdt.discover(split.train.X, split.train.y, **work.arguments())
        return rule_lines(solution)[0] if solution.rule is None else solution.rule.to_english()

    return sentence


def shows(page, sentence: str) -> None:
    wait_for(lambda: text_of(page, "sentence") == sentence)


def all_of(page, testid: str, within=None) -> list:
    return (within or page).find_elements("css selector", f'[data-testid="{testid}"]')


def chip(page, name: str, group: int | None = None):
    """The chip of a feature in the list of all, or in the group of this number."""

    def found():
        place = page if group is None else all_of(page, "group")[group]
        chips = all_of(page, "feature" if group is None else "member", place)
        return next((each for each in chips if each.text.split("\n")[0] == name), None)

    return wait_for(found)


def members(page, group: int) -> list[str]:
    script = """
        const group = document.querySelectorAll('[data-testid="group"]')[arguments[0]];
        const chips = group?.querySelectorAll('[data-testid="member"] .name') ?? [];
        return Array.from(chips, (each) => each.textContent);
    """
    return page.execute_script(script, group)


def drag(page, what, to) -> None:
    from selenium.webdriver import ActionChains

    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", to)
    ActionChains(page).drag_and_drop(what, to).perform()


def press(page, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(page).send_keys(*keys).perform()


def focused(page) -> str | None:
    return page.switch_to.active_element.get_attribute("data-key")


def rename(page, group: int, name: str) -> None:
    from selenium.webdriver.common.keys import Keys

    box = all_of(page, "group-name")[group]
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys(Keys.NULL, name, Keys.ENTER)


def add_demand(page, name: str) -> None:
    element(page, "add-demand").click()
    wait_for(lambda: [e for e in all_of(page, "demand-on") if e.text == name])[0].click()
    wait_for(lambda: text_of(page, "add-demand").startswith("+"))


def names_of_groups(page) -> list[str]:
    """As the server has drawn them, not as they are being written."""
    labels = [each.get_attribute("aria-label") for each in all_of(page, "group-name")]
    return [each.removeprefix("Name of group ") for each in labels]


# -- groups ----------------------------------------------------------------------------------------


def test_features_are_dragged_into_groups_and_the_rule_follows(page, rule_of):
    drag(page, chip(page, "age"), element(page, "new-group"))
    wait_for(lambda: members(page, 0) == ["age"])
    wait_for(lambda: focused(page) == "group-name 0")  # so that its name can be written
    rename(page, 0, "body")
    wait_for(lambda: names_of_groups(page) == ["body"])
    drag(page, chip(page, "pulse"), all_of(page, "group")[0])
    wait_for(lambda: members(page, 0) == ["age", "pulse"])
    element(page, "form-levels").click()
    choose(page, "level-1", "body (2)")
    choose(page, "level-2", "cat (3)")
    levels = Structure.levels("body", "cat")
    expected = rule_of(groups={"body": ("age", "pulse")}, structure=levels)
    assert WARD in expected
    shows(page, expected)
    drag(page, chip(page, "age", 0), chip(page, "sex"))  # the list of all takes it out
    wait_for(lambda: members(page, 0) == ["pulse"])
    less = rule_of(groups={"body": ("pulse",)}, structure=levels)
    assert less != expected
    shows(page, less)
    drag(page, chip(page, "pulse", 0), element(page, "new-group"))
    wait_for(lambda: members(page, 1) == ["pulse"])
    assert "body" in element(page, "structure-note").text
    assert "body" in wait_for(lambda: element(page, "error").text)
    for _ in range(2):
        element(page, "undo").click()
    wait_for(lambda: members(page, 0) == ["age", "pulse"])
    shows(page, expected)
    all_of(page, "delete-group")[0].click()
    wait_for(lambda: members(page, 0) == [])
    shows(page, rule_of(structure=Structure.levels("all", "cat")))


def test_features_are_put_into_groups_by_keys_alone(page, rule_of):
    from selenium.webdriver.common.keys import Keys

    page.execute_script("arguments[0].focus()", chip(page, "age"))
    press(page, Keys.ENTER)
    wait_for(lambda: chip(page, "age").get_attribute("aria-pressed") == "true")
    page.execute_script("arguments[0].focus()", chip(page, "pulse"))
    press(page, " ")
    wait_for(lambda: "2 selected" in text_of(page, "selection"))
    element(page, "move-to-new").send_keys(Keys.ENTER)
    wait_for(lambda: members(page, 0) == ["age", "pulse"])
    wait_for(lambda: focused(page) == "group-name 0")
    press(page, "bo")  # the name is selected, so it is replaced
    page.execute_script("document.querySelector('[data-testid=once]').click()")
    wait_for(lambda: text_of(page, "demands-state") == "1 demand")
    press(page, "dy", Keys.ENTER)  # that the page has changed meanwhile takes no letter away
    wait_for(lambda: names_of_groups(page) == ["body"])
    element(page, "new-group").send_keys(Keys.ENTER)
    wait_for(lambda: len(all_of(page, "group")) == 2)
    page.execute_script("arguments[0].focus()", chip(page, "pulse", 0))
    press(page, " ")
    wait_for(lambda: [each.text for each in all_of(page, "move-to")] == ["body", "group 1"])
    all_of(page, "move-to")[1].send_keys(Keys.ENTER)
    wait_for(lambda: (members(page, 0), members(page, 1)) == (["age"], ["pulse"]))
    wait_for(lambda: focused(page) == "chip 1 1")
    press(page, " ")
    element(page, "take-out").send_keys(Keys.ENTER)
    wait_for(lambda: members(page, 1) == [])
    element(page, "form-levels").send_keys(Keys.ENTER)
    choose(page, "level-1", "body (1)")
    wait_for(lambda: focused(page) == "level-1")  # drawn anew, and the focus is kept
    groups = {"body": ("age",)}
    shows(page, rule_of(groups=groups, structure=Structure.levels("body", "all"), once=True))


def test_a_feature_can_be_in_several_groups_and_names_must_differ(page):
    for place in range(2):
        drag(page, chip(page, "sex"), element(page, "new-group"))
        wait_for(lambda place=place: members(page, place) == ["sex"])
    assert members(page, 0) == ["sex"]
    rename(page, 1, "group 1")
    assert "already" in wait_for(lambda: element(page, "error").text)
    wait_for(lambda: names_of_groups(page) == ["group 1", "group 2"])
    rename(page, 1, "num")
    wait_for(lambda: "num" in element(page, "error").text)
    wait_for(lambda: names_of_groups(page) == ["group 1", "group 2"])


def test_groups_are_suggested_by_what_goes_together(browser, server, tmp_path):
    draw = random.Random(5)
    lines = ["cm,kg,inch,class"]
    for _ in range(60):
        cm, kg = draw.randint(150, 200), draw.randint(50, 100)
        lines.append(f"{cm},{kg},{cm / 2.54:.1f},{'tall' if cm > 175 else 'short'}")
    (tmp_path / "bodies.csv").write_text("\n".join(lines))
    open_table(browser, server, tmp_path / "bodies.csv")
    choose(browser, "target", "class")
    wait_for(lambda: len(all_of(browser, "feature")) == 3)
    element(browser, "suggest-groups").click()
    wait_for(lambda: members(browser, 0) == ["cm", "inch"])
    assert "0.7" in text_of(browser, "note")


# -- structure -------------------------------------------------------------------------------------


def test_levels_are_added_chosen_and_removed(page, rule_of):
    choose(page, "free-depth", "3")
    shows(page, rule_of(max_depth=3))
    element(page, "form-levels").click()
    choose(page, "level-1", "num (3)")
    choose(page, "level-2", "cat (3)")
    element(page, "remove-level-3").click()
    shows(page, rule_of(structure=Structure.levels("num", "cat")))
    element(page, "add-level").click()
    choose(page, "level-3", "cat (3)")
    expected = rule_of(structure=Structure.levels("num", "cat", "cat"))
    assert WARDS in expected
    shows(page, expected)
    element(page, "remove-level-1").click()
    shows(page, rule_of(structure=Structure.levels("cat", "cat")))
    element(page, "form-free").click()
    shows(page, rule_of(max_depth=2))


def test_a_tree_is_edited_by_clicking_its_nodes_and_leaves(page, rule_of):
    element(page, "form-tree").click()

    def now(split, group, target) -> str:
        structure = Structure.tree(split=split, group=group, target=target)
        expected = rule_of(form="tree", structure=structure)
        shows(page, expected)
        return expected

    first = now([1, 1, 1], ["all"] * 3, [1, 1, 1, 1])
    element(page, "leaf-7").click()
    element(page, "leaf-6").click()
    assert now([1, 1, 1], ["all"] * 3, [1, 1, 0, 0]) != first
    element(page, "leaf-5").click()
    last = now([1, 1, 1], ["all"] * 3, [1, 0, 0, 0])
    wait_for(lambda: not element(page, "leaf-4").is_enabled())  # a rule must end somewhere
    element(page, "leaf-6").click()
    wait_for(lambda: element(page, "leaf-4").is_enabled())
    both = "for (const k of [4, 6]) document.querySelector(`[data-testid=leaf-${k}]`).click()"
    page.execute_script(both)  # before the page knows that the second is the last
    assert "at least one target leaf" in element(page, "structure-note").text
    element(page, "leaf-4").click()
    element(page, "leaf-7").click()
    now([1, 1, 1], ["all"] * 3, [1, 0, 1, 1])
    choose(page, "node-1", "num (3)")
    choose(page, "node-3", "cat (3)")
    choose(page, "node-2", "– no split –")
    wait_for(lambda: not all_of(page, "leaf-4") and all_of(page, "leaf-2"))
    assert now([1, 0, 1], ["num", None, "cat"], [0, 1, 1, 1]) != last
    element(page, "split-7").click()
    choose(page, "node-7", "cat (3)")
    split, group = [1, 0, 1, 0, 0, 0, 1], ["num", None, "cat", None, None, None, "cat"]
    now(split, group, [0, 0, 0, 1, 0, 1, 1, 1])
    element(page, "split-6").click()
    choose(page, "node-6", "cat (3)")
    split, group = [1, 0, 1, 0, 0, 1, 1], ["num", None, "cat", None, None, "cat", "cat"]
    deep = now(split, group, [0, 0, 0, 1, 1, 1, 1, 1])
    assert WARDS in deep
    page.refresh()
    wait_for(lambda: all_of(page, "node-7"))  # a reload keeps the tree
    shows(page, deep)
    choose(page, "node-3", "– no split –")
    now([1], ["num"], [1, 1])
    element(page, "undo").click()
    shows(page, deep)
    assert len(all_of(page, "tree")) == 1
    assert {each.get_attribute("aria-label") for each in all_of(page, "leaf-12")} == {
        "Leaf 12, right then left then left: the rule may end here"
    }


# -- demands ---------------------------------------------------------------------------------------


def test_directions_and_required_and_forbidden_features(page, rule_of):
    assert SUGAR in text_of(page, "sentence")
    add_demand(page, "sugar")
    choose(page, "direction", "< only: lower, more ‘ill’")
    expected = rule_of(directions={"sugar": "<"})
    assert WARD in expected
    shows(page, expected)
    choose(page, "use", "must be used")
    shows(page, rule_of(directions={"sugar": "<"}, required=("sugar",)))
    choose(page, "direction", "either way")
    choose(page, "use", "must not be used")
    shows(page, rule_of(forbidden=("sugar",)))
    assert "forbidden" in chip(page, "sugar").get_attribute("class")
    element(page, "drop-demand").click()
    shows(page, rule_of())
    wait_for(lambda: not all_of(page, "demand"))
    for _ in range(3):  # the row, its use and its direction
        element(page, "undo").click()
    shows(page, rule_of(directions={"sugar": "<"}, required=("sugar",)))
    assert len(all_of(page, "demand")) == 1
    element(page, "redo").click()
    element(page, "redo").click()
    shows(page, rule_of(forbidden=("sugar",)))


def test_a_category_has_directions_of_its_own(page, rule_of):
    add_demand(page, "drug")
    choose(page, "direction", "≠ only: not to be of it")
    expected = rule_of(directions={"drug": "!="})
    assert WARD in expected
    shows(page, expected)


def test_what_conditions_may_be(page, rule_of):
    element(page, "subsets").click()
    expected = rule_of(subsets=True)
    assert "one of" in expected
    shows(page, expected)
    element(page, "subsets").click()
    choose(page, "free-depth", "3")
    assert WARDS in rule_of(max_depth=3)
    element(page, "once").click()
    expected = rule_of(max_depth=3, once=True)
    assert WARDS not in expected
    shows(page, expected)
    add_demand(page, "pulse")
    choose(page, "use", "must be used")
    element(page, "missing-conditions").click()
    choose(page, "free-depth", "1")
    expected = rule_of(max_depth=1, once=True, required=("pulse",), missing_conditions=True)
    assert "pulse is missing" in expected
    shows(page, expected)


# -- hostile and large tables ----------------------------------------------------------------------


def test_names_of_features_and_groups_are_only_ever_text(browser, server, tmp_path):
    name = f"{ATTACK} 'quoted' `twice` {{{{1+1}}}} :onclick=alert(1)"
    rows = [f"{k % 97},{'ab'[k % 2]},{'ill' if k % 97 > 50 else 'well'}" for k in range(120)]
    (tmp_path / "hostile.csv").write_text("\n".join([f"{name},ward,outcome", *rows]))
    open_table(browser, server, tmp_path / "hostile.csv")
    choose(browser, "target", "outcome")
    wait_for(lambda: len(all_of(browser, "feature")) == 2)
    drag(browser, all_of(browser, "feature")[0], element(browser, "new-group"))
    wait_for(lambda: len(members(browser, 0)) == 1)
    assert members(browser, 0)[0].rstrip("…") == name[:200]
    rename(browser, 0, ATTACK[:50])
    wait_for(lambda: names_of_groups(browser) == [ATTACK[:50]])
    element(browser, "form-tree").click()
    element(browser, "tree")
    options = browser.find_elements("css selector", "[data-testid=node-1] option")
    assert ATTACK[:40] in options[3].text
    choose(browser, "node-1", options[3].text)
    browser.execute_script("arguments[0].click()", all_of(browser, "feature")[0])
    wait_for(lambda: ATTACK[:20] in text_of(browser, "selection"))
    element(browser, "add-demand").click()
    element(browser, "demand-on").click()
    choose(browser, "use", "must be used")
    wait_for(lambda: "outcome" not in text_of(browser, "error"))
    assert ATTACK in text_of(browser, "demands")
    assert browser.execute_script("return document.querySelectorAll('main img').length") == 0
    assert browser.title == "opdt Studio"


@pytest.mark.slow
def test_two_thousand_features_stay_usable(browser, server, tmp_path):
    draw = random.Random(2)
    head = ",".join([*(f"gene {k}" for k in range(1999)), "outcome"])
    lines = [head]
    for row in range(30):
        cells = [str(draw.randrange(10)) for _ in range(1999)]
        lines.append(",".join([*cells, "ill" if row % 2 else "well"]))
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    open_table(browser, server, tmp_path / "wide.csv")
    wait_for(lambda: "2,000 columns" in text_of(browser, "data-summary"))
    wait_for(lambda: "1 to 24 of 2,000" in text_of(browser, "feature-range"))
    assert len(all_of(browser, "feature")) == 24
    element(browser, "next-features").click()
    wait_for(lambda: "25 to 48" in text_of(browser, "feature-range"))
    element(browser, "find-feature").send_keys("gene 19")
    wait_for(lambda: "1 to 24 of 110" in text_of(browser, "feature-range"))
    element(browser, "select-found").click()
    wait_for(lambda: "110 selected" in text_of(browser, "selection"))
    element(browser, "move-to-new").click()
    wait_for(lambda: len(members(browser, 0)) == 24)
    assert "and 86 more" in text_of(browser, "group")
    element(browser, "add-demand").click()
    element(browser, "find-demand").send_keys("gene 1998")
    wait_for(lambda: len(all_of(browser, "demand-on")) == 1)
    element(browser, "demand-on").click()
    choose(browser, "use", "must not be used")
    wait_for(lambda: element(browser, "undo").is_enabled())
    chips = browser.execute_script("return document.querySelectorAll('.know-chip').length")
    assert chips <= 48
    problems = [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]
    assert problems == []
