"""Variants: a shipped name or a file ``with`` other values, as in ``fugaku with network.startup=1 us, nodes=64``.

Such a text names a variant in tables and is accepted wherever the name of a workload or a machine is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from simcodesign.core.errors import InputError

#: Between a name and what is other than in its file.
WITH = " with "
#: Number of changes that a name lists; of more it gives only their number.
MOST_SHOWN = 4
#: Pattern at the begin of a change; "," only ends one if another begins behind it, because lists have commas too.
_CHANGE = r"[A-Za-z_][A-Za-z0-9_.]*\s*="
_BEGINS = re.compile(rf"\s+with\s+(?={_CHANGE})")
#: ``x2``: a factor on the value in the file.
_FACTOR = re.compile(r"x([0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?)")
_NEXT = re.compile(rf",\s*(?={_CHANGE})")

#: A workload on places of a machine, and when it starts (``describe.jobs``).
JOB_FORM = "WORKLOAD@FIRST:END, WORKLOAD@FIRST:END:STEP or WORKLOAD@FIRST:END+TIME, for example jacobi@0:512"
JOB = re.compile(r"(?P<workload>.+)@(?P<places>\d*:\d*(?::\d*)?)(?:\+(?P<start>[^@]+))?")
_LIKE_A_JOB = re.compile(r"@\s*-?\d*\s*:")


def split_variant(text: str | Path) -> tuple[str, dict[str, str]]:
    """Return the name or file, and the values by name: none for a plain name. InputError for duplicate names."""
    name, *rest = _BEGINS.split(str(text).strip(), maxsplit=1)
    changes: dict[str, str] = {}
    for item in _NEXT.split(rest[0]) if rest else []:
        key, _, value = (part.strip() for part in item.partition("="))
        if not value or key in changes:
            raise InputError("not a variant", value=str(text), allowed="NAME with KEY=VALUE, KEY=VALUE; each key once")
        changes[key] = value
    return name, changes


def is_job(text: str) -> bool:
    """Return whether a text names places, as jobs do; it may still be a wrong one."""
    return _LIKE_A_JOB.search(text) is not None


def factor_of(text: object) -> float | None:
    """Return the factor of ``x2``; None for a value."""
    match = _FACTOR.fullmatch(str(text).strip())
    return float(match[1]) if match else None


def change_texts(changes: Mapping[str, object]) -> tuple[str, ...]:
    """``KEY=VALUE`` of each change."""
    return tuple(f"{name}={_shown(value)}" for name, value in changes.items())


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())


def variant_label(name: str, changes: Iterable[str], most: int | None = MOST_SHOWN) -> str:
    """``NAME with KEY=VALUE, KEY=VALUE``; of more than ``most`` changes the first ones, and how many more there are.

    The name may be the name of a variant itself.
    """
    every = list(changes)
    if not every:
        return name
    shown = every[:most]
    more = f" and {len(every) - len(shown)} more" if len(shown) < len(every) else ""
    return f"{name}{', ' if WITH in name else WITH}{', '.join(shown)}{more}"


class Variant:
    """Base of objects with a ``name``, and ``changes`` of the file of that name."""

    name: str
    changes: tuple[str, ...]

    @property
    def label(self) -> str:
        """Its name, with what is other than in its file."""
        return variant_label(self.name, self.changes)

    @property
    def full_label(self) -> str:
        """Label with all changes."""
        return variant_label(self.name, self.changes, most=None)
