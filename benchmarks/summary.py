"""What was aimed at beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from common import Grid, Record, median, short
from tables import by_dataset, median_of, proven

Row = tuple[str, str, str]


def summary(sections: Mapping[str, Sequence[Record]]) -> Grid:
    """One row per aim whose section has been measured."""
    rows: list[Row] = []
    for name, make in (
        ("depth2", _depth2),
        ("depth3", _depth3),
        ("depth4", _depth4),
        ("rivals", _rivals),
        ("large", _large),
        ("import", _import),
    ):
        if sections.get(name):
            rows += make(sections[name])
    return Grid(("work", "aim", "measured"), rows, n_words=3)


def _sum(records: Sequence[Record], field: str = "seconds") -> float:
    return sum(median_of(mine, field) for mine in by_dataset(records).values())


def _all_proven(records: Sequence[Record]) -> str:
    return "" if proven(records) == len(records) else f", {proven(records)} proven"


def _depth2(records: Sequence[Record]) -> list[Row]:
    n = len(by_dataset(records))
    solving = _sum(records)
    coding = f"{short(_sum(records, 'coding'))} from a frame, "
    coding += f"{short(_sum(records, 'coding_ready'))} from ready data"
    return [
        (f"depth 2, {n} datasets", "≤ 0.1 s together", short(solving) + _all_proven(records)),
        ("coding these tables", "no longer than solving", coding),
    ]


def _depth3(records: Sequence[Record]) -> list[Row]:
    groups = by_dataset(records)
    longest = max(median_of(mine, "seconds") for mine in groups.values())
    measured = f"{short(_sum(records))}, {short(longest)}{_all_proven(records)}"
    aim = "≤ 2 s together, none over 0.8 s"
    return [(f"depth 3, {len(groups)} datasets", aim, measured)]


def _depth4(records: Sequence[Record]) -> list[Row]:
    groups = by_dataset(records)
    done = [mine for mine in groups.values() if proven(mine) == len(mine)]
    longest = short(max((r["seconds"] for mine in done for r in mine), default=0.0))
    measured = f"{len(done)} of {len(groups)} proven, the longest in {longest}"
    return [(f"depth 4, {len(groups)} datasets", "each proven within 120 s", measured)]


def _rivals(records: Sequence[Record]) -> list[Row]:
    rows = []
    for depth, aim in ((2, "faster"), (3, "three times faster")):
        for r in records:
            if r["rival"] == "pycontree" and r["depth"] == depth:
                more = "" if r["finished"] else "more than "
                ratio = f"{short(r['ours'])} beside {more}{short(r['theirs'])}: "
                ratio += f"{more}{r['theirs'] / r['ours']:.3g} × "
                ratio += f"(one thread {r['theirs'] / r['ours_one_thread']:.3g} ×)"
                rows.append((f"breast cancer beside pycontree, depth {depth}", aim, ratio))
    others = [r for r in records if r["rival"] != "pycontree"]
    for name in dict.fromkeys(r["rival"] for r in others):
        parts = []
        for r in others:
            if r["rival"] == name:
                ratio = f"{r['theirs'] / r['ours']:,.3g} ×" if r["finished"] else "not finished"
                parts.append(f"depth {r['depth']} {r['target']}: {ratio}")
        aim = "1,000 ×, or the rival not finished"
        rows.append((f"breast cancer beside {name}", aim, "; ".join(parts)))
    return rows


def _large(records: Sequence[Record]) -> list[Row]:
    rows = []
    for r in records:
        time = "≤ 10 s" if r["kind"] == "planted" else "≤ 60 s"
        result = "proven" if r["gap"] == 0 else f"gap {r['gap']:g}"
        measured = f"{short(r['seconds'])}, {result}, {r['peak'] / r['input']:.2f} ×"
        work = f"{r['n_rows']:,} × {r['n_features']}, {r['kind']} pattern, depth 2"
        rows.append((work, f"{time}, peak memory ≤ 3 × the input", measured))
    return rows


def _import(records: Sequence[Record]) -> list[Row]:
    imports = next(r for r in records if r["what"] == "import")["seconds"]
    empty = next(r for r in records if r["what"] == "empty cache")
    full = [r for r in records if r["what"] == "full cache"]
    compiling = empty["first"] - median_of(full, "first")
    return [
        ("`import opdt`", "≤ 1 s", short(median(imports))),
        ("compiling at the first call", "about 10 s at most", short(compiling)),
    ]
