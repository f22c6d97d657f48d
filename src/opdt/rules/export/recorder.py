"""Source text of an expression, recorded while the expression is being built.

The same function builds the object, given the real library, and its source, given recorders; so
the two cannot differ, and no source is ever evaluated.
"""

from __future__ import annotations

from typing import Any


class CallRecorder:
    """Stands for an object and remembers how it was made; `str` gives the source.

    Examples
    --------
    >>> df, np = CallRecorder("df"), CallRecorder("np")
    >>> str((df["a"] >= np.float64(0.1)) & df["b"].notna())
    '(df["a"] >= np.float64(0.1)) & df["b"].notna()'
    """

    def __init__(self, text: str, *, joined: bool = False) -> None:
        self._text, self._joined = text, joined

    def __str__(self) -> str:
        return self._text

    def __getattr__(self, name: str) -> CallRecorder:
        if name.startswith("__"):
            raise AttributeError(name)
        return CallRecorder(f"{self._operand()}.{name}")

    def __getitem__(self, key: Any) -> CallRecorder:
        return CallRecorder(f"{self._operand()}[{_source(key)}]")

    def __call__(self, *arguments: Any, **options: Any) -> CallRecorder:
        """Record a call."""
        given = [_source(each) for each in arguments]
        given += [f"{name}={_source(each)}" for name, each in options.items()]
        return CallRecorder(f"{self._operand()}({', '.join(given)})")

    def __ge__(self, other: Any) -> CallRecorder:
        return self._join(">=", other)

    def __lt__(self, other: Any) -> CallRecorder:
        return self._join("<", other)

    def __eq__(self, other: object) -> CallRecorder:  # type: ignore[override]
        return self._join("==", other)

    def __ne__(self, other: object) -> CallRecorder:  # type: ignore[override]
        return self._join("!=", other)

    def __and__(self, other: Any) -> CallRecorder:
        return self._join("&", other)

    def __or__(self, other: Any) -> CallRecorder:
        return self._join("|", other)

    def __invert__(self) -> CallRecorder:
        return CallRecorder(f"~{self._operand()}")

    __hash__ = None  # type: ignore[assignment]

    def _join(self, sign: str, other: Any) -> CallRecorder:
        right = other._operand() if isinstance(other, CallRecorder) else _source(other)
        # A chain of one sign reads from left to right, so its left part needs no brackets.
        left = self._text if self._sign == sign and sign in "&|" else self._operand()
        joined = CallRecorder(f"{left} {sign} {right}", joined=True)
        joined._sign = sign
        return joined

    _sign = ""

    def _operand(self) -> str:
        return f"({self._text})" if self._joined else self._text


def _source(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_source, value))}]"
    if isinstance(value, str):
        return text_source(value)
    if isinstance(value, type):
        return value.__name__
    return str(value) if isinstance(value, CallRecorder) else repr(value)


def text_source(text: str) -> str:
    """A text in Python source, in double quotes where that takes no more backslashes."""
    source = repr(text)
    plain = source.startswith("'") and '"' not in text
    return f'"{source[1:-1]}"' if plain else source
