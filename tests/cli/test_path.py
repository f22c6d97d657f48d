from __future__ import annotations

import json
import math

import matplotlib as mpl
import pytest

import opdt as package

STATES = """\
age,state
20,well
22,ill
25,ill
27,ill
31,well
38,ill
47,well
52,ill
60,ill
"""
PATH = ("path", "states.csv", "--target", "state", "--engine", "exhaustive")
PLAIN = (*PATH, "--label", "ill", "--depth", "1")
ILL = (*PLAIN, "--objective", "vi")


@pytest.fixture(autouse=True)
def states(folder):
    (folder / "states.csv").write_text(STATES)


def lines(result):
    return [line.rstrip() for line in result.stdout.splitlines()]


def test_the_segments_are_listed_with_their_proof(opdt):
    """From the old to the young: two ill, a well, one ill, a well, three ill."""
    result = opdt(*ILL)
    assert (result.exit_code, result.stderr) == (0, "")
    *table, empty, proof, note, _, columns = lines(result)
    # 8 rows with 2 errors, or 2 rows with none: equal at w = (8 - 2) / 2
    assert table == [
        "w from  to  covered  errors  precision  lift  rule [verdict]",
        "     1   3        8       2     75.0 %  1.12  IF age >= 21 THEN ill [not",
        "                                              supported]",
        "     3   ∞        2       0    100.0 %  1.50  IF age >= 50 THEN ill [not",
        "                                              supported]",
        "                  9       3     66.7 %  1.00  all rows (THEN ill)",
    ]
    assert columns == "columns  1 used: 1 numeric"
    assert "about the rows, not about the search" in note
    assert empty == ""
    assert proof.startswith("proven: no allowed rule has a larger VI at any of these prices (")


def test_the_most_precise_rule_of_each_coverage_is_listed_unless_something_else_is_asked(opdt):
    *table, everything, _, proof, note, _, _ = lines(opdt(*PLAIN))
    assert everything.split()[:6] == ["9", "3", "66.7", "%", "1.00", "all"]
    assert table[0].split()[:4] == ["least", "coverage", "covered", "errors"]
    assert [line.split()[:6] for line in table[1::2]] == [
        ["1", "%", "2", "0", "100.0", "%"],
        ["30", "%", "8", "2", "75.0", "%"],
    ]
    assert proof.startswith("proven: no allowed rule of the same least coverage is more precise (")
    assert "about the rows, not about the search" in note


def test_the_path_holds_the_rule_that_fit_shows(opdt):
    """Three wells of nine: without '--label' it is for the rarer class, as in `opdt fit`."""
    plain = ("--target", "state", "--engine", "exhaustive", "--quiet")
    result = opdt("path", "states.csv", *plain[:-1], "--json", "-")
    assert "the rules are for well, the rarer of two classes" in result.stderr
    content = json.loads(result.stdout)
    least, rule = max((p["least"], p["rule"]) for p in content["points"] if p["least"] <= 0.05)
    fitted = json.loads(opdt("fit", "states.csv", *plain, "--json", "-").stdout)
    assert rule["conditions"] == fitted["conditions"]
    assert (rule["label"], fitted["label"], least) == ("well", "well", 0.01)


def test_the_largest_rule_of_each_precision_is_listed_where_coverage_is_the_objective(opdt):
    result = opdt(*PLAIN, "--objective", "coverage", "--quiet")
    assert [line.split()[:4] for line in lines(result)[1:-1:2]] == [
        ["50", "%", "9", "3"],
        ["70", "%", "8", "2"],
        ["80", "%", "2", "0"],
    ]


def test_a_path_may_end_at_a_price(opdt):
    assert lines(opdt(*ILL, "--w-max", 2.5))[1].split()[:2] == ["1", "2.5"]
    assert len(lines(opdt(*ILL, "--w-max", 2.5, "--quiet"))) == 4  # the rule takes two lines


def test_the_frontier_lists_numbers_of_errors(opdt):
    *table, everything, _, proof, _, _, _ = lines(opdt(*ILL, "--frontier"))
    assert [line.split()[:3] for line in table[1::2]] == [
        ["yes", "2", "0"],
        ["no", "4", "1"],
        ["yes", "8", "2"],
    ]
    assert everything.split()[:2] == ["9", "3"]
    assert proof.startswith("proven: no allowed rule has more correct rows at any number of errors")
    part = lines(opdt(*ILL, "--frontier", "--max-errors", 1, "--quiet"))
    assert [line.split()[:3] for line in part[1:-1:2]] == [["yes", "2", "0"], ["no", "4", "1"]]


