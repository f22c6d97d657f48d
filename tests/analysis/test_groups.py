from __future__ import annotations

import sys
from importlib.util import find_spec
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt import FeatureGroups, Table, discover
from opdt.analysis.groups import (
    Boruta,
    FeatureImportance,
    boruta,
    boruta_groups,
    correlation_groups,
    feature_importance,
    importance_groups,
)
from opdt.analysis.groups_association import association, associations, clusters, columns_of
from opdt.analysis.groups_boruta import decide, shadows
from opdt.errors import EngineUnavailable, InputError

needs_lightgbm = pytest.mark.skipif(find_spec("lightgbm") is None, reason="lightgbm is missing")


def planted(n: int = 300, seed: int = 0) -> tuple[dict[str, list], list[str]]:
    """A table in which only `dose` and `ward` matter; some values are missing."""
    random = np.random.default_rng(seed)
    dose, noise, more = random.normal(size=(3, n))
    ward = random.choice(["a", "b", "c"], n)
    colour = random.choice(["red", "blue"], n)
    y = np.where((dose > 0.2) | (ward == "b"), "ill", "well")
    noise[::7] = np.nan
    dose[3] = np.nan
    X = {
        "noise": noise.tolist(),
        "dose": dose.tolist(),
        "colour": colour.tolist(),
        "ward": [None if i == 5 else level for i, level in enumerate(ward)],
        "more": more.tolist(),
    }
    return X, y.tolist()


def members(groups: FeatureGroups, *names: str) -> list[str]:
    return sorted(feature for name in names for feature in groups.custom.get(name, ()))


@needs_lightgbm
class TestImportance:
    @pytest.mark.parametrize("metric", ["gain", "shap"])
    def test_the_planted_features_come_first(self, metric):
        found = feature_importance(*planted(), metric=metric, iterations=50)
        assert set(found.top(2)) == {"dose", "ward"}
        assert [score for _, score in found.ranked()] == sorted(found.scores, reverse=True)

    def test_split_counts_are_whole_and_no_more_than_trees_can_have(self):
        found = feature_importance(*planted(), metric="split", iterations=5)
        assert all(score == int(score) for score in found.scores)
        assert 0 < sum(found.scores) <= 5 * 30  # 31 leaves a tree at most

    @pytest.mark.parametrize("metric", ["both", "gain", "split", "shap"])
    def test_important_and_rest_part_the_features(self, metric):
        X, y = planted()
        groups = importance_groups(X, y, limit=2, metric=metric, iterations=20)
        assert members(groups, "important", "rest") == sorted(X)
        for group in ("important", "rest"):
            assert members(groups, f"{group}_num", f"{group}_cat") == members(groups, group)
        assert set(members(groups, "important_cat", "rest_cat")) == {"colour", "ward"}

    def test_both_is_the_best_by_gain_with_the_best_by_split(self):
        X, y = planted()
        each = [
            set(feature_importance(X, y, metric=metric, iterations=20).top(2))
            for metric in ("gain", "split")
        ]
        both = importance_groups(X, y, limit=2, metric="both", iterations=20)
        assert set(both.custom["important"]) == each[0] | each[1]

    def test_the_groups_feed_a_structure(self):
        X, y = planted()
        groups = importance_groups(X, y, limit=2, metric="gain", iterations=20)
        inside = discover(X, y, groups=groups.custom, structure=["important_cat", "important_num"])
        anywhere = discover(X, y, structure=["cat", "num"])
        assert {condition.feature for condition in inside.rule.conditions} <= {"dose", "ward"}
        assert inside.value <= anywhere.value

    def test_the_seed_decides(self):
        X, y = planted()
        first = feature_importance(X, y, iterations=10, seed=4)
        assert first == feature_importance(Table.build(X, y), iterations=10, seed=4)

    @pytest.mark.parametrize("metric", ["gain", "split", "shap"])
    def test_several_classes_and_row_weights_are_taken(self, metric):
        X, _ = planted()
        y = [0 if np.isnan(d) or d < -0.5 else 1 if d < 0.5 else 2 for d in X["dose"]]
        weights = np.linspace(0.5, 2, len(y))
        found = feature_importance(X, y, metric=metric, iterations=10, sample_weight=weights)
        assert len(found.scores) == 5
        assert found.top(1) == ("dose",)

    def test_equal_scores_keep_the_order_of_the_table_and_none_is_left_out(self):
        found = FeatureImportance("gain", ("a", "b", "c", "d"), (1.0, 2.0, 0.0, 1.0))
        assert found.ranked() == (("b", 2.0), ("a", 1.0), ("d", 1.0), ("c", 0.0))
        assert found.top(4) == ("b", "a", "d")

    def test_no_important_feature_is_said_so(self):
        with pytest.raises(InputError, match=r"no feature helps LightGBM .* 4 rows"):
            importance_groups({"x": [1, 1, 2, 2]}, [0, 1, 0, 1], iterations=3)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"limit": 0}, "'limit' must be an int >= 1, got 0"),
            ({"metric": "best"}, "'metric' must be 'both', 'gain', 'split' or 'shap', got 'best'"),
            ({"iterations": 2.5}, "'iterations' must be an int >= 1, got 2.5"),
            ({"seed": -1}, "'seed' must be an int >= 0, got -1"),
        ],
    )
    def test_what_cannot_be_is_refused_in_a_sentence(self, arguments, message):
        with pytest.raises(InputError, match=message):
            importance_groups({"x": [1, 2]}, [0, 1], **arguments)

    def test_a_missing_package_names_the_extra(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "lightgbm", None)
        with pytest.raises(EngineUnavailable, match=r"pip install 'opdt\[importance\]'"):
            importance_groups({"x": [1, 2]}, [0, 1])


