from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt import Condition, Rule, Structure
from opdt.errors import InputError
from opdt.studio.history import LIMIT, History
from opdt.studio.shapes import FORMS, resized
from opdt.studio.work import DataSource, Pinned, Work
from studio.works import HOSTILE, works

FILE = DataSource("file", "heart.csv", "ab" * 32, 299, 13)


def project(**changed: object) -> str:
    content = json.loads(Work(source=FILE, target="death").to_json())
    return json.dumps({**content, **changed})


@given(works())
def test_a_project_file_gives_back_what_was_said(work: Work) -> None:
    assert Work.from_json(work.to_json()) == work


@given(st.text(min_size=1), st.text())
def test_any_name_survives_a_project_file(name: str, note: str) -> None:
    rule = Rule([Condition(name, "==", note)], note)
    work = Work(source=FILE, target=name, label=note, pinned=(Pinned(rule, note),))
    assert Work.from_json(work.to_json().encode()) == work


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no JSON"),
        (b"\xff\xfe\x00", "no JSON"),
        ("[]", "no project"),
        ("{}", "no project"),
        ("[" * 100_000, "nested too deeply"),
        (project(opdt_project=1), "version 1"),
        (project(opdt_project=True), "version True"),
        (project(colour="red"), "'colour' is no key"),
        (project(w="10"), "'w'"),
        (project(w=0.5), "'w'"),
        (project(w=10).replace("10", "NaN"), "NaN"),
        (project(w=10).replace("10", "1e999"), "'w'"),
        (project(held_out=1.0), "'held_out'"),
        (project(seed=-1), "'seed'"),
        (project(seed=1.5), "'seed'"),
        (project(time_limit=True), "'time_limit'"),
        (project(roles={"age": "number"}), "roles['age'] must be 'numeric'"),
        (project(missing="9999"), "'missing' must be a list"),
        (project(roles=[]), "'roles'"),
        (project(groups={"all": ["age"]}), "'all'"),
        (project(groups={"lab": "age"}), "group 'lab'"),
        (project(groups={"lab": [1]}), "group 'lab'"),
        (project(structure={"opdt_structure": 1, "depth": 99}), "depth"),
        (project(structure={"opdt_structure": 1, "levels": ["lab"]}, form="levels"), "'lab'"),
        (project(structure={"opdt_structure": 1, "levels": ["num"]}), "form 'free'"),
        (project(structure=None), "structure"),
        (project(form="spiral"), "'form'"),
        (project(label={"a": 1}), "'label'"),
        (project(target=3), "'target'"),
        (project(source={"kind": "file"}), "no key"),
        (project(source=[1]), "'source'"),
        (project(source={**json.loads(project())["source"], "path": "/etc"}), "'path'"),
        (project(source={**json.loads(project())["source"], "n_rows": "9"}), "'n_rows'"),
        (project(pinned=[{"rule": {"opdt_rule": 1}, "note": ""}]), "pinned rule"),
        (project(pinned=[{"rule": 1, "note": ""}]), "pinned rule"),
        (project(pinned={}), "'pinned'"),
        (project(required="age"), "'required'"),
        (project(required=["a"], forbidden=["a"]), "both required and forbidden"),
        (project(directions={"age": "~"}), "'age'"),
        (project(min_precision=2), "'min_precision'"),
        ('{"opdt_project": 2, "w": 2, "w": 3}', "twice"),
    ],
)
def test_anything_wrong_with_a_project_file_is_one_sentence(content: str, words: str) -> None:
    with pytest.raises(InputError, match="the project cannot be opened: ") as caught:
        Work.from_json(content)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)),
       st.sampled_from(sorted(json.loads(project()))))  # fmt: skip
def test_no_value_of_a_key_does_more_than_be_refused(value: object, key: str) -> None:
    try:
        content = project(**{key: value})
    except ValueError:
        return
    try:
        work = Work.from_json(content)
    except InputError:
        return
    assert Work.from_json(work.to_json()) == work


def test_arguments_are_left_out_where_they_are_the_defaults() -> None:
    assert Work().arguments() == {"w": 10.0, "max_depth": 2, "time_limit": 60.0}


