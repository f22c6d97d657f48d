"""Everything the expert has said, as one frozen value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any

from opdt.analysis.ranking import has_classes
from opdt.checks import check_choice, check_int, check_kind, check_list, check_number, check_text
from opdt.errors import InputError
from opdt.problem import Constraints, Structure
from opdt.problem.groups import PREDEFINED
from opdt.problem.segments import Parity, PerSegment
from opdt.rules import Rule
from opdt.studio.best_in import BestIn, check_best_in, columns_of, target_of
from opdt.studio.shapes import FORMS, fitting_form, resized, shaped, without_groups
from opdt.table.roles import check_roles

MAX_HELD_OUT = 0.9
MAX_SECONDS = 86_400.0
MAX_SEED = 2**32 - 1

# Fields that are arguments of `Constraints`.
DEMANDS = (
    "directions",
    "required",
    "forbidden",
    "once",
    "min_coverage",
    "min_precision",
    "max_errors",
    "subsets",
    "missing_conditions",
    "max_coverage",
    "segments",
    "parities",
)


@dataclass(frozen=True)
class DataSource:
    """Where the data come from; the data themselves are never part of a project.

    Attributes
    ----------
    kind : {"dataset", "file"}
    name : str
        Name of the dataset, or of the file without its folder.
    sha256 : str or None
        Checksum of a file, by which it is known again.
    n_rows, n_columns : int
    """

    kind: str
    name: str
    sha256: str | None
    n_rows: int
    n_columns: int

    def __post_init__(self) -> None:
        check_choice("'kind' of the data", self.kind, ("dataset", "file"))
        if not check_text("'name' of the data", self.name):
            raise InputError("'name' of the data is empty.")
        if self.sha256 is not None:
            check_text("'sha256' of the data", self.sha256)
        if (self.sha256 is None) != (self.kind == "dataset"):
            raise InputError("'sha256' belongs to a file, and to no dataset.")
        for name in ("n_rows", "n_columns"):
            _whole(name, getattr(self, name), 0, 2**53)


@dataclass(frozen=True)
class Pinned:
    """A rule that is kept for comparison, with the expert's words on it."""

    rule: Rule
    note: str = ""

    def __post_init__(self) -> None:
        check_kind("rule", self.rule, Rule, "a Rule")
        check_text("'note' of a pinned rule", self.note)


