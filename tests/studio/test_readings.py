"""The roles that columns could have, and what they are then taken for."""

from __future__ import annotations

import pandas as pd
import pytest

from opdt import discover
from opdt.errors import InputError
from opdt.studio.questions import first_work
from opdt.studio.solver import Solver
from opdt.studio.tables import Loaded, loaded_frame
from opdt.table import Role


def claims(n_rows: int = 60) -> Loaded:
    """A table as people have them: keys, dates, prices in text, levels, a code for no value."""
    rows = range(n_rows)
    frame = pd.DataFrame(
        {
            "claim_id": [f"C-{k:04d}" for k in rows],
            "paid": pd.date_range("2024-01-01", periods=n_rows, freq="D"),
            "price": [f"{k % 17},{k % 10} €" for k in rows],
            "size": [("small", "middle", "large")[k % 3] for k in rows],
            "age": [9999 if k % 10 == 0 else 20 + k % 30 for k in rows],
            "fraud": ["yes" if k % 7 < 3 else "no" for k in rows],
        }
    )
    return loaded_frame(frame, "claims", target="fraud")


def test_roles_are_offered_where_the_cells_allow_them() -> None:
    readings = claims().readings
    unused = {"id", "text", "ignored"}
    assert set(readings.choices("age")) == {"numeric", "categorical", *unused}
    assert {"date", "date:month", "date:weekday"} < set(readings.choices("paid"))
    assert {"numeric", "numeric:comma", "categorical"} < set(readings.choices("price"))
    assert set(readings.choices("size")) == {"categorical", "ordered", *unused}
    assert readings.order("size") == "ordered:large<middle<small"
    assert readings.suggested("claim_id").role is Role.ID


def test_every_role_that_is_offered_can_be_taken() -> None:
    loaded = claims()
    for name in loaded.names:
        for role in loaded.readings.choices(name):
            said = loaded.readings.order(name) if role == "ordered" else role
            plan = loaded.readings.plan(name, said)
            assert str(plan.role) == role.partition(":")[0]
            assert loaded.readings.profile(plan).name == name


def test_what_is_not_used_keeps_its_role_and_its_reason() -> None:
    loaded = claims()
    work = first_work(loaded, None)
    assert work.roles == {"claim_id": "id"}
    assert work.ignored == ("claim_id",)
    assert "differ" in loaded.plan_for(work.roles)["claim_id"].why


def test_declared_cells_are_missing_and_the_plan_says_so() -> None:
    loaded = claims()
    plan = loaded.plan_for({}, ["9999"])["age"]
    assert plan.cleaning is not None
    assert loaded.readings.profile(plan).missing == 6
    assert loaded.readings.profile(plan).high == "49"


def test_a_role_that_a_column_cannot_have_is_one_sentence() -> None:
    with pytest.raises(InputError, match="column 'size' holds no number"):
        claims().plan_for({"size": "numeric"})


def test_a_solution_of_the_studio_has_the_plan_and_the_rule_of_discover() -> None:
    solver = Solver(claims())
    roles = {"paid": "date:weekday", "size": "ordered:small<middle<large"}
    work = first_work(solver.loaded, None).change(
        roles={"claim_id": "id", **roles}, missing=("9999",), w=2.0, held_out=0.0
    )
    solution = solver.find(work)
    frame = solver.loaded.frame
    wanted = discover(frame, "fraud", w=2.0, max_depth=2, roles=roles, missing=["9999"])
    assert solution.rule == wanted.rule
    assert solution.plan is not None
    assert [each.role for each in solution.plan] == ["id", "date", "numeric", "ordered", "numeric"]
