from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot
from matplotlib.figure import Figure

from opdt import Condition, InputError, OPDTClassifier, Rule, discover
from opdt.plot import region
from opdt.plot.spread import MAX_POINTS
from opdt.solution import Solution, Status
from plot.support import (
    HOSTILE,
    axes,
    check_image,
    clinic,
    collisions,
    drawn_texts,
    framed,
    inside,
    marks,
    patches,
    texts,
)

AGE, DOSE = Condition("age", ">=", 50), Condition("dose", "<", 60)
WARD, SMOKER = Condition("ward", "!=", "west"), Condition("smoker", "==", "yes")

RULES = {
    "numeric-numeric": Rule([AGE, DOSE], "ill"),
    "numeric-categorical": Rule([AGE, WARD], "ill"),
    "categorical-numeric": Rule([Condition("ward", "in", ["east", "north"]), DOSE], "ill"),
    "categorical-categorical": Rule([WARD, SMOKER], "ill"),
    "one-numeric": Rule([AGE], "ill"),
    "one-categorical": Rule([WARD], "ill"),
    "three-conditions": Rule([AGE, WARD, SMOKER], "ill"),
}


def held(rule: Rule, X: dict[str, Any], y: np.ndarray) -> dict[str, int]:
    """How many rows of each kind there are, counted from the rule itself."""
    covered, right = rule.covers(X), y == rule.label
    return {
        "class-0-covered": int((covered & right).sum()),
        "class-1-covered": int((covered & ~right).sum()),
        "class-0-outside": int((~covered & right).sum()),
        "class-1-outside": int((~covered & ~right).sum()),
    }


@pytest.mark.parametrize("name", RULES)
def test_a_region_looks_as_stored(name: str, tmp_path: Path) -> None:
    check_image(region(RULES[name], *clinic(), ax=framed()), f"region-{name}", tmp_path)


def test_a_region_on_a_dark_ground_looks_as_stored(tmp_path: Path) -> None:
    ax = region(RULES["numeric-numeric"], *clinic(), ax=framed(dark=True))
    check_image(ax, "region-dark", tmp_path)


@pytest.mark.parametrize("name", [name for name in RULES if name != "three-conditions"])
def test_every_row_is_drawn_once_as_what_it_is(name: str) -> None:
    X, y = clinic()
    drawn = marks(region(RULES[name], X, y, ax=axes()))
    assert {kind: len(points) for kind, points in drawn.items()} == held(RULES[name], X, y)


@pytest.mark.parametrize("name", RULES)
def test_the_patches_hold_the_covered_rows_and_no_others(name: str) -> None:
    ax = region(RULES[name], *clinic(), ax=axes())
    for kind, points in marks(ax).items():
        assert inside(ax, points).all() if "-covered" in kind else not inside(ax, points).any()


conditions_on_age = st.lists(
    st.one_of(
        st.builds(Condition, st.just("age"), st.sampled_from([">=", "<"]), st.integers(15, 85)),
        st.builds(Condition, st.just("age"), st.sampled_from(["is missing", "is present"])),
    ),
    max_size=3,
)
levels = st.sampled_from(["north", "south", "east", "west", "elsewhere"])
conditions_on_ward = st.lists(
    st.one_of(
        st.builds(Condition, st.just("ward"), st.sampled_from(["==", "!="]), levels),
        st.builds(Condition, st.just("ward"), st.just("in"), st.sets(levels, min_size=1)),
        st.builds(Condition, st.just("ward"), st.sampled_from(["is missing", "is present"])),
    ),
    max_size=2,
)


@settings(max_examples=25)
@given(
    on_age=conditions_on_age,
    on_ward=conditions_on_ward,
    other=st.sampled_from(["dose", "smoker", "ward"]),
)
def test_any_rule_has_patches_of_its_own_rows(
    on_age: list[Condition], on_ward: list[Condition], other: str
) -> None:
    X, y = clinic(120)
    rule = Rule([*on_age, *on_ward], "ill")
    ax = Figure(figsize=(4, 4)).add_subplot()
    region(rule, X, y, features=["age", other], ax=ax)
    passing = Rule([c for c in rule.conditions if c.feature not in ("age", other)], "ill")
    drawn = marks(ax)
    assert sum(map(len, drawn.values())) == passing.covers(X).sum()
    assert sum(len(p) for kind, p in drawn.items() if "-covered" in kind) == rule.covers(X).sum()
    for kind, points in drawn.items():
        assert inside(ax, points).all() if "-covered" in kind else not inside(ax, points).any()


@pytest.mark.parametrize("threshold", [0.5, 2.5])
def test_rows_of_few_values_are_moved_apart_within_the_axes_and_the_region(
    threshold: float,
) -> None:
    X = {"vessels": np.arange(120) % 4, "depth": np.arange(120) % 7 / 10}
    rule = Rule([Condition("vessels", ">=", threshold), Condition("depth", "<", 0.35)], "a")
    ax = region(rule, X, np.where(np.arange(120) % 5, "a", "b"), ax=axes())
    for kind, points in marks(ax).items():
        assert inside(ax, points).all() if "-covered" in kind else not inside(ax, points).any()
        for values, (low, high) in zip(points.T, (ax.get_xlim(), ax.get_ylim()), strict=True):
            assert len(np.unique(values)) == len(values)
            assert ((values > low) & (values < high)).all()


