"""Small machines and workloads, and the rules about rounding, that the cases of theory share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any

from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.message_models.base import MessageModel
from simcodesign.describe.network.message_models.hockney import BLOCKING, Hockney
from simcodesign.describe.network.message_models.loggops import LogGOPS
from simcodesign.describe.network.network import Network
from simcodesign.describe.programs.program import Step
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Tolerance

#: Startup (s), latency of a hop (s), time per byte of a message and of a link (s/B), bytes. A link is faster than a
#: message, so that formulas with one instead of the other give something else.
TS, TH, TW, TL, M = 10e-6, 0.3e-6, 2e-9, 1.5e-9, 4096.0
ROUNDING = Tolerance("closed forms; up to some 10^4 additions of doubles, each rounded by 1.1e-16", relative=1e-11)
EXACT = Tolerance("whole numbers below 2^53, which doubles hold exactly")


def hockney(topology: Topology, **constants: object) -> Machine:
    """A machine with one processor a node and Hockney's model; ``constants`` replace fields of its network."""
    values: dict[str, object] = {
        "sends": BLOCKING,
        "startup_s": TS,
        "per_byte_s": TW,
        "link_per_byte_s": TL,
        "hop_latency_s": TH,
    }
    return _machine(topology, Hockney, values | constants)


def loggops(topology: Topology, **constants: object) -> Machine:
    """A machine with one processor a node and the LogGOPS model."""
    return _machine(topology, LogGOPS, constants)


def _machine(topology: Topology, model: type[MessageModel], constants: dict[str, Any]) -> Machine:
    names = {field.name for field in fields(model)}
    of_model = model(**{name: value for name, value in constants.items() if name in names})
    network = Network(topology, of_model, **{name: value for name, value in constants.items() if name not in names})
    return Machine("theory", Processor(1e9), network)


def program(*steps: Step) -> Workload:
    """A workload of these steps without parameters."""
    return Workload("theory", {}, {}, steps)


def message(source: int, target: int, size: float = M) -> Workload:
    """One message between two ranks."""
    return program(
        Send(parse(f"rank == {source}"), Place(), parse(target), parse(size)),
        Receive(parse(f"rank == {target}"), Place(), parse(source), parse(size)),
    )


def permutation(to: str, source: str, size: float = M) -> Workload:
    """Every rank sends to the rank ``to`` and receives from the rank ``source``, unless that is itself."""
    return program(
        Send(parse(f"({to}) != rank"), Place(), parse(to), parse(size)),
        Receive(parse(f"({source}) != rank"), Place(), parse(source), parse(size)),
    )


def collective(name: str, algorithm: str, size: float = M) -> Workload:
    """One collective operation."""
    return program(Collective(None, Place(), name, algorithm, parse(size)))


def halo(grid: Sequence[int], sizes: Iterable[float], periodic: bool) -> Workload:
    """One halo exchange on a process grid; a size for each dimension."""
    sizes_bytes = tuple(parse(size) for size in sizes)
    extents = tuple(parse(extent) for extent in grid)
    return program(Exchange(None, Place(), len(grid), sizes_bytes, extents, periodic))


def grid(kind: str, *shape: int) -> Topology:
    """A mesh or a torus of this shape."""
    hosts = 1
    for extent in shape:
        hosts *= extent
    return build_topology(kind, hosts, shape)


def kind_of(kind: str, **options: int) -> Callable[[int], Topology]:
    """A topology of that kind for so many hosts."""
    return lambda hosts: build_topology(kind, hosts, **options)  # type: ignore[arg-type] # options by name


def furthest(values: Iterable[float], expected: float) -> float:
    """Of what several runs say, where all should say the same: what is furthest from what is expected."""
    return max(values, key=lambda value: abs(value - expected))
