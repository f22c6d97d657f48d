"""The parts of the page: each builds itself from a session and listens to it.

A panel ``name`` is a module ``name.py`` with ``name_panel(session)``, and may have a style sheet
``static/name.css``, which is loaded by itself. `opdt.studio.web.page` says where each one stands;
`opdt.studio.web.sessions.listen` is how one hears of news.
"""

from __future__ import annotations
