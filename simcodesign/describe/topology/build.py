"""``build_topology`` makes a network of any registered kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.describe.topology.base import MAX_HOSTS, TOPOLOGIES, Topology, checked_whole


def build_topology(
    kind: str, node_count: int, shape: Sequence[int] | None = None, *, place: Place | None = None, **options: object
) -> Topology:
    """Return the network of ``node_count`` hosts of one of the registered kinds.

    Options depend on the kind; None means that one is not given: ``shape`` or ``dims`` of mesh and torus
    (default: the balanced shape of 2 dimensions), ``arity`` of the fat tree and ``graph`` (of NetworkX) of the graph,
    which both need it. Raises InputError, with ``place``, for an unknown kind, an option that the kind does not have,
    sizes out of range or at odds with each other, and for graphs that ``graph_topology`` refuses.

    >>> from simcodesign.describe.topology.build import build_topology
    >>> torus = build_topology("torus", 16, [4, 4])
    >>> torus.node_count
    16
    """
    if not isinstance(kind, str) or kind not in TOPOLOGIES:
        raise InputError("unknown topology kind", place, value=kind, allowed=nearest(str(kind), TOPOLOGIES))
    given = {name: value for name, value in {"shape": shape, **options}.items() if value is not None}
    chosen = TOPOLOGIES[kind]
    check_options(kind, given, [option.target for option in chosen.options], place)
    return chosen.build(checked_whole(node_count, "node_count", MAX_HOSTS, place), given, place)


def check_options(kind: str, given: Iterable[str], own: Sequence[str], place: Place | None) -> None:
    """InputError for a given option that is none of the kind's own."""
    for name in given:
        if name not in own:
            allowed = ", ".join(own) or "node_count only"
            raise InputError(f"topology kind {kind} has no option {name}", place, allowed=allowed)
