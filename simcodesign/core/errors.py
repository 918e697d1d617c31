"""Errors whose messages help to mend the input: what was given, where, and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Longest path of keys in a message.
_MOST_PATH = 1000
#: Letters of what was given that names are compared with.
_MOST_COMPARED = 100
#: Maximum number of names that are similar to what was given.
_MOST_ALIKE = 5
#: Similarity from which a name is suggested: twice the matching letters over the letters of both names. At 0.6, the
#: default of difflib, "wires" would be like "failures".
LEAST_SIMILARITY = 0.75
#: Longest list of names that a message prints whole, and the names that it prints of a longer list.
MOST_LISTED, _LISTED_OF_MORE = 30, 15
#: Minimum number of letters for a part of a name to count as a search term.
_LEAST_PART = 3


#: The name that errors give changes of a description (``--set``), as the name of a file.
CHANGES = "set"


@dataclass(frozen=True)
class Place:
    """Position in a description: file, line (from 1) and path of keys, e.g. ``network.startup``."""

    file: str = ""
    line: int | None = None
    path: str = ""

    def __str__(self) -> str:
        position = self.file if self.line is None else f"{self.file}:{self.line}"
        return ": ".join(part for part in (position, _clip(self.path)[:_MOST_PATH]) if part)


class SimcodesignError(Exception):
    """Base of every error that this package raises on purpose.

    >>> import simcodesign as sc
    >>> try:
    ...     sc.forecast("jacobi", "torus-cluster", {"P": 0})
    ... except sc.SimcodesignError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(SimcodesignError, ValueError):
    """A description, parameter or option that cannot be used.

    ``value`` and ``allowed`` are appended to the message: ``FILE:LINE: PATH: WHAT, got VALUE (allowed: ALLOWED)``. A
    suggestion at the beginning of ``allowed`` goes before the bracket: ``..., got VALUE: did you mean NAME? (allowed:
    ALLOWED)``.

    >>> import simcodesign as sc
    >>> try:
    ...     sc.Machine.load("crossbar-61")
    ... except sc.InputError as error:
    ...     print(error.value)
    crossbar-61
    """

    def __init__(
        self, what: str, place: Place | None = None, *, value: object = None, allowed: str | None = None
    ) -> None:
        self.what, self.place, self.value, self.allowed = what, place, value, allowed
        text = what if value is None else f"{what}, got {shorten(value)}"
        if allowed and allowed.startswith("did you mean "):
            suggestion, _, allowed = allowed.partition("? ")
            text = f"{text}: {suggestion}?"
        text = text if not allowed else f"{text} (allowed: {allowed})"
        text = _clip(text)
        super().__init__(f"{place}: {text}" if place and str(place) else text)


class CapacityError(InputError):
    """A simulation whose Plan would not fit in memory.

    >>> import simcodesign as sc
    >>> long = sc.Workload.load({"name": "long", "program": [{"repeat": 1e12, "do": [{"compute": {"flops": 1}}]}]})
    >>> try:
    ...     sc.simulate(long, "crossbar-16", {"P": 1})
    ... except sc.CapacityError:
    ...     print("too many operations")
    too many operations
    """


class DeadlockError(SimcodesignError):
    """A simulation that stopped before its operations were done: ranks wait for each other.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def both(rank, size):
    ...     yield sc.rank.receive(1 - rank)
    ...     yield sc.rank.send(1 - rank, bytes=8)
    >>> try:
    ...     sc.simulate(both, "crossbar-16", {"P": 2})
    ... except sc.DeadlockError:
    ...     print("both ranks wait")
    both ranks wait
    """


def _clip(text: str) -> str:
    """Return the text with the first 200 characters of every longer word: names in files may have any length."""
    return re.sub(r"(\S{197})\S{4,}", r"\1...", text)


def shorten(value: object, limit: int = 60) -> str:
    """Return ``value`` as text for a message: never longer than ``limit`` characters."""
    try:
        text = repr(value)
    except ValueError:  # an int with more digits than Python prints
        text = "a huge number"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def nearest(name: str, allowed: Iterable[str], *, see: str = "") -> str:
    """Return the allowed names as one line, after a suggestion if one of them is like ``name``.

    See ``alike``. If ``name`` is the last key of dotted names, all of these are suggested, as none is more likely.

    The names are in alphabetical order. If there are more than 30, the line lists 15, names like ``name`` first, and
    the number of the others; ``see`` is the command that lists all of them.

    >>> nearest("kernal", ["kernel", "socket"])
    "did you mean 'kernel'? kernel, socket"
    """
    names = sorted(set(allowed))
    paths = [one for one in names if one.endswith(f".{name}")]
    close = paths or alike(name, names)
    meant = " or ".join(repr(one) for one in (paths or close[:1])[:_MOST_ALIKE])
    suggestion = f"did you mean {meant}? " if close else ""
    if len(names) <= MOST_LISTED:
        return suggestion + (", ".join(names) or "none")
    containing = [one for one in names if len(name) >= _LEAST_PART and name.lower() in one.lower()]
    listed = list(dict.fromkeys([*close, *containing, *names]))[:_LISTED_OF_MORE]
    return f"{suggestion}{', '.join(listed)}, and {len(names) - len(listed)} more{f': {see}' if see else ''}"


def alike(name: str, names: Sequence[str]) -> list[str]:
    """Return the names that ``name`` may be a misspelling of, the most similar first.

    They differ in case only, or three quarters of the letters of both are the same in the same order, or one is the
    beginning of the other and at least half of it, or ``name`` is a word of exactly one name, in which ``_`` separates
    words.
    """
    if same := [one for one in names if one.lower() == name.lower()]:
        return same
    import difflib

    given = name[:_MOST_COMPARED]
    close = difflib.get_close_matches(given, names, n=_MOST_ALIKE, cutoff=LEAST_SIMILARITY)
    close = close or [
        long if long != given else short
        for short, long in (sorted((one, given), key=len) for one in names)
        if long.startswith(short) and 2 * len(short) >= len(long)
    ]
    with_word = [one for one in names if len(name) >= _LEAST_PART and name in one.split("_")]
    return close or (with_word if len(with_word) == 1 else [])


def whole_seed(seed: object) -> int:
    """Return the seed. Raises InputError unless it is a whole number, 0 or above."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("not a seed", value=seed, allowed="a whole number, 0 or above")
    return seed
