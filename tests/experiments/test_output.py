from __future__ import annotations

import csv
import io
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from experiments.toys import toy
from opdt.experiments.experiment import ExperimentSettings
from opdt.experiments.output import long_form, write_pages
from opdt.experiments.render import (
    ResultPage,
    about_settings,
    legend,
    show_difference,
    show_mark,
    show_value,
)
from opdt.experiments.render_html import html
from opdt.experiments.render_markdown import markdown
from opdt.experiments.runner import run
from opdt.experiments.tables import Entry, PaperComparison, TableColumn

NASTY = "<script>alert('x')</script> a|b *c* _d_"
TABLE = PaperComparison(
    NASTY,
    (TableColumn("A", 1), TableColumn("B", 1), TableColumn("C", 1, ours_only=True)),
    {
        NASTY: [
            Entry("d", "a", "VI", 5.0, 0.5, 10, 4.0, 2.0),
            Entry("d", "b", "VI", 1.0, 0.5, 10, 4.0, 2.0, note=NASTY),
            Entry("d", "c", "VI", None, note="it broke."),
        ],
        "second": [None, Entry("d", "b", "rule", NASTY), None],
    },
    highlight="high",
)


class Checked(HTMLParser):
    """Collects tags, and complains of tags that are closed in another order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def page(tmp_path):
    figure = tmp_path / "figure.png"
    figure.write_bytes(b"\x89PNG")
    experiment = replace(toy(), title=NASTY, notes=NASTY)
    return ResultPage(experiment, [TABLE], [figure], ["Measured & noted."])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "—"),
        ("text", "text"),
        (1.25, "1.2"),
        (-3.0, "−3.0"),
        (-0.01, "0.0"),
        (1234.5, "1234.5"),
    ],
)
def test_a_value_is_shown_with_the_decimals_of_its_column(value, shown):
    assert show_value(value, TableColumn("A", 1)) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0, "0"), (0.00004, "0.0000"), (0.0031, "0.0031"), (0.25, "0.250"), (602.0, "602")],
)
def test_times_are_shown_with_three_digits_that_count(seconds, shown):
    assert show_value(seconds, TableColumn("A"), is_time=True) == shown


def test_a_difference_has_its_sign_and_a_mark():
    column = TableColumn("A", 1)
    shown = [
        (show_difference(entry, column), show_mark(entry))
        for entry in (
            Entry("", "", "", 5.0, paper=4.0, paper_sd=2.0),
            Entry("", "", "", 7.0, paper=4.0, paper_sd=2.0),
            Entry("", "", "", 1.0, paper=4.0, paper_sd=2.0),
            Entry("", "", "", 4.0, paper=4.0),
            Entry("", "", "", 4.0),
        )
    ]
    assert shown == [("+1.0", "✓"), ("+3.0", "↑"), ("−3.0", "↓"), ("0.0", ""), ("", "")]


def test_the_page_is_one_well_formed_file_that_loads_nothing(page):
    text = html(page)
    checked = Checked(text)
    assert "script" not in checked.tags
    assert "link" not in checked.tags
    sources = [value for name, value in checked.attributes if name in ("src", "href")]
    assert sources == ["data:image/png;base64,iVBORw=="]
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text


def test_the_page_shows_ours_the_papers_and_the_difference(page):
    text = html(page)
    assert '<b class="best">5.0 ± 0.5</b><small>paper 4.0 ± 2.0</small>' in text
    assert '<small class="near">+1.0 ✓</small>' in text
    assert '<small class="far">−3.0 ↓</small>' in text
    assert "<td>—<sup>2</sup></td>" in text
    assert "<li>it broke.</li>" in text


def test_markdown_escapes_what_it_would_take_for_its_own(page):
    lines = markdown(page).splitlines()
    assert "<script>" not in "".join(lines)
    rows = [line for line in lines if line.startswith("|")]
    # Four columns have five bars that are not escaped.
    assert {line.replace("\\|", "").count("|") for line in rows} == {5}
    assert "<u>**5.0 ± 0.5**</u><br>paper 4.0 ± 2.0<br>+1.0 ✓" in rows[2]
    assert "![figure](figure.png)" in lines


def test_the_long_form_has_every_entry_with_all_digits():
    rows = list(csv.DictReader(io.StringIO(long_form([TABLE]))))
    assert len(rows) == 4
    first = rows[0]
    assert (first["table"], first["row"], first["method"]) == (NASTY, NASTY, "a")
    assert (first["ours"], first["ours_sd"], first["n"]) == ("5", "0.5", "10")
    assert (first["paper"], first["difference"], first["within_paper_sd"]) == ("4", "1", "yes")
    assert (rows[2]["ours"], rows[2]["difference"], rows[2]["note"]) == ("", "", "it broke.")
    assert rows[3]["ours"] == NASTY


def test_the_legend_explains_only_what_occurs():
    assert len(legend([TABLE])) == 5
    assert (
        legend([PaperComparison("t", (TableColumn("A"),), {"r": [Entry("", "", "", 1.0)]})]) == []
    )


def test_the_settings_are_told_in_words():
    told = " ".join(
        about_settings(
            ExperimentSettings(1, 1, ("pima",), ("opdt", "brs"), time_limit=5, quick=True)
        )
    )
    assert "This is a quick run" in told
    assert (
        "Asked for: 1 split, at most 1 seed per split, 5 s for a mixed-integer program, only the "
        "datasets pima, only the methods opdt, brs."
    ) in told
    assert about_settings(ExperimentSettings()) == ["Asked for: 10 splits."]


def test_each_experiment_has_three_files_and_its_figures(toy_kinds, tmp_path):
    def draw(results, folder):
        (folder / "toys-1.png").write_bytes(b"\x89PNG")
        return [folder / "toys-1.png"]

    experiment = replace(toy(3), figures=draw)
    results = run([experiment, toy(2, name="more")], tmp_path, ExperimentSettings())
    pages = write_pages([experiment, toy(2, name="more")], results, tmp_path)
    found = sorted(path.name for path in (tmp_path / "tables").iterdir())
    endings = ("csv", "html", "md")
    assert found == [f"more.{e}" for e in endings] + ["toys-1.png"] + [f"toys.{e}" for e in endings]
    assert [list(page.tables[0].rows) for page in pages] == [["0", "1", "2"], ["0", "1"]]
    assert "numpy" in (tmp_path / "tables" / "toys.md").read_text()
