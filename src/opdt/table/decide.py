"""The role of a column, decided from a few counts of it: one place for memory and pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opdt.errors import InputError
from opdt.table.cleaning import ISO, UTC, Cleaning
from opdt.table.missing_words import MAYBE_MISSING
from opdt.table.numbers_in_text import SHAPES, Marks, fits
from opdt.table.roles import ASKED, ColumnPlan, Role, Unread, Wish
from opdt.table.survey import (
    LONG,
    MAX_LEVELS,
    MAYBE,
    MISSING,
    NO,
    OTHER,
    TRUTH,
    YES,
    ZONED,
    Survey,
)

FEW_BAD = 0.01  # the share of cells that may be unreadable
NEARLY_ALL = 0.95  # the share of different cells from which on they tell rows apart
LEAST_ROWS = 20  # fewer different cells prove nothing
_FRACTIONS = (
    *("one_point", "point_decimal", "comma_decimal"),
    *("space_groups_point", "space_groups_comma"),
)
_SAYS_ID = re.compile(
    r"(?:.*[\W_])?(?:id|ids|uuid|guid|idx|index|rownames?|row_?(?:id|no|nr|num|number)|key|pk|nr"
    r"|lfd_?nr|serial|record_?no)",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r".*[a-z](?:Id|ID|Uuid|Index|Key|Nr)")
_NAMELESS = re.compile(r"(?:Unnamed: ?\d+|column_?\d*|__index_level_\d+__|\.\.\.1|X|_c0|)")


def says_id(name: str) -> bool:
    """Whether a name says that the column names its rows."""
    return bool(_SAYS_ID.fullmatch(name) or _CAMEL_ID.fullmatch(name))


def is_nameless(name: str) -> bool:
    """Whether a name is one that libraries give to a column without one, as to a written index."""
    return bool(_NAMELESS.fullmatch(name))


def id_reason(name: str, present: int, distinct: int, *, numbered: bool = False) -> str | None:
    """Why a column of keys is no feature, None if it may be one.

    Parameters
    ----------
    present, distinct : int
        Rows with a value, and different values; more than `MAX_LEVELS` count as that and one.
    numbered : bool
        Whether the values are 0, 1, 2, … or 1, 2, 3, … in the order of the rows.
    """
    if numbered and (present >= LEAST_ROWS or is_nameless(name)):
        return f"it numbers the {present:,} rows in order"
    many = distinct > MAX_LEVELS or distinct >= NEARLY_ALL * present
    if present > 2 and many and (says_id(name) or is_nameless(name)):
        amount = "all" if distinct == present else "nearly all"
        named = "its name says so" if says_id(name) else "it has no name of its own"
        return f"{named}, and {amount} {present:,} values differ"
    return None


def check_constant(plan: ColumnPlan, n_values: int, *, has_missing: bool) -> ColumnPlan:
    """The plan, as one of a constant where all rows hold the same value; not if asked for."""
    if not plan.is_used or plan.why == ASKED or n_values > 1 or (n_values and has_missing):
        return plan
    why = "all rows hold the same value" if n_values else "no row has a value"
    return replace(plan, role=Role.CONSTANT, why=why)


def decide_text(
    name: str, survey: Survey, wish: Wish | None = None, *, numbered: bool = False
) -> ColumnPlan:
    """The plan of a column of text, from its counts and from what the user asks for.

    `numbered` as for `id_reason`.
    """
    if wish is None:
        return _unasked(name, survey, numbered)
    role = wish.role
    if not role.is_used:
        return ColumnPlan(name, role, ASKED)
    if role is Role.NUMERIC:
        return _asked_numbers(name, survey, wish)
    if role is Role.DATE:
        return _asked_dates(name, survey, wish)
    if role is Role.ORDERED:
        return _asked_order(name, survey, wish)
    if role is Role.YES_NO and not _is_truth(survey):
        raise InputError(
            f"column {name!r} cannot be 'yes/no': it holds {_example(survey, OTHER)!r}; take it "
            "as 'categorical'."
        )
    return _as_levels(name, survey, role, ASKED, wish.most)


def _unasked(name: str, survey: Survey, numbered: bool) -> ColumnPlan:
    present = survey.rows - survey.absent - survey.classes[MISSING]
    if not present:
        return ColumnPlan(name, Role.CONSTANT, "no row has a value")
    found = _numbers(name, survey, numbered) or _dates(name, survey)
    if found is not None:
        return found
    if _is_truth(survey):
        return _as_levels(name, survey, Role.YES_NO, "its cells are words for yes and no")
    distinct = survey.distinct(_sure_words(survey))
    reason = id_reason(name, present, distinct)
    if reason is None and survey.sentences > present // 2:
        return ColumnPlan(name, Role.TEXT, f"free text such as {_short(_example(survey, OTHER))}")
    if reason is None and distinct > MAX_LEVELS:
        return ColumnPlan(name, Role.TEXT, f"more than {MAX_LEVELS:,} different texts")
    if reason is None and distinct >= NEARLY_ALL * present and present >= LEAST_ROWS:
        reason = f"{distinct:,} of {present:,} texts differ"
    if reason is not None:
        return ColumnPlan(name, Role.ID, reason)
    if distinct < 2 and not survey.absent and not survey.classes[MISSING]:
        return ColumnPlan(name, Role.CONSTANT, "all rows hold the same text")
    why = f"{distinct} levels"
    if survey.classes["code"] > FEW_BAD * present:
        why = f"codes with leading zeros such as {survey.examples['code']!r}"
    return _as_levels(name, survey, Role.CATEGORICAL, why, warnings=_near_misses(survey, present))


# Numbers


def _numbers(name: str, survey: Survey, numbered: bool) -> ColumnPlan | None:
    """The plan as numbers, if nearly all cells are numbers of one unit."""
    present = survey.rows - survey.absent - survey.classes[MISSING] - survey.classes[MAYBE]
    cleaning, bad = _number_cleaning(survey, "")
    codes = survey.classes["code"] + (survey.classes[LONG] if cleaning.form != "whole" else 0)
    if not present or max(codes, bad) > FEW_BAD * present:
        return None
    distinct = survey.distinct(cleaning.missing)
    if not cleaning.unit and not any(survey.classes[shape] for shape in _FRACTIONS):
        reason = id_reason(name, present, distinct, numbered=numbered)
        if reason is not None:
            return ColumnPlan(name, Role.ID, reason)
    return _number_plan(name, survey, cleaning, bad, "its cells are numbers")


def _number_cleaning(survey: Survey, decimal: str) -> tuple[Cleaning, int]:
    """How the numbers of a column are read, and how many rows then hold none."""
    present = survey.rows - survey.absent - survey.classes[MISSING] - survey.classes[MAYBE]
    words = _words(survey)
    whole = survey.classes["whole"] + survey.classes[LONG]
    if (
        survey.classes[LONG]
        and whole == present
        and not survey.limits
        and set(survey.units) == {""}
    ):
        return Cleaning("whole", missing=words), 0
    mark = decimal or Marks.of(survey.classes).decimal
    unit = max((u for u in survey.units if u), key=lambda u: (survey.units[u], u), default="")
    fitting = sum(survey.classes[shape] for shape in SHAPES if fits(shape, mark))
    strange = sum(count for each, count in survey.units.items() if each not in ("", unit))
    fitting += survey.classes[LONG]
    return Cleaning("number", mark, unit, missing=words), present - fitting + strange


def _number_plan(name: str, survey: Survey, cleaning: Cleaning, bad: int, why: str) -> ColumnPlan:
    shown = _shown_number(survey, cleaning)
    changes = [f"numbers read out of text such as {shown!r}"] if shown is not None else []
    warnings = []
    if cleaning.decimal == ",":
        changes.append("a comma is read as the mark before the fraction")
    if survey.classes["one_comma"] and not Marks.of(survey.classes).sure:
        example = survey.examples["one_comma"]
        warnings.append(
            f"{example!r} is read as a number without a fraction; if the comma stands before "
            f"the fraction, say 'numeric:comma'"
        )
    if survey.limits:
        changes.append(
            f"a number behind '<' or '>' is taken to be just below or above it {_in(survey.limits)}"
        )
    if cleaning.unit == "%" and survey.units[""] > FEW_BAD * survey.rows:
        warnings.append("some cells have a '%' and others have not; their scale may differ")
    changes += _missing_changes(survey, cleaning.missing)
    unread = Unread(bad, "number", bad_example(survey, cleaning)) if bad else None
    return ColumnPlan(name, Role.NUMERIC, why, tuple(changes), tuple(warnings), unread, cleaning)


def _asked_numbers(name: str, survey: Survey, wish: Wish) -> ColumnPlan:
    cleaning, bad = _number_cleaning(survey, wish.decimal)
    present = survey.rows - survey.absent - survey.classes[MISSING] - survey.classes[MAYBE]
    if bad >= present and _date_form(survey):
        return _asked_dates(name, survey, wish)
    if bad >= present:
        raise InputError(
            f"column {name!r} holds no number but {bad_example(survey, cleaning)!r} or the like; "
            "clean it or take it as 'categorical'."
        )
    return _number_plan(name, survey, cleaning, bad, ASKED)


def bad_example(survey: Survey, cleaning: Cleaning) -> str:
    """A cell that cannot be read in this way."""
    for what, text in sorted(survey.examples.items()):
        if what in (MISSING, MAYBE):
            continue
        if cleaning.form == "date" or what not in SHAPES or not fits(what, cleaning.decimal):
            return text
    return next((text for text in survey.examples.values()), "")


def _shown_number(survey: Survey, cleaning: Cleaning) -> str | None:
    """A cell that shows what had to be read out of text; None where all are plain numbers."""
    dressed = [
        s for s in SHAPES if s not in ("whole", "point_decimal", "one_point") and survey.classes[s]
    ]
    for shape in (*dressed, *SHAPES):
        if survey.classes[shape] and (dressed or cleaning.unit) and fits(shape, cleaning.decimal):
            return survey.examples[shape]
    return None


# Dates


def _dates(name: str, survey: Survey) -> ColumnPlan | None:
    """The plan as dates, if nearly all cells are dates of one form."""
    present = survey.rows - survey.absent - survey.classes[MISSING] - survey.classes[MAYBE]
    form = _date_form(survey)
    if form is None or not present:
        return None
    bad = present - _dates_of(survey, form)
    if bad > FEW_BAD * present:
        return None
    return _date_plan(name, survey, _date_cleaning(survey, form), bad)


def _date_form(survey: Survey) -> str | None:
    """The form that most dates have; None where day and month cannot be told apart."""
    forms = (ISO, ZONED, "d.m.y", "d/m/y", "m/d/y")
    counts = {form: survey.classes[_class(form)] for form in forms}
    form = max(counts, key=lambda each: counts[each])
    return form if counts[form] else None


def _class(form: str) -> str:
    return form if form == ZONED else f"date {form}"


def _dates_of(survey: Survey, form: str) -> int:
    either = survey.classes["date ?/?/y"] if "/" in form else 0
    if form == "d/m/y":
        either += survey.classes["date d.m.y"]
    return survey.classes[_class(form)] + either


def _date_cleaning(survey: Survey, form: str, part: str = "") -> Cleaning:
    dates, zone = (ISO, UTC) if form == ZONED else (form, "")
    return Cleaning("date", dates=dates, zone=zone, part=part, missing=_words(survey))


def _date_plan(
    name: str, survey: Survey, cleaning: Cleaning, bad: int, why: str = ""
) -> ColumnPlan:
    changes = [] if cleaning.dates == ISO else [f"dates are read as {cleaning.dates}"]
    changes += [f"the {cleaning.part} of the date is taken"] if cleaning.part else []
    changes += _missing_changes(survey, cleaning.missing)
    unread = Unread(bad, "date", bad_example(survey, cleaning)) if bad else None
    why = why or "its cells are dates"
    return ColumnPlan(name, Role.DATE, why, tuple(changes), (), unread, cleaning)


def _asked_dates(name: str, survey: Survey, wish: Wish) -> ColumnPlan:
    form = wish.dates or _date_form(survey)
    present = survey.rows - survey.absent - survey.classes[MISSING] - survey.classes[MAYBE]
    if form is None or (present and not _dates_of(survey, form)):
        either = survey.examples.get("date ?/?/y")
        cure = f"say 'date:d/m/y' or 'date:m/d/y' for {either!r}" if either else "clean it"
        raise InputError(f"column {name!r} holds no dates that can be read; {cure}.")
    cleaning = _date_cleaning(survey, form, wish.part)
    return _date_plan(name, survey, cleaning, present - _dates_of(survey, form), ASKED)


# Levels


def _is_truth(survey: Survey) -> bool:
    """Whether all cells are words for yes and no, and both occur."""
    present = survey.rows - survey.absent - survey.classes[MISSING]
    if not survey.classes[TRUTH] or survey.classes[TRUTH] != present or survey.levels is None:
        return False
    words = {str(cell).strip().casefold() for cell in survey.levels}
    return bool(words & YES) and bool(words & NO)


def _as_levels(
    name: str,
    survey: Survey,
    role: Role,
    why: str,
    most: int = 0,
    warnings: Iterable[str] = (),
) -> ColumnPlan:
    """The plan as levels: other spellings of yes and no united, rare levels merged if asked."""
    missing = _sure_words(survey)
    levels = {cell: n for cell, n in (survey.levels or {}).items() if cell not in missing}
    changes = _missing_changes(survey, missing)
    renamed: tuple[tuple[Any, Any], ...] = ()
    if role is Role.YES_NO and len(levels) > 2:
        renamed = tuple((cell, _truth_of(cell)) for cell in sorted(levels, key=str))
        changes.append(f"{len(levels)} spellings of yes and no are united")
    kept: tuple[Any, ...] = ()
    other = "other"
    if most and survey.levels is None:
        raise InputError(
            f"column {name!r} has more than {MAX_LEVELS:,} different texts, too many to count "
            "which are frequent; merge them before."
        )
    if most and len(levels) > most:
        kept = tuple(sorted(levels, key=lambda cell: (-levels[cell], str(cell)))[:most])
        other = "other" if "other" not in kept else "(other)"
        rest = sum(levels.values()) - sum(levels[cell] for cell in kept)
        changes.append(f"{len(levels) - most:,} rare levels are merged into {other!r} {_in(rest)}")
    cleaning = Cleaning(missing=missing, renamed=renamed, kept=kept, other=other)
    plain = not (missing or renamed or kept)
    return ColumnPlan(
        name, role, why, tuple(changes), tuple(warnings), None, None if plain else cleaning
    )


def _truth_of(cell: Any) -> str:
    return "yes" if str(cell).strip().casefold() in YES else "no"


def _asked_order(name: str, survey: Survey, wish: Wish) -> ColumnPlan:
    if not wish.order:
        raise no_order(name)
    unknown = sorted(
        str(cell) for cell in (survey.levels or {})
        if cell not in wish.order and cell not in _sure_words(survey)
    )  # fmt: skip
    if unknown:
        raise InputError(
            f"roles[{name!r}] must name all levels of the column, and {unknown[0]!r} is missing."
        )
    return ordered_plan(name, wish.order, ASKED, _sure_words(survey))


def no_order(name: str) -> InputError:
    """The refusal of a role that needs an order, where there is none."""
    return InputError(
        f"column {name!r} does not say how its levels are ordered; write them down: "
        "'ordered:low<middle<high'."
    )


def ordered_plan(
    name: str, order: Sequence[Any], why: str, missing: tuple[Any, ...] = ()
) -> ColumnPlan:
    """The plan of a column whose levels have an order."""
    changes = ("its levels are compared in their order",)
    cleaning = Cleaning(order=tuple(order), missing=missing)
    return ColumnPlan(name, Role.ORDERED, why, changes, (), None, cleaning)


# Words for people


def _words(survey: Survey) -> tuple[str, ...]:
    """Cells that are missing values in a column of numbers or dates."""
    return tuple(sorted(survey.words))


def _sure_words(survey: Survey) -> tuple[str, ...]:
    """Cells that are missing values in a column of levels: `-` beside `+` is a level."""
    levels: Mapping[Any, int] = survey.levels or {}
    words = (w for w in survey.words if w.strip().casefold() not in MAYBE_MISSING)
    return tuple(sorted(w for w in words if not (w.strip() == "-" and "+" in levels)))


def _missing_changes(survey: Survey, words: Sequence[str]) -> list[str]:
    return read_as_missing({word: survey.words[word] for word in words})


def read_as_missing(cells: Mapping[Any, int]) -> list[str]:
    """What is said of cells that are read as missing, with the rows of each."""
    if not cells:
        return []
    shown = ", ".join(map(repr, list(cells)[:5])) + (", …" if len(cells) > 5 else "")
    return [f"{shown} read as missing {_in(sum(cells.values()))}"]


def _near_misses(survey: Survey, present: int) -> list[str]:
    """What almost made numbers or dates of the column, which a person may know better."""
    out = []
    numbers = sum(survey.classes[shape] for shape in SHAPES if shape != "code")
    units = sorted(unit for unit in survey.units if unit)
    if numbers > present / 2 and len(units) > 1 and survey.classes["code"] <= FEW_BAD * present:
        some = ", ".join(map(repr, units[:4]))
        out.append(f"{numbers:,} of {present:,} cells are numbers, but of the units {some}")
    elif numbers > present / 2 and survey.classes["code"] <= FEW_BAD * present:
        out.append(
            f"{numbers:,} of {present:,} cells are numbers; say 'numeric' to read the others, "
            f"such as {_short(bad_example(survey, Cleaning('number')))}, as missing"
        )
    either = survey.classes["date ?/?/y"] + survey.classes["date d/m/y"]
    either += survey.classes["date m/d/y"]
    if either > present / 2:
        out.append("its dates could be day or month first; say 'date:d/m/y' or 'date:m/d/y'")
    return out


def _in(rows: int) -> str:
    return f"in {rows:,} row{'' if rows == 1 else 's'}"


def _example(survey: Survey, what: str) -> str:
    return survey.examples.get(what) or next(iter(survey.examples.values()), "")


def _short(text: str) -> str:
    return repr(text if len(text) <= 30 else text[:29] + "…")
