"""The Studio in a real browser: `python benchmarks/studio.py --data FOLDER`.

Slider to new rule: the time from the slider's input event to the first frame that shows its rule,
measured in headless Chromium on the fifteen datasets. Then twenty tabs at once, each with a dataset
of its own, whose sliders never rest: how long an answer takes, whether any tab starves, whether
each shows the rule of its own data and price. Then twenty tabs with large uploads. After both, what
memory is left once they are closed. Records go to results/studio.jsonl, tables to
results/studio.md, and with --publish into the guide.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from common import (
    HERE,
    RESULTS,
    ROOT,
    Grid,
    Log,
    Measured,
    Record,
    latest,
    machine,
    median,
    read_log,
    versions,
)
from publish import machine_line, replaced

sys.path.insert(0, str(ROOT / "tests"))
from browser import FLAGS, choose, element, text_of, wait_for

LOG = RESULTS / "studio.jsonl"
GUIDE = ROOT / "docs" / "guides" / "studio.md"
SCRIPT = (HERE / "children" / "studio_slide.js").read_text()
# A tab that nobody looks at must not be slowed down by the browser.
AWAKE = (
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)
STEPS = 400  # positions of the slider
PATIENCE = 120.0  # seconds for a page under load


class Server:
    """A running Studio that can be asked what it holds."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = str(self._read()["url"])

    def ask(self) -> Record:
        """Sessions, objects of Python and resident memory."""
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> Record:
        assert self._process.stdout is not None
        record: Record = json.loads(self._process.stdout.readline())
        return record


@contextmanager
def server() -> Iterator[Server]:
    """Start the Studio, and end it."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "children" / "studio.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Server(process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


@contextmanager
def chromium() -> Iterator[Any]:
    """A driver of the browser with a new profile."""
    from selenium import webdriver

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        raise SystemExit(
            "Chromium is not here; on Debian: apt-get install chromium chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = program
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, *AWAKE, f"--user-data-dir={profile}", "--window-size=1280,900"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
        browser.set_script_timeout(PATIENCE)
        try:
            yield browser
        finally:
            browser.quit()


def open_tab(browser: Any, url: str, title: str) -> None:
    """A new tab with a dataset, once its frontier is traced."""
    _new_tab(browser, url)
    choose(browser, "dataset", title)
    wait_for(lambda: "proven" in text_of(browser, "badge"), PATIENCE)


def _new_tab(browser: Any, url: str) -> None:
    browser.switch_to.new_window("tab")
    browser.get(url)
    element(browser, "upload", PATIENCE)


def close_tabs(browser: Any) -> None:
    """Close all but the first tab."""
    for handle in browser.window_handles[1:]:
        browser.switch_to.window(handle)
        browser.close()
    browser.switch_to.window(browser.window_handles[0])


def wait_until_closed(told: Server) -> Record:
    """What the server holds some seconds after its last session is gone."""
    end = time.monotonic() + PATIENCE
    while told.ask()["sessions"] and time.monotonic() < end:
        time.sleep(0.5)
    time.sleep(5.0)
    return told.ask()


# -- the slider ----------------------------------------------------------------------------------


def measure_slider(
    log: Log, told: Server, browser: Any, titles: dict[str, str], moves: int
) -> None:
    """The milliseconds of each dataset, one tab at a time."""
    for name, title in titles.items():
        open_tab(browser, told.url, title)
        wait_for(lambda: "others" in text_of(browser, "frontier-note"), PATIENCE)
        browser.execute_script(SCRIPT)
        positions = random.Random(name).sample(range(STEPS + 1), moves)
        found = [
            browser.execute_async_script("slideTo(arguments[0], true).then(arguments[1])", position)
            for position in positions
        ]
        took = [each["ms"] for each in found]
        rules = len({each["sentence"] for each in found})
        log.add("slider", dataset=name, ms=took, rules=rules)
        print(f"{name:<22} median {median(took):6.1f} ms, worst {max(took):6.1f} ms, {rules} rules")
        close_tabs(browser)
    log.add("slider", end=True)


# -- many tabs -----------------------------------------------------------------------------------


def measure_tabs(
    log: Log, told: Server, browser: Any, titles: dict[str, str], tabs: int, seconds: float
) -> None:
    """Tabs whose sliders never rest, twice: what is left after the second time is a leak."""
    names = [list(titles)[k % len(titles)] for k in range(tabs)]
    for name in dict.fromkeys(names):  # what is loaded once for all is no part of a tab
        open_tab(browser, told.url, titles[name])
        close_tabs(browser)
    before = wait_until_closed(told)
    for turn in (1, 2):
        record = _all_at_once(told, browser, [(name, titles[name]) for name in names], seconds)
        close_tabs(browser)
        after = wait_until_closed(told)
        log.add("tabs", turn=turn, tabs=tabs, before=before, after=after, **record)
        print(f"turn {turn}: {record}, before {before}, after {after}")
    log.add("tabs", end=True)


def measure_memory(
    log: Log, told: Server, browser: Any, tabs: int, rows: int, columns: int
) -> None:
    """Memory with a large table in each tab, and once they are closed; twice."""
    with tempfile.TemporaryDirectory() as folder:
        files = [write_table(Path(folder) / f"{k}.csv", rows, columns, k) for k in range(tabs)]
        open_file(browser, told.url, files[0])  # what is loaded once for all is no part of a tab
        close_tabs(browser)
        before = wait_until_closed(told)
        for turn in (1, 2):
            for file in files:
                open_file(browser, told.url, file)
            held = told.ask()
            close_tabs(browser)
            after = wait_until_closed(told)
            told_of = {"rows": rows, "columns": columns, "bytes": files[0].stat().st_size}
            log.add(
                "memory", turn=turn, tabs=tabs, before=before, held=held, after=after, **told_of
            )
            print(f"turn {turn}: before {before}, held {held}, after {after}")
    log.add("memory", end=True)


def write_table(path: Path, rows: int, columns: int, seed: int) -> Path:
    """A table of numbers with noisy classes, in a file."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(rows, columns)).round(3)).add_prefix("x")
    truth = (data["x0"] > 0.5) & (data["x1"] < 0)
    data["class"] = np.where(truth ^ (rng.random(rows) < 0.05), "yes", "no")
    data.to_csv(path, index=False)
    return path


