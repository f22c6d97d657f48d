"""Reading and coding input: any table becomes a `Table` of rank-coded columns."""

from __future__ import annotations

from opdt.table.cleaning import Cleaning
from opdt.table.columns import Column
from opdt.table.frames import Source, column_names, n_rows_of, open_source, raw_column
from opdt.table.kinds import Kind
from opdt.table.read import read_frame
from opdt.table.roles import ColumnPlan, Plan, Role
from opdt.table.sparse import SparseColumn
from opdt.table.table import Table

__all__ = [
    "Cleaning",
    "Column",
    "ColumnPlan",
    "Kind",
    "Plan",
    "Role",
    "Source",
    "SparseColumn",
    "Table",
    "column_names",
    "n_rows_of",
    "open_source",
    "raw_column",
    "read_frame",
]
