from __future__ import annotations

import math

import pytest

from opdt.experiments.tables import Entry, PaperComparison, TableColumn


def test_the_mean_has_a_standard_deviation_with_n_minus_one():
    entry = Entry.of("german", "opdt", "VI", [1.0, 2.0, 6.0, None, math.nan], (4.0, 0.5))
    assert (entry.ours, entry.n) == (3.0, 3)
    assert entry.ours_sd == pytest.approx(math.sqrt((4 + 1 + 9) / 2))
    assert (entry.difference, entry.within) == (-1.0, False)


def test_nothing_to_average_is_nothing():
    entry = Entry.of("german", "opdt", "VI", [], (4.0, 0.5))
    assert (entry.ours, entry.ours_sd, entry.n, entry.difference) == (None, None, 0, None)
    assert Entry.of("german", "opdt", "VI", [5]).ours_sd is None


@pytest.mark.parametrize(
    ("ours", "paper", "sd", "within"),
    [
        (3.0, 4.0, 1.0, True),
        (5.1, 4.0, 1.0, False),
        (3.0, 4.0, None, None),
        (3.0, None, None, None),
        ("x", "x", None, None),
    ],
)
def test_ours_lies_within_a_standard_deviation_or_not(ours, paper, sd, within):
    assert Entry("", "", "", ours, paper=paper, paper_sd=sd).within is within


def test_the_standard_error_is_that_of_the_difference_of_two_means():
    # Variances of the means: 9 / 4 of ours, 40 / 10 of the paper's.
    entry = Entry("", "", "", 5.0, ours_sd=3.0, n=4, paper=0.0, paper_sd=math.sqrt(40))
    assert entry.standard_error == pytest.approx(2.5)
    assert entry.within_errors is True
    assert Entry("", "", "", 5.1, 3.0, 4, 0.0, math.sqrt(40)).within_errors is False
    assert Entry("", "", "", 5.0, None, 1, 0.0, 2.0).within_errors is None


def test_times_are_not_judged():
    assert Entry("", "", "", 1.0, paper=1.0, paper_sd=1.0, is_time=True).within is None


def row(*values, **more):
    return [None if value is None else Entry("", "", "", value, **more) for value in values]


def test_ranks_share_a_place_and_leave_out_what_the_paper_has_not():
    table = PaperComparison(
        "t",
        (
            TableColumn("a"),
            TableColumn("b"),
            TableColumn("c", ours_only=True),
            TableColumn("d"),
            TableColumn("e"),
        ),
        {"r": row(5.0, 7.0, 9.0, 7.0, None), "s": row(1.0, None, None, "text", 2.0)},
        highlight="high",
    )
    assert table.ranks("r") == {0: 3, 1: 1, 3: 1}
    assert table.ranks("s") == {0: 2, 4: 1}
    assert table.ranks("r", "paper") == {}
    assert len(list(table.entries())) == 7


def test_the_lowest_can_be_the_best_and_without_highlight_there_are_no_ranks():
    columns = (TableColumn("a"), TableColumn("b"))
    rows = {"r": row(5.0, 7.0)}
    assert PaperComparison("t", columns, rows, highlight="low").ranks("r") == {0: 1, 1: 2}
    assert PaperComparison("t", columns, rows).ranks("r") == {}
