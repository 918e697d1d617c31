"""The keyword options of simulations that are repeated, the same for all public functions."""

from __future__ import annotations

from typing import Any, TypedDict

from simcodesign.studies.replication.stopping import MOST


class RepetitionOptions(TypedDict, total=False):
    """Options for repeating a simulation, in addition to ``replications`` and ``precision``; see ``simulate``."""

    precision_of: str | None
    level: float
    at_most: int
    jobs: int


def repetition(
    replications: int | None,
    precision: float | None,
    *,
    precision_of: str | None = None,
    level: float = 0.95,
    at_most: int = MOST,
    jobs: int = 1,
) -> dict[str, Any]:
    """Return the keywords of ``studies.replication.replicate``."""
    named = {"replications": replications, "precision": precision, "precision_of": precision_of}
    return {**named, "level": level, "at_most": at_most, "jobs": jobs}


def taken_from(options: dict[str, Any], *more: str) -> dict[str, Any]:
    """Remove the options of repetitions, and those with other names, from ``options``; return them."""
    return {name: options.pop(name) for name in (*RepetitionOptions.__annotations__, *more) if name in options}
