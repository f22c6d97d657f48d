from __future__ import annotations

import shutil
from hashlib import sha256

import pytest

from opdt.datasets import available, fetch, load, names
from opdt.datasets.download import is_genuine
from opdt.datasets.registry import SOURCES
from opdt.errors import InputError, OpdtWarning

pytest.importorskip("pandas")
PIMA = SOURCES["pima"]


def state(name, **options):
    return next(info.state for info in available(**options) if info.name == name)


def copy(uci_folder, target, name="pima"):
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(uci_folder / name / SOURCES[name].file, target)


def test_a_folder_may_hold_the_files_side_by_side_or_one_folder_for_each(
    uci_folder, cache, tmp_path
):
    copy(uci_folder, tmp_path / "flat")
    copy(uci_folder, tmp_path / "nested" / "pima")
    assert load("pima", folder=tmp_path / "flat").n_rows == 768
    assert load("pima", folder=str(tmp_path / "nested")).n_rows == 768


def test_the_environment_variable_is_used_where_the_folder_lacks_the_file(
    uci_folder, cache, tmp_path, monkeypatch
):
    copy(uci_folder, tmp_path / "data")
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("OPDT_DATA", str(tmp_path / "data"))
    assert load("pima", folder=tmp_path / "empty").n_rows == 768
    assert state("pima") == "in OPDT_DATA"


def test_the_folder_comes_before_the_environment_variable(uci_folder, cache, tmp_path, monkeypatch):
    copy(uci_folder, tmp_path / "data")
    monkeypatch.setenv("OPDT_DATA", str(tmp_path / "data"))
    (tmp_path / PIMA.file).write_text("1,1,1,1,1,1,1,1,0\n2,2,2,2,2,2,2,2,1\n")
    with pytest.warns(OpdtWarning, match="differs from the file of the archive") as caught:
        assert load("pima", folder=tmp_path).n_rows == 2
    assert caught[0].filename == __file__


def test_the_cache_is_used_without_any_folder(uci_folder, cache):
    copy(uci_folder, cache / "pima")
    assert load("pima").n_rows == 768
    assert fetch("pima") == cache / "pima" / PIMA.file
    assert state("pima") == "in the cache"


def test_other_line_ends_are_accepted_without_a_warning(uci_folder, cache, tmp_path):
    for name in ("pima", "fertility"):
        source = SOURCES[name]
        content = (uci_folder / name / source.file).read_bytes()
        unix = content.replace(b"\r\n", b"\n")
        other = unix if unix != content else content.replace(b"\n", b"\r\n")
        assert sha256(other).hexdigest() != source.sha256
        (tmp_path / source.file).write_bytes(other)
        assert load(name, folder=tmp_path).n_rows > 0


@pytest.mark.parametrize("name", names())
def test_every_declared_checksum_is_that_of_the_raw_file(name, uci_folder):
    source = SOURCES[name]
    content = (uci_folder / name / source.file).read_bytes()
    assert sha256(content).hexdigest() == source.sha256
    assert is_genuine(source, content)
    assert not is_genuine(source, content + b" ")


def test_the_list_tells_what_can_be_fetched_and_what_must_be_supplied(cache):
    states = {info.name: info.state for info in available()}
    assert states.pop("pima") == "to be supplied"
    assert states.pop("chronic_kidney") == "to be supplied"
    assert set(states.values()) == {"not fetched"}
    assert len(states) == 13


def test_the_list_tells_where_a_file_is(uci_folder, cache):
    for info in available(folder=uci_folder):
        assert info.state == "in the folder"
        assert info.path.is_file()


@pytest.mark.parametrize("name", ["pima", "chronic_kidney"])
def test_a_file_that_cannot_be_downloaded_is_answered_with_the_ways_to_supply_it(name, cache):
    with pytest.raises(InputError, match=r"the archive .*'folder'.*OPDT_DATA"):
        load(name)


def test_a_folder_that_does_not_exist_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="'folder' must name an existing folder, got"):
        load("pima", folder=tmp_path / "nowhere")
    monkeypatch.setenv("OPDT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="OPDT_DATA must name an existing folder, got"):
        load("pima")