def test_held_out_rows_are_counted_beside(opdt, folder):
    (folder / "new.csv").write_text("age,state\n55,ill\n58,well\n10,ill\n")
    table = lines(opdt(*ILL, "--test", "new.csv", "--quiet"))
    assert "held-out" in table[0]
    assert sum("50.0 % of 2" in line for line in table) == 2  # both rules
    assert sum("[not supported]" in line or "supported]" in line for line in table) == 2
    held = opdt(*ILL, "--hold-out", 0.4, "--seed", 3)
    assert held.exit_code == 0
    assert "held-out" in held.stdout


def test_json_holds_the_table_with_rules_to_apply(opdt, folder):
    assert opdt(*ILL, "--json", "path.json").exit_code == 0
    content = json.loads((folder / "path.json").read_text())
    assert content["complete"] is True
    assert content["opdt"] == package.__version__
    first, last = content["segments"]
    assert (first["w_from"], first["w_to"], last["w_to"]) == (1, 3, None)
    assert (first["covered"], first["errors"], first["precision"]) == (8, 2, 0.75)
    assert {*first["verdict"]} == {"level", "reason", "cure"}
    assert first["verdict"]["level"] == "not supported"
    assert first["lift"] == pytest.approx(0.75 / (6 / 9))
    assert [each["column"] for each in content["columns"]] == ["age"]
    assert first["rule"] == {
        "opdt_rule": 1,
        "label": "ill",
        "conditions": [{"feature": "age", "op": ">=", "value": 21.0}],
    }
    printed = opdt(*ILL, "--frontier", "--json", "-").stdout
    assert [point["correct"] for point in json.loads(printed)["points"]] == [2, 3, 6]


def test_the_trade_off_is_drawn(opdt, folder):
    mpl.use("agg")
    assert opdt(*ILL, "--plot", "path.png").exit_code == 0
    assert (folder / "path.png").read_bytes()[:4] == b"\x89PNG"


def test_without_time_it_says_what_is_not_proven(opdt):
    result = opdt(*ILL, "--time-limit", 0)
    assert result.exit_code == 3
    assert "not proven (time limit): 1 of 1 segments may have a better rule" in result.stdout
    plain = opdt(*PLAIN, "--time-limit", 0)
    assert plain.exit_code == 3
    assert "not proven (time limit): rules may be missing" in plain.stdout


def test_constraints_that_no_rule_meets_exit_with_3(opdt):
    result = opdt(*PATH, "--min-coverage", 9, "--max-errors", 0)
    assert result.exit_code == 3
    assert result.stdout == "No rule meets the constraints.\n\ncolumns  1 used: 1 numeric\n"


def test_a_last_segment_without_a_rule_is_shown(opdt, folder):
    (folder / "same.csv").write_text("a,b,y\n1,2,x\n1,2,x\n1,2,z\n2,2,x\n2,2,x\n2,2,z\n")
    asked = ("path", "same.csv", "--target", "y", "--engine", "exhaustive", "--paper")
    result = opdt(*asked, "--json", "-")
    last = json.loads(result.stdout)["segments"][-1]
    assert (last["rule"], last["precision"], last["covered"]) == (None, None, 0)
    shown = opdt(*asked)
    assert any(line.split()[-2:] == ["no", "rule"] for line in lines(shown))
    assert math.isclose(last["w_from"], 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--label", "dead"], ["'--label' 'dead'"]),
        (["--engine", "bsccart"], ["'engine' 'bsccart' proves nothing"]),
        (["--w-max", "0"], ["'w_max' must be"]),
        (["--w-max", "5", "--frontier"], ["'--w-max' has no meaning beside '--frontier'"]),
        (["--w-max", "5", "--objective", "coverage"], ["beside '--objective coverage'; drop one"]),
        (["--frontier", "--objective", "precision"], ["'--frontier' has no meaning beside"]),
        (["--objective", "lift"], ["'--objective' must be 'vi', 'precision' or 'coverage'"]),
        (["--paper", "--label", "ill"], ["'--label' cannot be given beside '--paper'"]),
        (["--test", "states.csv", "--hold-out", "0.2"], ["two ways to the same end"]),
        (["--json", "states.csv"], ["is the input"]),
        (["--plot", "nowhere/path.png"], ["folder that does not exist"]),
        (["--plot", "path.zzz"], ["'--plot' 'path.zzz' must end in .png"]),
        (["--frontier", "--max-errors", "-1"], ["'max_errors' must be"]),
    ],
)
def test_an_option_that_cannot_be_used_gives_one_sentence(opdt, refused, options, words):
    refused(opdt(*PATH, *options), *words)
