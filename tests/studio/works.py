"""Small tables and random works on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from opdt import Condition, Parity, PerSegment, Rule, Structure
from opdt.errors import InputError
from opdt.studio.tables import Loaded, loaded_frame
from opdt.studio.work import DataSource, Pinned, Work

NUMERIC, CATEGORICAL = ("age", "pulse"), ("ward", "drug")
FEATURES = (*NUMERIC, *CATEGORICAL)
HOSTILE = (
    "it's",
    'say "no"',
    "back\\slash",
    "two\nlines",
    "</script><script>alert(1)</script>",
    "naïve Ωmega 名",
    "'''\"\"\"",
    "{x} %s #",
)


def patients(n_rows: int = 60, seed: int = 0) -> Loaded:
    """A table with two numbers, two texts, some of each missing, and three classes."""
    random = np.random.default_rng(seed)
    age, pulse = random.integers(20, 60, n_rows), random.normal(70, 12, n_rows).round(1)
    ward, drug = random.choice(list("abc"), n_rows), random.choice(["x", "y"], n_rows)
    state = np.where(age > 45, "ill", np.where(ward == "a", "well", "unclear"))
    flipped = random.random(n_rows) < 0.15
    state = np.where(flipped, random.choice(["ill", "well", "unclear"], n_rows), state)
    frame = pd.DataFrame({"age": age, "pulse": pulse, "ward": ward, "drug": drug, "state": state})
    frame = frame.astype({"ward": object})
    frame.loc[random.random(n_rows) < 0.1, "pulse"] = np.nan
    frame.loc[random.random(n_rows) < 0.1, "ward"] = None
    return loaded_frame(frame, "patients", target="state")


def first(loaded: Loaded, **said: Any) -> Work:
    """The work on a table before anything but this is said."""
    return Work(source=loaded.source, target=loaded.target).change(**said)


@st.composite
def works(draw: st.DrawFn) -> Work:
    """What an expert could say about `patients`, valid but not always answerable."""
    some = st.lists(st.sampled_from(FEATURES), unique=True).map(tuple)
    groups = draw(st.dictionaries(st.sampled_from(["lab", "body"]), some, max_size=2))
    names = ["all", "num", "cat", *groups]
    depth = draw(st.integers(1, 3))
    structure = Structure.levels(
        *draw(st.lists(st.sampled_from(names), min_size=depth, max_size=depth))
    )
    if depth == 2 and draw(st.booleans()):
        pair = draw(st.lists(st.sampled_from(names), min_size=2, max_size=2))
        target = draw(st.sampled_from([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 0]]))
        structure = Structure.tree(split=[1, 0, 1], group=[pair[0], None, pair[1]], target=target)
    demanded = draw(some)
    work = Work(
        source=DataSource("dataset", "patients", None, 60, 5),
        target="state",
        label=draw(st.sampled_from([None, "ill", "well"])),
        groups=groups,
        form="tree",
        structure=structure,
        roles=draw(st.dictionaries(st.just("age"), st.sampled_from(["numeric", "categorical"]))),
    )
    said = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "w": st.sampled_from([1.0, 1.1, 2.5, 3.0, 10.0]),
                "form": st.sampled_from(["free", "levels", "tree"]),
                "directions": st.dictionaries(st.just("pulse"), st.sampled_from([">=", "<"])),
                "required": st.just(demanded[:1]),
                "forbidden": st.just(demanded[1:]),
                "once": st.booleans(),
                "min_coverage": st.sampled_from([0, 5, 0.2]),
                "min_precision": st.sampled_from([0.0, 0.6, 0.9]),
                "max_errors": st.sampled_from([None, 0, 3]),
                "subsets": st.sampled_from([False, True, ("ward",)]),
                "missing_conditions": st.booleans(),
                "objective": st.sampled_from(["vi", "f1", "precision", "wracc"]),
                "max_coverage": st.sampled_from([None, 10, 0.3]),
                "segments": st.sampled_from([(), (PerSegment("ward", min_precision=0.5),)]),
                "parities": st.sampled_from([(), (Parity("drug", max_difference=0.2),)]),
                "held_out": st.sampled_from([0.0, 0.3]),
                "seed": st.integers(0, 3),
                "time_limit": st.sampled_from([30.0, 60.0]),
                "pinned": st.just((Pinned(Rule([Condition("age", ">=", 40)], "ill"), "note"),)),
            },
        )
    )
    try:
        return work.change(**said)
    except InputError:  # subsets of a column that was made numeric, and the like
        return work
