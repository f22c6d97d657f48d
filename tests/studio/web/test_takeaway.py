"""Files that are taken away: read on the page, copied, downloaded and opened again."""

from __future__ import annotations

import random
import re

import pytest

from browser import choose, element, text_of, wait_for
from opdt import read_rule
from opdt.rules.export import DIALECTS
from opdt.rules.export.plan import column_types
from opdt.studio.code import script
from opdt.studio.web.panels.takeaway import DIALECT_TITLES
from opdt.studio.work import Work
from studio.web.downloads import downloaded
from studio.web.opened import Asked, new_tab, open_dataset

HOSTILE = "</pre><img src=x onerror=document.title='owned'>"


@pytest.fixture(scope="module")
def wines():
    return Asked("wines")


def click(page, testid: str) -> None:
    page.execute_script("arguments[0].click()", element(page, testid))


def test_the_script_is_shown_and_copied_and_follows_the_page(page, wines):
    open_dataset(page, "wines")
    click(page, "show-script")
    wait_for(lambda: text_of(page, "code") == script(wines.first))
    page.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    element(page, "copy").click()  # a browser copies for a person, not for a script
    wait_for(lambda: text_of(page, "copy") == "Copied")
    read = "navigator.clipboard.readText().then(arguments[0], () => arguments[0](null))"
    assert page.execute_async_script(read) == script(wines.first)
    choose(page, "depth", "1")
    wait_for(lambda: text_of(page, "code") == script(wines.first.change(max_depth=1)))
    click(page, "show-script")
    wait_for(lambda: text_of(page, "code") == "")


def test_sql_is_written_in_every_dialect(page, wines):
    open_dataset(page, "wines")
    rule = wines.discovered().rule
    types = column_types(wines.solver.split(wines.first).train.X)
    click(page, "show-sql")
    assert set(DIALECT_TITLES) == set(DIALECTS)
    for name, title in DIALECT_TITLES.items():
        choose(page, "dialect", title)
        expected = rule.to_sql_case(name, types=types)
        wait_for(lambda expected=expected: text_of(page, "code").strip() == expected)


def test_the_report_and_the_rule_are_downloaded_under_plain_names(page, wines, tmp_path):
    open_dataset(page, "wines")
    rule = wines.discovered().rule
    path = downloaded(page, tmp_path / "files", "take-json")
    assert path.name == "wines-rule.json"
    assert read_rule(path) == rule
    path = downloaded(page, tmp_path / "files", "take-certificate")
    assert path.name == "wines.cert"
    assert text_of(page, "verified").startswith("Independently verified: no allowed rule has a")
    path = downloaded(page, tmp_path / "files", "take-report")
    assert path.name == "wines-report.html"
    text = path.read_text()
    assert text.startswith("<!doctype html>")
    assert all(feature in text for feature in rule.features)


def test_without_a_rule_there_is_a_report_but_no_sql(page):
    open_dataset(page, "wines")
    box = element(page, "min-coverage")
    box.send_keys("100\n")
    element(page, "min-precision").send_keys("100\n")
    wait_for(lambda: "No rule" in text_of(page, "sentence"))
    assert not element(page, "take-sql").is_enabled()
    assert not element(page, "take-json").is_enabled()
    assert element(page, "take-report").is_enabled()
    assert not page.find_element("css selector", "[data-testid=evidence-panel]").is_displayed()


def test_a_project_asks_for_its_file_and_goes_on_where_it_was(page, server, tmp_path):
    draw = random.Random(1)
    values = [draw.randrange(100) for _ in range(80)]
    rows = "\n".join(f"{v},{draw.choice('ab')},{'ill' if v > 60 else 'well'}" for v in values)
    table = tmp_path / "it's <my> data.csv"
    table.write_text(f'value,"{HOSTILE}",outcome\n{rows}\n')
    page.find_element("css selector", "[data-testid=upload-input]").send_keys(str(table))
    wait_for(lambda: "80 rows" in text_of(page, "data-summary"))
    choose(page, "target", "outcome")
    choose(page, "label", "ill")
    sentence = wait_for(lambda: "ill" in (text := text_of(page, "sentence")) and text)
    click(page, "pin")
    wait_for(lambda: text_of(page, "pinned"))
    click(page, "show-script")
    wait_for(lambda: repr(table.name) in text_of(page, "code"))
    path = downloaded(page, tmp_path / "files", "take-project")
    assert re.fullmatch(r"[A-Za-z0-9_-]+\.opdt\.json", path.name)
    work = Work.from_json(path.read_bytes())
    assert (work.target, work.label, len(work.pinned)) == ("outcome", "ill", 1)
    with new_tab(page, server.url):
        page.find_element("css selector", "[data-testid=open-project-input]").send_keys(str(path))
        assert table.name in element(page, "waiting").text
        page.find_element("css selector", "[data-testid=upload-input]").send_keys(str(table))
        wait_for(lambda: text_of(page, "sentence") == sentence)
        wait_for(lambda: sentence in text_of(page, "pinned"))
