"""The whole way of an expert in a real browser: from a table to files, and back.

After each step the rule on the page is the one that `opdt.discover` finds with the same settings.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

import opdt
from browser import choose, element, text_of, wait_for
from opdt import Rule, Structure, read_rule
from opdt.studio.solver import MAX_ALTERNATIVES
from opdt.studio.tables import Loaded, RowPart, load_dataset, load_file
from opdt.studio.web.panels.alternatives import PAGE
from opdt.studio.work import Work
from studio.web.downloads import downloaded
from studio.web.opened import new_tab
from studio_server import running

SLIDE = """
    const slider = document.querySelector("[data-testid=price-slider]");
    for (const position of arguments[0]) {
        slider.value = position;
        slider.dispatchEvent(new Event("input", {bubbles: true}));
    }
    slider.dispatchEvent(new Event("change", {bubbles: true}));
"""


@pytest.fixture(scope="module")
def uci(data_folder):
    if data_folder is None:
        pytest.skip("the paper's data are not here; set OPDT_DATA to their folder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPDT_DATA", str(data_folder))
        yield data_folder


@pytest.fixture(scope="module")
def server(uci, tmp_path_factory):
    with running(tmp_path_factory.mktemp("data")) as server:
        yield server


class Expert:
    """Says the same things on the page and to the library, and compares the answers."""

    def __init__(self, page: Any, loaded: Loaded, target: str, label: str) -> None:
        self.page, self.loaded = page, loaded
        self.work = Work(source=loaded.source, target=target).change(label=label)

    def rule(self, **said: Any) -> Rule:
        """What `discover` finds once this is said, too; the page must show it."""
        self.work = self.work.change(**said)
        rule = opdt.discover(self.train.X, self.train.y, **self.work.arguments()).rule
        wait_for(lambda: text_of(self.page, "sentence") == rule.to_english())
        wait_for(lambda: "proven optimal" in text_of(self.page, "badge"))
        return rule

    @property
    def train(self) -> RowPart:
        """The rows that the rule is found on."""
        work = self.work
        return self.loaded.split(work.target, held_out=work.held_out, seed=work.seed).train

    def write(self, testid: str, text: str) -> None:
        box = element(self.page, testid)
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(text or Keys.DELETE, Keys.ENTER)

    def click(self, testid: str, place: int = 0) -> None:
        """Click on something that may be out of sight."""

        def clicked() -> bool:
            found = self.page.find_elements("css selector", f'[data-testid="{testid}"]')
            if len(found) <= place:
                return False
            self.page.execute_script("arguments[0].click()", found[place])
            return True

        wait_for(clicked)

    def send(self, testid: str, path: Path) -> None:
        """Give a file to a field for files."""
        element(self.page, testid)
        field = self.page.find_element("css selector", f"[data-testid={testid}-input]")
        field.send_keys(str(path))

    def group(self, feature: str) -> None:
        """Drag a feature to where a new group begins."""

        def chip() -> Any:
            found = self.page.find_elements("css selector", "[data-testid=feature]")
            return next((each for each in found if each.text.split("\n")[0] == feature), None)

        start, end = wait_for(chip), element(self.page, "new-group")
        self.page.execute_script("arguments[0].scrollIntoView({block: 'center'})", end)
        ActionChains(self.page).drag_and_drop(start, end).perform()
        wait_for(lambda: feature in text_of(self.page, "group"))


# -- what an expert says ---------------------------------------------------------------------------


def say_what_is_known(expert: Expert, feature: str, percent: str) -> Rule:
    """A group and a structure, whose rule is pinned; a price by the slider; a least precision."""
    page = expert.page
    free = expert.rule()
    expert.group(feature)
    expert.click("form-levels")
    choose(page, "level-1", "group 1 (1)")
    known = expert.rule(
        groups={"group 1": (feature,)}, form="levels", structure=Structure.levels("group 1", "all")
    )
    assert feature in known.features
    assert known != free
    element(page, "pin-note").send_keys("what is known", Keys.ENTER)
    wait_for(lambda: known.to_english() in text_of(page, "pinned"))
    page.execute_script(SLIDE, [300, 200, 120, 60])
    price = wait_for(lambda: (now := _price(page)) != 10 and now)
    cheap = expert.rule(w=price)
    assert cheap != known
    expert.write("min-precision", percent)
    precise = expert.rule(min_precision=float(percent) / 100)
    assert precise not in (known, cheap)
    return precise


def stop_a_deep_search(expert: Expert, rule: Rule) -> None:
    """Four conditions take seconds: the search is stopped, keeps its best rule, and is undone."""
    page = expert.page
    choose(page, "depth", "4")
    expert.click("stop")
    wait_for(lambda: "stopped" in text_of(page, "badge"))
    assert "no allowed rule has a VI above" in text_of(page, "proof")
    element(page, "undo").click()
    wait_for(lambda: text_of(page, "sentence") == rule.to_english())
    wait_for(lambda: "proven optimal" in text_of(page, "badge"))


def pin_the_rule(expert: Expert, rule: Rule) -> None:
    """Of all rules that are nearly as good the first is the rule itself, which is pinned, too."""
    page = expert.page
    train = expert.train
    found = opdt.rashomon_set(
        train.X, train.y, within=0.1, limit=MAX_ALTERNATIVES, **expert.work.arguments()
    )
    expert.click("ask-alternatives")
    choose(page, "within", "10 %")
    facts = "stands alone" if len(found) == 1 else found.facts()
    wait_for(lambda: facts in text_of(page, "alternatives-facts"))
    listed = page.find_elements("css selector", "[data-testid=alternative]")
    assert len(listed) == min(len(found.patterns), PAGE)
    expert.click("pin-alternative")
    wait_for(lambda: _pinned(page) == 2)
    wait_for(lambda: rule.to_english() in text_of(page, "pins"))


# -- what an expert takes away ---------------------------------------------------------------------


def check_the_files(expert: Expert, rule: Rule, folder: Path) -> Path:
    """Download everything and use it; returns the project."""
    page, frame = expert.page, expert.loaded.frame
    report = downloaded(page, folder, "take-report")
    _check_report(report.read_text(), rule)
    assert read_rule(downloaded(page, folder, "take-json")) == rule
    choose(page, "dialect", "DuckDB")
    _check_sql(downloaded(page, folder, "take-sql").read_text(), frame, rule)
    script = downloaded(page, folder, "take-script")
    done = subprocess.run(
        [sys.executable, "-W", "error", script.name],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{rule}\nstatus: optimal")
    return downloaded(page, folder, "take-project")


def _check_report(page: str, rule: Rule) -> None:
    lxml = pytest.importorskip("lxml.html")
    text = " ".join(lxml.document_fromstring(page).text_content().split())
    assert rule.to_english() in text or str(rule) in text
    assert "held" in text or "not seen" in text


def _check_sql(expression: str, frame: Any, rule: Rule) -> None:
    duckdb = pytest.importorskip("duckdb")
    roles = {name: object for name, kind in frame.dtypes.items() if kind == "category"}
    data = frame.astype(roles)
    found = duckdb.sql(f"SELECT ({expression}) IS NOT NULL FROM data").fetchall()
    assert len(data) == len(found)
    assert [covered for (covered,) in found] == rule.covers(frame).tolist()


# -- the page itself -------------------------------------------------------------------------------


def check_the_page(expert: Expert, rule: Rule) -> None:
    """A reload keeps the work; undo and redo; dark; narrow."""
    page = expert.page
    page.execute_script("localStorage.removeItem('opdt-studio-mode')")  # chosen by another test
    page.refresh()
    wait_for(lambda: text_of(page, "sentence") == rule.to_english())
    wait_for(lambda: _pinned(page) == 2)
    element(page, "undo").click()
    wait_for(lambda: _pinned(page) == 1)
    element(page, "redo").click()
    wait_for(lambda: _pinned(page) == 2)
    light = _ground(page)
    element(page, "dark").click()
    wait_for(lambda: sum(_ground(page)) < 120 < sum(light))
    element(page, "dark").click()
    wait_for(lambda: _ground(page) == light)
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 820, "height": 1180, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        wait_for(lambda: page.execute_script("return innerWidth") == 820)
        assert wait_for(lambda: page.execute_script(WIDEST)) <= 820
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# The right edge of all that can be seen; what can be scrolled within its own frame does not count.
WIDEST = """
    const cuts = (box) => getComputedStyle(box).overflowX !== "visible";
    const framed = (each) => {
        let box = each.parentElement;
        while (box !== document.body && !cuts(box)) box = box.parentElement;
        return box !== document.body;
    };
    const seen = [...document.querySelectorAll("header *, main *")].filter(
        (each) => each.getClientRects().length && !each.closest(".sr-only") && !framed(each));
    const edges = seen.map((each) => each.getBoundingClientRect().right);
    return Math.max(document.documentElement.scrollWidth, ...edges.map(Math.floor));
