from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.errors import InputError
from opdt.studio.tables import MAX_CLASSES, datasets, hold_out, load_dataset, load_file
from studio.works import HOSTILE, patients


def stored(folder: Path, text: str | bytes, name: str = "upload.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_file_with_semicolons_and_decimal_commas_is_read_as_numbers(tmp_path: Path) -> None:
    path = stored(tmp_path, "size;ward;state\n1,5;a;ill\n2,25;b;well\n;a;ill\n")
    loaded = load_file(path, "körper.csv")
    assert loaded.frame["size"].tolist()[:2] == [1.5, 2.25]
    size = loaded.profile("size")
    assert (size.kind, size.missing, size.distinct) == ("numeric", 1, 2)
    assert (size.low, size.high) == ("1.5", "2.25")
    assert sum(size.histogram) == 2
    ward = loaded.profile("ward")
    assert (ward.kind, ward.levels) == ("categorical", (("a", 2), ("b", 1)))
    assert loaded.preview().rows == (("1.5", "a", "ill"), ("2.25", "b", "well"), (None, "a", "ill"))
    assert loaded.source.name == "körper.csv"
    assert loaded.source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\x00\x01\x02\xff" * 50, "no text table"),
        (b"PK\x03\x04" + bytes(range(256)) * 20, "no text table"),
        ("a:b:c\n1:2:3\n", "1 column"),
        ("a,b\n", "no rows"),
        ("a,a\n1,2\n", "duplicate"),
        (b"PAR1 but not really", "1 column"),
    ],
)
def test_what_is_no_table_is_refused_by_name_in_one_sentence(
    tmp_path: Path, content: str | bytes, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_file(stored(tmp_path, content), "mine.csv")
    sentence = str(caught.value)
    assert words in sentence
    assert "mine.csv" in sentence
    assert str(tmp_path) not in sentence
    assert "\n" not in sentence


def test_broken_parquet_is_refused_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read 'mine\.parquet'") as caught:
        load_file(stored(tmp_path, b"PAR1garbage", "upload.parquet"), "mine.parquet")
    assert str(tmp_path) not in str(caught.value)


def test_another_file_than_the_one_wanted_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path, "a,y\n1,0\n2,1\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert load_file(path, sha256=digest).source.n_rows == 2
    with pytest.raises(InputError, match="its content differs"):
        load_file(path, sha256="00" * 32)


def test_a_guessed_encoding_is_noted(tmp_path: Path) -> None:
    loaded = load_file(stored(tmp_path, "größe,y\n1,a\n2,b\n".encode("cp1252")), "w.csv")
    assert loaded.names == ("größe", "y")
    assert "'w.csv' is not in UTF-8" in loaded.notes[0]


def test_two_thousand_columns_are_a_table(tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(2000)]
    rows = "\n".join(",".join(str((r * k) % 7) for k in range(2000)) for r in range(20))
    loaded = load_file(stored(tmp_path, ",".join(names) + "\n" + rows + "\n"))
    assert loaded.source.n_columns == len(loaded.profiles) == 2000


def test_hostile_names_and_cells_stay_text(tmp_path: Path) -> None:
    frame = pd.DataFrame({name: list(HOSTILE[:2]) for name in HOSTILE})
    path = tmp_path / "h.parquet"
    frame.to_parquet(path)
    loaded = load_file(path)
    assert loaded.names == HOSTILE
    assert loaded.preview().rows[0] == (HOSTILE[0],) * len(HOSTILE)


def test_every_type_of_a_column_keeps_its_values(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 2**60 + 1], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "day": pd.to_datetime(["2024-03-01", None, "2024-05-09"]),
            "level": pd.Categorical([3, 1, 3]),
            "state": ["a", "b", "a"],
        }
    )
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    loaded = load_file(path)
    assert loaded.preview().rows[0] == ("1", "True", "2024-03-01", "3", "a")
    assert loaded.preview().rows[1] == (None, None, None, "1", "b")
    assert loaded.preview().rows[2][0] == str(2**60 + 1)


def test_a_column_that_is_not_there_is_no_label() -> None:
    with pytest.raises(InputError, match="no column 'nothing'"):
        patients().balance("nothing")


def test_one_class_and_too_many_classes_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"x,,{k}\n" for k in range(MAX_CLASSES + 1))
    loaded = load_file(stored(tmp_path, "one,none,many\n" + rows))
    with pytest.raises(InputError, match="'one' has only one class, 'x'"):
        loaded.classes("one")
    with pytest.raises(InputError, match="'none' has no value"):
        loaded.classes("none")
    with pytest.raises(InputError, match=f"{MAX_CLASSES + 1} different values"):
        loaded.classes("many")


def test_the_balance_counts_the_rows_of_each_class() -> None:
    loaded = patients()
    assert dict(loaded.balance("state")) == loaded.frame["state"].value_counts().to_dict()


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=60), st.floats(0, 0.9),
       st.integers(0, 9))  # fmt: skip
def test_every_class_gives_its_share_and_keeps_a_row(
    labels: list[str], share: float, seed: int
) -> None:
    held = hold_out(labels, share, seed)
    assert (held == hold_out(labels, share, seed)).all()
    cells = np.array(labels)
    for each in set(labels):
        n_rows, n_held = (cells == each).sum(), held[cells == each].sum()
        assert n_held < n_rows
        assert n_held == n_rows - 1 or abs(n_held - share * n_rows) < 1
    if share == 0:
        assert not held.any()


def test_a_split_parts_all_rows_that_have_a_class(tmp_path: Path) -> None:
    rows = "".join(f"{k},{'ab'[k % 2] if k % 5 else ''}\n" for k in range(50))
    loaded = load_file(stored(tmp_path, "x,y\n" + rows))
    train, held_out = loaded.split("y", held_out=0.25, seed=3)
    assert held_out is not None
    assert (len(train.rows), len(held_out.rows)) == (30, 10)
    assert sorted([*train.rows, *held_out.rows]) == [k for k in range(50) if k % 5]
    assert train.X["x"].tolist() == train.rows.tolist()
    assert list(train.X.columns) == ["x"]


def test_nothing_held_out_and_nothing_left() -> None:
    loaded = patients()
    split = loaded.split("state", held_out=0, ignored=["age"])
    assert split.held_out is None
    assert "age" not in split.train.X
    with pytest.raises(InputError, match="no column is left"):
        loaded.split("state", ignored=["age", "pulse", "ward", "drug"])


def test_datasets_without_a_network_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPDT_DATA", raising=False)
    choice = datasets()[0]
    loaded = load_dataset(choice.name)
    assert loaded.target in loaded.names
    assert loaded.source.kind == "dataset"
    assert len(loaded.balance(str(loaded.target))) >= 2


def test_the_fifteen_datasets_come_with_their_label(
    uci_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPDT_DATA", str(uci_folder))
    loaded = load_dataset("german")
    assert (loaded.source.n_rows, loaded.target) == (1000, "credit_risk")


def test_an_unknown_dataset_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean"):
        load_dataset("heartfailure")
