"""Select cases by an expression: words with ``and``, ``or``, ``not`` and brackets, parts of a name, claim or source.

Nothing is executed: the text is cut into tokens and read by the three rules below into nested functions. ::

    expression = term {"or" term}      term = factor {"and" factor}
    factor = "not" factor | "(" expression ")" | 'a phrase' | "a phrase" | word {word}

Words that follow each other are one phrase. Capitals do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from simcodesign.core.errors import InputError, Place
from simcodesign.studies.validation.case import Case

Matcher = Callable[[str], bool]

MAX_LENGTH, MAX_DEPTH = 1000, 50
OPERATORS = ("and", "or", "not")
_TOKEN = re.compile(r"""\s*(?:(?P<bracket>[()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s()"']+))""")
_FORMS = "e.g. seismic, 'cg and not (links or hops)', \"'Table 4' or broadcast\""


def selected(cases: Iterable[Case], keyword: str = "", *, quick: bool = False, full: bool = False) -> tuple[Case, ...]:
    """Return the cases that match the expression and are to run.

    All but ``full`` ones, with ``full`` also these, with ``quick`` only quick ones. InputError for an expression that
    cannot be read, and when no case is left.
    """
    if quick and full:
        raise InputError("--quick and --full exclude each other", allowed="one of them")
    every = tuple(cases)
    matches = matcher(keyword) if keyword.strip() else lambda _: True
    named = [case for case in every if matches(text_of(case))]
    chosen = tuple(case for case in named if (case.quick if quick else full or not case.full))
    if not chosen:
        hint = f"{len(named)} match, but only {'without --quick' if quick else 'with --full'}" if named else None
        raise InputError(f"none of {len(every)} cases is selected", Place("-k"), value=keyword, allowed=hint)
    return chosen


def text_of(case: Case) -> str:
    """Text that an expression searches."""
    return "\n".join((case.name, case.claim, case.source))


def matcher(expression: str) -> Matcher:
    """Whether a text is meant by the expression. InputError when it cannot be read."""
    if len(expression) > MAX_LENGTH:
        raise _error("too long", expression)
    return _Parser(expression).parse()


def _error(what: str, expression: str) -> InputError:
    return InputError(what, Place("-k"), value=expression, allowed=_FORMS)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


class _Parser:
    """Recursive descent over the tokens; each is its kind (``word``, ``phrase``, or what it is) and its text."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.tokens = list(self._tokens())
        self.place = 0
        self.depth = 0

    def _tokens(self) -> Iterable[tuple[str, str]]:
        place, text = 0, self.expression.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise _error("a quotation mark without its other", self.expression)
            place = match.end()
            kind, token = match.lastgroup or "", match[match.lastgroup or 0]
            if kind in ("double", "single"):
                yield "phrase", token
            else:
                yield (token if kind == "bracket" or token in OPERATORS else "word"), token

    def parse(self) -> Matcher:
        """Return the whole expression."""
        matches = self.any_of()
        if self.next:
            raise _error(f"{self.next!r} lacks an operand", self.expression)
        return matches

    @property
    def next(self) -> str:
        """Kind of the next token; empty at the end."""
        return self.tokens[self.place][0] if self.place < len(self.tokens) else ""

    def takes(self, kind: str) -> bool:
        """Whether the next token is of this kind; it is taken then."""
        taken = self.next == kind
        self.place += taken
        return taken

    def any_of(self) -> Matcher:
        """Alternatives."""
        parts = [self.all_of()]
        while self.takes("or"):
            parts.append(self.all_of())
        return lambda text: any(part(text) for part in parts)

    def all_of(self) -> Matcher:
        """Parse conditions that must hold together."""
        parts = [self.factor()]
        while self.takes("and"):
            parts.append(self.factor())
        return lambda text: all(part(text) for part in parts)

    def factor(self) -> Matcher:
        """Return a phrase, something in brackets, or its opposite."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _error(f"more than {MAX_DEPTH} levels", self.expression)
        matches = self._factor()
        self.depth -= 1
        return matches

    def _factor(self) -> Matcher:
        if self.takes("not"):
            opposite = self.factor()
            return lambda text: not opposite(text)
        if self.takes("("):
            inner = self.any_of()
            if not self.takes(")"):
                raise _error("a bracket is not closed", self.expression)
            return inner
        phrase = _folded(self._phrase())
        if not phrase:
            raise _error("a word is missing", self.expression)
        return lambda text: phrase in _folded(text)

    def _phrase(self) -> str:
        if self.takes("phrase"):
            return self.tokens[self.place - 1][1]
        words = []
        while self.takes("word"):
            words.append(self.tokens[self.place - 1][1])
        return " ".join(words)
