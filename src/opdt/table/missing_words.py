"""Cells that mean that there is no value, as people and programs write them."""

from __future__ import annotations

# In text files these are no value in any column, written exactly so.
MISSING_TEXT = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
# No value wherever they stand, in any case.
MISSING_WORDS = frozenset(word.casefold() for word in MISSING_TEXT) | {
    *("-", "--", "---", ".", "..", "...", "…", "?", "??"),
    *("n.a.", "n. a.", "<na>", "<null>", "(null)", "nil"),
    *("k.a.", "k. a.", "k.a", "k/a", "keine angabe", "n.v.", "s.d."),
    *("#n/a", "#na", "#value!", "#div/0!", "#ref!", "#null!"),
}
# No value among numbers and dates; among levels they may be one of their own.
MAYBE_MISSING = frozenset(
    {
        *("unknown", "not known", "unbekannt", "nicht bekannt", "inconnu", "desconocido"),
        *("none", "keine", "missing", "fehlt", "fehlend", "(blank)", "blank", "empty"),
        *("not available", "not applicable", "no data", "n.d.", "nd", "tbd", "tba"),
    }
)