@dataclass(frozen=True)
class Work:
    """Data, knowledge, trade-off and pinned rules: what a project file holds.

    Attributes
    ----------
    source : DataSource or None
    roles : dict of column to role
        As in `opdt.discover`, only where the expert overrides what the content suggests, and for
        all columns that are no features.
    missing : tuple of str
        Cells that mean that there is no value, in all columns.
    target : str or None
        The column that holds the classes, or the numbers; see `objective`.
    label : class or None
        The class to find a rule for; None is the best over all classes.
    objective : str or Objective
        What the rule is to be best in, as in `opdt.discover`; it may lack columns that are still
        to be chosen.
    groups : dict of name to tuple of columns
        May hold empty groups, which no structure can use yet.
    form : {"free", "levels", "tree"}
        How the structure is shown and edited.
    structure : Structure
    directions, required, forbidden, once, min_coverage, min_precision, max_errors, subsets,
    missing_conditions, max_coverage, segments, parities
        As in `opdt.Constraints`.
    w : float
        The price of one error, in rows; it counts for the objective "vi".
    held_out : float
        Share of the rows that have no part in finding the rule; 0 for none.
    seed : int
        Decides which rows these are.
    time_limit : float
        Seconds for one search.
    pinned : tuple of Pinned
    """

    source: DataSource | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    target: str | None = None
    label: Any = None
    objective: BestIn = "vi"
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    form: str = "free"
    structure: Structure = field(default_factory=Structure.free)
    directions: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    once: bool = False
    min_coverage: float = 0
    min_precision: float = 0.0
    max_errors: float | None = None
    subsets: bool | tuple[str, ...] = False
    missing_conditions: bool = False
    max_coverage: float | None = None
    segments: tuple[PerSegment, ...] = ()
    parities: tuple[Parity, ...] = ()
    w: float = 10.0
    held_out: float = 0.3
    seed: int = 0
    time_limit: float = 60.0
    pinned: tuple[Pinned, ...] = ()

    def __post_init__(self) -> None:
        self._check_names()
        object.__setattr__(self, "objective", check_best_in(self.objective))
        demands = Constraints(**{name: getattr(self, name) for name in DEMANDS})
        for name in DEMANDS:
            object.__setattr__(self, name, getattr(demands, name))
        check_choice("form", self.form, tuple(FORMS))
        check_kind("structure", self.structure, Structure, "a Structure")
        if fitting_form(self.form, self.structure) != self.form:
            raise InputError(f"the structure is not of the form {self.form!r}.")
        unknown = set(self.structure.group) - {*PREDEFINED, *self.groups}
        if unknown:
            raise InputError(f"the structure uses the group {min(unknown)!r}, which is not there.")
        object.__setattr__(self, "w", _number("w", self.w, 1, 1e9))
        object.__setattr__(self, "held_out", _number("held_out", self.held_out, 0, MAX_HELD_OUT))
        object.__setattr__(
            self, "time_limit", _number("time_limit", self.time_limit, 0, MAX_SECONDS)
        )
        object.__setattr__(self, "seed", _whole("seed", self.seed, 0, MAX_SEED))
        object.__setattr__(self, "pinned", tuple(self.pinned))
        for pinned in self.pinned:
            if not isinstance(pinned, Pinned):
                raise InputError(f"'pinned' must hold Pinned rules, got {pinned!r}.")

    def _check_names(self) -> None:
        if not (self.source is None or isinstance(self.source, DataSource)):
            raise InputError(f"'source' must be a DataSource, got {self.source!r}.")
        if not (self.target is None or isinstance(self.target, str)):
            raise InputError(f"'target' must be the name of a column, got {self.target!r}.")
        if not (self.label is None or _is_scalar(self.label)):
            raise InputError(f"'label' must be a text, number or boolean, got {self.label!r}.")
        for name in ("roles", "groups"):
            value = getattr(self, name)
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                raise InputError(f"'{name}' must be a mapping of names, got {value!r}.")
        check_roles(self.roles, list(self.roles))
        object.__setattr__(self, "roles", dict(self.roles))
        if not isinstance(self.missing, tuple) or not all(
            isinstance(cell, str) and cell for cell in self.missing
        ):
            raise InputError(f"'missing' must be a list of texts, got {self.missing!r}.")
        object.__setattr__(self, "missing", tuple(dict.fromkeys(self.missing)))
        object.__setattr__(self, "groups", {n: _members(n, g) for n, g in self.groups.items()})

    @property
    def max_depth(self) -> int:
        """The largest number of conditions, which is the depth of the structure."""
        return self.structure.depth

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that no rule may use: keys, free text, and what the expert has taken out."""
        wishes = check_roles(self.roles, list(self.roles))
        return tuple(name for name, wish in wishes.items() if not wish.role.is_used)

    @property
    def apart(self) -> frozenset[str]:
        """Columns that are no features: ignored ones, the target, and what the objective reads."""
        target = () if self.target is None else (self.target,)
        return frozenset((*self.ignored, *target, *columns_of(self.objective)))

    @property
    def kept(self) -> frozenset[str]:
        """Columns whose values are the segments or groups of a limit; they need be no features."""
        columns = [each.column for each in self.segments]
        return frozenset([*columns, *(each.column for each in self.parities)])

    @property
    def sums_rows(self) -> bool:
        """Whether there is a budget of rows, or limits by segments or groups."""
        return self.max_coverage is not None or bool(self.segments or self.parities)

    def change(self, **said: Any) -> Work:
        """The work after the expert has said something else; what it contradicts gives way.

        Takes the fields of `Work`, and `max_depth`, which makes the structure deeper or shallower.
        Columns that are ignored, become the target or are read by the objective leave groups and
        demands; a group that is gone becomes `all` in the structure; a new target forgets the
        class. An objective whose target holds something else forgets the target, and one without
        classes the limits that count errors.
        """
        known = [*(each.name for each in fields(self)), "max_depth"]
        for name in said:
            if name not in known:
                close = get_close_matches(name, known, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else "."
                raise InputError(f"there is no setting {name!r}{hint}")
        said = self._reshaped(said)
        if "objective" in said:
            said = {**_given_way(self, check_best_in(said["objective"])), **said}
        if said.get("target", self.target) != self.target:
            said.setdefault("label", None)
        for one, other in (("required", "forbidden"), ("forbidden", "required")):
            if one in said and other not in said:
                said[other] = tuple(f for f in getattr(self, other) if f not in said[one])
        return replace(self, **said)._without_columns(self.roles)

    def rename_group(self, old: str, new: str) -> Work:
        """The work with another name for a group, which keeps its place."""
        if old not in self.groups:
            raise InputError(f"there is no group {old!r}.")
        if new in self.groups and new != old:
            raise InputError(f"there is a group {new!r} already; choose another name.")
        groups = {new if name == old else name: each for name, each in self.groups.items()}
        group = tuple(new if name == old else name for name in self.structure.group)
        return replace(self, groups=groups, structure=replace(self.structure, group=group))

    def arguments(self) -> dict[str, Any]:
        """The arguments of `opdt.discover` beside the data; those that are left out by default."""
        given: dict[str, Any] = {}
        if self.label is not None:
            given["label"] = self.label
        if self.objective == "vi":
            given["w"] = self.w
        else:
            given["objective"] = self.objective
        if self.form == "free":
            given["max_depth"] = self.max_depth
        else:
            given["structure"] = self.structure
            used = {
                n for n, on in zip(self.structure.group, self.structure.split, strict=True) if on
            }
            for name in used:
                if name not in PREDEFINED and not self.groups[name]:
                    raise InputError(
                        f"group {name!r} is empty; put features into it, or choose another group "
                        "in the structure."
                    )
            groups = {name: each for name, each in self.groups.items() if name in used}
            if groups:
                given["groups"] = groups
        if demands := self.demands():
            given["constraints"] = demands
        gone = self.apart - self.kept
        if roles := {name: role for name, role in self.roles.items() if name not in gone}:
            given["roles"] = roles
        if self.missing:
            given["missing"] = list(self.missing)
        given["time_limit"] = self.time_limit
        return given

    def demands(self) -> dict[str, Any]:
        """The arguments of `opdt.Constraints` that are not their defaults."""
        plain = Constraints()
        return {
            name: getattr(self, name)
            for name in DEMANDS
            if getattr(self, name) != getattr(plain, name)
        }

    def to_json(self) -> str:
        """The project file."""
        from opdt.studio.project import write_project

        return write_project(self)

    @classmethod
    def from_json(cls, content: str | bytes) -> Work:
        """The work of a project file; anything wrong with it is one `InputError`."""
        from opdt.studio.project import read_project

        return read_project(content)

    def _reshaped(self, said: dict[str, Any]) -> dict[str, Any]:
        """What is said with form, depth and groups of the structure made to agree."""
        said = dict(said)
        form = said.get("form", self.form)
        structure = said.get("structure", self.structure)
        check_kind("structure", structure, Structure, "a Structure")
        if (depth := said.pop("max_depth", None)) is not None:
            structure = resized(structure, depth)
        if isinstance(groups := said.get("groups"), Mapping):
            structure = without_groups(structure, {*PREDEFINED, *groups})
        if "form" in said:
            structure = shaped(form, structure)
        else:
            form = fitting_form(form, structure)
        return said | {"form": form, "structure": structure}

    def _without_columns(self, roles: Mapping[str, str]) -> Work:
        """Columns that are no features any more leave groups and demands."""
        gone = self.apart
        turned = {n for n in {*roles, *self.roles} if roles.get(n) != self.roles.get(n)}
        said: dict[str, Any] = {
            "groups": {n: tuple(f for f in g if f not in gone) for n, g in self.groups.items()},
            "directions": {f: d for f, d in self.directions.items() if f not in gone | turned},
            "required": tuple(f for f in self.required if f not in gone),
            "forbidden": tuple(f for f in self.forbidden if f not in gone),
        }
        if not isinstance(self.subsets, bool):
            said["subsets"] = tuple(f for f in self.subsets if f not in gone | turned)
        return replace(self, **said)


def _given_way(work: Work, objective: BestIn) -> dict[str, Any]:
    """What cannot stay beside another objective, as it is then."""
    said: dict[str, Any] = {}
    if target_of(objective) is not target_of(work.objective):
        said = {"target": None, "label": None}
    if not has_classes(objective):
        said |= {"min_precision": 0.0, "max_errors": None}
        said["parities"] = tuple(each for each in work.parities if each.of == "coverage")
        counting = [
            replace(s, min_precision=None, max_errors=None)
            for s in work.segments
            if s.max_coverage is not None
        ]
        said["segments"] = tuple(counting)
    return said


def _members(group: str, features: Any) -> tuple[str, ...]:
    if not group or group in PREDEFINED:
        raise InputError(f"a group cannot be called {group!r}; choose another name.")
    check_list(f"group {group!r}", features, "a list of columns")
    if not all(isinstance(feature, str) for feature in features):
        raise InputError(f"group {group!r} must list columns by name, got {list(features)!r}.")
    return tuple(dict.fromkeys(features))


def _is_scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | int)


def _number(name: str, value: Any, low: float, high: float) -> float:
    wanted = f"a number from {low:g} to {high:,.12g}"
    check_number(name, value, wanted, lambda n: low <= n <= high)
    return float(value)


def _whole(name: str, value: Any, low: int, high: int) -> int:
    return check_int(name, value, low, most=high)
