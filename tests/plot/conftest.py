"""Pictures are drawn without a screen, in matplotlib's own style and font, and closed again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed; pip install 'opdt[plot]'")


@pytest.fixture(autouse=True)
def plain_style() -> Iterator[None]:
    """The same settings for every test, whatever the machine has; no figure survives it."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.use("Agg")
        yield
    pyplot.close("all")
