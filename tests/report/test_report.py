"""A report: what it says, that nothing of the data can run in it, and how it looks in a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from browser import chromium
from opdt import OPDTClassifier, OPDTRuleList, OPDTRuleSet, discover
from opdt.analysis.intervals import holdout_report
from opdt.errors import InputError
from opdt.report import report, rule_report
from opdt.verdict import judge

pytest.importorskip("jinja2", reason="a report needs jinja2")

EVIL = '<script>document.title="owned"</script>'
TAG = '"><img src=x onerror="document.title=1">'


def clinic(n=160, seed=3):
    rng = np.random.default_rng(seed)
    X = {
        "age": rng.integers(20, 90, n).tolist(),
        "lactate": rng.gamma(4.0, 0.6, n).round(1).tolist(),
        "ward": rng.choice(["A", "B", "C"], n).tolist(),
    }
    risk = (np.array(X["age"]) >= 60) & (np.array(X["lactate"]) >= 2)
    y = np.where(rng.random(n) < np.where(risk, 0.9, 0.1), "bad", "ok").tolist()
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = clinic()
    return OPDTClassifier(w=3, label="bad").fit(X, y), X, y


class Reader(HTMLParser):
    """Elements and text of a page, as a browser would see them."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def count(self, tag):
        return sum(each == tag for each, _ in self.elements)


def test_the_numbers_are_those_of_the_rule_on_both_parts(fitted):
    model, X, y = fitted
    unseen, states = clinic(seed=4)
    text = Reader(report(model, X, y, unseen, states, path=False).html()).text
    for rows, labels in ((X, y), (unseen, states)):
        numbers = rule_report(model.rule_, rows, labels, w=3)
        assert f"{numbers.correct:,} of {numbers.covered:,}; 95 % interval" in text
        assert f"{numbers.covered:,} − 3 × {numbers.errors:,}" in text
    assert "rows it has not seen" in text
    assert "optimistic" not in text


def test_without_other_rows_the_page_says_that_its_numbers_are_optimistic(fitted):
    model, X, y = fitted
    assert "optimistic" in report(model, X, y, path=False).html()


def test_every_covered_row_of_another_class_is_listed(fitted):
    model, X, y = fitted
    page = report(model, X, y, path=False)
    fires = model.rule_.covers(X)
    wrong = [
        i + 1 for i, (f, label) in enumerate(zip(fires, y, strict=True)) if f and label != "bad"
    ]
    assert [row[0] for row in page.context["wrongs"][0]["rows"]] == wrong


def test_the_rule_the_proof_and_the_exports_are_there(fitted):
    model, X, y = fitted
    text = Reader(report(model, X, y).html()).text
    for condition in model.rule_.conditions:
        assert str(condition) in text
    assert "Proven optimal: no allowed rule has a larger VI." in text
    assert model.rule_.to_english() in text
    assert model.rule_.to_json().strip() in text
    assert "Other prices of an error" in text


def test_nothing_of_the_data_is_markup():
    X = {EVIL: [1, 2, 3, 4, 5, 6], TAG: ["a", TAG, "a", EVIL, EVIL, EVIL]}
    y = [TAG, TAG, TAG, EVIL, EVIL, EVIL]
    model = OPDTClassifier(w=2).fit(X, y)
    page = report(model, X, y, title=EVIL).html()
    reader = Reader(page)
    assert reader.count("script") == 1
    sources = [attrs["src"] for _, attrs in reader.elements if "src" in attrs]
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert not any(name.startswith("on") for _, attrs in reader.elements for name in attrs)
    assert EVIL in reader.text


def test_the_policy_admits_the_one_script_and_nothing_from_elsewhere(fitted):
    page = report(*fitted, path=False).html()
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    outside = re.sub(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", "", page)
    assert "http://" not in re.sub(r"http://www\.dmg\.org\S*", "", outside)
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?!data:)\w", outside)


def test_a_solution_is_reported_with_what_was_asked(fitted):
    _, X, y = fitted
    asked = {
        "w": 3,
        "label": "bad",
        "constraints": {"min_precision": 0.8},
        "structure": ["num", "num"],
    }
    page = report(discover(X, y, **asked), X, y, settings=asked, path=False)
    reader = Reader(page.html())
    assert ("min precision", "0.8") in page.context["settings"]
    assert "★" in reader.text  # the structure is drawn


def test_a_table_without_a_pattern_gets_a_page_too():
    X, y = {"a": [1, 1, 2, 2]}, [0, 1, 0, 1]
    page = report(OPDTClassifier().fit(X, y), X, y).html()
    assert "No pattern" in page


@pytest.mark.parametrize(
    "model", [OPDTRuleList(w=3, max_rules=3), OPDTRuleSet(2, label="bad")], ids=["list", "set"]
)
def test_several_rules_have_a_page_with_their_numbers(model):
    X, y = clinic()
    X_new, y_new = clinic(seed=4)
    model.fit(X, y)
    html = report(model, X, y, X_new, y_new).html()
    page = Reader(html)
    rules = getattr(model, "rule_list_", None) or model.rule_set_
    for line in str(rules).splitlines():
        assert line in page.text
    for rows, labels in ((X, y), (X_new, y_new)):
        right = int((rules.predict(rows) == np.array(labels)).sum())
        assert f"{right} of {len(labels)} rows" in page.text
    first = rules.rules[0].covers(X_new)
    errors = int((first & (np.array(y_new) != rules.rules[0].label)).sum())
    assert f'<td class="n">{first.sum()}</td><td class="n">{errors}</td>' in html


