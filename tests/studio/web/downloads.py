"""Files that the page hands to the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browser import element, wait_for


def downloaded(page: Any, folder: Path, testid: str) -> Path:
    """Click on a button and wait for the file that it brings."""
    folder.mkdir(exist_ok=True)
    page.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
    )
    before = set(folder.iterdir())
    page.execute_script("arguments[0].click()", element(page, testid))

    def arrived() -> Path | None:
        new = [each for each in folder.iterdir() if each not in before]
        is_whole = all(
            not each.name.startswith(".") and each.suffix != ".crdownload" for each in new
        )
        return new[0] if new and is_whole and new[0].stat().st_size else None

    return wait_for(arrived, seconds=60)
