"""Jobs of one to three axes, folded into the dimensions of a mesh or torus as Tofu D places them.

A line of nodes along an axis of the job runs along the first of its dimensions, turns, and runs back one step further
along the next one: neighbours in the line are neighbours in the network. Y. Ajima, T. Inoue, S. Hiramoto, Y. Takagi,
T. Shimizu, "The Tofu Interconnect", IEEE Micro 32 (1), 2012, fold each axis over a long and a short dimension.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.grid import GridTopology
from simcodesign.describe.topology.grid_shape import smallest_box

Ints = NDArray[np.int64]
#: Axes of a job, and dimensions of a grid in the order of its shape: long ones, then those that are short in Tofu D.
AXES, DIMENSIONS = "XYZ", "XYZabc"
#: Nodes that a line takes of a short dimension next to a long one: up one row and down the other, also of three nodes.
ROWS = 2
_PAIRS = (("X", "a"), ("Y", "b"), ("Z", "c"))
#: Where lines of jobs with one or two axes lie. No publication states it.
_LONGER, _SHORTER = ("Y", "a", "X"), ("c", "Z", "b")


@dataclass(frozen=True)
class FoldedMapping:
    """Ranks are on a ``job`` of one to three axes, each folded over dimensions of a mesh or torus.

    ``job``: nodes along the axes X, Y, Z of the job. ``order``: these letters, first the axis along which ranks run
    first; None: Y, Z, X. ``axes``: the dimensions of each axis (X, Y, Z, a, b, c by the order of the network's shape),
    first the one along which a line runs first. None: X and a, Y and b, Z and c of three axes; of two axes Y, a and X
    of the longer one, and c, Z and b of the other.
    """

    job: tuple[int, ...]
    order: str | None = None
    axes: tuple[tuple[str, ...], ...] | None = None

    def __str__(self) -> str:
        lines = "; ".join(f"{axis} over {', '.join(names)}" for axis, names in zip(AXES, self.lines, strict=False))
        return (
            f"job of {'x'.join(map(str, self.job))} nodes, ranks in the order {self.ranks_along}, axes folded: {lines}"
        )

    @property
    def ranks_along(self) -> str:
        """The axes of the job, the one along which ranks run first first."""
        return self.order or "".join(axis for axis in "YZX" if axis in AXES[: len(self.job)])

    @property
    def lines(self) -> tuple[tuple[str, ...], ...]:
        """The dimensions of each axis of the job."""
        if self.axes is not None:
            return self.axes
        if len(self.job) == 1:
            return ((*_LONGER, *_SHORTER),)
        if len(self.job) == len(_PAIRS):
            return _PAIRS
        return (_LONGER, _SHORTER) if self.job[0] >= self.job[1] else (_SHORTER, _LONGER)


def folded_nodes(
    mapping: FoldedMapping, topology: Topology, place: Place, places: Mapping[str, Place] = MappingProxyType({})
) -> Ints:
    """Return the node of each node of the job, in the order of ranks: shape (n,).

    ``place``: of the mapping, ``places``: of its keys. InputError for a network without dimensions, axes that do not
    fit the job or the network, and an order that is no permutation.
    """
    if not isinstance(topology, GridTopology):
        what = f"a {topology.kind} has no dimensions over which a job could be folded: mapping"
        raise InputError(what, place, value="folded", allowed="linear, random; or a mesh or torus")
    _check_job(mapping.job, places.get("job", place))
    axes = AXES[: len(mapping.job)]
    if sorted(mapping.ranks_along) != sorted(axes):
        allowed = f"each of {', '.join(axes)} once, the one along which ranks run first first"
        raise InputError(
            "order of the ranks of a job", places.get("order", place), value=mapping.order, allowed=allowed
        )
    _check_lines(mapping, topology.shape, place, places)
    return _folded(mapping, topology.shape, places.get("job", place))


def _check_job(job: tuple[int, ...], place: Place) -> None:
    if not 1 <= len(job) <= len(AXES) or min(job) < 1:
        allowed = f"nodes along 1 to {len(AXES)} axes, each 1 or more"
        raise InputError("job of a folded mapping", place, value=list(job), allowed=allowed)


def _check_lines(mapping: FoldedMapping, shape: tuple[int, ...], place: Place, places: Mapping[str, Place]) -> None:
    """InputError unless each axis of the job has dimensions of the network, and each of these at most one axis."""
    lines, here = mapping.lines, places.get("axes", place)
    if len(lines) != len(mapping.job):
        what = f"a job of {len(mapping.job)} axes is folded by as many lists of dimensions: axes"
        raise InputError(what, here, value=[list(line) for line in lines], allowed=f"{len(mapping.job)} lists")
    known = DIMENSIONS[: len(shape)]
    names = [name for line in lines for name in line]
    for name in names:
        if name in DIMENSIONS and name not in known:
            what = (
                f"a job is folded over the dimension {name}, but the network {'x'.join(map(str, shape))} has only "
                f"{', '.join(known)}"
            )
            allowed = "a network with all dimensions, and another job by mapping.job, for example [4, 4, 4]"
            raise InputError(what, here, allowed=allowed)
        if name not in known:
            raise InputError("dimension of an axis", here, value=name, allowed=nearest(name, tuple(known)))
        if names.count(name) > 1:
            raise InputError("duplicate dimension", here, value=name, allowed="each once, of one axis")
    if not all(lines):
        raise InputError("an axis without a dimension", here, value=[list(line) for line in lines])


@lru_cache(maxsize=8)
def _folded(mapping: FoldedMapping, shape: tuple[int, ...], place: Place) -> Ints:
    """Return the node of each node of a job that is checked.

    Machines are made again with each constant that changes, so that the last ones are kept.
    """
    coordinates: list[Ints | int] = [0] * len(shape)
    at = dict(zip(mapping.ranks_along, _first_fastest(mapping, math.prod(mapping.job)), strict=True))
    for axis, length, names in zip(AXES, mapping.job, mapping.lines, strict=False):
        extents = _extents(axis, length, names, shape, place)
        for name, places in zip(names, folded_line(length, extents), strict=True):
            coordinates[DIMENSIONS.index(name)] = places[at[axis]]
    nodes = np.zeros(math.prod(mapping.job), np.int64)
    for extent, coordinate in zip(shape, coordinates, strict=True):
        nodes = nodes * extent + coordinate
    return nodes


def _first_fastest(mapping: FoldedMapping, nodes: int) -> tuple[Ints, ...]:
    """Return the coordinates in the job of each node, along the axes in the order in which ranks run."""
    extents = [mapping.job[AXES.index(axis)] for axis in mapping.ranks_along]
    return tuple(np.unravel_index(np.arange(nodes), extents, order="F"))


def folded_line(nodes: int, extents: Sequence[int]) -> list[Ints]:
    """Return the coordinates of the nodes of a line in a box, along each of its dimensions.

    Back and forth along the first one, one step along the second one at each turn, and so on.
    """
    rest, coordinates = np.arange(nodes), []
    for extent in extents:
        rest, step = np.divmod(rest, extent)
        coordinates.append(np.where(rest % 2 == 0, step, extent - 1 - step))
    return coordinates


def _extents(axis: str, nodes: int, names: Sequence[str], shape: tuple[int, ...], place: Place) -> list[int]:
    """Return the nodes that a line takes of each of its dimensions.

    Two of a short one, of the long ones the box that holds the rest with as few more as there can be, and of these the
    most square one. Without a long one, that box of all.
    """
    whole = {name: shape[DIMENSIONS.index(name)] for name in names}
    long = [name for name in names if name in AXES] or list(names)
    taken = {name: min(ROWS, whole[name]) for name in names if name not in long}
    rest = -(-nodes // math.prod(taken.values()))
    if rest > math.prod(whole[name] for name in long):
        most = math.prod(taken.values()) * math.prod(whole[name] for name in long)
        network = "x".join(map(str, shape))
        what = f"the network {network} is too small for the axis {axis} of a job, folded over {', '.join(names)}"
        raise InputError(what, place, value=nodes, allowed=f"at most {most} nodes")
    taken |= zip(long, smallest_box(tuple(whole[name] for name in long), rest), strict=True)
    return [taken[name] for name in names]
