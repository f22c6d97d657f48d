from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

from opdt import Condition, InputError, OPDTClassifier, Rule
from opdt.plot import funnel
from plot.support import HOSTILE, check_image, clinic, collisions, patches, sheet, texts

RULE = Rule(
    [
        Condition("age", ">=", 50),
        Condition("ward", "in", ["east", "north"]),
        Condition("smoker", "==", "yes"),
    ],
    "ill",
)


def by_hand() -> list[tuple[int, int]]:
    """Rows of the rule's class and of the other after each condition, one row at a time."""
    X, y = clinic()
    stages = []
    for n in range(len(RULE) + 1):
        left = [
            k
            for k in range(len(y))
            if (n < 1 or X["age"][k] >= 50)
            and (n < 2 or X["ward"][k] in ("east", "north"))
            and (n < 3 or X["smoker"][k] == "yes")
        ]
        ill = sum(y[k] == "ill" for k in left)
        stages.append((ill, len(left) - ill))
    return stages


def test_a_funnel_looks_as_stored(tmp_path: Path) -> None:
    check_image(funnel(RULE, *clinic(), ax=sheet(7, 3)), "funnel", tmp_path)


def test_a_funnel_on_a_dark_ground_looks_as_stored(tmp_path: Path) -> None:
    ax = funnel(RULE, *clinic(), ax=sheet(7, 3, dark=True))
    check_image(ax, "funnel-dark", tmp_path)


def test_the_words_count_what_each_condition_leaves() -> None:
    words = texts(funnel(RULE, *clinic(), ax=sheet(7, 3)))
    for ill, well in by_hand():
        assert f"{ill + well} rows" in words
        assert f"{ill} ill, {well} well" in words
        assert f"{100 * ill / (ill + well):.1f} %" in words
    for text in ("all rows", "if age ≥ 50", "and ward in {east, north}", "and smoker = yes"):
        assert text in words


def test_bars_are_as_long_as_their_numbers() -> None:
    ax = funnel(RULE, *clinic(), ax=sheet(7, 3))
    lengths = np.array([bar.get_width() for bar in patches(ax, "rows")])
    numbers = np.array([n for stage in by_hand() for n in stage])
    assert np.allclose(lengths / lengths[0], numbers / numbers[0])
    tracks, shares = (
        np.array([bar.get_width() for bar in patches(ax, name)]) for name in ("track", "share")
    )
    assert np.allclose(shares / tracks, [ill / (ill + well) for ill, well in by_hand()])


def test_bars_of_a_stage_touch_and_do_not_overlap() -> None:
    bars = patches(funnel(RULE, *clinic(), ax=sheet(7, 3)), "rows")
    for ill, well in zip(bars[::2], bars[1::2], strict=True):
        assert ill.get_x() + ill.get_width() == pytest.approx(well.get_x())


def test_a_condition_that_leaves_nothing_has_no_share() -> None:
    rule = Rule([Condition("age", ">=", 500), Condition("smoker", "==", "yes")], "ill")
    words = texts(funnel(rule, *clinic(), ax=sheet(7, 3)))
    assert words.count("0 rows") == 2
    assert words.count("–") == 2


def test_a_rule_without_conditions_is_one_stage() -> None:
    ax = funnel(Rule([], "ill"), *clinic(), ax=sheet(7, 1.6))
    assert "240 rows" in texts(ax)
    assert len(patches(ax, "track")) == 1


def test_a_fitted_model_is_drawn_like_its_rule() -> None:
    X, y = clinic()
    matrix = np.column_stack([X["age"], X["dose"]])
    model = OPDTClassifier(max_depth=2, w=3, label="ill").fit(matrix, y)
    both = [texts(funnel(each, matrix, y, ax=sheet(7, 3))) for each in (model, model.rule_)]
    assert both[0] == ["verdict: supported", *both[1]]  # of a bare rule there is none
    assert f"{int(model.solution_.covered)} rows" in both[0]


@pytest.mark.parametrize("width", [3.0, 4.5, 7.5, 12.0])
def test_no_text_lies_on_another(width: float) -> None:
    X, y = clinic()
    new = dict(zip(X, HOSTILE, strict=False))
    rule = Rule([Condition(new[c.feature], c.op, c.value) for c in RULE.conditions], "$ill_")
    X = {new[feature]: values for feature, values in X.items()}
    labels = np.where(y == "ill", "$ill_", "_well, and much more than that, as it happens")
    for named in (rule, RULE):
        data = (X, labels) if named is rule else clinic()
        assert collisions(funnel(named, *data, ax=sheet(width, 2.6))) == []


def test_classes_of_one_sign_are_said_to_be_classes() -> None:
    X, y = clinic()
    ax = funnel(Rule(RULE.conditions, 1), X, (y == "ill").astype(int), ax=sheet(9, 3))
    ill, well = by_hand()[0]
    assert f"{ill} class 1, {well} class 0" in texts(ax)


def test_labels_may_be_a_column() -> None:
    X, y = clinic()
    named = texts(funnel(RULE, {**X, "state": y}, "state", ax=sheet(7, 3)))
    assert named == texts(funnel(RULE, X, y, ax=sheet(7, 3)))


def test_pyplot_is_left_alone_when_axes_are_given() -> None:
    funnel(RULE, *clinic(), ax=sheet(7, 3))
    assert pyplot.get_fignums() == []
    assert funnel(RULE, *clinic()).get_figure() is pyplot.gcf()


def test_a_missing_column_is_named() -> None:
    X, y = clinic()
    with pytest.raises(InputError, match="there is no column 'ward'"):
        funnel(RULE, {"age": X["age"], "smoker": X["smoker"]}, y)