def open_file(browser: Any, url: str, file: Path) -> None:
    """A new tab with an uploaded table and its rule."""
    _new_tab(browser, url)
    browser.find_element("css selector", "[data-testid=upload-input]").send_keys(str(file))
    wait_for(lambda: file.name in text_of(browser, "data-panel"), PATIENCE)
    choose(browser, "label", "class")
    wait_for(lambda: "proven" in text_of(browser, "badge"), PATIENCE)


def _all_at_once(
    told: Server, browser: Any, wanted: list[tuple[str, str]], seconds: float
) -> Record:
    handles = []
    for _, title in wanted:
        open_tab(browser, told.url, title)
        handles.append(browser.current_window_handle)
        browser.execute_script(SCRIPT)
    for seed, handle in enumerate(handles):
        browser.switch_to.window(handle)
        browser.execute_script("slideOn(arguments[0], arguments[1])", seed, 1000 * seconds)
    time.sleep(seconds)
    held, took, worst, fewest, wrong = told.ask(), [], 0.0, float("inf"), []
    for (name, _), handle in zip(wanted, handles, strict=True):
        browser.switch_to.window(handle)
        found = wait_for(lambda: browser.execute_script(_SLID), PATIENCE)
        times = [each["ms"] for each in found]
        took += times
        worst, fewest = max(worst, *times), min(fewest, len(times))
        wrong += [(name, each) for each in found[-3:] if each["sentence"] != _expected(name, each)]
    return {
        "held": held,
        "answers": len(took),
        "fewest": fewest,
        "ms": median(took),
        "worst": worst,
        "wrong": wrong,
    }


def _expected(name: str, found: Record) -> str:
    """The sentence that the library has for a dataset and a price."""
    from opdt.studio.questions import first_work
    from opdt.studio.solver import Solver
    from opdt.studio.tables import load_dataset

    if name not in _SOLVERS:
        _SOLVERS[name] = Solver(load_dataset(name))
    solver = _SOLVERS[name]
    return str(solver.solve(first_work(solver.loaded, None).change(w=found["price"])).sentence)


_SOLVERS: dict[str, Any] = {}
# A page that lost its connection for too long loads itself again.
_SLID = "if (!window.slideTo) throw new Error('the page was loaded again'); return slid"


# -- tables --------------------------------------------------------------------------------------


def slider_grid(records: list[Record]) -> Grid:
    """One line for each dataset, and one for all."""
    rows = [
        (
            record["dataset"],
            str(len(record["ms"])),
            str(record["rules"]),
            f"{median(record['ms']):.0f}",
            f"{_ninetieth(record['ms']):.0f}",
            f"{max(record['ms']):.0f}",
        )
        for record in records
    ]
    everything = [ms for record in records for ms in record["ms"]]
    count, middle = str(len(everything)), f"{median(everything):.0f}"
    rows.append(
        ("all", count, "", middle, f"{_ninetieth(everything):.0f}", f"{max(everything):.0f}")
    )
    header = ("dataset", "moves", "rules seen", "median, ms", "nine of ten within, ms", "worst, ms")
    return Grid(header, rows)