@needs_lightgbm
class TestBoruta:
    def test_the_planted_features_are_confirmed_and_noise_is_not(self):
        X, y = planted()
        found = boruta(X, y, rounds=25, trees=20)
        assert found.of("confirmed") == ("dose", "ward")
        assert set(found.of("rejected") + found.of("tentative")) == {"noise", "colour", "more"}
        assert "more" in found.of("rejected")

    def test_labels_without_a_pattern_confirm_nothing(self):
        random = np.random.default_rng(1)
        X = {f"x{j}": random.normal(size=200).tolist() for j in range(6)}
        assert boruta(X, random.integers(0, 2, 200), rounds=15, trees=10).of("confirmed") == ()

    def test_the_decisions_part_the_features(self):
        X, y = planted()
        groups = boruta_groups(X, y, rounds=12, trees=10)
        decisions = ("confirmed", "tentative", "rejected")
        assert members(groups, *decisions) == sorted(X)
        for decision in decisions:
            assert members(groups, f"{decision}_num", f"{decision}_cat") == members(
                groups, decision
            )

    def test_few_rounds_decide_nothing(self):
        # 5 features and 3 rounds: 2**-3 is more than 0.025 / 15, so all stay open.
        found = boruta(*planted(), rounds=3, trees=5)
        assert set(found.decisions) == {"tentative"}
        assert set(found.rounds) == {3}

    def test_the_seed_decides(self):
        X, y = planted(n=100)
        assert boruta(X, y, rounds=4, trees=5, seed=2) == boruta(X, y, rounds=4, trees=5, seed=2)

    def test_features_with_a_decision_are_listed_in_the_order_of_the_table(self):
        found = Boruta(("b", "a", "c"), ("confirmed", "rejected", "confirmed"), (9, 0, 9), (9,) * 3)
        assert found.of("confirmed") == ("b", "c")

    @given(rounds=st.integers(1, 60), data=st.data())
    def test_a_decision_is_the_exact_two_sided_binomial_test(self, rounds, data):
        hits = data.draw(st.integers(0, rounds))
        level = data.draw(st.floats(1e-6, 0.5))
        at_least = sum(comb(rounds, k) for k in range(hits, rounds + 1)) / 2**rounds
        at_most = sum(comb(rounds, k) for k in range(hits + 1)) / 2**rounds
        if min(abs(at_least - level / 2), abs(at_most - level / 2)) > 1e-12:
            expected = (
                "confirmed"
                if at_least <= level / 2
                else "rejected"
                if at_most <= level / 2
                else "tentative"
            )
            assert decide(hits, rounds, level) == expected
        mirror = {"confirmed": "rejected", "rejected": "confirmed", "tentative": "tentative"}
        assert decide(rounds - hits, rounds, level) == mirror[decide(hits, rounds, level)]

    @given(n_columns=st.integers(1, 8), seed=st.integers(0, 100))
    def test_shadows_are_permuted_copies_of_every_feature_and_at_least_five(self, n_columns, seed):
        X, _ = planted(n=40)
        columns = columns_of(X, None)[:n_columns]
        made = shadows(columns, np.random.default_rng(seed))
        assert len(made) >= 5
        assert len(made) % len(columns) == 0
        for at, shadow in enumerate(made):
            column = columns[at % len(columns)]
            assert shadow.kind is column.kind
            assert sorted(shadow.codes) == sorted(column.codes)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"alpha": 1}, "'alpha' must be a number between 0 and 1, got 1"),
            ({"rounds": 0}, "'rounds' must be an int >= 1, got 0"),
            ({"trees": True}, "'trees' must be an int >= 1, got True"),
        ],
    )
    def test_what_cannot_be_is_refused_in_a_sentence(self, arguments, message):
        with pytest.raises(InputError, match=message):
            boruta({"x": [1, 2]}, [0, 1], **arguments)


numbers = st.one_of(st.none(), st.integers(-3, 3).map(float))
words = st.one_of(st.none(), st.sampled_from("abc"))


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list]:
    n = draw(st.integers(1, 25))
    cells = draw(st.lists(st.sampled_from([numbers, words]), min_size=1, max_size=6))
    return {f"f{j}": draw(st.lists(kind, min_size=n, max_size=n)) for j, kind in enumerate(cells)}


