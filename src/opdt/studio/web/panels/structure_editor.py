"""The structure of the rule: free, one group per level, or a tree drawn on the page."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from opdt.problem import Structure
from opdt.problem.groups import ALL
from opdt.studio.web.panels.controls import Fold, choice, press, short
from opdt.studio.web.panels.features import Features
from opdt.studio.web.panels.tree_editor import draw_tree
from opdt.studio.web.panels.tree_edits import MAX_DEPTH
from opdt.studio.web.theme import words

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

    def draw(self) -> None:
        """Show the structure that counts now."""
        work = self._features.work
        now = (self._features.key, work.form, work.structure, work.groups)
        if now == self._drawn:
            return
        self._drawn = now
        self._fold.say(_in_words(work.form, work.structure))
        self._fold.body.clear()
        with self._fold.body:
            self._draw_forms(work.form)
            if work.form == "free":
                self._draw_depth()
            elif work.form == "levels":
                self._draw_levels()
            else:
                draw_tree(self._features, self._say)
            self._draw_empty()

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

    def _draw_depth(self) -> None:
        depth = self._features.work.max_depth
        depths = sorted({*range(1, MAX_DEPTH + 1), depth})
        with ui.element("div").classes("studio-row know-level"):
            words("span", "At most")
            choice(
                {str(each): str(each) for each in depths},
                str(depth),
                lambda key: self._say(max_depth=int(key)),
                label="Conditions at most",
                testid="free-depth",
                key="free-depth",
            )
            words("span", "condition" if depth == 1 else "conditions")

    def _draw_levels(self) -> None:
        names = self._features.work.structure.level_groups or ()
        options, empty = group_options(self._features)
        with ui.element("ol").classes("know-levels"):
            for level, name in enumerate(names):
                with ui.element("li").classes("know-level"):
                    words("span", f"{level + 1}", "know-number").props("aria-hidden=true")
                    words("span", "condition on a feature of")
                    choice(
                        options,
                        name,
                        partial(self._set_level, level),
                        label=f"Group of level {level + 1}",
                        testid=f"level-{level + 1}",
                        key=f"level-{level + 1}",
                        disabled=empty,
                    )
                    if len(names) > 1:
                        press(
                            "×",
                            partial(self._set_level, level, None),
                            label=f"Remove level {level + 1}",
                            testid=f"remove-level-{level + 1}",
                            key=f"remove-level-{level + 1}",
                            classes="know-button know-cross",
                        )
        if len(names) < MAX_DEPTH:
            press(
                "+ Level",
                lambda: self._say(structure=Structure.levels(*names, ALL)),
                label="Add a level",
                testid="add-level",
                key="add-level",
            )

    def _set_level(self, level: int, name: str | None) -> None:
        """Give a level another group, or remove it (None)."""
        names = list(self._features.work.structure.level_groups or ())
        names[level : level + 1] = [] if name is None else [name]
        self._say(structure=Structure.levels(*names))

    def _draw_empty(self) -> None:
        """A group that is in use and empty lets no rule be found."""
        structure, sizes = self._features.work.structure, self._features.sizes()
        used = zip(structure.group, structure.split, strict=True)
        empty = sorted({name for name, splits in used if splits and not sizes[name]})
        if empty and self._features.work.form != "free":
            text = (
                f"Group {short(empty[0])!r} is empty: no rule can be found until it has features."
            )
            words("p", text, "studio-note").props("role=status data-testid=empty-group")

    def _say(self, **said: Any) -> None:
        if not self._session.change(**said):
            self._drawn = None
            self.draw()


def group_options(features: Features) -> tuple[dict[str, str], set[str]]:
    """The groups a condition can be of, with their sizes, and those that are empty."""
    sizes = features.sizes()
    options = {name: f"{short(name, 40)} ({n:,})" for name, n in sizes.items()}
    return options, {name for name, n in sizes.items() if not n}


def _in_words(form: str, structure: Structure) -> str:
    if form == "free":
        return f"free, at most {structure.depth}"
    if form == "levels":
        return short(" – ".join(structure.level_groups or ()), 50)
    leaves = sum(structure.target)
    return f"tree with {leaves} target {'leaf' if leaves == 1 else 'leaves'}"
