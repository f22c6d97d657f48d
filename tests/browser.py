"""A real headless Chromium for tests; they are skipped where it is not installed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# No connection leaves the machine, and nothing of another test is kept.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@contextmanager
def chromium(profile: Path) -> Iterator[object]:
    """A driver of the browser, with a profile folder of its own."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("Chromium is not here; on Debian: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


def wait_for(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What `condition` returns once it is true; a page may be busy, so failures are tried again."""
    from selenium.common.exceptions import WebDriverException

    end = time.monotonic() + seconds
    while True:
        try:
            found = condition()
        except WebDriverException:
            found = None
        if found or time.monotonic() > end:
            assert found, "it did not happen in time"
            return found
        time.sleep(0.05)


def element(browser: Any, testid: str, seconds: float = 60.0) -> Any:
    """The visible element with this `data-testid`, once it is there."""

    def visible() -> Any:
        found = browser.find_elements("css selector", f'[data-testid="{testid}"]')
        return next((each for each in found if each.is_displayed()), None)

    return wait_for(visible, seconds)


def click(browser: Any, testid: str) -> None:
    """Click on the middle of an element, once nothing lies over it."""

    def clicked() -> bool:
        found = element(browser, testid)
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        found.click()
        return True

    wait_for(clicked)


def text_of(browser: Any, testid: str) -> str:
    """The text of the element with this `data-testid`; empty where there is none."""
    script = """
        const found = document.querySelector(`[data-testid="${arguments[0]}"]`);
        return found ? found.textContent : "";
    """
    return str(browser.execute_script(script, testid))


def choose(browser: Any, testid: str, words: str) -> None:
    """Choose the option with exactly these words in a drop-down list."""
    script = """
        const list = document.querySelector(`[data-testid="${arguments[0]}"]`);
        const found = Array.from(list?.options ?? []).find((o) => o.textContent === arguments[1]);
        if (!found) return false;
        list.focus();
        list.value = found.value;
        list.dispatchEvent(new Event("change", {bubbles: true}));
        return true;
    """
    wait_for(lambda: browser.execute_script(script, testid, words))
