"""Measures tables of ten shapes, tall, wide, many-levelled, sparse and deep.

    python benchmarks/shapes.py --rows 1,2,6 --repeat 3 --old ../older-checkout

Each table is made and solved in a process of its own under a limit on memory. The time runs from
the call of `discover` to the audited answer, coding and the loading of compiled kernels included; a
run that had to compile is done again, and with --warm the second of two calls is measured. Every
figure goes at once into results/shapes.jsonl; tables of the newest run of each shape into shapes.md
and shapes.csv, and with --publish into docs/performance.md. --scaling measures how the cost grows
instead (growth.md).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from common import (
    HERE,
    RESULTS,
    ROOT,
    Grid,
    Log,
    Measured,
    Record,
    machine,
    median,
    read_log,
    short,
    versions,
)
from publish import PAGE, machine_line, replaced
from sections.shape_cases import GB, Case, cases, series
from tables import scaling_grid

CHILD = HERE / "children" / "shape.py"
LOG = RESULTS / "shapes.jsonl"
SEED, THREADS = 0, 2
MB = 1e6


# -- measuring -------------------------------------------------------------------------------


def shrunk(size: Record, scale: float) -> Record:
    """A smaller table; at least 60 rows, 12 columns and 3 levels."""
    least = {"rows": 60, "columns": 12}
    small = {k: max(v, round(size[k] * scale)) for k, v in least.items() if k in size}
    if "n_levels" in size:
        small["n_levels"] = [max(3, round(n * scale)) for n in size["n_levels"]]
    return {**size, **small}


def child(case: Case, options: argparse.Namespace, source: Path) -> Record:
    """What the process of a case says; or how it died."""
    limit = case.limit if options.limit is None else options.limit
    order = {
        "kind": case.kind,
        "size": case.size if options.scale == 1 else shrunk(case.size, options.scale),
        "seed": SEED,
        "arguments": {"max_depth": case.depth, "w": case.w, "label": case.label},
        "limit": limit,
        "threads": THREADS,
        "memory": int(options.memory * GB),
        "warm": options.warm or options.scaling,
    }
    asked = {"size": order["size"], "limit": limit, "seed": SEED, "warm": order["warm"]}
    patience = 3 * limit + 300  # for making the table, and for a search that overruns its limit
    try:
        done = subprocess.run(
            [sys.executable, str(CHILD), json.dumps(order)],
            env={**os.environ, "PYTHONPATH": str(source / "src")},
            capture_output=True,
            text=True,
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        return {**asked, "status": "ended", "message": f"not back after {patience:g} s"}
    if done.returncode == 0:
        return {**asked, **json.loads(done.stdout.strip().splitlines()[-1])}
    if done.returncode < 0:
        return {**asked, "status": "died", "message": signal.Signals(-done.returncode).name}
    last = (done.stderr.strip().splitlines() or ["no words"])[-1]
    return {**asked, "status": "died", "message": f"exit {done.returncode}: {last}"}


def commit(source: Path) -> str:
    """The commit of a checkout, and whether it was changed since."""
    describe = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(describe, cwd=source, capture_output=True, text=True)
    return done.stdout.strip() or "no commit"


def measured(case: Case, options: argparse.Namespace, source: Path) -> Record:
    """As `child`; again, up to twice, where it had to compile, which is done once for ever."""
    record = child(case, options, source)
    for _ in range(2):
        if not record.get("compiling"):
            break
        print(f"  (compiled for {short(record['compiling'])}; measured again)", flush=True)
        record = child(case, options, source)
    return {"commit": commit(source), **record}


def run_cases(log: Log, options: argparse.Namespace, sources: dict[str, Path]) -> None:
    """Every case that is asked for, the codes in turns."""
    for case in cases(options.data):
        if options.rows and not {case.key, case.row} & set(options.rows):
            continue
        facts = {"case": case.key, "row": case.row, "name": case.name, "depth": case.depth}
        facts |= {"aim": case.aim, "aim_memory": case.aim_memory, "w": case.w}
        print(f"{case.key}: {case.name}, depth {case.depth}, w = {case.w:g}", flush=True)
        for _ in range(options.repeat):
            for code, source in sources.items():
                record = measured(case, options, source)
                log.add("shapes", code=code, label=case.label, **facts, **record)
                print(f"  {code}: {sentence(record)}", flush=True)


def run_series(log: Log, options: argparse.Namespace, sources: dict[str, Path]) -> None:
    """Every point of every series; a series ends where the limit is reached."""
    ended = set()
    for name, x, case in series():
        for code, source in sources.items():
            if (name, code) in ended:
                continue
            record = median_record([measured(case, options, source) for _ in range(options.repeat)])
            log.add("scaling", series=name, kind=code, x=x, **record)
            print(f"  {code}: {name} {x:g}: {sentence(record)}", flush=True)
            if record.get("gap") != 0:
                ended.add((name, code))


# -- telling ---------------------------------------------------------------------------------


def sentence(record: Record) -> str:
    """One measurement in a line."""
    if "value" not in record:
        return f"{record['status']} ({record['message']})"
    words = f"{short(record['seconds'])} (processor {short(record['cpu'])}), {record['status']}, "
    words += f"value {record['value']:g}, bound "
    words += f"{record['bound']:g}, {beyond(record)} beyond {record['data'] / MB:,.0f} MB of data; "
    return f"{words}{record['rule']}; {over_time(record) or 'no samples'}"


def beyond(record: Record) -> str:
    """Peak memory less the data."""
    return f"{(record['peak'] - record['data']) / MB:,.0f} MB"


def over_time(record: Record) -> str:
    """Value and bound as the seconds went by."""
    samples = record.get("samples", {})
    return ", ".join(f"{t} s: {value:g} … {bound:g}" for t, (value, bound) in samples.items())


def median_record(records: Sequence[Record]) -> Record:
    """The widest gap with the median time and the largest peak; or the first without an answer."""
    for record in records:
        if "value" not in record:
            return record
    seconds = median([r["seconds"] for r in records])
    worst = max(records, key=lambda r: float(r["gap"]))
    return {**worst, "seconds": seconds, "peak": max(r["peak"] for r in records)}


def grid(records: Sequence[Record]) -> Grid:
    """One line per case; with an old code also its time and the ratio."""
    groups: dict[str, dict[str, list[Record]]] = {}
    for r in records:
        groups.setdefault(r["case"], {}).setdefault(r["code"], []).append(r)
    olds = dict.fromkeys(r["commit"] for r in records if r["code"] == "old")
    rows = []
    for key, group in groups.items():
        new, old = (median_record(group.get(code, [{}])) for code in ("new", "old"))
        facts = (key, new["name"], str(new["depth"]), aims(new))
        rows.append((*facts, *figures(new), *(against(new, old) if olds else ())))
    header = ("", "table", "depth", "aim", "time", "value", "bound", "result", "data",
              "peak beyond the data", "rule", "value … bound after")  # fmt: skip
    more = (f"old ({', '.join(olds)})", "old / new") if olds else ()
    return Grid((*header, *more), rows, n_words=4)


def aims(record: Record) -> str:
    """What was aimed at."""
    words = [f"≤ {record['aim']:g} s"] if record["aim"] else []
    words += [f"≤ {record['aim_memory'] / GB:g} GB"] if record["aim_memory"] else []
    return ", ".join(words) or "–"


def figures(record: Record) -> tuple[str, ...]:
    """What was measured."""
    if "value" not in record:
        return ("–", "–", "–", f"{record['status']}: {record['message']}", *"––––")
    result = "proven" if record["gap"] == 0 else record["stopped_by"]
    numbers = (f"{record['value']:,g}", f"{record['bound']:,g}")
    memory = (f"{record['data'] / MB:,.0f} MB", beyond(record))
    words = (record["rule"].replace("|", "/"), over_time(record))
    return (short(record["seconds"]), *numbers, result, *memory, *words)


def against(new: Record, old: Record) -> tuple[str, str]:
    """The old code's time and result, and how many times longer it took."""
    if "value" not in old:
        return (old.get("status", "–"), "–")
    words = short(old["seconds"])
    if old["gap"]:
        words += f", {old['value']:g} … {old['bound']:g}"
    ratio = f"{old['seconds'] / new['seconds']:.2f} ×" if "value" in new else "–"
    return words, ratio