"""


def _price(page: Any) -> float:
    return float(element(page, "price").get_property("value"))


def _pinned(page: Any) -> int:
    return len(page.find_elements("css selector", "[data-testid=pinned]"))


def _ground(page: Any) -> list[int]:
    """The colour behind everything."""
    colour = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    return [int(each) for each in colour[4:-1].split(",")]


# -- the two tables of the paper -------------------------------------------------------------------


@pytest.mark.slow
def test_heart_failure_as_a_file(browser, server, tmp_path):
    table = tmp_path / "heart failure.csv"
    load_dataset("heart_failure").frame.to_csv(table, index=False)
    with new_tab(browser, server.url) as page:
        expert = Expert(page, load_file(table), "death", "died")
        expert.send("upload", table)
        wait_for(lambda: "299 rows" in text_of(page, "data-summary"))
        choose(page, "target", "death")
        choose(page, "label", "died")
        rule = say_what_is_known(expert, "ejection_fraction", "95")
        pin_the_rule(expert, rule)
        project = check_the_files(expert, rule, tmp_path)
        check_the_page(expert, rule)
        page.switch_to.new_window("tab")
        page.get(server.url)
        expert.send("open-project", project)
        assert table.name in element(page, "waiting").text
        expert.send("upload", table)
        wait_for(lambda: text_of(page, "sentence") == rule.to_english())
        wait_for(lambda: _pinned(page) == 2)


def test_german_credit_as_built_in_data(browser, server, tmp_path):
    with new_tab(browser, server.url) as page:
        expert = Expert(page, load_dataset("german"), "credit_risk", "bad")
        choose(page, "dataset", "German")
        wait_for(lambda: "1,000 rows" in text_of(page, "data-summary"))
        choose(page, "label", "bad")
        rule = say_what_is_known(expert, "duration_months", "80")
        stop_a_deep_search(expert, rule)
        pin_the_rule(expert, rule)
        project = check_the_files(expert, rule, tmp_path)
        check_the_page(expert, rule)
        page.switch_to.new_window("tab")
        page.get(server.url)
        expert.send("open-project", project)
        wait_for(lambda: text_of(page, "sentence") == rule.to_english())
        wait_for(lambda: _pinned(page) == 2)
