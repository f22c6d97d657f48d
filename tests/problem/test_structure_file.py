from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opdt.errors import InputError
from opdt.problem.structure import Structure
from opdt.problem.structure_file import (
    StructureFile,
    from_dict,
    read_groups,
    read_structure,
    to_dict,
    write_structure,
)
from problem.structure_strategies import structures

ODD_NAMES = (
    'say "hi"',
    "it's",
    "line\nbreak",
    "a.b",
    " ",
    "\t",
    "größe",
    "\x7f\x00",
    "\\u0041",
    "𝄞",
)

group_names = st.text(min_size=1).filter(lambda name: name not in ("all", "num", "cat"))
odd_groups = st.dictionaries(
    group_names | st.sampled_from(ODD_NAMES),
    st.lists(st.text() | st.sampled_from(ODD_NAMES), min_size=1, max_size=4, unique=True),
    max_size=4,
)
formats = pytest.mark.parametrize("suffix", [".toml", ".json", ".TOML"])


def as_tuples(groups):
    return {name: tuple(features) for name, features in groups.items()}


@formats
@given(structure=structures(names=("all", "num", *ODD_NAMES)), groups=odd_groups)
@example(structure=Structure.levels(*ODD_NAMES[:8]), groups={name: [name] for name in ODD_NAMES})
def test_what_is_written_is_read_back(suffix, structure, groups):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"structure{suffix}"
        write_structure(path, structure, groups)
        assert read_structure(path) == StructureFile(structure, as_tuples(groups))
        assert read_groups(path) == as_tuples(groups)


@given(structures(), odd_groups)
def test_plain_data_survives_json(structure, groups):
    content = json.loads(json.dumps(to_dict(structure, groups)))
    assert from_dict(content) == StructureFile(structure, as_tuples(groups))


def test_the_toml_is_what_an_expert_would_type(tmp_path):
    path = tmp_path / "s.toml"
    write_structure(
        path,
        Structure.tree(split=[1, 0, 1], group=["cat", None, "lab"], target=[0, 0, 1, 1]),
        {"lab": ["glucose", "insulin"], "my lab": ["a"]},
    )
    assert path.read_text(encoding="utf-8").splitlines() == [
        "opdt_structure = 1",
        "split = [1, 0, 1]",
        'group = ["cat", "", "lab"]',
        "target = [0, 0, 1, 1]",
        "",
        "[groups]",
        'lab = ["glucose", "insulin"]',
        '"my lab" = ["a"]',
    ]


def test_the_shortest_form_is_written():
    assert to_dict(Structure.free(2)) == {"opdt_structure": 1, "depth": 2}
    assert to_dict(Structure.levels("cat", "num")) == {
        "opdt_structure": 1,
        "levels": ["cat", "num"],
    }
    assert to_dict(Structure.tree(split=[1, 0, 1])) == {
        "opdt_structure": 1,
        "split": [1, 0, 1],
        "group": ["all", None, "all"],
        "target": [0, 1, 1, 1],
    }


def test_group_and_target_may_be_left_out_of_a_tree():
    content = {"opdt_structure": 1, "split": [True, False, True]}
    assert from_dict(content).structure == Structure.tree(split=[1, 0, 1])


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path):
    for name, text in (
        ("s.toml", "opdt_structure = 1\ndepth = 1"),
        ("s.json", '{"opdt_structure": 1, "depth": 1}'),
    ):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8-sig")
        assert read_structure(path).structure == Structure.free(1)