@pytest.mark.parametrize(
    "model", [OPDTRuleList(w=3, max_rules=3), OPDTRuleSet(2, label="bad")], ids=["list", "set"]
)
def test_several_rules_have_a_verdict_each_by_the_rows_of_their_table(model):
    X, y = clinic()
    X_new, y_new = clinic(seed=4)
    model.fit(X, y)
    context = report(model, X, y, X_new, y_new).context
    unseen, seen = (table["lines"] for table in context["several"]["tables"])
    found = [step.evidence for step in model.steps_] if hasattr(model, "steps_") else []
    found = found or list(model.solution_.of_rules)
    rules = getattr(model, "rule_list_", None) or model.rule_set_
    assert [line["verdict"] for line in seen[: len(found)]] == [judge(e).to_dict() for e in found]
    held = holdout_report(rules.rules[0], X_new, y_new)
    assert unseen[0]["verdict"] == judge(found[0], held_out=held).to_dict()
    assert unseen[0]["lift"] == f"{held.precision / held.base_rate:.2f}"
    assert seen[-1]["verdict"] is None  # what is left is no finding
    assert (context["verdict"] is None) == isinstance(model, OPDTRuleList)


def test_several_rules_of_hostile_data_are_only_text():
    X, y = clinic()
    X = {EVIL: X["age"], TAG: X["lactate"]}
    y = [TAG if each == "bad" else EVIL for each in y]
    for model in (OPDTRuleList(w=3, max_rules=2), OPDTRuleSet(2)):
        page = Reader(report(model.fit(X, y), X, y).html())
        assert (page.count("script"), page.count("img")) == (1, 0)


def test_a_page_is_written_whole_or_not_at_all(fitted, tmp_path: Path, monkeypatch):
    model, X, y = fitted
    page = report(model, X, y, path=False)
    assert page.save(tmp_path / "r.html").read_text(encoding="utf-8") == page.html()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        page.save(tmp_path / "other.html")
    assert [each.name for each in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X, y: report(OPDTClassifier(), X, y), "fit it first"),
        (lambda m, X, y: report(m, X, y, X), "belong together"),
        (lambda m, X, y: report(m, X, y, path=False).save("r.pdf"), "name a file in .html"),
    ],
)
def test_what_cannot_be_reported_is_refused(fitted, call, message):
    with pytest.raises(InputError, match=message):
        call(*fitted)


def test_a_notebook_shows_the_page_in_a_frame(fitted):
    shown = report(*fitted, path=False)._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<script>" not in shown


# -- in a browser ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def emulate(browser, width, scheme):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )


def test_a_hostile_report_runs_nothing_and_fits_every_screen(browser, tmp_path: Path):
    X, y = clinic()
    X = {"age " + EVIL: X["age"], "lactate" * 12: X["lactate"], TAG: X["ward"]}
    model = OPDTClassifier(w=3, label="bad").fit(X, y)
    path = report(model, X, y, X, y, title="Ward " + TAG).save(tmp_path / "r.html")
    grounds = set()
    for width in (1280, 390):
        for scheme in ("light", "dark"):
            emulate(browser, width, scheme)
            browser.get(path.as_uri())
            assert browser.title == "Ward " + TAG
            page = "return document.documentElement."
            assert browser.execute_script(page + "scrollWidth") <= width
            ground = "return getComputedStyle(document.body).backgroundColor"
            grounds.add(browser.execute_script(ground))
            broken = "return [...document.images].filter(i => !i.naturalWidth).length"
            assert browser.execute_script(broken) == 0
    assert len(grounds) == 2
    assert browser.get_log("browser") == []


def test_an_export_can_be_copied_and_the_page_printed(browser, fitted, tmp_path: Path):
    model, X, y = fitted
    browser.get(report(model, X, y).save(tmp_path / "r.html").as_uri())
    said = browser.execute_async_script(
        "const done = arguments[0], button = document.querySelector('.copy');"
        "button.click(); setTimeout(() => done(button.textContent), 300)"
    )
    assert said in ("Copied", "Selected")
    printed = base64.b64decode(browser.print_page())
    assert printed.startswith(b"%PDF")


def test_the_verdict_stands_below_the_proof():
    ages, states = {"age": list(range(20, 120))}, ["well"] * 40 + ["ill"] * 60
    strong = report(discover(ages, states), ages, states, path=False)
    assert strong.context["verdict"]["level"] == "supported"
    assert '<div class="verdict supported"' in strong.html()
    few = {"age": [25, 31, 47, 52]}
    weak = report(discover(few, [0, 0, 1, 1]), few, [0, 0, 1, 1], path=False)
    assert weak.context["verdict"]["level"] == "not supported"
    page = weak.html()
    assert '<div class="verdict not-supported"' in page
    assert "<b>Not supported</b> right in 2 of 2 rows" in page
    assert "✓" not in page
