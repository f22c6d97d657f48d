from __future__ import annotations

import pytest

pytest.importorskip("jinja2", reason="a report needs jinja2")

REPORT = ["report", "patients.csv", "--target", "state", "--depth", "1"]


def test_a_page_is_written_and_the_rule_is_named(opdt, folder):
    result = opdt(*REPORT, "-o", "page.html", "--title", "Patients")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "wrote page.html: IF age >= 40 THEN ill\nverdict: not supported: " in result.stderr
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<title>Patients</title>" in page


def test_rows_can_be_held_out_or_given_in_a_file(opdt, folder):
    for options in (["--hold-out", "0.4", "--seed", "1"], ["--test", "patients.csv"]):
        result = opdt(*REPORT, *options, "--quiet")
        assert result.exit_code in (0, 3)
        assert result.stderr == ""
    assert "rows it has not seen" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--hold-out", "0.3", "--test", "patients.csv"], ["two ways"]),
        (["--hold-out", "1.5"], ["'--hold-out'", "1.5"]),
        (["--out", "patients.csv"], ["is the input"]),
        (["--out", "page.pdf"], ["page.pdf", ".html"]),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(
    opdt, refused, folder, options, words
):
    before = sorted(folder.iterdir())
    refused(opdt(*REPORT, *options, "--quiet"), *words)
    assert sorted(folder.iterdir()) == before


def test_columns_that_are_not_used_are_told_once(opdt, folder):
    rows = [f"P{n},{n % 7},{'ill' if n % 7 > 3 else 'well'}" for n in range(60)]
    (folder / "ids.csv").write_text("\n".join(["id,pulse,state", *rows]) + "\n")
    result = opdt("report", "ids.csv", "--target", "state", "--depth", "1", "--out", "page.html")
    assert result.exit_code == 0
    assert result.stderr.count("its name says so, and all 60 values differ") == 1
