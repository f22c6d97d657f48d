"""Puts the tables of `opdt reproduce` into the documentation.

    python benchmarks/reproduction.py RUN [RUN ...]

takes the folders that `opdt reproduce --out RUN` filled, copies their tables and pictures to
docs/reproduction, and writes the short tables of docs/reproduction.md between its markers.
"""

from __future__ import annotations

import csv
import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "reproduction.md"
COMPARISON = DOCS / "guides" / "compare.md"
TABLES = DOCS / "reproduction"
MINUS = "−"


def read(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def pick(
    lines: list[dict[str, str]], table: str, method: str, field: str = "ours"
) -> dict[str, float]:
    """One number of each row of a table, by the row's name."""
    return {
        line["row"]: float(line[field])
        for line in lines
        if line["table"] == table and line["method"] == method and line[field]
    }


def one(value: float) -> str:
    return f"{value:.1f}".replace("-", MINUS)


def seconds(value: float) -> str:
    return f"{1000 * value:.1f} ms" if value < 0.1 else f"{value:,.3g} s"


def training(folder: Path) -> str:
    """OPDT's own line of the training table: ours, the paper's, proofs and times."""
    lines = read(folder, "training")
    vi, time = "VI on the training rows", "Runtime in seconds"
    ours, sd = pick(lines, vi, "opdt"), pick(lines, vi, "opdt", "ours_sd")
    paper, paper_sd = pick(lines, vi, "opdt", "paper"), pick(lines, vi, "opdt", "paper_sd")
    fast, slow = pick(lines, time, "opdt"), pick(lines, time, "opdt", "paper")
    rows = [
        "| dataset | VI, ours | VI, paper | ours − paper | paper's sd | our time | paper's time |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    rows += [
        f"| {name} | {one(ours[name])} ± {one(sd[name])} | {one(paper[name])} | "
        f"{one(ours[name] - paper[name])} | {one(paper_sd[name])} | {seconds(fast[name])} | "
        f"{seconds(slow[name])} |"
        for name in ours
    ]
    return "\n".join(rows)


def depth(folder: Path) -> str:
    """Training and test VI at depths two and three."""
    lines = [each for each in read(folder, "test") if each["table"].startswith("Does the deeper")]
    names = list(dict.fromkeys(each["row"] for each in lines))
    kinds = list(dict.fromkeys((each["method"], each["quantity"]) for each in lines))
    words = {"opdt": "depth 2", "opdt-3": "depth 3", "opdt-3 minus opdt": "3 minus 2"}
    rows = ["| dataset | " + " | ".join(f"{q}, {words[m]}" for m, q in kinds) + " |"]
    rows.append("|---|" + "---:|" * len(kinds))
    for name in names:
        of = {(e["method"], e["quantity"]): e for e in lines if e["row"] == name}
        cells = [f"{one(float(of[k]['ours']))} ± {one(float(of[k]['ours_sd']))}" for k in kinds]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


METHODS = {
    "opdt": "opdt, depth 2 (proven)",
    "opdt-3": "opdt, depth 3 (proven)",
    "skope": "SkopeRules",
    "prim": "PRIM",
    "bsccart": "BSCCART",
    "cart": "CART",
    "brs": "BRS",
    "ripper": "RIPPER",
    "ids": "IDS",
    "rscrules": "RSCRULES",
    "prism": "PRISM",
    "irep": "IREP",
}
QUANTITIES = ("training VI", "test VI", "test precision", "test coverage", "runtime")


def methods(folder: Path) -> str:
    """Every method's means over the datasets."""
    lines = read(folder, "appendix")
    rows = [f"| method | {' | '.join(QUANTITIES[:-1])} | seconds |", "|---|" + "---:|" * 5]
    for method, name in METHODS.items():
        cells = []
        for quantity in QUANTITIES:
            found = [
                float(line["ours"])
                for line in lines
                if line["method"] == method and line["quantity"] == quantity and line["ours"]
            ]
            mean = sum(found) / len(found)
            digits = 1 if quantity.endswith("VI") else 3
            cells.append(f"{mean:.{digits}f}".replace("-", MINUS))
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def publish(runs: list[Path]) -> None:
    """Copy the tables and rewrite the short ones."""
    TABLES.mkdir(exist_ok=True)
    for run in runs:
        folder = run / "tables"
        for file in sorted(folder.iterdir()):
            if file.suffix in (".md", ".csv", ".png", ".svg"):
                shutil.copy(file, TABLES / file.name)
        if (folder / "appendix.csv").exists():
            replace(PAGE, "training", training(folder))
            replace(PAGE, "test", depth(folder))
            replace(COMPARISON, "methods", methods(folder))


def replace(path: Path, name: str, text: str) -> None:
    """Put a table between its markers on a page."""
    page = path.read_text(encoding="utf-8")
    pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end: {name} -->)"
    if not re.search(pattern, page, re.DOTALL):
        raise SystemExit(f"{path.name} has no markers for {name!r}")
    new = re.sub(pattern, lambda m: f"{m[1]}\n{text}\n\n{m[2]}", page, flags=re.DOTALL)
    path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    publish([Path(each) for each in sys.argv[1:]])