@pytest.mark.parametrize("value", [49.0, 50.0])
def test_a_row_on_the_threshold_lies_on_the_right_side(value: float) -> None:
    X = {"x": [value, 49.999, 51.0, 0.0]}
    rule = Rule([Condition("x", ">=", value)], "a")
    ax = region(rule, X, ["a", "b", "a", "b"], ax=axes())
    drawn = marks(ax)
    assert len(drawn["class-0-covered"]) + len(drawn["class-1-covered"]) == rule.covers(X).sum()
    assert all(inside(ax, points).all() for kind, points in drawn.items() if "-covered" in kind)


def test_the_words_give_the_rule_and_its_numbers() -> None:
    X, y = clinic()
    rule = RULES["numeric-numeric"]
    n = held(rule, X, y)
    covered = n["class-0-covered"] + n["class-1-covered"]
    ax = region(rule, X, y, ax=axes())
    words = texts(ax)
    assert ax.get_title(loc="left") == "IF age ≥ 50 AND dose < 60 THEN ill"
    right = n["class-0-covered"]
    assert (
        f"covers {covered} of 240 rows: {right} ill ({100 * right / covered:.1f} %), "
        f"{covered - right} errors"
    ) in words
    assert f"ill, covered: {right}" in words
    assert f"well, covered (error): {n['class-1-covered']}" in words
    assert f"ill, not covered: {n['class-0-outside']}" in words
    assert f"well, not covered: {n['class-1-outside']}" in words
    assert "≥ 50" in words
    assert "< 60" in words
    assert "missing" in words


def test_conditions_on_other_features_are_applied_and_named() -> None:
    X, y = clinic()
    rule = RULES["three-conditions"]
    ax = region(rule, X, y, ax=axes())
    smokers = X["smoker"] == "yes"
    assert f"shown: the {smokers.sum()} rows with smoker = yes" in texts(ax)
    assert sum(map(len, marks(ax).values())) == smokers.sum()


def test_the_features_drawn_may_be_chosen() -> None:
    ax = region(RULES["three-conditions"], *clinic(), features=["smoker", "dose"], ax=axes())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("smoker", "dose")
    assert any("with age ≥ 50 and ward ≠ west" in text for text in texts(ax))


def test_a_large_table_is_sampled_and_says_so() -> None:
    n = 30_000
    rng = np.random.default_rng(0)
    X = {"u": rng.random(n), "v": rng.random(n)}
    y = np.where(X["u"] > 0.5, "high", "low")
    y[:7] = "high"
    rule = Rule([Condition("u", "<", 0.5), Condition("v", "<", 0.9)], "low")
    ax = region(rule, X, y, ax=axes())
    drawn = marks(ax)
    shown = sum(map(len, drawn.values()))
    assert MAX_POINTS <= shown <= MAX_POINTS + 100
    assert f"a sample of {shown:,} of these rows is drawn" in texts(ax)
    assert len(drawn["class-1-covered"]) == held(rule, X, y)["class-1-covered"] > 0
    assert f"low, covered: {held(rule, X, y)['class-0-covered']:,}" in texts(ax)


def test_the_same_rows_give_the_same_picture() -> None:
    first, second = (marks(region(RULES["one-numeric"], *clinic(), ax=axes())) for _ in range(2))
    assert all(np.array_equal(first[kind], second[kind]) for kind in first)


def test_many_levels_and_classes_are_drawn_together() -> None:
    rng = np.random.default_rng(3)
    X = {"code": np.array([f"c{k}" for k in rng.integers(0, 40, 500)], dtype=object)}
    y = rng.integers(0, 9, 500)
    rule = Rule([Condition("code", "in", ["c1", "c2"])], 4)
    ax = region(rule, X, y, ax=axes(7, 6))
    n_other = len({c for c in X["code"] if c not in ("c1", "c2")}) - 5
    words = texts(ax)
    assert f"{n_other} other levels" in " ".join(words).replace("\n", " ")
    assert sum("4 other classes" in word for word in words) == 3
    assert sum(map(len, marks(ax).values())) == 500


def test_dates_and_wide_ranges_have_axes_of_their_own() -> None:
    day = np.datetime64("2021-03-01")
    X = {
        "when": np.datetime64("2020-01-01") + np.arange(600).astype("timedelta64[D]"),
        "paid": np.geomspace(1, 1000, 600) ** 1.2,
    }
    y = np.where(X["when"] >= day, "late", "early")
    rule = Rule([Condition("when", ">=", day), Condition("paid", ">=", 20)], "late")
    ax = region(rule, X, y, ax=axes())
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "paid (log scale)"
    assert "≥ 2021-03-01" in texts(ax)
    for kind, points in marks(ax).items():
        assert inside(ax, points).all() if "-covered" in kind else not inside(ax, points).any()


