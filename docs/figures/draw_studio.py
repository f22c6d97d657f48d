"""Takes the pictures of the Studio for the README and `docs/guides/studio.md`.

Run by hand, and only when the pictures change; needs the paper's data, Chromium and selenium:

    OPDT_DATA=folder python docs/figures/draw_studio.py

A real Studio is started, and a real browser does what the guide tells.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from browser import choose, chromium, click, element, text_of, wait_for  # noqa: E402
from opdt import Structure  # noqa: E402
from opdt.studio.tables import load_dataset  # noqa: E402
from opdt.studio.work import Work  # noqa: E402
from studio_server import running  # noqa: E402

WIDTH, HEIGHT = 1280, 940


def main() -> None:
    """Take all pictures."""
    folder = Path(tempfile.mkdtemp())
    with running(folder) as server, chromium(folder / "profile") as browser:
        browser.set_window_size(WIDTH, HEIGHT)
        for shot in (rule, columns, knowledge, trade_off):
            browser.switch_to.new_window("tab")
            browser.get(server.url)
            shot(browser)


def rule(page: Any) -> None:
    """The first look: data, and the proven rule."""
    opened(page, "Heart Failure", "299 rows")
    choose(page, "label", "survived")
    proven(page)
    save(page, "studio-rule")


def columns(page: Any) -> None:
    """A table as people have them, with the role of each column and the reason for it."""
    draw = random.Random(7)
    rows = ["claim_id;paid_on;amount;size;smoker;age;fraud"]
    for number in range(400):
        amount = draw.lognormvariate(6, 1)
        day = date(2024, 1, 1) + timedelta(draw.randrange(365))
        money = f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))
        size, smoker = (
            draw.choice(["small", "middle", "large"]),
            draw.choice(["ja", "nein", "k.A."]),
        )
        age = 9999 if draw.random() < 0.05 else draw.randrange(18, 90)
        fraud = "yes" if (amount > 900) == (draw.random() < 0.9) else "no"
        rows.append(f"C-{10_000 + number};{day:%d.%m.%Y};€ {money};{size};{smoker};{age};{fraud}")
    path = Path(tempfile.mkdtemp()) / "claims.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    element(page, "upload")
    page.find_element("css selector", "[data-testid=upload-input]").send_keys(str(path))
    wait_for(lambda: "400 rows" in text_of(page, "data-summary"))
    choose(page, "target", "fraud")
    choose(page, "label", "yes")
    element(page, "missing-values").send_keys("9999\n")
    wait_for(lambda: "missing" in text_of(page, "data-panel"))
    proven(page)
    show(page, "data-summary", above=60)
    save(page, "studio-columns")


def knowledge(page: Any) -> None:
    """Groups and a tree, from a project."""
    loaded = load_dataset("german")
    money = ("credit_amount", "duration_months", "savings", "installment_rate")
    person = ("age", "employed_since", "job", "housing", "personal_status")
    work = Work(source=loaded.source, label=loaded.label).change(
        label="good",
        w=5.0,
        groups={"money": money, "person": person},
        form="tree",
        structure=Structure.tree(
            split=[1, 1, 1], group=["all", "money", "person"], target=[1, 1, 0, 1]
        ),
    )
    with tempfile.NamedTemporaryFile("w", suffix=".json") as project:
        project.write(work.to_json())
        project.flush()
        element(page, "open-project")
        field = page.find_element("css selector", "[data-testid=open-project-input]")
        field.send_keys(project.name)
        wait_for(lambda: "1,000 rows" in text_of(page, "data-summary"))
    proven(page)
    show(page, "group", above=60)
    save(page, "studio-know")


def trade_off(page: Any) -> None:
    """The frontier in the dark."""
    opened(page, "Pima Indians Diabetes", "768 rows")
    choose(page, "label", "healthy")
    click(page, "dark")
    proven(page)
    wait_for(lambda: "best at some price" in page.page_source)
    wait_for(lambda: "looking for more" not in page.page_source)
    show(page, "price-slider", above=120)
    save(page, "studio-trade-off")


def opened(page: Any, title: str, rows: str) -> None:
    """Open a dataset."""
    choose(page, "dataset", title)
    wait_for(lambda: rows in text_of(page, "data-summary"))


def proven(page: Any) -> None:
    """Wait for a proven rule, and for all that is drawn after it."""
    wait_for(lambda: "proven" in text_of(page, "badge"))
    time.sleep(3)
    wait_for(lambda: "under way" not in text_of(page, "verdict-cure"))


def show(page: Any, testid: str, above: int) -> None:
    """Scroll an element to so many pixels below the bar."""
    found = element(page, testid)
    script = """
        arguments[0].scrollIntoView({block: 'start'});
        for (const each of [window, ...document.querySelectorAll('.studio-left')])
            each.scrollBy(0, -arguments[1]);
    """
    page.execute_script(script, found, above)
    time.sleep(1)


def save(page: Any, name: str) -> None:
    """Write what is seen."""
    page.save_screenshot(str(HERE / f"{name}.png"))


if __name__ == "__main__":
    main()
