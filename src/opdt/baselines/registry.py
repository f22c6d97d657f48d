"""Comparison methods by name, listed without importing any of them."""

from __future__ import annotations

import difflib
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from opdt.errors import EngineUnavailable, InputError

if TYPE_CHECKING:
    from opdt.baselines.base import Baseline

EXTRA = "baselines"


class BaselineEntry(NamedTuple):
    """Where a method lives, what it needs, and how the paper runs it."""

    place: str  # "module:Class"
    summary: str
    needs: tuple[str, ...] = ()
    in_paper: bool = True
    seeds: int = 1  # runs per data split; one where the seed changes nothing


BASELINES: dict[str, BaselineEntry] = {
    "bsccart": BaselineEntry(
        "opdt.baselines.constrained:BSCCART",
        "the paper's CART within a structure; its best leaf",
    ),
    "rscrules": BaselineEntry(
        "opdt.baselines.constrained:RSCRULES",
        "the paper's RULES within a structure, on ten bins; its best rule",
    ),
    "brs": BaselineEntry(
        "opdt.baselines.brs:BRS",
        "Bayesian rule sets, by imodels, on binarised features",
        needs=("imodels", "six"),
        seeds=50,
    ),
    "ids": BaselineEntry(
        "opdt.baselines.ids:IDS",
        "interpretable decision sets, by deterministic local search on ten bins",
    ),
    "irep": BaselineEntry(
        "opdt.baselines.ripper:IREP",
        "incremental reduced error pruning, by wittgenstein, on ten bins of equal frequency",
        needs=("wittgenstein",),
        seeds=10,
    ),
    "prism": BaselineEntry(
        "opdt.baselines.prism:PRISM",
        "Cendrowska's rules without error, on ten bins",
    ),
    "ripper": BaselineEntry(
        "opdt.baselines.ripper:RIPPER",
        "repeated incremental pruning, by wittgenstein, on ten bins of equal frequency",
        needs=("wittgenstein",),
        seeds=10,
    ),
    "cart": BaselineEntry(
        "opdt.baselines.trees:CART",
        "the leaves of scikit-learn's decision tree of depth two",
        in_paper=False,
    ),
    "skope": BaselineEntry(
        "opdt.baselines.trees:SkopeRules",
        "rules of bagged trees of depth two, by imodels",
        needs=("imodels", "six"),
        in_paper=False,
        seeds=10,
    ),
    "prim": BaselineEntry(
        "opdt.baselines.prim:PRIM",
        "the patient rule induction method: the boxes of its peeling",
        in_paper=False,
    ),
}


def missing_package(name: str) -> str | None:
    """The first package that a method needs and that is not installed."""
    return next((each for each in BASELINES[name].needs if find_spec(each) is None), None)


def available_baselines() -> tuple[str, ...]:
    """Names of the methods whose packages are installed."""
    return tuple(name for name in BASELINES if missing_package(name) is None)


def get_baseline(name: str, **settings: Any) -> Baseline:
    """The method of this name with these settings, for example ``seed=3``.

    Raises
    ------
    EngineUnavailable
        When a package it needs is not installed; the message names the extra.

    Examples
    --------
    >>> method = get_baseline("prism", bins=5)
    >>> for rule in method.fit({"sky": ["sun", "sun", "rain"]}, ["out", "out", "in"]):
    ...     print(rule)
    IF sky == 'rain' THEN in
    IF sky == 'sun' THEN out
    """
    if not isinstance(name, str) or name not in BASELINES:
        close = difflib.get_close_matches(str(name), BASELINES, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(BASELINES)}."
        raise InputError(f"baseline {name!r} is not known; {hint}")
    package = missing_package(name)
    if package is not None:
        raise EngineUnavailable(
            f"baseline {name!r} needs {package}; run: pip install 'opdt[{EXTRA}]'"
        )
    module, _, kind = BASELINES[name].place.partition(":")
    of_name = getattr(import_module(module), kind)
    known = [field.name for field in fields(of_name)]
    for key in settings:
        if key not in known:
            raise InputError(
                f"baseline {name!r} has no setting {key!r}; it has {', '.join(known)}."
            )
    built: Baseline = of_name(**settings)
    return built
