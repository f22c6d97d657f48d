"""What the rule should be best at, and what that has to be told: columns, amounts, directions."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nicegui import ui

from opdt.errors import InputError
from opdt.objectives import Objective, TargetKind
from opdt.studio.best_in import ABOUT, CHOICES, begin, choice_of, needs_label, target_of
from opdt.studio.session import Session
from opdt.studio.tables import Loaded
from opdt.studio.web.panels.controls import Dropdown, NumberField
from opdt.studio.web.theme import field, short, words

_ARGUMENT = re.compile(r"'(\w+)'")
_NUMBER, _OTHER = "", "choose …"
_ARM_OF = {"treated": "treatment", "came": "event"}  # which column has the value
_MOST_ARMS = 20  # values of a column among which one is named


@dataclass(frozen=True)
class ObjectiveField:
    """One argument of an objective, as it is asked for.

    Attributes
    ----------
    name : str
        The argument.
    title : str
        What the field is called.
    kind : {"amount", "numbers", "column", "number", "text", "arm", "direction"}
        A number or a column of numbers; a column of numbers; any column; a number or nothing; any
        text; a value of another column; high or low.
    hint : str
        What stands in the empty field.
    """

    name: str
    title: str
    kind: str
    hint: str = ""


_UNIT = ObjectiveField("unit", "Unit", "text", "none")
FIELDS = {
    "money": (
        ObjectiveField("benefit", "Each row of the class brings", "amount"),
        ObjectiveField("cost", "Each other row costs", "amount"),
        ObjectiveField("unit", "Unit", "text", "such as EUR"),
    ),
    "mean": (
        ObjectiveField("direction", "Find rows where it is", "direction"),
        ObjectiveField("threshold", "Threshold", "number", "none: best mean"),
        ObjectiveField("unit", "Unit", "text", "such as days"),
    ),
    "uplift": (
        ObjectiveField("treatment", "Who was treated", "column"),
        ObjectiveField("treated", "Treated means", "arm"),
        ObjectiveField("outcome", "What came of it", "numbers"),
        ObjectiveField("direction", "A good outcome is", "direction"),
        ObjectiveField("cost", "Treating a row costs", "amount"),
        ObjectiveField("propensity", "Known chance of treatment", "number", "estimated"),
        _UNIT,
    ),
    "survival": (
        ObjectiveField("time", "Time until then", "numbers"),
        ObjectiveField("event", "Whether the event came", "column"),
        ObjectiveField("came", "It came where this is", "arm"),
        ObjectiveField("direction", "Find rows whose risk is", "direction"),
        ObjectiveField("ratio", "Least ratio to the usual pace", "number", "1"),
    ),
}


class BestInChoice:
    """The list of all that a rule can be best at; it knows which target goes with which."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._box = Dropdown(
            CHOICES,
            choice_of(session.work.objective),
            self._pick,
            label="What the rule should be best at",
            testid="best-in",
        )
        self._about = words("p", "", "studio-soft studio-small").props("data-testid=best-in-about")
        self.show()

    def show(self) -> None:
        """Show what counts now; measures that are not in the list are those of a project file."""
        choice = choice_of(self._session.work.objective)
        if self._box.has(choice):
            self._box.show(choice)
        self._about.set_text(ABOUT.get(choice, ""))
        self._about.set_visibility(choice in ABOUT)

    def _pick(self, choice: str) -> bool:
        session = self._session
        return session.change(**beginning(session.loaded, session, choice))


def beginning(loaded: Loaded | None, session: Session, choice: str) -> dict[str, Any]:
    """What is said by choosing: the objective, and the target and class that suggest themselves."""
    objective, work = begin(choice), session.work
    said: dict[str, Any] = {"objective": objective}
    target, label = work.target, work.label
    if target_of(objective) is not target_of(work.objective):
        target, label = _last_target(session, target_of(objective))
        if target is None and target_of(objective) is TargetKind.CLASSES and loaded is not None:
            target = loaded.target
        said |= {"target": target, "label": label}
    if needs_label(objective) and loaded is not None and target is not None and label is None:
        said["label"] = rarest(loaded, target)
    return said


def _last_target(session: Session, kind: TargetKind) -> tuple[str | None, Any]:
    """The target that held this when it was last asked for, and the class that was looked for."""
    for before in reversed(session.history.past):
        if target_of(before.objective) is kind and before.target is not None:
            return before.target, before.label
    return None, None


def rarest(loaded: Loaded, target: str) -> Any:
    """The class of the fewest rows, which is the one that most often brings something."""
    return min(loaded.balance(target), key=lambda pair: pair[1])[0]


