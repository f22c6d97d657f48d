"""What the parts of the knowledge panel share: the features, and how they speak of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from opdt.problem.groups import ALL, CATEGORICAL, NUMERIC
from opdt.studio.session import Session
from opdt.studio.tables import Loaded
from opdt.studio.web.theme import short
from opdt.studio.work import Work

BUILT_IN = {ALL: "every feature", NUMERIC: "numeric features", CATEGORICAL: "categories"}


class FeaturePart(Protocol):
    """A part of the panel; it may be drawn once there is a table."""

    def draw(self) -> None:
        """Show what counts now, where that is not shown yet."""

    def forget(self) -> None:
        """Start again with other data."""


class Features:
    """The features of the present table.

    Parameters
    ----------
    session : Session
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def loaded(self) -> Loaded:
        """The table."""
        assert self.session.loaded is not None, "the panel is hidden until there is a table"
        return self.session.loaded

    @property
    def work(self) -> Work:
        """What the expert has said."""
        return self.session.work

    @property
    def names(self) -> list[str]:
        """The features in the order of the table."""
        gone = self.work.apart
        return [name for name in self.loaded.names if name not in gone]

    @property
    def key(self) -> tuple[Any, ...]:
        """Changes where the features or their roles do."""
        return id(self.loaded), self.work.apart, self.work.roles, self.work.missing

    def kind(self, name: str) -> str:
        """Numeric or categorical."""
        return str(self.loaded.readings.kind(name, self.work.roles.get(name), self.work.missing))

    def found(self, sought: str, among: Iterable[str] | None = None) -> list[str]:
        """The features whose names hold some letters."""
        sought = sought.casefold().strip()
        names = self.names if among is None else among
        return [name for name in names if sought in name.casefold()]

    def sizes(self) -> dict[str, int]:
        """All groups with their numbers of features, those that are always there first."""
        roles = [self.kind(name) for name in self.names]
        numeric = roles.count("numeric")
        built_in = {ALL: len(roles), NUMERIC: numeric, CATEGORICAL: len(roles) - numeric}
        return built_in | {name: len(each) for name, each in self.work.groups.items()}


def group_options(features: Features) -> tuple[dict[str, str], set[str]]:
    """The groups a condition can be of, with their sizes, and those that are empty."""
    sizes = features.sizes()
    options = {name: f"{short(name, 40)} ({n:,})" for name, n in sizes.items()}
    return options, {name for name, n in sizes.items() if not n}
