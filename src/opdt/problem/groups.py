"""Named groups of features, from which the nodes of a structure choose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from opdt.errors import InputError

ALL = "all"
NUMERIC = "num"
CATEGORICAL = "cat"
PREDEFINED = (ALL, NUMERIC, CATEGORICAL)

_KIND_WORD = {NUMERIC: "numeric", CATEGORICAL: "categorical"}


@dataclass(frozen=True)
class FeatureGroups:
    """Groups of features by name; groups may overlap.

    Build it with `FeatureGroups.of`. The groups ``all``, ``num`` and ``cat`` (the paper's G_A and
    the plain numeric-categorical separation) always exist; ``num`` or ``cat`` may be empty.

    Attributes
    ----------
    names : tuple of str
        Feature names in the order of the table.
    categorical : frozenset of int
        Indices of the categorical features.
    members : tuple of (str, tuple of int)
        Group names with the ascending feature indices of each, the predefined ones first.

    Examples
    --------
    >>> groups = FeatureGroups.of(["age", "sex", "bmi"], [0, 2], [1], {"body": ["bmi", "age"]})
    >>> groups["body"]
    (0, 2)
    >>> groups.is_forced("cat")
    True
    """

    names: tuple[str, ...]
    categorical: frozenset[int]
    members: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        numeric: Sequence[int],
        categorical: Sequence[int],
        groups: Mapping[str, Sequence[str]] | None = None,
    ) -> FeatureGroups:
        """Return the predefined groups of a table together with the user's.

        Parameters
        ----------
        names : sequence of str
            Feature names of the table.
        numeric, categorical : sequence of int
            Indices of the numeric and of the categorical features.
        groups : mapping of str to sequence of str, optional
            Group name to the names of its features.
        """
        index = {name: i for i, name in enumerate(names)}
        members: dict[str, tuple[int, ...]] = {
            ALL: tuple(range(len(names))),
            NUMERIC: tuple(sorted(numeric)),
            CATEGORICAL: tuple(sorted(categorical)),
        }
        for group, features in check_groups(groups).items():
            for feature in features:
                if feature not in index:
                    raise InputError(
                        f"group {group!r} names the feature {feature!r}, which the table does not "
                        f"have; {_suggest(feature, index, 'feature')}."
                    )
            members[group] = tuple(sorted(index[feature] for feature in features))
        return cls(tuple(names), frozenset(categorical), tuple(members.items()))

    def __getitem__(self, name: str) -> tuple[int, ...]:
        """Return the ascending feature indices of a group."""
        for known, features in self.members:
            if known == name:
                return features
        raise InputError(
            f"there is no group {name!r}; {_suggest(name, list(self), 'group')}, "
            "or define it in `groups`."
        )

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __contains__(self, name: object) -> bool:
        return any(known == name for known in self)

    @property
    def custom(self) -> dict[str, tuple[str, ...]]:
        """The user's own groups: name to feature names, in the order of the table."""
        return {
            group: tuple(self.names[i] for i in features)
            for group, features in self.members
            if group not in PREDEFINED
        }

    def is_forced(self, name: str) -> bool:
        """Whether a node with this group always applies a real condition.

        The paper's Algorithm 1 fixes ``b = 0.5`` for a group of categorical features only, so
        that a row cannot pass such a node untested; G_A (``all``) is exempt whatever it holds.
        """
        features = self[name]
        return name != ALL and bool(features) and self.categorical.issuperset(features)

    def require(self, name: str) -> tuple[int, ...]:
        """Return the features of a group that a node splits on, refusing an empty group."""
        features = self[name]
        if not features:
            kind = _KIND_WORD.get(name)
            reason = f"the table has no {kind} column" if kind else "the table has no column"
            raise InputError(
                f"group {name!r} is empty: {reason}; use another group in the structure, "
                "or change the kind of a column."
            )
        return features


def check_groups(groups: Mapping[str, Iterable[str]] | None) -> dict[str, tuple[str, ...]]:
    """Return the user's groups as plain data, refusing what no table could satisfy.

    Whether the features exist is checked by `FeatureGroups.of`, which knows the table.
    """
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise InputError(
            "`groups` must map group names to lists of feature names, "
            f"got {type(groups).__name__}; write {{'name': ['feature', ...]}}."
        )
    return {_check_name(name): _check_features(name, groups[name]) for name in groups}


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise InputError(f"a group name must be a non-empty string, got {name!r}; rename it.")
    if name in PREDEFINED:
        raise InputError(
            f"group {name!r} is predefined and cannot be redefined; choose another name."
        )
    return str(name)


def _check_features(group: str, features: object) -> tuple[str, ...]:
    if isinstance(features, (str, bytes, Mapping)) or not isinstance(features, Iterable):
        raise InputError(
            f"group {group!r} must be a list of feature names, got {features!r}; "
            "put the names in a list."
        )
    listed = tuple(features)
    if not listed:
        raise InputError(f"group {group!r} is empty; list at least one feature or remove it.")
    seen: set[str] = set()
    for feature in listed:
        if not isinstance(feature, str):
            raise InputError(
                f"group {group!r} must list features by name, got {feature!r} "
                f"({type(feature).__name__}); give the name as a string."
            )
        if feature in seen:
            raise InputError(f"group {group!r} names the feature {feature!r} twice; keep one.")
        seen.add(feature)
    return tuple(str(feature) for feature in listed)


def _suggest(name: str, known: Iterable[str], what: str) -> str:
    """Return "did you mean …", or the start of the list when nothing is close."""
    known = list(known)
    close = get_close_matches(name, known, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(repr(match) for match in close)
    shown = ", ".join(repr(each) for each in known[:5])
    return f"the {what}s are {shown}" + (", …" if len(known) > 5 else "")
