from __future__ import annotations

from importlib import import_module

import pytest

from experiments.toys import write_small_data
from opdt.datasets import names
from opdt.errors import InputError


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, no OPDT_DATA, and no network: only 'german' can be downloaded."""
    # The package exports a function of the same name, which hides the module.
    fetch_module = import_module("opdt.datasets.fetch")

    def download(source, progress=None):
        if source.name == "german":
            return b"content"
        raise InputError(f"dataset {source.name!r} could not be downloaded.")

    monkeypatch.delenv("OPDT_DATA", raising=False)
    monkeypatch.setattr(fetch_module, "download", download)
    monkeypatch.setattr(fetch_module, "_cached", lambda source: tmp_path / "cache" / source.file)
    return tmp_path / "cache"


def test_the_fifteen_are_listed_with_state_counts_and_licence(opdt, cache, tmp_path):
    result = opdt("datasets", "--data", write_small_data(tmp_path / "raw"))
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line[:1].strip()}
    assert [name for name in lines if name in names()] == names()
    assert " ".join(lines["german"].split()) == "german not fetched 1000 7 13 CC BY 4.0"
    assert "in the folder" in lines["pima"]
    assert "to be supplied" in lines["chronic_kidney"]


def test_fetching_puts_the_file_into_the_cache_and_says_where(opdt, cache):
    result = opdt("datasets", "fetch", "german")
    assert result.exit_code == 0
    assert result.stdout == f"german: {cache / 'german.data'}\n"
    assert (cache / "german.data").read_bytes() == b"content"


def test_one_that_cannot_be_fetched_does_not_keep_the_others_away(opdt, cache):
    result = opdt("datasets", "fetch", "pima", "german")
    assert result.exit_code == 2
    assert result.stdout == f"german: {cache / 'german.data'}\n"
    assert result.stderr == "dataset 'pima' could not be downloaded.\n"


def test_all_are_tried(opdt, cache):
    result = opdt("datasets", "fetch", "all")
    assert result.exit_code == 2
    assert result.stderr.count("could not be downloaded") == 14


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["fetch", "prima"], ["'pima'"]), (["fetch"], ["NAME"]), (["grab"], ["grab"])],
)
def test_wrong_use_is_one_sentence(opdt, refused, cache, arguments, words):
    refused(opdt("datasets", *arguments), *words)


@pytest.mark.parametrize("arguments", [["datasets"], ["datasets", "fetch"]])
def test_the_help_has_examples(opdt, arguments):
    result = opdt(*arguments, "--help")
    assert result.exit_code == 0
    assert "$ opdt datasets fetch german" in result.stdout
