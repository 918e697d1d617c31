"""From the text of an Aspen file to its records: the grammar, and errors that name what was expected."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import Path

import lark

from simcodesign.aspen.build import Builder
from simcodesign.aspen.source import Source, read_source, source_of
from simcodesign.aspen.tree import File
from simcodesign.core.errors import InputError

_WORDS = {
    "IDENT": "a name",
    "DOTTED": "model.name",
    "NUMBER": "a number",
    "STRING": "a text in quotes",
    "COMPARISON": "a comparison",
    "$END": "the end of the file",
}
_INCLUDE = re.compile(r"\binclude\b")
_OPERATORS = {"SUM", "PRODUCT", "POWER"}
_OPERAND = {"NUMBER", "LPAR", "IDENT"}  # what only an expression may begin with


def parse_file(path: str | Path) -> File:
    """Return the records of an Aspen file and of all that it includes.

    Raises InputError with file, line and column for what is not Aspen.
    """
    return _file(read_source(Path(path)))


def parse_text(text: str, path: str | Path = "model.aspen") -> File:
    """Parse text as ``parse_file`` does, as if it were in a file of that path."""
    return _file(source_of(text, Path(path)))


def _file(source: Source) -> File:
    return Builder(source).file(_parse(source))


def _parse(source: Source) -> lark.Tree[lark.Token]:
    try:
        return _parser().parse(source.text)
    except lark.exceptions.UnexpectedToken as error:
        unexpected = "the end of the file" if error.token.type == "$END" else repr(_short(str(error.token)))
        raise _syntax_error(source, error, unexpected, error.accepts or error.expected) from error
    except lark.exceptions.UnexpectedCharacters as error:
        unexpected = repr(source.text[error.pos_in_stream or 0])
        raise _syntax_error(source, error, unexpected, error.allowed or set()) from error


def _syntax_error(source: Source, error: lark.UnexpectedInput, unexpected: str, expected: set[str]) -> InputError:
    line, column = max(error.line, 1), max(error.column, 1)
    place = source.place(line, column)
    start = source.text.split("\n")[line - 1][:column]
    if _INCLUDE.search(start):
        return InputError("'include' must begin a line", place, allowed="include path, alone on its line")
    return InputError(f"the model cannot be read: found {unexpected}", place, allowed=_expected(expected))


@cache
def _parser() -> lark.Lark:
    grammar = resources.files("simcodesign.aspen").joinpath("grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _expected(terminals: set[str]) -> str:
    """List in words the tokens that are possible: all operators are "an operator"."""
    patterns = {terminal.name: terminal.pattern for terminal in _parser().terminals}
    words, rest = [], set(terminals)
    if rest >= _OPERAND:
        words.append("an expression")
        rest -= {*_OPERAND, "DOTTED", "MINUS"}
    if rest & _OPERATORS:
        words.append("an operator")
        rest -= {*_OPERATORS, "MINUS"}
    for name in sorted(rest - {"SUM"}):
        plain = patterns[name].value if name in patterns else name
        words.append(_WORDS.get(name, f"'{plain}'"))
    return " or ".join(", ".join(words).rsplit(", ", 1)) if words else "nothing more"


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