@pytest.mark.parametrize("name", RULES)
def test_no_text_lies_on_another(name: str) -> None:
    X, y = clinic()
    new = dict(zip(X, HOSTILE, strict=False))
    rule = RULES[name]
    renamed = [Condition(new[c.feature], c.op, c.value) for c in rule.conditions]
    ax = region(
        Rule(renamed, "$ill_"),
        {new[feature]: values for feature, values in X.items()},
        np.where(y == "ill", "$ill_", "_well, and much more than that, as it happens"),
        ax=axes(),
    )
    assert collisions(ax) == []


def test_hostile_levels_are_shown_as_they_are() -> None:
    X = {"level": np.array(HOSTILE[:1] + HOSTILE[3:] + ("_a",), dtype=object).repeat(20)}
    rule = Rule([Condition("level", "==", "$")], "<i>$\\frac{1}</i>")
    y = np.where(X["level"] == "$", "<i>$\\frac{1}</i>", "_hidden")
    ax = region(rule, X, y, ax=axes(7, 5))
    assert {"$", "%s{}", "''", "_a"} <= set(texts(ax))
    assert "<i>$\\frac{1}</i>, covered: 20" in texts(ax)
    assert "_hidden, not covered: 80" in texts(ax)
    assert not any(text.get_parse_math() for text in drawn_texts(ax) if "$" in text.get_text())


def test_a_fitted_model_and_a_solution_give_the_same_picture_and_their_rule_no_verdict() -> None:
    X, y = clinic()
    matrix = np.column_stack([X["age"], X["dose"]])
    model = OPDTClassifier(max_depth=2, w=3, label="ill").fit(matrix, y)
    drawn = [region(each, matrix, y, ax=axes()) for each in (model, model.solution_)]
    bare = region(model.rule_, matrix, y, ax=axes())
    one, other, third = map(marks, (*drawn, bare))
    for kind, points in one.items():
        assert np.array_equal(points, other[kind])
        assert len(points) == len(third[kind])
    assert all("verdict: supported" in texts(ax) for ax in drawn)
    assert set(texts(drawn[0])) - set(texts(bare)) == {"verdict: supported"}


def test_a_model_of_a_frame_draws_an_array_under_the_names_of_the_fit() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = clinic()
    frame = pandas.DataFrame({"age": X["age"], "dose": X["dose"]})
    model = OPDTClassifier(max_depth=1, w=3, label="ill").fit(frame, y)
    ax = region(model, frame.to_numpy(), y, ax=axes())
    assert ax.get_xlabel() == model.rule_.features[0]
    covered = marks(ax)["class-0-covered"], marks(ax)["class-1-covered"]
    assert sum(map(len, covered)) == model.covers(frame).sum()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: region("rule", X, y), "needs a Rule, a Solution or a fitted model, got str"),
        (lambda X, y: region(Rule([], "ill"), X, y), "name one or two in 'features'"),
        (lambda X, y: region(Rule([AGE], "ill"), X, y[:3]), "'y' must have one label for each"),
        (lambda X, y: region(Rule([AGE], "ill"), X, y, features=["age"] * 2), "two different"),
        (lambda X, y: region(Rule([AGE], "ill"), X, y, features=["aeg"]), "did you mean 'age'"),
        (lambda X, y: region(Rule([AGE], "ill"), X, y, ax=3), "'ax' must be matplotlib axes"),
        (lambda X, y: region(Rule([AGE], "ill"), X, [None, *y[1:]]), "missing labels in 1 row"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(*clinic())


def test_a_solution_without_a_rule_is_refused() -> None:
    solution = Solution(None, 0.0, 0.0, Status.NO_PATTERN)
    with pytest.raises(InputError, match="there is no rule to draw: the solution's status is"):
        region(solution, *clinic())


def test_infinite_values_are_refused() -> None:
    with pytest.raises(InputError, match="column 'age' contains infinity"):
        region(Rule([AGE], "a"), {"age": [1.0, np.inf]}, ["a", "b"])


def test_a_rule_that_covers_nothing_is_drawn() -> None:
    ax = region(Rule([Condition("age", ">=", 500)], "ill"), *clinic(), ax=axes())
    assert any(text.startswith("covers 0 of 240 rows: 0 ill (–), 0 errors") for text in texts(ax))
    never = Rule([Condition("age", ">=", 60), Condition("age", "<", 40)], "ill")
    assert patches(region(never, *clinic(), ax=axes()), "region") == []


def test_pyplot_is_left_alone_when_axes_are_given() -> None:
    region(RULES["one-numeric"], *clinic(), ax=axes())
    assert pyplot.get_fignums() == []


def test_without_axes_a_new_figure_is_made() -> None:
    ax = region(RULES["one-numeric"], *clinic())
    assert pyplot.gcf() is ax.get_figure()


def test_a_rule_found_in_data_is_drawn() -> None:
    X, y = clinic()
    solution = discover(X, y, w=3, label="ill")
    ax = region(solution, X, y, ax=axes())
    covered = [points for kind, points in marks(ax).items() if "-covered" in kind]
    assert sum(map(len, covered)) == solution.covered
