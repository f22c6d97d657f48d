"""Limits on the work, in all their spellings, as one budget."""

from __future__ import annotations

import re
from dataclasses import replace

from opdt.checks import check_kind, is_whole
from opdt.errors import InputError
from opdt.solution import Budget, Clock

_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)b", re.IGNORECASE)


def resolve_budget(
    budget: Budget | None,
    time_limit: float | None,
    n_jobs: int | None,
    memory_limit: int | str | None = None,
) -> Budget:
    """One budget from the short and the long way of giving it."""
    memory = None if memory_limit is None else resolve_size(memory_limit)
    if budget is None:
        return Budget(time_limit=time_limit, n_jobs=n_jobs, memory_limit=memory)
    check_kind("budget", budget, Budget, "a Budget object")
    if time_limit is not None or n_jobs is not None:
        raise InputError(
            "'time_limit' and 'n_jobs' cannot be given beside 'budget'; put them into it as "
            "Budget(time_limit=…, n_jobs=…)."
        )
    if memory is None:
        return budget
    if budget.memory_limit is not None:
        raise InputError("'memory_limit' is given twice: the budget has one of its own.")
    return replace(budget, memory_limit=memory)


def start_clock(
    budget: Budget | Clock | None,
    time_limit: float | None,
    n_jobs: int | None,
    memory_limit: int | str | None = None,
) -> Clock:
    """The running clock of what `resolve_budget` takes; one that is given runs on.

    The first thing a function does that takes a time limit: the time is that from the call.
    """
    if isinstance(budget, Clock):
        return budget
    return resolve_budget(budget, time_limit, n_jobs, memory_limit).start()


def resolve_size(size: int | str, name: str = "'memory_limit'") -> int:
    """The number of bytes that a size means: 2_000_000, "500MB", "1.5 GiB".

    Examples
    --------
    >>> resolve_size("2GB"), resolve_size("1.5 GiB"), resolve_size("4096")
    (2000000000, 1610612736, 4096)
    """
    if is_whole(size) and size > 0:
        return int(size)
    text = str(size).strip() if isinstance(size, str) else ""
    spelt = _SIZE.fullmatch(text if not text.isdecimal() else f"{text}B")
    if spelt is not None:
        number, prefix, binary = spelt.groups()
        power = " kmgt".index(prefix.lower() or " ")
        n_bytes = int(float(number) * (1024 if binary else 1000) ** power)
        if n_bytes > 0 and (power or not binary):
            return n_bytes
    raise InputError(f"{name} must be a number of bytes above 0 such as '2GB', got {size!r}.")