def test_arguments_name_what_was_said() -> None:
    structure = Structure.levels("lab", "num")
    work = Work(target="state").change(
        groups={"lab": ("age",), "unused": ()},
        structure=structure,
        required=("age",),
        roles={"age": "categorical", "key": "id", "note": "text", "rest": "ignored"},
        missing=("9999",),
        label="ill",
    )
    assert work.arguments() == {
        "label": "ill",
        "w": 10.0,
        "structure": structure,
        "groups": {"lab": ("age",)},
        "constraints": {"required": ("age",)},
        "roles": {"age": "categorical"},
        "missing": ["9999"],
        "time_limit": 60.0,
    }


def test_a_structure_with_an_empty_group_asks_for_features() -> None:
    work = Work().change(groups={"lab": ()}, structure=Structure.levels("lab"))
    with pytest.raises(InputError, match="group 'lab' is empty"):
        work.arguments()


def test_a_group_that_is_gone_becomes_all_in_the_structure() -> None:
    work = Work().change(groups={"lab": ("a",)}, structure=Structure.levels("lab", "num"))
    assert work.change(groups={}).structure == Structure.levels("all", "num")


def test_a_renamed_group_keeps_its_place_in_the_structure() -> None:
    work = Work().change(groups={"lab": ("a",), "x": ()}, structure=Structure.levels("lab", "num"))
    renamed = work.rename_group("lab", "blood")
    assert list(renamed.groups) == ["blood", "x"]
    assert renamed.structure == Structure.levels("blood", "num")
    with pytest.raises(InputError, match="there is a group 'x' already"):
        work.rename_group("lab", "x")


@pytest.mark.parametrize("said", [{"roles": {"a": "ignored"}}, {"target": "a"}])
def test_a_column_that_is_no_feature_leaves_groups_and_demands(said: dict[str, object]) -> None:
    work = Work(target="y").change(
        groups={"lab": ("a", "b")},
        required=("a",),
        directions={"a": ">=", "b": "<"},
        subsets=("a",),
    )
    work = work.change(**said)
    assert work.groups == {"lab": ("b",)}
    assert work.required == ()
    assert work.directions == {"b": "<"}
    assert work.subsets == ()


def test_a_column_of_another_kind_loses_its_direction() -> None:
    work = Work(target="y").change(directions={"a": ">="}).change(roles={"a": "categorical"})
    assert work.directions == {}


def test_a_new_label_forgets_the_class() -> None:
    assert Work(target="y", label="ill").change(target="z").label is None


def test_what_is_said_last_of_required_and_forbidden_counts() -> None:
    work = Work().change(required=("a", "b")).change(forbidden=("a",))
    assert (work.required, work.forbidden) == (("b",), ("a",))


def test_a_setting_that_does_not_exist_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean 'held_out'"):
        Work().change(heldout=0.2)


@given(works(), st.integers(1, 5), st.sampled_from(FORMS))
def test_depth_and_form_can_always_be_changed(work: Work, depth: int, form: str) -> None:
    changed = work.change(max_depth=depth)
    assert changed.max_depth == depth
    assert changed.change(form=form).form == form
    assert changed.change(form="free").structure == Structure.free(depth)


@given(works(), st.integers(1, 4))
def test_a_structure_made_deeper_and_cut_again_is_the_same(work: Work, more: int) -> None:
    depth = work.max_depth
    assert resized(resized(work.structure, depth + more), depth) == work.structure


def test_undo_and_redo_go_back_and_forth() -> None:
    one, two, three = (Work(w=float(w)) for w in (1, 2, 3))
    history = History(one).push(two).push(three)
    assert history.undo().present == two
    assert history.undo().undo().present == one
    assert history.undo().undo().undo().present == one
    assert history.undo().redo() == history
    assert not history.undo().push(one).can_redo


def test_equal_works_are_no_step() -> None:
    history = History(Work()).push(Work(w=2.0))
    assert history.push(Work(w=2.0)) is history


def test_a_movement_is_undone_as_a_whole() -> None:
    history = History(Work(w=1.0))
    for w in (2.0, 3.0, 4.0):
        history = history.push(Work(w=w), "slider")
    assert history.undo().present == Work(w=1.0)
    assert history.push(Work(w=9.0)).undo().present == Work(w=4.0)


def test_a_history_has_an_end() -> None:
    history = History(Work())
    for w in range(2, 2 * LIMIT):
        history = history.push(Work(w=float(w)))
    assert len(history.past) == LIMIT


def test_hostile_names_are_names_like_any_other() -> None:
    work = Work(source=FILE, target=HOSTILE[0]).change(
        groups={name: (name,) for name in HOSTILE[1:]}
    )
    assert Work.from_json(work.to_json()) == work
