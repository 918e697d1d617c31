"""Whether a machine file takes what an axis, or what is tied to one, sets in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from simcodesign.core.errors import InputError
from simcodesign.studies.sweep.design.grid import CHANGE, Design, SweepAxis
from simcodesign.studies.sweep.machine_source import MachineFile
from simcodesign.studies.sweep.points import Value

#: So many values, and points, are tried.
_TRIED = 20


def check_change(source: MachineFile, axis: SweepAxis, design: Design) -> None:
    """Raise InputError if the machine file accepts none of the values.

    Alone or with all else that changes with it (a shape and the number of nodes): then the name is wrong.
    """
    alone: list[Mapping[str, Value]] = [{axis.known.path: value} for value in axis.given[:_TRIED]]
    changing = [one.known.path for one in design.settings if one.known.kind == CHANGE]
    together: Iterator[Mapping[str, Value]] = (
        {path: value for path, value in _given(design, number).items() if path in changing}
        for number in range(0, design.count, -(-design.count // _TRIED))
    )
    first: InputError | None = None
    for changes in chain(alone, together):
        try:
            source.changed(changes)
            return
        except InputError as error:
            first = first or error
    if first is not None:
        raise first


def _given(design: Design, number: int) -> dict[str, Value]:
    """Values set at a point, by path."""
    return {axis.known.path: axis.given[at] for axis, at in zip(design.settings, design.place(number), strict=True)}