def test_groups_may_be_kept_without_a_structure(tmp_path):
    path = tmp_path / "groups.toml"
    path.write_text('opdt_structure = 1\n[groups]\nlab = ["a", "b"]\n')
    assert read_groups(path) == {"lab": ("a", "b")}
    with pytest.raises(InputError, match=r"one of 'depth', 'levels' and 'split', got none"):
        read_structure(path)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("depth = 2", r"the key 'opdt_structure' is missing; add opdt_structure = 1"),
        ("opdt_structure = 2\ndepth = 2", r"'opdt_structure' is 2, but this release reads"),
        ("opdt_structure = true\ndepth = 2", r"'opdt_structure' is True, but"),
        ('opdt_structure = "1"\ndepth = 2', r"'opdt_structure' is '1', but"),
        ("opdt_structure = 1\nlevls = ['cat']", r"unknown key 'levls'; did you mean 'levels'"),
        ("opdt_structure = 1\nxyz = 1", r"unknown key 'xyz'; known keys are opdt_structure"),
        ("opdt_structure = 1", r"got none of them"),
        ("opdt_structure = 1\ndepth = 1\nlevels = ['cat']", r"got 'depth' and 'levels'"),
        ("opdt_structure = 1\ndepth = 1\ntarget = [1, 1]", r"'target' belongs to 'split', not to"),
        ("opdt_structure = 1\nlevels = 'cat'", r"'levels' must be a list, got 'cat'"),
        ("opdt_structure = 1\nlevels = [1]", r"node 1 needs a group name, got 1"),
        ("opdt_structure = 1\nlevels = []", r"needs 1 to 8 group names, got 0"),
        ("opdt_structure = 1\ndepth = 0", r"depth must be from 1 to 8, got 0"),
        ("opdt_structure = 1\ndepth = 2.5", r"depth must be an int"),
        ("opdt_structure = 1\nsplit = [1, 1]", r"`split` needs 2\*\*depth - 1 entries"),
        ("opdt_structure = 1\nsplit = [1]\ngroup = ['']", r"node 1 needs a group name, got None"),
        ("opdt_structure = 1\nsplit = [1]\ntarget = 3", r"'target' must be a list, got 3"),
        ("opdt_structure = 1\ndepth = 1\ngroups = 3", r"'groups' must be a table.*got int"),
        ("opdt_structure = 1\ndepth = 1\n[groups]\ng = 'a'", r"group 'g' must be a list"),
        ("opdt_structure = 1\ndepth = 1\n[groups]\ng = []", r"group 'g' is empty"),
        ("opdt_structure = 1\ndepth = 1\n[groups]\nnum = ['a']", r"group 'num' is predefined"),
        ("opdt_structure = 1\ndepth = 1\n[groups]\ng = [1]", r"group 'g' must list features by"),
        ("opdt_structure = 1\nopdt_structure = 1", r"overwrite a value"),
        ("depth =", r"Invalid value"),
        ("x = " + "[" * 100_000, r"nested too deeply|line 1"),
    ],
)
def test_toml_that_means_nothing_is_refused_by_file_name(tmp_path, text, match):
    path = tmp_path / "expert.toml"
    path.write_text(text)
    with pytest.raises(
        InputError, match=rf"cannot read structure file '.*expert\.toml': .*{match}"
    ):
        read_structure(path)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", r"Expecting value"),
        ("{", r"line 1"),
        ("[1]", r"a structure must be a table of keys, got list"),
        ("null", r"a structure must be a table of keys, got NoneType"),
        ('{"opdt_structure": 1, "depth": 1, "depth": 2}', r"the key 'depth' is given twice"),
        ('{"opdt_structure": 1, "depth": null}', r"depth must be an int"),
        ('{"opdt_structure": 1, "depth": 1, "groups": null}', r"'groups' must be a table"),
        ('{"opdt_structure": 1.0, "depth": 1}', r"'opdt_structure' is 1\.0, but"),
        ('{"opdt_structure": ' + "1" * 5000 + "}", r"digits"),
        ("[" * 100_000, r"nested too deeply"),
    ],
)
def test_json_that_means_nothing_is_refused_by_file_name(tmp_path, text, match):
    path = tmp_path / "expert.json"
    path.write_text(text)
    with pytest.raises(
        InputError, match=rf"cannot read structure file '.*expert\.json': .*{match}"
    ):
        read_structure(path)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"'.*absent\.toml': No such file"):
        read_structure(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b'opdt_structure = 1\nlevels = ["gr\xf6\xdfe"]')
    with pytest.raises(InputError, match=r"'.*latin\.toml': byte 32 is not UTF-8"):
        read_structure(tmp_path / "latin.toml")
    with pytest.raises(InputError, match=r"'.*s\.yaml' must end in \.toml or \.json"):
        read_structure(tmp_path / "s.yaml")


def test_files_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.toml or \.json"):
        write_structure(tmp_path / "s.txt", Structure.free(1))
    with pytest.raises(InputError, match=r"cannot write structure file '.*': No such file"):
        write_structure(tmp_path / "absent" / "s.toml", Structure.free(1))
    surrogate = Structure.levels("\ud800")
    with pytest.raises(InputError, match=r"lone surrogate.*rename it or write \.json"):
        write_structure(tmp_path / "s.toml", surrogate)
    write_structure(tmp_path / "s.json", surrogate)
    assert read_structure(tmp_path / "s.json").structure == surrogate
    with pytest.raises(InputError, match=r"group 'g' is empty"):
        write_structure(tmp_path / "s.toml", Structure.free(1), {"g": []})
