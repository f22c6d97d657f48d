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
    if value < 0.1:
        return f"{1000 * value:.1f} ms"
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s"


def training(folder: Path) -> str:
    """OPDT's own line of the training table: ours, the paper's, yardsticks and times."""
    lines = read(folder, "training")
    vi, time = "VI on the training rows", "Runtime in seconds"
    names = ("ours", "ours_sd", "paper", "paper_sd", "standard_error")
    ours, sd, paper, paper_sd, error = (pick(lines, vi, "opdt", name) for name in names)
    fast, slow = pick(lines, time, "opdt"), pick(lines, time, "opdt", "paper")
    rows = [
        "| dataset | VI, ours | VI, paper | ours − paper | paper's sd | standard error of the "
        "difference | our time | paper's time |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    rows += [
        f"| {name} | {one(ours[name])} ± {one(sd[name])} | {one(paper[name])} | "
        f"{one(ours[name] - paper[name])} | {one(paper_sd[name])} | {one(error[name])} | "
        f"{seconds(fast[name])} | {seconds(slow[name])} |"
        for name in ours
    ]
    return "\n".join(rows)


TITLES = {
    "opdt": "OPDT",
    "bsccart": "BSCCART",
    "rscrules": "RSCRULES",
    "brs": "BRS",
    "ids": "IDS",
    "irep": "IREP",
    "prism": "PRISM",
    "ripper": "RIPPER",
}
PAPER_SPLITS = 10


def agreement(folder: Path) -> str:
    """On how many datasets each method agrees with the paper, and its other reading beside it."""
    rows = [
        "| method | training VI within one sd | within two standard errors | test VI within one sd "
        "| within two standard errors |",
        "|---|---:|---:|---:|---:|",
    ]
    for method, title in TITLES.items():
        for name, words in ((method, title), (f"{method}-all", f"{title}, all–all")):
            cells = []
            for part in ("training", "test"):
                lines = read(folder, part)
                table = f"VI on the {part} rows"
                if not pick(lines, table, name):
                    break
                cells += _agreeing(lines, table, name, method)
            else:
                rows.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _agreeing(lines: list[dict[str, str]], table: str, name: str, method: str) -> list[str]:
    """Datasets on which `name` is as near to the paper's `method` as two means should be."""
    ours, sd = pick(lines, table, name), pick(lines, table, name, "ours_sd")
    n = pick(lines, table, name, "n")
    paper, paper_sd = pick(lines, table, method, "paper"), pick(lines, table, method, "paper_sd")
    apart = {each: abs(ours[each] - paper[each]) for each in ours}
    errors = {
        each: (sd[each] ** 2 / n[each] + paper_sd[each] ** 2 / PAPER_SPLITS) ** 0.5 for each in ours
    }
    by_sd = sum(apart[each] <= paper_sd[each] for each in ours)
    by_error = sum(apart[each] <= 2 * errors[each] for each in ours)
    return [f"{by_sd} of {len(ours)}", f"{by_error} of {len(ours)}"]


STRUCTURES = ("all-all", "num-num", "num-cat", "cat-num", "cat-cat")


def programs(folder: Path) -> str:
    """Seconds to the proof by structure: the paper's solver, both formulations, the search."""
    lines = read(folder, "structures")
    rows = [
        f"| dataset | solved by | {' | '.join(each.replace('-', '–') for each in STRUCTURES)} |",
        "|---|---|" + "---:|" * len(STRUCTURES),
    ]
    of_kind = {
        "paper's formulation, SCIP": "the paper's formulation, SCIP",
        "path formulation, HiGHS": "the path formulation, HiGHS",
    }
    search = [each for each in lines if each["table"] == "Runtime in seconds: search engine"]
    wanted = {each["row"] for each in lines if of_kind["path formulation, HiGHS"] in each["table"]}
    for dataset in dict.fromkeys(each["row"] for each in search if each["row"] in wanted):
        own = {e["method"].split()[1]: e for e in search if e["row"] == dataset}
        printed = [own[each]["paper"] if each in own else "" for each in STRUCTURES]
        cells = [seconds(float(each)) if each else "–" for each in printed]
        outcomes = {words: _outcomes(lines, dataset, kind) for words, kind in of_kind.items()}
        if not any(map(any, outcomes.values())):
            continue
        rows.append(f"| {dataset} | the paper's solver | {' | '.join(cells)} |")
        for words, found in outcomes.items():
            if any(found):
                rows.append(f"| | {words} | {' | '.join(each or '–' for each in found)} |")
        cells = [seconds(float(own[each]["ours"])) for each in STRUCTURES]
        rows.append(f"| | search | {' | '.join(cells)} |")
    return "\n".join(rows)


def _outcomes(lines: list[dict[str, str]], dataset: str, kind: str) -> list[str]:
    """Seconds to the proof, or what was missing at the limit, for each structure."""
    cells = {}
    for line in lines:
        if line["row"] != dataset or kind not in line["table"] or not line["ours"]:
            continue
        structure = line["method"].split()[1]
        if line["quantity"] == "runtime":
            cells.setdefault(structure, {})["seconds"] = float(line["ours"])
        elif line["quantity"] == "outcome":
            cells.setdefault(structure, {})["outcome"] = line["ours"]
    return [
        ""
        if each not in cells
        else seconds(cells[each]["seconds"])
        if cells[each]["outcome"].endswith("proven")
        else cells[each]["outcome"]
        for each in STRUCTURES
    ]


def depth(folder: Path) -> str:
    """Training and test VI at depths two and three."""
    lines = [each for each in read(folder, "test") if each["table"].startswith("Does the deeper")]
    names = list(dict.fromkeys(each["row"] for each in lines))
    kinds = list(dict.fromkeys((each["method"], each["quantity"]) for each in lines))
    words = {"opdt-all": "depth 2", "opdt-3": "depth 3", "opdt-3 minus opdt-all": "3 minus 2"}
    rows = ["| dataset | " + " | ".join(f"{q}, {words[m]}" for m, q in kinds) + " |"]
    rows.append("|---|" + "---:|" * len(kinds))
    for name in names:
        of = {(e["method"], e["quantity"]): e for e in lines if e["row"] == name}
        cells = [f"{one(float(of[k]['ours']))} ± {one(float(of[k]['ours_sd']))}" for k in kinds]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


METHODS = {
    "opdt-all": "opdt, depth 2 (proven)",
    "opdt-3": "opdt, depth 3 (proven)",
    "skope": "SkopeRules",
    "prim": "PRIM",
    "bsccart": "BSCCART, best of four structures",
    "bsccart-all": "BSCCART",
    "cart": "CART",
    "brs": "BRS",
    "ripper": "RIPPER",
    "ids": "IDS",
    "rscrules": "RSCRULES, best of four structures",
    "rscrules-all": "RSCRULES",
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
            if not found:
                break
            mean = sum(found) / len(found)
            digits = 1 if quantity.endswith("VI") else 3
            cells.append(f"{mean:.{digits}f}".replace("-", MINUS))
        else:
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
            replace(PAGE, "agreement", agreement(folder))
            replace(PAGE, "test", depth(folder))
            replace(COMPARISON, "methods", methods(folder))
        if (folder / "structures.csv").exists():
            replace(PAGE, "programs", programs(folder))


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
