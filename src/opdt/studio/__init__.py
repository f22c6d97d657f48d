"""The workbench in the browser: an expert says what is known and watches the best rule change.

The modules beside this one hold everything but the page: what the expert has said (`work`), the
data (`tables`), the answers (`solver`), one user's session (`session`) and the files to take away
(`takeaway`). Only `opdt.studio.web` knows NiceGUI.
"""

from __future__ import annotations
