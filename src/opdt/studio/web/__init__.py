"""The Studio's page: the only part of opdt that knows NiceGUI."""

from __future__ import annotations