def growth(records: Sequence[Record]) -> Grid:
    """The exponents; a point without an answer has a line of its own."""
    fitted = scaling_grid([r for r in records if "value" in r])
    for r in records:
        if "value" not in r:
            words = (r["series"], r["kind"], f"{r['x']:,g}", "–", "–", "–", sentence(r))
            fitted.rows.append(words)
    return fitted


def newest(section: str, key: str) -> list[Measured]:
    """For each run that is the newest of some case at full size: these records."""
    log = read_log(LOG)
    runs = {r["run"]: r for r in log if r["section"] == "run" and not r["quick"]}
    mine = [r for r in log if r["section"] == section and r["run"] in runs]
    last = {r[key]: r["run"] for r in mine}
    used = {run: [r for r in mine if r["run"] == run == last[r[key]]] for run in runs}
    return [Measured(runs[run], found, complete=True) for run, found in used.items() if found]


def write_results(*, publish: bool) -> None:
    """Markdown and CSV beside the log; with `publish`, the tables in the page."""
    page = PAGE.read_text() if publish else ""
    order = [case.key for case in cases(None)]
    for name, section, key in (("shapes", "shapes", "case"), ("growth", "scaling", "series")):
        parts = newest(section, key)
        records = [r for part in parts for r in part.records]
        if not records:
            continue
        if section == "shapes":
            records.sort(key=lambda r: order.index(r["case"]))
        made = (grid if section == "shapes" else growth)(records)
        made.write_csv(RESULTS / f"{name}.csv")
        lines = [f"{', '.join(dict.fromkeys(r[key] for r in part.records))}: {machine_line(part)}"
                 for part in parts]  # fmt: skip
        text = "\n\n".join(
            [made.markdown(), *(lines if len(parts) > 1 else [machine_line(parts[0])])]
        )
        (RESULTS / f"{name}.md").write_text(text + "\n")
        if publish:
            page = replaced(page, name, text)
    if publish:
        PAGE.write_text(page)


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--rows", type=lambda text: text.split(","), help="shapes (1,6) or tables (6a) to measure")
    add("--repeat", type=int, default=1, help="runs of each; the median is told")
    add("--limit", type=float, help="seconds for each search, instead of its own limit")
    add("--old", type=Path, help="a checkout of another commit, measured in turns with this one")
    add("--warm", action="store_true", help="measure the second of two calls in a process")
    add("--scaling", action="store_true", help="measure how the cost grows instead")
    add("--scale", type=float, default=1.0, help="share of rows and columns; never published")
    add("--memory", type=float, default=20.0, help="GB that a process may ask for")
    add("--data", type=Path, help="folder of the raw datasets (default: OPDT_DATA)")
    add("--publish", action="store_true", help="put the tables into docs/performance.md")
    return parser


def main() -> None:
    """Measure what is asked for, and make the tables."""
    options = arguments().parse_args()
    sources = {"new": ROOT}
    shown = machine() | versions()
    if options.old:
        sources["old"] = options.old.resolve()
        shown["old"] = commit(options.old)
    print(", ".join(f"{key} {value}" for key, value in shown.items()))
    print(f"seed {SEED}, {THREADS} threads, {options.memory:g} GB, {options.repeat} runs of each")
    if shown["load"] > 0.5:
        print("note: the machine is not idle, and the figures will show it", file=sys.stderr)
    log = Log(LOG, quick=options.scale != 1, command=" ".join(sys.argv[1:]))
    (run_series if options.scaling else run_cases)(log, options, sources)
    mine = [r for r in read_log(LOG) if r["run"] == log.run and r["section"] != "run"]
    print("\n" + (growth if options.scaling else grid)(mine).markdown())
    write_results(publish=options.publish)


if __name__ == "__main__":
    main()
