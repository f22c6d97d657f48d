"""Takes the picture of the top of a report for the README and `docs/guides/report.md`.

Run by hand, and only when the picture changes; needs the paper's data, Chromium and selenium:

    OPDT_DATA=folder python docs/figures/draw_report.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from sklearn.model_selection import train_test_split

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from browser import chromium  # noqa: E402
from opdt import OPDTClassifier  # noqa: E402
from opdt.datasets import load  # noqa: E402
from opdt.report import report  # noqa: E402

WIDTH, HEIGHT = 920, 920
TITLE = "Heart failure: which patients survive?"


def main() -> None:
    """Find the rule, write the page, and take its picture."""
    data = load("heart_failure")
    X, X_new, y, y_new = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    model = OPDTClassifier(w=10, label="survived").fit(X, y)
    folder = Path(tempfile.mkdtemp())
    page = report(model, X, y, X_new, y_new, title=TITLE, permutations=199)
    path = page.save(folder / "report.html")
    with chromium(folder / "profile") as browser:
        metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get(path.as_uri())
        browser.save_screenshot(str(HERE / "report.png"))


if __name__ == "__main__":
    main()
