"""A machine: processors, disks and the network that joins its nodes, with the constants of their cost models.

Constants may be arrays, so that one forecast covers many machines; the structure (nodes, topology, sharing) may not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.parameters import Parameter
from simcodesign.describe.resources import PREFIX, Custom, Totals
from simcodesign.describe.topology import Topology
from simcodesign.errors import InputError, Place, nearest
from simcodesign.locality.associativity import METHODS
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.served import SETS
from simcodesign.units import Amount

#: Hops of a message when its route is not looked at: none, one, log2 P or sqrt P for P ranks, or the mean over the
#: topology.
DISTANCES = ("one", "log2", "sqrt", "mean", "none")
SWITCHINGS = ("cut_through", "store_and_forward")
MAPPINGS = ("linear", "round_robin", "one_per_node")
#: Fields of a network that are one of a few words.
CHOICES = {
    "model": ("hockney", "loggop"),
    "startup_per": ("message", "hop"),
    "distance": DISTANCES,
    "switching": SWITCHINGS,
}
#: How the shares of accesses that caches serve are found.
HITS = (*METHODS, SETS)
#: Largest coefficient of variation of imbalance and noise.
MOST_VARIATION = 10.0


@dataclass(frozen=True)
class Processor:
    """``rate_flop_per_s`` prices operations; ``clock_hz`` and ``cycles_per_instruction`` price instructions. A rank
    that computes draws ``dynamic_power_w``."""

    rate_flop_per_s: Amount
    clock_hz: Amount | None = None  # only a demand in instructions needs it
    cycles_per_instruction: Amount = 1.0
    dynamic_power_w: Amount | None = None


@dataclass(frozen=True)
class Network:
    """What a message of m bytes over h hops costs, and what it occupies on its way.

    ``model = "hockney"``: the sender is charged ``startup_s + h hop_latency_s + m per_byte_s``, the receiver
    ``receive_overhead_s``. With ``startup_per = "hop"`` every hop repeats the startup (software relays).
    Unless ``hops_hold_sender``, the sender is charged ``startup_s + m per_byte_s``, and what the hops add (latency,
    repeated startups, bytes stored again) delays the arrival alone.

    ``model = "loggop"`` (LogGOPS: Hoefler, Schneider, Lumsdaine, HPDC 2010; LogGP: Alexandrov et al., SPAA 1995), with
    x = max(m - 1, 0): sender and receiver are busy for ``overhead_s + x overhead_per_byte_s`` (o, O), the next send
    (receive) of the rank begins ``gap_s + x per_byte_s`` (g, G) after this one at the earliest, and from the end of the
    sender's work to the arrival it takes ``latency_s + h hop_latency_s + x per_byte_s`` (L). Beyond
    ``rendezvous_above_bytes`` (S) a sender goes on only when its message is received.

    A link is occupied for ``m link_per_byte_s`` and a network interface for ``m interface_per_byte_s``; both default to
    ``per_byte_s``. Constants of the other model must be left at their defaults.

    A rank that sends or receives draws ``dynamic_power_w`` (not while it waits), and a byte that is sent takes
    ``energy_per_byte_j``.
    """

    topology: Topology
    startup_s: Amount = 0.0
    per_byte_s: Amount = 0.0
    receive_overhead_s: Amount = 0.0
    hop_latency_s: Amount = 0.0
    link_per_byte_s: Amount | None = None
    interface_per_byte_s: Amount | None = None
    startup_per: str = "message"
    hops_hold_sender: bool = True
    distance: str = "one"
    switching: str = "cut_through"
    model: str = "hockney"
    latency_s: Amount = 0.0
    overhead_s: Amount = 0.0
    gap_s: Amount = 0.0
    overhead_per_byte_s: Amount = 0.0
    rendezvous_above_bytes: Amount | None = None
    dynamic_power_w: Amount | None = None
    energy_per_byte_j: Amount | None = None

    @property
    def link_occupancy_s_per_byte(self) -> Amount:
        """Seconds for which one byte occupies a link."""
        return self.per_byte_s if self.link_per_byte_s is None else self.link_per_byte_s

    @property
    def interface_occupancy_s_per_byte(self) -> Amount:
        """Seconds for which one byte occupies the network interface of a node."""
        return self.per_byte_s if self.interface_per_byte_s is None else self.interface_per_byte_s


@dataclass(frozen=True)
class Disk:
    """A disk: an access of m bytes takes ``startup + m per_byte_s``; ``shared_by`` consecutive nodes use one disk,
    which serves ``spindles`` accesses at a time in the order of their arrival. Each draws ``dynamic_power_w``."""

    read_startup_s: Amount
    write_startup_s: Amount
    per_byte_s: Amount
    shared_by: int = 1
    spindles: int = 1
    dynamic_power_w: Amount | None = None


@dataclass(frozen=True)
class CacheLevel:
    """One level of the caches that every processor has for itself: an access that finds its line here takes
    ``latency_s``. ``ways`` None: fully associative.

    ``clock_hz``: the clock at which it takes so long, of a latency in cycles; at another clock it takes as many cycles.
    None: a latency that no clock changes. On a machine, this is the clock of its processor.
    """

    name: str
    size_bytes: int
    latency_s: Amount
    ways: int | None = None
    clock_hz: Amount | None = None

    def latency_cycles(self, clock_hz: Amount) -> Amount:
        """The latency in cycles of a clock, or of its own where it has one."""
        return self.latency_s * (clock_hz if self.clock_hz is None else self.clock_hz)

    def clocked(self, clock_hz: Amount) -> CacheLevel:
        """The same level at another clock."""
        if self.clock_hz is None or np.array_equal(self.clock_hz, clock_hz):
            return self
        return replace(self, latency_s=self.latency_cycles(clock_hz) / clock_hz, clock_hz=clock_hz)


@dataclass(frozen=True)
class Memory:
    """The memory of a node and the caches before it, ``caches`` from the nearest outward, all with lines of
    ``line_bytes``.

    An access that no cache serves takes ``latency_s``; a byte that goes between the last cache and memory occupies the
    controller of the node for ``per_byte_s``. ``hits`` says how shares of accesses are found: by the stack model
    (``auto``, ``full``, ``binomial``: see ``locality.associativity``), or with the trace itself (``sets``). A rank
    draws ``dynamic_power_w`` in its memory demands.
    """

    latency_s: Amount
    per_byte_s: Amount
    caches: tuple[CacheLevel, ...] = ()
    line_bytes: int = 64
    hits: str = "auto"
    dynamic_power_w: Amount | None = None

    def geometries(self, line_bytes: int | None = None) -> tuple[CacheGeometry, ...]:
        """The shapes of the caches; with lines of another size if ``line_bytes`` is given."""
        line = self.line_bytes if line_bytes is None else line_bytes
        return tuple(CacheGeometry(level.size_bytes, line, level.ways) for level in self.caches)

    @property
    def level_names(self) -> tuple[str, ...]:
        """Of every cache, and ``memory``."""
        return (*(level.name for level in self.caches), "memory")

    @property
    def latencies_s(self) -> tuple[Amount, ...]:
        """Of every cache and of memory."""
        return (*(level.latency_s for level in self.caches), self.latency_s)


@dataclass(frozen=True)
class Machine:
    """A candidate machine. ``processors_per_node`` ranks share a node; ``mapping`` places ranks on nodes: node after
    node (``linear``), in turn (``round_robin``), one on each (``one_per_node``), or as listed. ``capacity_bytes``: the
    memory of a node, which may be known where its latency and bandwidth are not. Caches with a latency in cycles follow
    the clock of ``processor``, and need one. ``custom``: parameters, resources and components of its own."""

    name: str
    processor: Processor
    network: Network
    disk: Disk | None = None
    processors_per_node: int = 1
    mapping: str | tuple[int, ...] = "linear"
    noise: float = 0.0
    memory: Memory | None = None
    capacity_bytes: Amount | None = None
    about: str = ""
    source: str = ""
    place: Place = field(default=Place(), compare=False)
    custom: Custom = field(default=Custom(), repr=False)

    def __post_init__(self) -> None:
        for path, value in (self.constants() | self.powers()).items():
            check_constant(path, value, self.place)
        for name, allowed in CHOICES.items():
            if getattr(self.network, name) not in allowed:
                raise InputError(
                    f"network.{name}", self.place, value=getattr(self.network, name), allowed=", ".join(allowed)
                )
        check_model(self.network, self.place)
        for part in ("link", "interface"):
            check_occupancy(self.network, part, self.place)
        check_mapping(self.mapping, self.nodes, self.processors_per_node, self.place)
        if self.memory is not None:
            check_memory(self.memory, self.place)
            object.__setattr__(self, "memory", _clocked(self.memory, self.processor, self.place))
        if self.capacity_bytes is not None:
            check_constant(CAPACITY, self.capacity_bytes, self.place)
        if not 0 <= self.noise <= MOST_VARIATION:
            raise InputError("noise", self.place, value=self.noise, allowed=f"0 to {MOST_VARIATION}")

    @property
    def nodes(self) -> int:
        """Number of nodes of the network."""
        return self.network.topology.node_count

    @property
    def processors(self) -> int:
        """Number of processors."""
        return self.nodes * self.processors_per_node

    @property
    def most_ranks(self) -> int:
        """The largest number of ranks: of the processors, the nodes, or the places that the mapping lists."""
        if self.mapping == "one_per_node":
            return self.nodes
        return self.processors if isinstance(self.mapping, str) else len(self.mapping)

    @property
    def rank_capacity_bytes(self) -> Amount | None:
        """Memory of a rank: its processor's share of the node, or all of it where every rank has a node for itself."""
        sharing = 1 if self.mapping == "one_per_node" else self.processors_per_node
        return None if self.capacity_bytes is None else self.capacity_bytes / sharing

    def constants(self) -> dict[str, Amount]:
        """Every constant of this machine, by its path in a machine file, in SI units."""
        found = {
            path: getattr(getattr(self, part), name, None)
            for path, (part, name, _) in CONSTANTS.items()
            if MODEL_OF.get(path, self.network.model) == self.network.model
        }
        return {path: value for path, value in found.items() if value is not None}

    def powers(self) -> dict[str, Amount]:
        """What the built-in parts draw where that is said, by its path in a machine file, in SI units."""
        found = {path: getattr(getattr(self, part), name, None) for path, (part, name, _) in POWERS.items()}
        return {path: value for path, value in found.items() if value is not None}

    def varying(self) -> dict[str, Amount]:
        """All that may be an array, by its path: constants, powers, parameters of the machine, its capacity."""
        found = self.constants() | self.powers()
        found |= {f"{PREFIX}{name}": value for name, value in self.custom.values.items()}
        return found if self.capacity_bytes is None else found | {CAPACITY: self.capacity_bytes}

    @property
    def has_power(self) -> bool:
        """Whether anything is said of the power that is drawn."""
        components = any(component.static_power is not None for component in self.custom.components.values())
        drawn = any((one.dynamic_power or one.energy) is not None for one in self.custom.resources.values())
        return bool(self.powers()) or components or drawn

    def counts(self) -> dict[str, Amount]:
        """The counts that expressions of the machine may use."""
        return {
            "nodes": float(self.nodes),
            "processors_per_node": float(self.processors_per_node),
            "processors": float(self.processors),
        }

    def names(self) -> dict[str, Amount]:
        """Values of its counts, parameters and properties. InputError for one that is missing or not finite."""
        return dict(self._names)

    @cached_property
    def _names(self) -> dict[str, Amount]:
        return self.custom.names(self.counts())

    def properties(self) -> dict[str, Amount]:
        """Values of its properties, the metrics that its file defines."""
        names = self.names()
        return {name: names[name] for name in self.custom.properties}

    def totals(self) -> Totals:
        """Rack units, area of dies, price and static power of the whole machine, as far as components say them."""
        return self.custom.totals(self.counts())

    def with_constants(self, values: Mapping[str, Amount], place: Place | None = None) -> Machine:
        """The same machine with some constants replaced, e.g. ``{"network.startup": 3e-4}``; SI units, arrays allowed.
        Powers (``processor.dynamic_power``) and its parameters (``machine.NAME``) are replaced likewise.

        Constants of another network model are taken only together, all that it requires: then the network is of that
        model. Raises InputError for a path that is no constant and for a value that is not positive or zero and finite.
        """
        here = place or self.place
        own = {path: value for path, value in values.items() if path.startswith(PREFIX)}
        if own:
            custom = replace(self.custom, values={**self.custom.values, **self._parameters(own, here)})
            others = {path: value for path, value in values.items() if path not in own}
            return replace(self, custom=custom, place=here).with_constants(others, here)
        model = self._model_with(values, here)
        changed: dict[str, dict[str, Any]] = {} if model is None else {"network": _only_of(model)}
        for path, value in values.items():
            part, name = _constant(path, here)
            if getattr(self, part) is None:
                raise InputError(f"{self.name} has no {part}, so {path} cannot be set", here)
            check_constant(path, value, here)
            changed.setdefault(part, {})[name] = value
        parts = {part: replace(getattr(self, part), **change) for part, change in changed.items()}
        return replace(self, **parts, place=here) if parts else self

    def _parameters(self, values: Mapping[str, Amount], place: Place) -> dict[str, Amount]:
        """The values of its parameters, by name. InputError for one that it has not, and beyond its limits."""
        found = {}
        for path, value in values.items():
            self.parameter(path, place).check(value, place)
            found[path.removeprefix(PREFIX)] = value
        return found

    def parameter(self, path: str, place: Place | None = None) -> Parameter:
        """The parameter that ``machine.NAME`` sets. InputError if there is none."""
        known = self.custom.parameters
        if path.removeprefix(PREFIX) not in known:
            what = f"{self.name} has no machine parameter of this name"
            allowed = nearest(path, [f"{PREFIX}{name}" for name in known])
            raise InputError(what, place or self.place, value=path, allowed=allowed)
        return known[path.removeprefix(PREFIX)]

    def _model_with(self, values: Mapping[str, Amount], place: Place) -> str | None:
        """The network model that these constants bring with them, None if it is that of the machine."""
        own = self.network.model
        alien = [path for path in values if MODEL_OF.get(path, own) != own]
        if not alien:
            return None
        model = MODEL_OF[alien[0]]
        needed = [f"network.{key}" for key in REQUIRED_CONSTANTS[model]]
        if not all(path in values for path in needed) or any(MODEL_OF.get(path, model) != model for path in values):
            what = f"{alien[0]} is a constant of the network model {model}; that of {self.name} is {own}"
            whole = f"{', '.join(_paths_of(own))}; or all of {', '.join(needed)} for {model}"
            raise InputError(what, place, allowed=whole)
        return model

    def with_topology(self, topology: Topology) -> Machine:
        """The same machine joined by another network, e.g. ``build_topology("graph", 8, graph=my_networkx_graph)``.

        Raises InputError when the mapping places ranks on nodes that the network has not.
        """
        return replace(self, network=replace(self.network, topology=topology))

    def node_of(self, ranks: int) -> NDArray[np.int64]:
        """Node of every rank 0..ranks-1 by the mapping: shape (ranks,)."""
        every = np.arange(ranks)
        if isinstance(self.mapping, tuple):
            return np.asarray(self.mapping[:ranks], dtype=np.int64)
        if self.mapping == "round_robin":
            used = -(-ranks // self.processors_per_node)
            return every % used
        if self.mapping == "one_per_node":
            return every
        return every // self.processors_per_node


#: Path in a file -> (part of the machine, field, dimension of the unit table).
CONSTANTS: dict[str, tuple[str, str, str]] = {
    "processor.rate": ("processor", "rate_flop_per_s", "rate"),
    "processor.clock": ("processor", "clock_hz", "frequency"),
    "processor.cpi": ("processor", "cycles_per_instruction", "count"),
    "network.startup": ("network", "startup_s", "time"),
    "network.per_byte": ("network", "per_byte_s", "per_byte"),
    "network.receive_overhead": ("network", "receive_overhead_s", "time"),
    "network.hop_latency": ("network", "hop_latency_s", "time"),
    "network.L": ("network", "latency_s", "time"),
    "network.o": ("network", "overhead_s", "time"),
    "network.g": ("network", "gap_s", "time"),
    "network.G": ("network", "per_byte_s", "per_byte"),
    "network.O": ("network", "overhead_per_byte_s", "per_byte"),
    "network.S": ("network", "rendezvous_above_bytes", "size"),
    "network.link_per_byte": ("network", "link_per_byte_s", "per_byte"),
    "network.interface_per_byte": ("network", "interface_per_byte_s", "per_byte"),
    "disk.read_startup": ("disk", "read_startup_s", "time"),
    "disk.write_startup": ("disk", "write_startup_s", "time"),
    "disk.per_byte": ("disk", "per_byte_s", "per_byte"),
    "memory.latency": ("memory", "latency_s", "time"),
    "memory.per_byte": ("memory", "per_byte_s", "per_byte"),
}
#: The same of powers, which no time depends on.
POWERS: dict[str, tuple[str, str, str]] = {
    **{
        f"{part}.dynamic_power": (part, "dynamic_power_w", "power")
        for part in ("processor", "memory", "disk", "network")
    },
    "network.energy_per_byte": ("network", "energy_per_byte_j", "energy_per_byte"),
}
#: Network model -> the constants that it must be given, the time per byte last, and those that it may be given too.
REQUIRED_CONSTANTS = {"hockney": ("startup", "per_byte"), "loggop": ("L", "o", "g", "G")}
OPTIONAL_CONSTANTS = {"hockney": ("receive_overhead",), "loggop": ("O", "S")}
#: Path of a constant -> the only network model that has it.
MODEL_OF = {
    f"network.{key}": model
    for model, required in REQUIRED_CONSTANTS.items()
    for key in (*required, *OPTIONAL_CONSTANTS[model])
}
#: What else only Hockney's model knows.
HOCKNEY_KEYS = ("startup_per", "hops_hold_sender")
#: Constants that must be above 0; the others may be 0.
POSITIVE = {"processor.rate", "processor.clock", "processor.cpi", "memory.capacity"}
#: Path of the memory of a node. It is no constant of a cost model: no time depends on it, and no phase replaces it.
CAPACITY = "memory.capacity"


def _constant(path: str, place: Place) -> tuple[str, str]:
    every = CONSTANTS | POWERS
    if path not in every:
        raise InputError("not a constant of a machine", place, value=path, allowed=nearest(path, every))
    return every[path][0], every[path][1]


def _paths_of(model: str) -> list[str]:
    """The network constants of a model alone."""
    return [path for path, other in MODEL_OF.items() if other == model]


def _only_of(model: str) -> dict[str, Any]:
    """Fields of a network of this model without any constant of the others."""
    others = [CONSTANTS[path][1] for path, other in MODEL_OF.items() if other != model]
    defaults = {name: getattr(Network, name) for name in (*HOCKNEY_KEYS, *others)}
    return {"model": model} | defaults


def check_model(network: Network, place: Place) -> None:
    """InputError when a constant of another network model is set."""
    own = _paths_of(network.model)
    fields = {CONSTANTS[path][1] for path in own}
    for path, other in MODEL_OF.items():
        name = CONSTANTS[path][1]
        value = getattr(network, name)
        if name not in fields and value is not None and np.any(np.asarray(value) != 0):
            what = f"{path} is a constant of the network model {other}, not of {network.model}"
            raise InputError(what, place, value=value, allowed=", ".join(own))
    if not isinstance(network.hops_hold_sender, bool):
        raise InputError("network.hops_hold_sender", place, value=network.hops_hold_sender, allowed="true, false")
    for key in HOCKNEY_KEYS if network.model != "hockney" else ():
        if getattr(network, key) != getattr(Network, key):
            what = f"network.{key} belongs to the network model hockney, not to {network.model}"
            raise InputError(what, place, value=getattr(network, key))


def check_constant(path: str, value: Amount, place: Place) -> None:
    """InputError unless the value is finite and above 0 (rates), or 0 and above (times), everywhere."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{path} must be a number or an array of numbers", place, value=value)
    good = np.isfinite(array) & ((array > 0) if path in POSITIVE else (array >= 0))
    if not np.all(good):
        allowed = "a finite number above 0" if path in POSITIVE else "a finite number, 0 or above"
        raise InputError(f"{path} cannot be used", place, value=float(array[~good].flat[0]), allowed=allowed)


def check_mapping(mapping: str | tuple[int, ...], nodes: int, per_node: int, place: Place) -> None:
    """InputError unless the mapping is one of the names, or places ranks on existing nodes that have room for them."""
    if isinstance(mapping, str):
        if mapping not in MAPPINGS:
            raise InputError("mapping", place, value=mapping, allowed=nearest(mapping, MAPPINGS))
        return
    if not mapping:
        raise InputError("no rank is placed", place, allowed=f"{', '.join(MAPPINGS)}, or the node of every rank")
    for node in (min(mapping), max(mapping)):
        if not 0 <= node < nodes:
            raise InputError(
                "a rank is placed on a node that does not exist", place, value=node, allowed=f"0 to {nodes - 1}"
            )
    node, ranks = Counter(mapping).most_common(1)[0]
    if ranks > per_node:
        raise InputError(f"{ranks} ranks on node {node}, which has {per_node} processors", place)


def check_memory(memory: Memory, place: Place) -> None:
    """InputError for caches that cannot be, latencies that are not, and an unknown way to find hits."""
    if memory.hits not in HITS:
        raise InputError("memory.hits", place, value=memory.hits, allowed=nearest(str(memory.hits), HITS))
    names = memory.level_names
    if len(set(names)) < len(names):
        raise InputError("names of caches", place, value=list(names), allowed="each once, and not memory")
    for level in memory.caches:
        check_constant(f"caches.{level.name}.latency", level.latency_s, place)
        if level.clock_hz is not None:
            check_constant("processor.clock", level.clock_hz, place)
    try:
        memory.geometries()
    except InputError as error:
        raise InputError(f"caches: {error}", place) from None


def _clocked(memory: Memory, processor: Processor, place: Place) -> Memory:
    """The memory with caches at the clock of the processor. InputError without one for a latency in cycles."""
    counted = [level.name for level in memory.caches if level.clock_hz is not None]
    if not counted:
        return memory
    if processor.clock_hz is None:
        what = f"caches.{counted[0]}.latency is in cycles, and the processor has no clock"
        raise InputError(what, place, allowed="processor.clock, or a latency as a time")
    clock_hz = processor.clock_hz
    return replace(memory, caches=tuple(level.clocked(clock_hz) for level in memory.caches))


def check_occupancy(network: Network, part: str, place: Place) -> None:
    """InputError if a ``link`` or an ``interface`` is slower than the messages that pass it."""
    occupancy = getattr(network, f"{part}_occupancy_s_per_byte")
    whole = "network.G" if network.model == "loggop" else "network.per_byte"
    if np.any(np.asarray(occupancy) > np.asarray(network.per_byte_s) * (1 + 1e-12)):
        raise InputError(
            f"a message cannot pass faster than its {part}: network.{part}_per_byte is above {whole}",
            place,
            value=float(np.max(occupancy)),
            allowed=f"at most {float(np.min(network.per_byte_s))} s/B, or leave it out",
        )
