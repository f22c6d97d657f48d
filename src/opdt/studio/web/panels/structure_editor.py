"""The structure of the rule: free, one group per level, or a tree drawn on the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nicegui import ui

from opdt.errors import InputError
from opdt.problem import Structure
from opdt.problem.groups import ALL
from opdt.studio.web.panels.controls import Dropdown, Fold, press
from opdt.studio.web.panels.features import Features, group_options
from opdt.studio.web.panels.tree_editor import Edit, draw_tree
from opdt.studio.web.panels.tree_edits import MAX_DEPTH
from opdt.studio.web.theme import short, words

_FORMS = {
    "free": ("Free", "Any feature may be in any condition."),
    "levels": ("Levels", "Each condition is on a feature of its level's group."),
    "tree": ("Tree", "Each node has its group, and the rule ends in one of the starred leaves."),
}


class StructurePart:
    """Chooses the form of the structure, and edits it.

    Parameters
    ----------
    features : Features
    """

    def __init__(self, features: Features) -> None:
        self._features = features
        self._session = features.session
        self._fold = Fold("Structure", "structure")
        self.forget()

    def forget(self) -> None:
        """Start again with other data."""
        self._drawn: Any = None
        self._shown: Callable[[], None] = lambda: None

    def draw(self) -> None:
        """Show the structure that counts now; what can stay as it is does."""
        work = self._features.work
        self._fold.say(_in_words(work.form, work.structure))
        sizes = self._features.sizes()
        shape = work.structure.split if work.form == "tree" else work.max_depth
        now = (self._features.key, work.form, shape, tuple(sizes.items()))
        if now == self._drawn:
            self._shown()
        else:
            self._drawn = now
            self._fold.body.clear()
            with self._fold.body:
                self._draw_forms(work.form)
                self._shown = self._draw_form(work.form)
                self._note = words("p", "", "studio-note").props("role=status")
                self._note.props["data-testid"] = "structure-note"
        self._show_empty(sizes)

    def _draw_forms(self, form: str) -> None:
        with ui.element("div").classes("studio-row"):
            with ui.element("div").classes("know-forms").props("role=group aria-label=Structure"):
                for each, (title, _) in _FORMS.items():
                    button = press(
                        title,
                        partial(self._say, form=each),
                        label=title,
                        testid=f"form-{each}",
                        key=f"form-{each}",
                        classes="know-form",
                    )
                    button.props["aria-pressed"] = "true" if each == form else "false"
            words("span", _FORMS[form][1], "studio-soft studio-small know-meaning")

    def _draw_form(self, form: str) -> Callable[[], None]:
        """Draw the editor of a form; returns what shows later structures in it."""
        if form == "free":
            return self._draw_depth()
        return self._draw_levels() if form == "levels" else draw_tree(self._features, self._edit)

    def _draw_depth(self) -> Callable[[], None]:
        depth = self._features.work.max_depth
        depths = sorted({*range(1, MAX_DEPTH + 1), depth})
        with ui.element("div").classes("studio-row know-level"):
            words("span", "At most")
            Dropdown(
                {str(each): str(each) for each in depths},
                str(depth),
                lambda key: self._say(max_depth=int(key)),
                label="Conditions at most",
                testid="free-depth",
                key="free-depth",
            )
            words("span", "condition" if depth == 1 else "conditions")
        return lambda: None

    def _draw_levels(self) -> Callable[[], None]:
        names = self._levels()
        with ui.element("ol").classes("know-levels"):
            choices = [self._draw_level(level, name) for level, name in enumerate(names)]
        if len(names) < MAX_DEPTH:
            press(
                "+ Level",
                lambda: self._say(structure=Structure.levels(*self._levels(), ALL)),
                label="Add a level",
                testid="add-level",
                key="add-level",
            )

        def show() -> None:
            for each, name in zip(choices, self._levels(), strict=True):
                each.show(name)

        return show

    def _draw_level(self, level: int, name: str) -> Dropdown:
        options, empty = group_options(self._features)
        with ui.element("li").classes("know-level"):
            words("span", f"{level + 1}", "know-number").props("aria-hidden=true")
            words("span", "condition on a feature of")
            chosen = Dropdown(
                options,
                name,
                partial(self._set_level, level),
                label=f"Group of level {level + 1}",
                testid=f"level-{level + 1}",
                key=f"level-{level + 1}",
                disabled=empty,
            )
            if len(self._levels()) > 1:
                press(
                    "×",
                    partial(self._set_level, level, None),
                    label=f"Remove level {level + 1}",
                    testid=f"remove-level-{level + 1}",
                    key=f"remove-level-{level + 1}",
                    classes="know-button know-cross",
                )
        return chosen

    def _levels(self) -> tuple[str, ...]:
        return self._features.work.structure.level_groups or ()

    def _set_level(self, level: int, name: str | None) -> None:
        """Give a level another group, or remove it (None)."""
        names = list(self._levels())
        names[level : level + 1] = [] if name is None else [name]
        self._say(structure=Structure.levels(*names))

    def _show_empty(self, sizes: Mapping[str, int]) -> None:
        """A group that is in use and empty lets no rule be found."""
        structure = self._features.work.structure
        used = zip(structure.group, structure.split, strict=True)
        empty = sorted({name for name, splits in used if splits and not sizes[name]})
        self._note.set_visibility(bool(empty))
        if empty:
            name = short(empty[0])
            self._note.set_text(f"Group {name!r} is empty; no rule can use it yet.")

    def _edit(self, edit: Edit) -> None:
        """Change the tree; what cannot be is said beside it."""
        try:
            structure = edit(self._features.work.structure)
        except InputError as error:
            sentence = str(error)
            self._note.set_text(sentence[:1].upper() + sentence[1:])
            self._note.set_visibility(True)
        else:
            self._say(structure=structure)

    def _say(self, **said: Any) -> None:
        if not self._session.change(**said):
            self.draw()


def _in_words(form: str, structure: Structure) -> str:
    if form == "free":
        return f"free, at most {structure.depth}"
    if form == "levels":
        return short(" – ".join(structure.level_groups or ()), 50)
    leaves = sum(structure.target)
    return f"tree with {leaves} target {'leaf' if leaves == 1 else 'leaves'}"
