"""Bounds of size and nesting, checked on the tokens of an Aspen file: the parser would take much longer to fail."""

from __future__ import annotations

import re
from pathlib import Path

from simcodesign.core.errors import InputError, Place

MAX_NESTING = 64  # brackets within each other
MAX_OPERATORS = 1000  # of one expression
MAX_CASES = 60  # of a chain of else if
MAX_TOKENS = 30_000  # words, numbers and signs of a model with all that it includes

_TOKENS = re.compile(
    r"""(?P<gap>//[^\n]*|[ \t\r\f]+)|(?P<line>\n)|(?P<text>"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<word>[A-Za-z_][\w.]*)|(?P<number>[0-9]\w*(?:\.(?!\.)\w*)?)|(?P<open>[{(\[])|(?P<close>[})\]])"""
    r"""|(?P<sign>[-+*/^])|(?P<other>.)""",
    re.ASCII,
)
_JOINING = ("and", "or")


def check_tokens(text: str, path: Path) -> int:
    """How many words, numbers and signs a text has.

    Raises InputError, with its line and column, for brackets nested too deeply, and for an expression, a chain of
    ``else if`` or a text with too many parts.
    """
    scan = _Scan(path)
    for match in _TOKENS.finditer(text):
        kind = match.lastgroup
        if kind == "line":
            scan.line, scan.start = scan.line + 1, match.end()
        elif kind != "gap":
            scan.token(str(kind), match.group(), match.start())
    return scan.count


class _Scan:
    """The state after the tokens so far: ``last`` is the kind of the last one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line, self.start = 1, 0
        self.count = self.operators = 0
        self.last = self.word = ""
        self.chains = [0]  # of else if, by the depth of brackets

    def token(self, kind: str, text: str, at: int) -> None:
        self.count += 1
        self._bound(self.count, MAX_TOKENS, "the model has too many words, numbers and signs", "in all", at)
        if self.last == "}" and text != "else":
            self.chains[-1] = 0
        if kind == "open":
            self.chains.append(0)
            self._bound(len(self.chains) - 1, MAX_NESTING, "brackets are nested too deeply", "levels", at)
        elif kind == "close":
            self.chains.pop() if len(self.chains) > 1 else None
        elif text == "if" and self.word == "else" and self.last == "word":
            self.chains[-1] += 1
            self._bound(self.chains[-1], MAX_CASES, "an if has too many cases", "else if in a chain", at)
        self._count_operators(kind, text, at)
        self.last = text if kind in ("open", "close") else "sign" if text in _JOINING else kind
        self.word = text if kind == "word" else ""

    def _count_operators(self, kind: str, text: str, at: int) -> None:
        """Count operators of the current expression.

        It ends with a bracket other than ``()``, a comma, or two operands in a row.
        """
        if kind == "sign" or text in _JOINING:
            self.operators += 1
            words = "operators; split it into several parameters"
            self._bound(self.operators, MAX_OPERATORS, "the expression is too long", words, at)
        elif text in ("{", "}", "[", "]", ",", "=") or (
            kind in ("word", "number") and self.last in ("word", "number", ")", "text")
        ):
            self.operators = 0

    def _bound(self, value: int, most: int, what: str, unit: str, at: int) -> None:
        if value > most:
            place = Place(str(self.path), self.line, f"column {at - self.start + 1}")
            raise InputError(what, place, allowed=f"up to {most} {unit}")
