"""Checks of whole numbers that topologies share."""

from __future__ import annotations

import operator

from simcodesign.core.errors import InputError, Place

MAX_HOSTS = 10**9  # link numbers of every kind then fit in 64 bits


def checked_whole(number: object, what: str, most: int, place: Place | None = None, least: int = 1) -> int:
    """The number, if it is whole and within the limits; InputError otherwise."""
    try:
        value = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        value = least - 1
    if isinstance(number, bool) or not least <= value <= most:
        raise InputError(what, place, value=number, allowed=f"a whole number from {least} to {most}")
    return value