def kinds_of(X: dict[str, list]) -> dict[str, str]:
    """Kinds by content; a column without any value counts as numeric."""
    return {
        name: "categorical" if any(isinstance(v, str) for v in values) else "numeric"
        for name, values in X.items()
    }


class TestCorrelation:
    @given(tables(), st.floats(0, 1))
    def test_clusters_part_the_features_and_hold_the_threshold(self, X, threshold):
        kinds = kinds_of(X)
        groups = correlation_groups(X, threshold=threshold, roles=kinds)
        found = [name for name in groups.custom if name.startswith("cluster_")]
        assert members(groups, *found) == sorted(X)
        assert len(groups.custom["representatives"]) == len(found)
        matrix = associations(columns_of(X, kinds))
        names = list(X)
        for name in found:
            cluster = groups.custom[name]
            assert len(set(cluster) & set(groups.custom["representatives"])) == 1
            for first in cluster:
                for second in cluster:
                    at = names.index(first), names.index(second)
                    assert matrix[at] >= threshold - 1e-9

    @given(tables())
    def test_associations_are_symmetric_and_between_0_and_1(self, X):
        matrix = associations(columns_of(X, kinds_of(X)))
        assert (matrix == matrix.T).all()
        assert (matrix >= 0).all()
        assert (matrix <= 1).all()

    @settings(max_examples=40)
    @given(st.lists(st.integers(0, 5), min_size=12, max_size=30).filter(lambda x: len(set(x)) > 1))
    def test_duplicates_cluster_together_whatever_their_spelling(self, values):
        copies = {
            "number": values,
            "falling": [-(v**3) for v in values],
            "level": [f"level {v}" for v in values],
            "other names": ["abcdef"[v] for v in values],
        }
        groups = correlation_groups(copies, threshold=1)
        assert groups.custom["cluster_1"] == tuple(copies)
        assert groups.custom["representatives"] == ("number",)

    def test_two_numeric_columns_have_spearmans_correlation(self):
        from scipy.stats import spearmanr

        first, second = np.random.default_rng(3).integers(0, 9, (2, 50)).astype(float)
        one, other = columns_of({"first": first, "second": second}, None)
        assert association(one, other) == pytest.approx(abs(spearmanr(first, second).statistic))

    def test_two_categorical_columns_have_corrected_cramers_v(self):
        # Counts 30, 10, 10, 30: chi² / n = 1/4; corrected (1/4 - 1/79) / (1 - 1/79).
        one = ["a"] * 40 + ["b"] * 40
        other = ["x"] * 30 + ["y"] * 10 + ["x"] * 10 + ["y"] * 30
        value = association(*columns_of({"one": one, "other": other}, None))
        assert value == pytest.approx(((1 / 4 - 1 / 79) / (1 - 1 / 79)) ** 0.5)

    def test_a_numeric_and_a_categorical_column_have_the_root_of_epsilon_squared(self):
        # Ranks 1 2 | 3 4: within 1/2 + 1/2 over 2 degrees, in all 5 over 3: 1 - 0.5 / (5/3).
        columns = columns_of({"x": [1, 2, 3, 4], "side": ["l", "l", "r", "r"]}, None)
        assert association(*columns) == pytest.approx(0.7**0.5)

    def test_rows_with_a_missing_value_are_left_out_of_a_pair(self):
        X = {"x": [1, 2, None, 4, 9], "y": [1, 2, 3, 4, None]}
        assert association(*columns_of(X, None)) == pytest.approx(1)

    @pytest.mark.parametrize("y", [[1, 1, 1], [None, None, 3], [None, 2, 3]])
    def test_without_variation_there_is_no_association(self, y):
        X = {"x": [5, 7, 7], "y": y}
        assert association(*columns_of(X, {"y": "numeric"})) == 0

    def test_a_level_for_every_row_tells_nothing(self):
        X = {"x": [3, 1, 2], "name": ["p", "q", "r"]}
        assert association(*columns_of(X, None)) == 0

    def test_a_chain_of_likenesses_is_no_cluster(self):
        matrix = np.array([[1, 0.8, 0.1], [0.8, 1, 0.8], [0.1, 0.8, 1]])
        assert sorted(map(len, clusters(matrix, 0.7))) == [1, 2]
        assert clusters(matrix, 0.05) == [[0, 1, 2]]

    def test_a_table_is_taken_as_it_is(self):
        X, y = planted(n=50)
        assert correlation_groups(Table.build(X, y)) == correlation_groups(X)

    @pytest.mark.parametrize(
        ("X", "threshold", "message"),
        [
            ({"x": [1, 2]}, 2, "'threshold' must be a number from 0 to 1, got 2"),
            ({"x": [1, 2]}, float("nan"), "'threshold' must be a number from 0 to 1, got nan"),
            ({"x": []}, 0.5, "X must have at least one row and one column, got 0 and 1"),
        ],
    )
    def test_what_cannot_be_is_refused_in_a_sentence(self, X, threshold, message):
        with pytest.raises(InputError, match=message):
            correlation_groups(X, threshold=threshold)
