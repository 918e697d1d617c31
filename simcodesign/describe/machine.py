"""A machine: processors, disks and the network that joins its nodes, with the constants of their cost models.

Constants may be arrays, so that one forecast covers many machines; the structure (nodes, topology, sharing) may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.registry import function_of
from simcodesign.core.shown_answers import ShownInNotebooks
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import (
    CAPACITY,
    CONSTANTS,
    POWERS,
    cache_constants,
    cache_of,
    check_constant,
    in_partition,
    is_of,
    part_and_field,
    value_of,
    with_values,
)
from simcodesign.describe.machine_checks.memory_checks import check_memory, clocked, with_cache_constants
from simcodesign.describe.machine_checks.model_change import model_of_constants, replaces_segments
from simcodesign.describe.machine_checks.network_checks import (
    check_interfaces,
    check_local,
    check_nearest_interfaces,
    check_network,
    check_storage_nodes,
)
from simcodesign.describe.machine_nodes import MachineNodes
from simcodesign.describe.machine_parts.evidence import check_evidence
from simcodesign.describe.machine_parts.levels import (
    PATHS,
    NodeKind,
    Switches,
    check_levels,
    check_switches,
    needs_switches,
)
from simcodesign.describe.machine_parts.message_memory import check_message_memory
from simcodesign.describe.machine_parts.processor import check_speeds
from simcodesign.describe.network.size_segments import segment_at, segment_constants, with_segment_constants
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.partitions import (
    check_partitions,
    constants_of_ranks,
    noises_of,
    varied_parts,
    with_partition_constants,
)
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.noise import Noise, share_as_distribution
from simcodesign.describe.resources import COUNTS, PREFIX, Totals
from simcodesign.describe.topology.base import Topology


@dataclass(frozen=True)
class Machine(MachineNodes, ShownInNotebooks):
    """A candidate machine: the contents of a machine file, in SI units. Constants may be arrays of one shape.

    - ``name``, ``about``, ``source``: what it is called, what it is, and where its numbers are from.
    - ``processor``: rate (FLOP/s), clock (Hz) and cycles per instruction of each processor.
    - ``processors_per_node``: processors of a node; a rank has one of them.
    - ``mapping``: which node each rank is on: ``linear``, ``round_robin``, ..., or a list of nodes (docs/placement.md).
    - ``network``: topology of the nodes, cost model of messages (Hockney, LogGP or LogGPS) and its constants.
    - ``node_network``: the network inside every node, whose hosts are its processors, or its sockets if there is a
      ``socket_network``, whose hosts are the processors of a socket; None: messages within a node cost what others do.
    - ``node_memory``: what messages within a node take of its ``memory``; None: nothing.
    - ``memory``: latency (s) and time per byte (s/B) of the memory of a node, its controllers, and the caches of each
      processor; caches with a latency in cycles need the clock of ``processor``.
    - ``capacity_bytes``: memory of a node.
    - ``accelerator``: accelerators of every node, their rate, memory and link to the host.
    - ``disk``: startup times (s) and time per byte (s/B) of disks, and how many nodes share one.
    - ``storage``: a parallel file system, over whose servers files are striped; all nodes share it.
    - ``noise``: coefficient of variation of computations, or a ``Noise`` of all that varies times.
    - ``failures``: how often nodes fail. ``background``: what other jobs send over the same links.
    - ``nodes_by_ranks``: how the network grows where nodes are as many as ranks need (``nodes: P``).
    - ``partitions``: kinds of nodes with constants, processors and networks of their own, numbered one partition after
      another.
    - ``custom``: parameters, properties, resources, conflicts and components that its file defines.
    - ``collectives``: rules by which collective operations with ``algorithm: auto`` take an algorithm, by operation;
      the rules of MPICH for others.
    - ``evidence``: measured times that determined none of its constants, and the errors of the forecast.
    - ``place``: its place in its file. ``changes``: KEY=VALUE, other than in its file.

    What is None, the machine does not have or state. Raises InputError for values that cannot be: constants that are
    negative or not finite, options that exclude one another, a mapping onto nodes that there are not.

    >>> import simcodesign as sc
    >>> machine = sc.Machine.load("crossbar-16")
    >>> machine.name, machine.processors_per_node
    ('crossbar-16', 1)
    """

    def __post_init__(self) -> None:
        for path, value in (self.constants() | self.powers()).items():
            check_constant(path, value, self.place)
        if self.partitions:
            check_partitions(self.partitions, self.nodes, self._common_constants(), self.place, self.disk)
        check_evidence(self.evidence, self.place)
        check_network(self.network, self.place)
        check_switches(self.network, self.place, PATHS[0])
        for kind in self.node_kinds:
            self._check_kind(kind)
        _ = self.placement  # which checks the mapping
        if self.memory is not None:
            object.__setattr__(self, "memory", clocked(self.memory, self.processor, self.place))
        if self.node_memory is not None:
            check_message_memory(self.node_memory, self.memory, self.has_levels, self.place)
            if any(
                one.differs_inside or {"memory.latency", "memory.per_byte"} & {*one.constants}
                for one in self.partitions
            ):
                what = (
                    "node.memory of a machine whose partitions state a memory, caches or a network inside of their own"
                )
                raise InputError(what, self.place, allowed="either, not both")
        if self.capacity_bytes is not None:
            check_constant(CAPACITY, self.capacity_bytes, self.place)
        if self.nodes_by_ranks is None:
            self._check_slow_nodes()
            check_storage_nodes(self.storage, self.network, self.place)
            each = self.processors_per_node if np.ndim(self.processors_of_nodes) == 0 else 1
            check_speeds(self.processor, self.nodes, each, self.place)

    def _check_kind(self, kind: NodeKind) -> None:
        """InputError for nodes that cannot be: networks, controllers and interfaces that do not fit the processors."""
        networks = self.network, kind.node_network, kind.socket_network
        for path, network in zip(PATHS[1:], networks[1:], strict=True):
            if network is not None:
                check_network(network, self.place, path)
                check_switches(network, self.place, path)
        check_local(self.network, kind.processors, self.place)
        check_levels(networks, kind.processors, self.place)
        network = replace(self.network, interfaces=replace(self.network.interfaces, count=kind.interfaces))
        check_interfaces(network, self.place)
        check_nearest_interfaces(network, kind.sockets, self.place)
        if (memory := self._memory_of(kind)) is not None:
            check_memory(memory, kind.processors, self._sockets_of_messages(kind.networks), self.place)
        elif kind.caches is not None:
            raise InputError("caches of a partition without a memory behind them", self.place, allowed="memory")

    def _check_slow_nodes(self) -> None:
        if self.noise_model.slow_nodes is not None:
            self.noise_model.slow_nodes.check(self.nodes)

    @classmethod
    def load(cls, source: str | Path | Mapping[str, object], changes: Mapping[str, object] | None = None) -> Machine:
        """Return the machine of a bundled name, of a file, or of a dictionary with the keys of a file.

        For example ``power-challenge`` or ``my/machine.yaml``; or a variant of it (``power-challenge with nodes=8``).

        ``source``: the name, path or dictionary, which may have dotted paths (``"network.startup"``) and may extend a
        bundled machine or a file of the current folder (``extends``). Quantities are texts with their unit or numbers
        in SI units; ``simcodesign: 1`` may be left out of a dictionary. ``changes`` replaces anything that a file
        specifies, by its dotted path: ``{"nodes": 64, "network.startup": "20 us"}``.

        Raises InputError with file, line and path of what is wrong.

        >>> import simcodesign as sc
        >>> sc.Machine.load("torus-cluster", {"network.startup": "20 us"}).network.message_model.startup_s
        2e-05
        >>> network = {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "1 GB/s"}
        >>> sc.Machine.load({"name": "pair", "nodes": 2, "processor": {"rate": 1e9}, "network": network}).nodes
        2
        """
        machine: Machine = function_of("describe.yaml.files", "machine_from_source")(source, changes)
        return machine

    @cached_property
    def noise_model(self) -> Noise:
        """Its noise; a plain share is the coefficient of variation of computations."""
        if isinstance(self.noise, Noise):
            return self.noise
        return Noise(compute=share_as_distribution(self.noise, "noise", self.place))

    @cached_property
    def varied_parts(self) -> list[str]:
        """The parts of which some ranks have noise: ``compute``, ``disk``, ``memory``, ``network``."""
        return varied_parts(self.partitions, self.noise_model)

    def noises_of(self, part: str, ranks: int) -> list[tuple[Distribution | None, NDArray[np.bool_] | None]]:
        """Return the distributions of a part of noise, None for none.

        Also return which of ranks 0..ranks-1 have each, None for all.
        """
        return noises_of(self.partitions, self.noise_model, self.node_of(ranks), part)

    def sending(self, sends: str | None, used: int | None = None) -> Machine:
        """Return the machine whose messages are sent as ``sends`` has it.

        Through ``used`` interfaces of a rank, None: through all; the same object whenever they are the same.
        """
        if used is None and self.network.message_model.sending(sends) is self.network.message_model:
            return self
        if (sends, used) not in self._by_sends:
            self._by_sends[sends, used] = replace(
                self,
                network=self.network.sending(sends, used),
                node_network=None if self.node_network is None else self.node_network.sending(sends),
                socket_network=None if self.socket_network is None else self.socket_network.sending(sends),
            )
        return self._by_sends[sends, used]

    @cached_property
    def _by_sends(self) -> dict[tuple[str | None, int | None], Machine]:
        return {}

    @property
    def switches(self) -> Switches:
        """The networks whose switches combine messages."""
        return Switches.of(self.network, self.node_kinds)

    def needs_switches(self, label: str, place: Place) -> None:
        """Raise InputError unless its switches combine messages, for the operation ``label`` at ``place``."""
        needs_switches(self.network, self.node_kinds, self.name, label, place)

    def constants(self) -> dict[str, FloatOrArray]:
        """Every constant of this machine, by its path in a machine file, in SI units."""
        constants = self._common_constants()
        for partition in self.partitions:
            constants |= partition.paths()
        return constants

    def of_ranks(self, machine: Machine, ranks: int) -> Machine:
        """Return a machine like this one with the constants of each of ``ranks`` ranks.

        ``machine``: one like this with other constants. If partitions differ, by its node, with the ranks as the last
        axis.
        """
        if not self.partitions:
            return machine
        values = constants_of_ranks(self.partitions, self._common_constants(), self.node_of(ranks))
        return machine.with_constants(values)

    @property
    def partitions_differ(self) -> bool:
        """Whether ranks may have different constants by their nodes, or no accelerator."""
        has_some = self.accelerator is not None
        own = ((one.of_ranks, one.caches, has_some and not one.has_accelerator) for one in self.partitions)
        return any(constants or caches is not None or lacks for constants, caches, lacks in own)

    def on_all_nodes(self, values: Mapping[str, FloatOrArray]) -> dict[str, FloatOrArray]:
        """Add to these constants (``values``, by path) those that partitions state themselves."""
        own = {
            f"partitions.{one.name}.{path}": value
            for path, value in values.items()
            for one in self.partitions
            if path in one.constants
        }
        return {**values, **own}

    @property
    def mean_flop_per_s(self) -> FloatOrArray:
        """Operations per second of a processor, in the mean over all of them."""
        common = self.processor.rate_flop_per_s
        if not self.partitions:
            return common
        counts = [one.nodes * (one.processors_per_node or self.processors_per_node) for one in self.partitions]
        rates = (one.constants.get("processor.rate", common) for one in self.partitions)
        return sum(count * rate for count, rate in zip(counts, rates, strict=True)) / self.processors

    def _common_constants(self) -> dict[str, FloatOrArray]:
        """Return the constants of all nodes for which partitions state no others."""
        model = self.network.message_model
        constants = {
            path: value_of(getattr(self, part), name)
            for path, (part, name, _) in CONSTANTS.items()
            if is_of(path, model)
        }
        left_out = [f"network.{key}" for key in model.in_segments()] if model.segments else []
        for path, inner in zip(PATHS[1:], (self.node_network, self.socket_network), strict=True):
            if inner is not None and inner.message_model.segments:
                left_out += [f"{path}.{key}" for key in model.in_segments()]
        stated = {path: value for path, value in constants.items() if value is not None and path not in left_out}
        return stated | segment_constants(model) | cache_constants(self.memory)

    def powers(self) -> dict[str, FloatOrArray]:
        """Return the powers that the built-in parts state, by their paths in a machine file, in SI units."""
        powers = {path: getattr(getattr(self, part), name, None) for path, (part, name, _) in POWERS.items()}
        return {path: value for path, value in powers.items() if value is not None}

    def varying(self) -> dict[str, FloatOrArray]:
        """All that may be an array, by its path: constants, powers, parameters of the machine, its capacity."""
        values = self.constants() | self.powers()
        values |= {f"{PREFIX}{name}": value for name, value in self.custom.values.items()}
        return values if self.capacity_bytes is None else values | {CAPACITY: self.capacity_bytes}

    @property
    def has_power(self) -> bool:
        """Whether the machine states any power or energy."""
        components = any(component.static_power is not None for component in self.custom.components.values())
        resources = any((one.dynamic_power or one.energy) is not None for one in self.custom.resources.values())
        return bool(self.powers()) or components or resources

    def counts(self) -> dict[str, FloatOrArray]:
        """Return the counts that expressions of the machine may use."""
        own = self.nodes, self.processors_per_node, self.processors
        counts: dict[str, FloatOrArray] = dict(zip(COUNTS, map(float, own), strict=True))
        if self.custom.uses_network:
            of_network = self.network.topology.hardware.counts(self.network.rails)
            counts |= {name: of_network[name] for name in self.custom.network_counts}
        return counts

    def names(self) -> dict[str, FloatOrArray]:
        """Values of its counts, parameters and properties. InputError for one that is missing or not finite."""
        return dict(self._names)

    @cached_property
    def _names(self) -> dict[str, FloatOrArray]:
        return self.custom.names(self.counts())

    def properties(self) -> dict[str, FloatOrArray]:
        """Values of its properties, the metrics that its file defines."""
        names = self.names()
        return {name: names[name] for name in self.custom.properties}

    def totals(self) -> Totals:
        """Rack units, area of dies, price and static power of the whole machine, as far as components say them."""
        return self.custom.totals(self.counts())

    def with_constants(self, values: Mapping[str, FloatOrArray], place: Place | None = None) -> Machine:
        """Return the machine with some constants replaced, e.g. ``{"network.startup": 3e-4}``.

        SI units, arrays allowed. ``place``: their origin, for messages of errors. Powers (``processor.dynamic_power``)
        and its parameters (``machine.NAME``) are replaced likewise; parameters also change the constants that
        are formulas of them, unless these are among ``values`` or were before.

        Constants of another network model are taken only together, all that it requires: then the network is of that
        model. Raises InputError for a path that is no constant and for a value that is not positive or zero and finite.
        """
        here = place or self.place
        own = {path: value for path, value in values.items() if path.startswith(PREFIX)}
        if own:
            others = {path: value for path, value in values.items() if path not in own}
            custom = replace(self.custom, values={**self.custom.values, **self._parameters(own, here)})
            custom = custom.without_formulas(others)
            machine = custom.with_network(replace(self, custom=custom, place=here), own)
            machine = machine.with_constants(custom.derived(machine.counts()) | others, here)
            return replace(machine, custom=custom) if custom.constants else machine
        if (custom := self.custom.without_formulas(values)) is not self.custom:
            return replace(self, custom=custom).with_constants(values, here)
        caches = {name: value for path, value in values.items() if (name := cache_of(path)) is not None}
        if caches:
            for name, value in caches.items():
                check_constant(f"caches.{name}.per_byte", value, here)
            memory = with_cache_constants(self.memory, caches, self.name, here)
            others = {path: value for path, value in values.items() if cache_of(path) is None}
            return replace(self, memory=memory, place=here).with_constants(others, here)
        if of_partitions := {path: value for path, value in values.items() if in_partition(path) is not None}:
            partitions = with_partition_constants(self.partitions, of_partitions, self.name, here)
            others = {path: value for path, value in values.items() if path not in of_partitions}
            return replace(self, partitions=partitions, place=here).with_constants(others, here)
        of_segments = {path: value for path, value in values.items() if segment_at(path) is not None}
        values = {path: value for path, value in values.items() if path not in of_segments}
        before = self.network.message_model
        model = model_of_constants(before, values, self.name, here) or before
        if model is before and replaces_segments(before, values, self.name, here):
            model = replace(before, segments=())
        if of_segments:
            model = replace(model, segments=with_segment_constants(model, of_segments, here))
        changed: dict[str, dict[str, Any]] = {} if model is before else {"network": {"message_model": model}}
        for path, value in values.items():
            part, name = part_and_field(path, here)
            inner = name.rpartition(".")[0]
            if getattr(self, part) is None or (inner and value_of(getattr(self, part), inner) is None):
                raise InputError(f"{self.name} has no {path.rpartition('.')[0]}, so {path} cannot be set", here)
            if not is_of(path, model):
                raise InputError(f"{path} is no constant of the network model {model.name}", here, value=value)
            check_constant(path, value, here)
            changed.setdefault(part, {})[name] = value
        parts = {part: with_values(getattr(self, part), change) for part, change in changed.items()}
        return replace(self, **parts, place=here) if parts else self

    def _parameters(self, values: Mapping[str, FloatOrArray], place: Place) -> dict[str, FloatOrArray]:
        """Return the values of its parameters, by name. InputError for one that it has not, and beyond its limits."""
        parameters = {}
        for path, value in values.items():
            self.parameter(path, place).check(value, place)
            parameters[path.removeprefix(PREFIX)] = value
        return parameters

    def parameter(self, path: str, place: Place | None = None) -> Parameter:
        """Return the parameter that ``path``, ``machine.NAME``, sets. InputError, at ``place``, if there is none."""
        known = self.custom.parameters
        if path.removeprefix(PREFIX) not in known:
            what = f"{self.name} has no machine parameter of this name"
            allowed = nearest(path, [f"{PREFIX}{name}" for name in known])
            raise InputError(what, place or self.place, value=path, allowed=allowed)
        return known[path.removeprefix(PREFIX)]

    def with_ranks(self, ranks: FloatOrArray) -> Machine:
        """Return the machine with the constants that its formulas of P give for so many ranks.

        InputError for a formula that is not finite, and a constant that cannot be used.
        """
        derived = self.custom.derived(self.counts(), ranks)
        return replace(self.with_constants(derived), custom=self.custom) if derived else self

    def with_topology(self, topology: Topology) -> Machine:
        """Return the machine joined by another ``topology``: ``build_topology("graph", 8, graph=my_networkx_graph)``.

        Raises InputError when the mapping places ranks on nodes that the network has not.
        """
        return replace(self, network=replace(self.network, topology=topology), nodes_by_ranks=None)

    def for_ranks(self, ranks: FloatOrArray) -> Machine:
        """Return the machine with as many nodes as ``ranks`` ranks need: by ``nodes: P``, otherwise itself.

        InputError for several numbers of ranks, and for nodes that its kind of network cannot have.
        """
        if self.nodes_by_ranks is None:
            return self
        if np.min(ranks) != np.max(ranks):
            what = f"the nodes of {self.name} are as many as the ranks need, so that P cannot be an array"
            allowed = "one number; a sweep takes them one after another"
            raise InputError(what, self.place, value=ranks, allowed=allowed)
        nodes = -(-int(np.max(ranks)) // self.placement.per_node)
        disk = self.disk
        if disk is not None and self.nodes_by_ranks.shared_disk:
            disk = replace(disk, shared_by=nodes)
        network = replace(self.network, topology=self.nodes_by_ranks.topology(nodes))
        sized = replace(self, network=network, disk=disk)
        sized._check_slow_nodes()
        return sized

    def json_fields(self) -> str:
        """Its name: a description has a file of its own."""
        return self.name