class ObjectiveFields:
    """The fields of the objective that counts, each with what is wrong with it beside it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown: Any = None
        self._shapes: dict[str, Any] = {}
        self._places: dict[str, ui.element] = {}
        self._controls: dict[str, list[Any]] = {}
        self._errors: dict[str, Any] = {}
        self._body = ui.element("div").classes("studio-row objective-fields")
        self._body.props["data-testid"] = "objective-fields"
        self._general = words("p", "", "studio-complaint").props("role=alert data-testid=refusal")

    def draw(self) -> None:
        """Show the fields that belong to the objective, made anew where they are others."""
        loaded, best_in = self._session.loaded, self._session.work.objective
        asked = () if loaded is None else FIELDS.get(choice_of(best_in), ())
        if self._shown != (now := (id(loaded), choice_of(best_in))):
            self._shown = now
            self._body.clear()
            self._shapes, self._places, self._controls, self._errors = {}, {}, {}, {}
            with self._body:
                for each in asked:
                    self._draw_field(each)
        self._body.set_visibility(bool(asked))
        if isinstance(best_in, Objective):
            for each in asked:
                self._show_field(each, best_in)
        self._complain(self._session.refusal)

    # -- drawing ----------------------------------------------------------------------------

    def _draw_field(self, asked: ObjectiveField) -> None:
        with field(asked.title):
            self._places[asked.name] = ui.element("div").classes("objective-field")
            error = words("span", "", "studio-complaint").props("role=alert")
            error.props["data-testid"] = f"error-{asked.name}"
            error.set_visibility(False)
            self._errors[asked.name] = error

    def _show_field(self, asked: ObjectiveField, best_in: Objective) -> None:
        """Show a value; controls are made anew where others are needed, and no one else's."""
        value = getattr(best_in, asked.name)
        by_number = asked.kind == "amount" and not isinstance(value, str)
        other = getattr(best_in, _ARM_OF[asked.name]) if asked.kind == "arm" else None
        shape = (by_number, other, self._session.work.target)
        if self._shapes.get(asked.name) != shape:
            self._shapes[asked.name] = shape
            self._places[asked.name].clear()
            with self._places[asked.name]:
                self._controls[asked.name] = self._draw_controls(asked, value)
            return
        box, text = self._controls[asked.name]
        if box is not None and box.has(_key(value)):
            box.show(_key(value))
        if text is not None:
            text.show(_text(value))

    def _draw_controls(self, asked: ObjectiveField, value: Any) -> list[Any]:
        if asked.kind in ("number", "text"):
            return [None, self._draw_text(asked, value)]
        box = self._draw_list(asked, self._options(asked), value)
        if asked.kind == "amount" and not isinstance(value, str):
            return [box, self._draw_text(asked, value)]
        return [box, None]

    def _draw_list(self, asked: ObjectiveField, options: dict[str, str], value: Any) -> Dropdown:
        key = _key(value) if _key(value) in options else ""
        testid = f"{asked.name}-column" if asked.kind == "amount" else asked.name
        pick = partial(self._picked, asked)
        return Dropdown(options, key, pick, label=asked.title, testid=testid, key=testid)

    def _draw_text(self, asked: ObjectiveField, value: Any) -> NumberField:
        write = partial(self._written, asked)
        box = NumberField(
            _text(value), write, label=asked.title, testid=asked.name, key=asked.name,
            hint=asked.hint,
        )  # fmt: skip
        return box.classes("objective-number")

    def _options(self, asked: ObjectiveField) -> dict[str, str]:
        loaded, work = self._session.loaded, self._session.work
        assert loaded is not None
        if asked.kind == "direction":
            return {"high": "high", "low": "low"}
        if asked.kind == "arm":
            column = getattr(work.objective, _ARM_OF[asked.name])
            levels = loaded.levels_of(column, _MOST_ARMS) if column else None
            plain = levels is None or levels == [0, 1]  # which False and True are, too
            first = "1 or True" if plain else _OTHER
            return {"": first, **{str(each): str(each) for each in levels or ()}}
        names = [n for n in loaded.names if n != work.target]
        if asked.kind != "column":
            names = [name for name in names if loaded.is_number(name)]
        first = "one number" if asked.kind == "amount" else _OTHER
        return {"": first, **{name: short(name, 60) for name in names}}

    # -- saying -----------------------------------------------------------------------------

    def _picked(self, asked: ObjectiveField, key: str) -> bool:
        if asked.kind == "amount":
            usual = 0 if asked.name == "cost" and self._kind == "uplift" else 1
            return self._say(asked.name, key or usual)
        return self._say(asked.name, key or None)

    def _written(self, asked: ObjectiveField, text: str) -> None:
        if asked.kind == "text":
            self._say(asked.name, text.strip())
        elif not text.strip() and asked.kind == "number":
            self._say(asked.name, 1.0 if asked.name == "ratio" else None)
        else:
            number = _number(text)
            if number is None:
                self._refuse(asked.name, f"'{asked.name}' must be a number, got {text!r}.")
            else:
                self._say(asked.name, number)

    @property
    def _kind(self) -> str:
        return choice_of(self._session.work.objective)

    def _say(self, name: str, value: Any) -> bool:
        """Tell the objective something; where it refuses, say why beside the field."""
        best_in = self._session.work.objective
        assert isinstance(best_in, Objective)
        told: dict[str, Any] = {name: value}
        told |= {arm: None for arm, column in _ARM_OF.items() if column == name}  # of another one
        try:
            changed = replace(best_in, **told)  # type: ignore[type-var]
        except InputError as error:
            self._refuse(name, str(error))
            return False
        return self._session.change(objective=changed)

    def _in_titles(self, refusal: str) -> str:
        """A sentence of the library with arguments called as the fields are."""
        for each in FIELDS.get(self._kind, ()):
            refusal = refusal.replace(f"'{each.name}'", f"“{each.title}”")
        return _sentence(refusal)

    def _refuse(self, name: str, why: str) -> None:
        self._errors[name].set_text(self._in_titles(why))
        self._errors[name].set_visibility(True)

    def _complain(self, refusal: str | None) -> None:
        """Put what the data do not allow beside the field that it is about."""
        found = None if refusal is None else _ARGUMENT.match(refusal)
        about = None if found is None else found[1]
        for name, error in self._errors.items():
            error.set_text(self._in_titles(refusal or "") if name == about else "")
            error.set_visibility(name == about)
        general = refusal is not None and about not in self._errors
        self._general.set_text(_sentence(refusal or ""))
        self._general.set_visibility(general)


def _key(value: Any) -> str:
    return str(value) if isinstance(value, str | bool) else ""


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _number(text: str) -> float | None:
    """A number as it is meant, whole where it is; None where it is none."""
    plain = text.strip().replace(" ", "")
    for read in (int, float):
        try:
            return read(plain)
        except ValueError:
            continue
    return None


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
