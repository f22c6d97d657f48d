from __future__ import annotations

import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from opdt.datasets import Dataset, load, names
from opdt.datasets.registry import SOURCES
from opdt.errors import EngineUnavailable, InputError, OpdtWarning
from opdt.table import Kind, Table

pytest.importorskip("pandas")

# Table "UCI Dataset" of the paper: n_instances, n_missing, (num, cat), weights.
PAPER = {
    "Australian": (653, 37, (6, 9), (357, 296)),
    "German": (1000, 0, (7, 13), (300, 700)),
    "Blood Transfusion": (748, 0, (4, 0), (570, 178)),
    "Breast Cancer": (569, 0, (30, 0), (212, 357)),
    "Chronic Kidney": (215, 185, (11, 13), (128, 87)),
    "Early Stage Diabetes": (520, 0, (1, 15), (320, 200)),
    "Echocardiogram": (62, 69, (4, 3), (44, 18)),
    "Fertility": (100, 0, (2, 7), (88, 12)),
    "Heart Disease": (297, 6, (6, 7), (160, 137)),
    "Heart Failure": (299, 0, (7, 5), (203, 96)),
    "Hepatitis": (80, 75, (6, 13), (67, 13)),
    "Indian Liver Patient": (579, 4, (9, 1), (414, 165)),
    "Parkinsons": (195, 0, (22, 1), (147, 48)),
    "Pima Indians Diabetes": (768, 0, (8, 0), (500, 268)),
    "Thoracic Surgery": (470, 0, (3, 13), (400, 70)),
}


def test_the_registry_lists_the_papers_datasets_in_the_papers_order():
    assert [source.title for source in SOURCES.values()] == list(PAPER)
    assert names() == list(SOURCES)


@pytest.mark.parametrize("name", names())
def test_every_dataset_has_the_counts_of_the_papers_table(name, uci_folder):
    data = load(name, folder=uci_folder, keep_id=True)
    counts = (
        data.n_rows,
        data.n_dropped,
        (len(data.numeric), len(data.categorical)),
        tuple(data.class_counts.values()),
    )
    assert counts == PAPER[SOURCES[name].title]
    assert data.X.shape == (data.n_rows, len(data.numeric) + len(data.categorical))


@pytest.mark.parametrize("name", names())
def test_columns_have_the_kind_that_is_declared_and_no_missing_value(name, uci_folder):
    data = load(name, folder=uci_folder)
    assert [*data.X.columns] == [c for c in data.X if c in data.numeric + data.categorical]
    assert all(data.X[column].dtype.kind in "if" for column in data.numeric)
    assert all(type(value) is str for column in data.categorical for value in data.X[column])
    assert not data.X.isna().any().any()
    assert not data.y.isna().any()
    assert data.X.index.equals(data.y.index)


@pytest.mark.parametrize("name", names())
def test_a_table_sees_the_same_kinds_as_the_dataset(name, uci_folder):
    data = load(name, folder=uci_folder)
    table = Table.build(data.X, data.y)
    kinds = {column.name: column.kind for column in table.columns}
    assert {n for n, kind in kinds.items() if kind is Kind.NUMERIC} == set(data.numeric)
    assert {n for n, kind in kinds.items() if kind is Kind.CATEGORICAL} == set(data.categorical)


@pytest.mark.parametrize("name", names())
def test_codes_that_have_words_are_all_replaced(name, uci_folder):
    data = load(name, folder=uci_folder)
    for column in SOURCES[name].fields:
        if column.levels and column.name in data.X:
            untouched = {"?"} if SOURCES[name].missing_is_level else set()
            plain = {"present", "not present"} if "notpresent" in column.levels else set()
            assert set(data.X[column.name]) <= set(column.levels.values()) | untouched | plain


@pytest.mark.parametrize("name", names())
def test_column_names_are_snake_case_and_unique(name):
    columns = [column.name for column in SOURCES[name].fields]
    assert len(set(columns)) == len(columns)
    assert all(column.isidentifier() and column == column.lower() for column in columns)


def test_the_first_row_of_pima_is_the_first_line_of_its_file(uci_folder):
    data = load("pima", folder=uci_folder)
    first = (uci_folder / "pima" / "pima-indians-diabetes.data").read_text().splitlines()[0]
    *features, label = map(float, first.split(","))
    assert data.X.iloc[0].tolist() == features
    assert data.y[0] == {0.0: "healthy", 1.0: "diabetic"}[label]


def test_whole_numbers_are_integers_and_others_are_floats(uci_folder):
    dtypes = load("heart_disease", folder=uci_folder).X.dtypes
    assert dtypes["age"] == np.int64
    assert dtypes["st_depression"] == np.float64


def test_chronic_kidney_keeps_missing_categories_as_a_level(uci_folder):
    data = load("chronic_kidney", folder=uci_folder)
    marks = data.X[list(data.categorical)] == "?"
    # Counted once with an independent ARFF reader on the repaired file.
    assert int(marks.to_numpy().sum()) == 116
    assert int(marks.any(axis=1).sum()) == 57
    assert set(data.X["diabetes"]) == {"yes", "no", "?"}
    assert set(data.X["coronary_artery_disease"]) == {"yes", "no", "?"}


def test_echocardiogram_has_one_binary_feature_by_nature(uci_folder):
    data = load("echocardiogram", folder=uci_folder, paper_types=False)
    assert data.categorical == ("pericardial_effusion",)
    assert len(data.numeric) == 6


def test_the_recording_id_of_parkinsons_is_left_out_by_default(uci_folder):
    assert load("parkinsons", folder=uci_folder).categorical == ()
    kept = load("parkinsons", folder=uci_folder, keep_id=True)
    assert kept.categorical == ("name",)
    assert kept.X["name"].is_unique


@pytest.mark.parametrize("name", names())
def test_every_dataset_says_whom_to_cite_and_what_its_classes_mean(name):
    source = SOURCES[name]
    assert source.citation
    assert source.licence
    assert all(repr(label) in source.about for label in source.class_order) or name == (
        "echocardiogram"
    )
    assert bool(source.urls) != bool(source.by_hand)


def test_an_unknown_name_is_answered_with_a_close_one():
    with pytest.raises(InputError, match="got 'parkinson'; did you mean 'parkinsons'"):
        load("parkinson")


def test_a_dataset_cannot_be_changed(uci_folder):
    data = load("fertility", folder=uci_folder)
    with pytest.raises(FrozenInstanceError):
        data.name = "other"
    assert isinstance(data, Dataset)


def test_a_missing_pandas_is_answered_with_the_install_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        EngineUnavailable, match=r"needs pandas; run: pip install 'opdt\[datasets\]'"
    ):
        load("pima", folder=tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"6,148,72\n", "line 1 of 'pima-indians-diabetes.data' must have 9 cells, got 3"),
        (b"6,148,72,35,0,33.6,0.627,50,7\n", "must hold 0, 1, got 7"),
        (b"", "must hold 0, 1, got no rows"),
        (b"6,148,72,35,0,x,0.6,50,1\n1,1,1,1,1,1,1,1,0\n", "column 'bmi' .* must hold numbers"),
    ],
)
def test_a_file_that_is_not_the_dataset_is_refused_in_one_sentence(tmp_path, content, sentence):
    (tmp_path / "pima-indians-diabetes.data").write_bytes(content)
    with pytest.warns(OpdtWarning, match="differs"), pytest.raises(InputError, match=sentence):
        load("pima", folder=tmp_path)
