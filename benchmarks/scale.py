"""Tables larger than memory: `python benchmarks/scale.py --rows 20000000 --depths 2,3`.

Proven rules over the partitions of Parquet files: time, passes, bytes read and moved, and peak
memory, with the local scanner, Dask with one and two workers, and Spark; and a cost model fitted to
these runs. Every run is a process of its own; its record goes at once into results/scale.jsonl. The
tables are made of the newest record of each kind, and with --publish put into the guide.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from common import (
    HERE,
    RESULTS,
    ROOT,
    Log,
    Measured,
    Record,
    machine,
    python_child,
    read_log,
    versions,
)
from publish import machine_line, replaced
from sections import scale_cost, scale_data

LOG = RESULTS / "scale.jsonl"
GUIDE = ROOT / "docs" / "guides" / "big-data.md"
SCANNERS = ("local", "dask1", "dask2", "spark")
RUN = HERE / "sections" / "scale_run.py"


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--rows", type=int, default=20_000_000)
    add("--columns", type=int, default=30, help="features beside the target")
    add("--depths", default="2,3")
    add("--scanners", default="local", help=f"of {', '.join(SCANNERS)}")
    add("--memory", type=float, default=2e9, help="bytes that the process should not exceed")
    add("--seconds", type=float, default=3600, help="time limit of one run")
    add("--folder", type=Path, default=Path(tempfile.gettempdir()) / "opdt-scale")
    add("--write-only", action="store_true", help="write the rows and measure nothing")
    add("--publish", action="store_true", help="put the tables into the guide")
    return parser


def main() -> None:
    """Run what is asked for, and make the tables."""
    options = arguments().parse_args()
    folder = scale_data.write(options.folder, options.rows, options.columns)
    if options.write_only:
        return
    shown = machine()
    print(", ".join(f"{key} {value}" for key, value in (shown | versions()).items()))
    print(f"seed {scale_data.SEED}; planted: {scale_data.PLANTED}; files in {folder}")
    if shown["load"] > 0.5:
        print("note: the machine is not idle; look at processor time", file=sys.stderr)
    scanners = [name for name in options.scanners.split(",") if name]
    if scanners:
        measure(options, folder, scanners)
    write_results(publish=options.publish)


def measure(options: argparse.Namespace, folder: Path, scanners: list[str]) -> None:
    """One run for each scanner and depth."""
    log = Log(LOG, quick=False, command=" ".join(sys.argv[1:]))
    for depth in map(int, options.depths.split(",")):
        for name in scanners:
            if name not in SCANNERS:
                raise SystemExit(f"no scanner {name!r}; there are {', '.join(SCANNERS)}")
            arguments = (str(folder), name, str(depth), str(options.memory), str(options.seconds))
            record = python_child(RUN, *arguments)
            asked = {"rows": options.rows, "columns": options.columns, "depth": depth}
            log.add("scale", scanner=name, memory=options.memory, **asked, **record)
            print(
                f"  {name}, depth {depth}: {record['rule']} ({record['status']}), "
                f"{record['passes']} passes, {record['seconds']:.0f} s, processor "
                f"{record['cpu']:.0f} s, {record['bytes_read'] / 1e9:.2f} GB read, peak "
                f"{record['peak'] / 1e6:.0f} MB",
                flush=True,
            )


def newest() -> tuple[Record | None, list[Record]]:
    """The last run, and the newest record of each scanner, size and depth."""
    log = read_log(LOG)
    runs = [r for r in log if r["section"] == "run"]
    found: dict[tuple[object, ...], Record] = {}
    for record in log:
        if record["section"] == "scale":
            key = (-record["rows"], record["depth"], SCANNERS.index(record["scanner"]))
            found[key] = record
    return (runs[-1] if runs else None), [found[key] for key in sorted(found)]


def write_results(*, publish: bool) -> None:
    """Markdown and CSV beside the log; with `publish`, the tables in the guide."""
    run, records = newest()
    if run is None or not records:
        return
    machine_words = machine_line(Measured(run, records, complete=True))
    page = GUIDE.read_text() if publish else ""
    for name, grids in (
        ("scale", scale_cost.run_grids(records)),
        ("scale-cost", scale_cost.cost_grids(records)),
    ):
        made = [f"{caption}\n\n{grid.markdown()}" for caption, grid in grids]
        text = "\n\n".join([*made, machine_words])
        (RESULTS / f"{name}.md").write_text(text + "\n")
        for place, (_, grid) in enumerate(grids):
            grid.write_csv(RESULTS / f"{name}{place or ''}.csv")
        if publish:
            page = replaced(page, name, text)
        else:
            print("\n" + text)
    if publish:
        GUIDE.write_text(page)


if __name__ == "__main__":
    main()