def tabs_grid(records: list[Record]) -> Grid:
    """One line for each turn."""
    rows = [
        (
            f"{record['tabs']} tabs, turn {record['turn']}",
            str(record["answers"]),
            str(record["fewest"]),
            f"{record['ms']:.0f}",
            f"{record['worst']:.0f}",
            str(len(record["wrong"])),
        )
        for record in records
    ]
    return Grid(("", "answers", "fewest of a tab", "median, ms", "worst, ms", "wrong"), rows)


def memory_grid(records: list[Record]) -> Grid:
    """One line for each turn, with the tables of the datasets and with large ones."""
    kinds = ("before", "held", "after")
    rows = [
        (
            f"{record['tabs']} tabs{_size(record)}, turn {record['turn']}",
            *(f"{record[kind]['megabytes']:.0f}" for kind in kinds),
            *(f"{record[kind]['objects']:,}" for kind in kinds),
            str(record["after"]["sessions"]),
        )
        for record in records
    ]
    header = ("", "MB before", "MB with all tabs", "MB after")
    counted = ("objects before", "objects with all tabs", "objects after", "sessions after")
    return Grid(header + counted, rows)


def _size(record: Record) -> str:
    return f" of {record['rows']:,} × {record['columns']}" if "rows" in record else ""


def _ninetieth(values: list[float]) -> float:
    return sorted(values)[int(0.9 * (len(values) - 1))]


def write_results(*, publish: bool) -> None:
    """Markdown beside the log, and in the guide where it is asked for."""
    log, parts = read_log(LOG), []
    measured = {name: latest(log, name, quick=True) for name in ("slider", "tabs", "memory")}
    found = {name: each for name, each in measured.items() if each is not None and each.records}
    for name, grid in (("slider", slider_grid), ("tabs", tabs_grid)):
        if name in found:
            parts += [grid(found[name].records).markdown(), _where(found[name])]
    if {"tabs", "memory"} <= set(found):
        both = found["tabs"].records + found["memory"].records
        parts += [memory_grid(both).markdown(), _where(found["memory"])]
    text = "\n\n".join(parts)
    (RESULTS / "studio.md").write_text(text + "\n")
    if publish:
        GUIDE.write_text(replaced(GUIDE.read_text(), "studio", text))


def _where(measured: Measured) -> str:
    browser = measured.run["command"]
    busy = f"{measured.run['machine']['load']:.1f} processes waiting at the start"
    return f"{machine_line(measured)} *{browser}; {busy}.*"


def main() -> None:
    """Measure what is asked for, and make the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, default=None, help="folder of the datasets (default: $OPDT_DATA)")
    add("--only", default="slider,tabs,memory", help="which of them; empty only makes the tables")
    add("--moves", type=int, default=25, help="moves of the slider on each dataset")
    add("--tabs", type=int, default=20)
    add("--seconds", type=float, default=20.0, help="for which the tabs' sliders move")
    add("--rows", type=int, default=50_000, help="of each large upload")
    add("--publish", action="store_true", help="put the tables into the guide")
    options = parser.parse_args()
    if options.data is not None:
        os.environ["OPDT_DATA"] = str(options.data)
    sections = [name for name in options.only.split(",") if name]
    if sections:
        measure(options, sections)
    write_results(publish=options.publish)


def measure(options: argparse.Namespace, sections: list[str]) -> None:
    """Start the server and the browser, and measure."""
    import opdt.datasets
    from opdt.studio.tables import datasets

    titles = {each.name: each.title for each in datasets() if each.name in opdt.datasets.names()}
    if len(titles) < len(opdt.datasets.names()):
        raise SystemExit("the datasets are not all here; name their folder with --data")
    with server() as told, chromium() as browser:
        version = browser.capabilities["browserVersion"].split(".")[0]
        used = f"NiceGUI {metadata.version('nicegui')}, headless Chromium {version}"
        print(", ".join(f"{key} {value}" for key, value in (machine() | versions()).items()), used)
        log = Log(LOG, quick=False, command=used)
        if "slider" in sections:
            measure_slider(log, told, browser, titles, options.moves)
        if "tabs" in sections:
            measure_tabs(log, told, browser, titles, options.tabs, options.seconds)
        if "memory" in sections:
            measure_memory(log, told, browser, options.tabs, options.rows, 20)


if __name__ == "__main__":
    main()
