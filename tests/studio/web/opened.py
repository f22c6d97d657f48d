"""A tab of its own with data in it, and what the page and the library say about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import opdt
from browser import choose, element, text_of, wait_for
from opdt.solution import Solution
from opdt.studio.solver import Solver
from opdt.studio.tables import load_dataset
from opdt.studio.work import Work

TITLES = {"tumours": "Breast tumours", "wines": "Wines", "irises": "Irises"}


def fresh_tab(browser: Any, url: str) -> None:
    """Go to a new tab, which knows nothing of the others; they are closed."""
    for handle in browser.window_handles[1:]:
        browser.switch_to.window(handle)
        browser.close()
    browser.switch_to.window(browser.window_handles[0])
    browser.get("about:blank")
    browser.get_log("browser")  # what other tests have left: pages whose server has ended complain
    browser.switch_to.new_window("tab")
    browser.get(url)


@contextmanager
def new_tab(browser: Any, url: str) -> Iterator[Any]:
    """A new tab with the page of the start; no script in it may fail."""
    fresh_tab(browser, url)
    element(browser, "upload")
    yield browser
    assert [each for each in browser.get_log("browser") if each["level"] == "SEVERE"] == []


def open_dataset(page: Any, name: str) -> None:
    """Choose one of the datasets, and wait for its first rule."""
    choose(page, "dataset", TITLES[name])
    wait_for(lambda: name in text_of(page, "data-summary"))
    answered(page, 10.0)


def answered(page: Any, price: float) -> None:
    """Wait for the proven rule of this price of an error."""

    def proven() -> bool:
        rule = page.find_element("css selector", "[data-testid=rule]")
        told = rule.get_attribute("data-price")
        return told and float(told) == price and "proven" in text_of(page, "badge")

    wait_for(proven)


class Asked:
    """What the library finds for a dataset of the Studio, with the same settings."""

    def __init__(self, name: str) -> None:
        self.solver = Solver(load_dataset(name))
        self.first = Work(source=self.solver.loaded.source, target=self.solver.loaded.target)

    def discovered(self, **said: Any) -> Solution:
        """What `opdt.discover` finds on the training rows."""
        work = self.first.change(**said)
        train = self.solver.split(work).train
        return opdt.discover(train.X, train.y, **work.arguments())

    def sentence(self, **said: Any) -> str:
        """Its rule in words."""
        rule = self.discovered(**said).rule
        assert rule is not None
        return rule.to_english()
