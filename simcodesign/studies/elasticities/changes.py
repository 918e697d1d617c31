"""The changes that are tried: each makes one thing of a machine or workload better by the same factor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import dimension_at
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import CacheLevel
from simcodesign.describe.network.network import LocalMessages, Network
from simcodesign.describe.network.size_segments import UP_TO, segment_at
from simcodesign.describe.resources import PREFIX
from simcodesign.describe.scenario import Scenario

#: Constants that are better when they are larger, in addition to rates; all others are costs.
LARGER_IS_BETTER = (
    *("processor.clock", "memory.outstanding", "network.S", "failures.mtbf"),
    *("memory.prefetch.streams", "memory.prefetch.depth"),
    *("accelerator.memory.capacity", "node.memory.cache", "storage.metadata_rate"),
)
#: Constants that are better when they are larger, up to 1.
_SHARES = ("accelerator.efficiency", "accelerator.attention_efficiency")
#: A bandwidth of the network, those parts of it that a message cannot outrun, and the effects that look at these.
_MESSAGE_BYTES = ("network.per_byte", "network.G")
_LINK_BYTES, _INTERFACE_BYTES = "network.link_per_byte", "network.interfaces.per_byte"
_LOADED_BYTES = "network.interfaces.loaded_per_byte"
_EFFECTS_OF = {
    _LINK_BYTES: ("links",),
    _INTERFACE_BYTES: ("interfaces",),
    _LOADED_BYTES: ("interfaces",),
    "failures.mtbf": ("failures",),
}
#: Groups of links that are tried one by one; a graph may have as many as it has links.
MOST_GROUPS = 12
#: Ends the name of a part all of whose constants get better together; each does so by itself, too.
AS_A_WHOLE = "as a whole"


@dataclass(frozen=True)
class Change:
    """One thing that gets better: ``what`` it is.

    The ``part`` of the machine, ``workload`` or ``algorithm`` that it belongs to; ``to``: the scenario with it, or an
    InputError if there can be none.

    ``effects``: the simulation looks at it with one of these only; empty if it always does. ``path``: of a constant.
    """

    what: str
    part: str
    to: Callable[[Scenario], Scenario]
    path: str = ""
    effects: tuple[str, ...] = ()


def machine_changes(machine: Machine, factor: float) -> Iterator[Change]:
    """All of a machine that may be better: rates and sizes ``factor`` times, times and costs divided by it.

    The machine's own parameters get larger, because their better side is unknown.
    """
    yield from _constants(machine, factor)
    yield from _links_and_interfaces(machine, factor)
    yield from _groups_of_links(machine, factor)
    yield from _within_nodes(machine, factor)
    yield from _caches(machine, factor)
    yield from _whole_disk(machine, factor)
    for name, value in machine.custom.values.items():
        path = f"{PREFIX}{name}"
        yield Change(f"{path} (larger)", "machine", partial(_with_constants, {path: value * factor}), path)


def better(path: str, value: FloatOrArray, factor: float) -> FloatOrArray:
    """Return the constant of a machine, better by a factor; a fraction at most 1."""
    segment = segment_at(path)
    larger = path in LARGER_IS_BETTER or dimension_at(path) == "rate" or (segment is not None and segment[1] == UP_TO)
    if path in _SHARES:
        return np.minimum(value * factor, np.maximum(value, 1.0))
    return value * factor if larger else value / factor


def _with_constants(values: dict[str, FloatOrArray], scenario: Scenario) -> Scenario:
    return replace(scenario, machine=scenario.machine.with_constants(values))


def _on_machine(change: Callable[[Machine], Machine], scenario: Scenario) -> Scenario:
    return replace(scenario, machine=change(scenario.machine))


def _constants(machine: Machine, factor: float) -> Iterator[Change]:
    """Each constant but those that are 0, and shares of 1.

    Messages cannot outrun links and interfaces, which get faster with them.
    """
    constants = machine.constants()
    for path, value in constants.items():
        if not np.any(np.asarray(value) != 0) or (path in _SHARES and np.all(np.asarray(value) >= 1)):
            continue
        paths, what = [path], path
        segment = segment_at(path)
        if path in _MESSAGE_BYTES or (segment is not None and segment[1] in ("per_byte", "G")):
            # Among segments, only the fastest messages might outrun what they pass.
            least = value / factor if segment is not None else 0.0
            others = [other for other in (_LINK_BYTES, _INTERFACE_BYTES) if other in constants]
            paths += [other for other in others if np.any(np.asarray(constants[other]) > least)]
            what += "" if segment is not None and len(paths) == 1 else " (messages, links and interfaces)"
        if segment is not None and segment[1] == UP_TO:
            what += " (larger)"
        values = {one: better(one, constants[one], factor) for one in paths}
        effects = _EFFECTS_OF.get(path, ())
        yield Change(what, path.partition(".")[0], partial(_with_constants, values), path, effects)


def _links_and_interfaces(machine: Machine, factor: float) -> Iterator[Change]:
    """Links alone and interfaces alone, if they are as fast as messages without a constant of their own."""
    network, constants = machine.network, machine.constants()
    for path, words in ((_LINK_BYTES, "links"), (_INTERFACE_BYTES, "interfaces")):
        differs = path == _LINK_BYTES and network.has_own_links
        if path not in constants and not differs and np.any(np.asarray(network.message_model.least_s_per_byte) > 0):
            faster = partial(_with_constants, {path: network.message_model.least_s_per_byte / factor})
            yield Change(f"bandwidth of {words} alone", "network", faster, path, _EFFECTS_OF[path])


def _groups_of_links(machine: Machine, factor: float) -> Iterator[Change]:
    """Yield the links of each group alone, if there are several, or if they have speeds of their own."""
    network = machine.network
    groups = [place for place, group in enumerate(network.topology.link_groups) if group.links]
    if (len(groups) < 2 and not network.has_own_links) or not 1 <= len(groups) <= MOST_GROUPS:
        return
    for place in groups:
        name = network.topology.link_groups[place].name
        for what, values in (("bandwidth", network.links_s_per_byte), ("latency", network.link_latencies_s)):
            if np.any(np.asarray(values[place]) > 0):
                faster = partial(_with_faster_group, place, what, factor)
                effects = ("links",) if what == "bandwidth" else ("hops",)
                yield Change(f"{what} of links of {name}", "network", partial(_on_machine, faster), effects=effects)


def _with_faster_group(place: int, what: str, factor: float, machine: Machine) -> Machine:
    """Return the machine with a better bandwidth, or latency, of one group of links."""
    network = machine.network
    speeds = {
        "bandwidth": [1 / float(per_byte_s) for per_byte_s in network.links_s_per_byte],
        "latency": [float(latency_s) for latency_s in network.link_latencies_s],
    }
    speeds[what][place] *= factor if what == "bandwidth" else 1 / factor
    topology = network.topology.with_speeds(tuple(speeds["bandwidth"]), tuple(speeds["latency"]))
    own = replace(network, topology=topology, link_per_byte_s=None, hop_latency_s=Network.hop_latency_s)
    return replace(machine, network=own)


def _within_nodes(machine: Machine, factor: float) -> Iterator[Change]:
    """Yield startup and bandwidth of messages that stay within a node, and of those between its sockets.

    As far as the machine states them.
    """
    for name, words in (("node", "within nodes"), ("socket", "between sockets")):
        messages: LocalMessages | None = getattr(machine.network, name)
        if messages is None:
            continue
        for what, key in (("startup", "startup_s"), ("bandwidth", "per_byte_s")):
            faster = _faster_messages(messages, key, factor)
            if faster != messages:
                change = partial(_on_machine, partial(_with_local_messages, name, faster))
                yield Change(f"network.{name}.{what} (messages {words})", "network", change)


def _faster_messages(messages: LocalMessages, key: str, factor: float) -> LocalMessages:
    """Messages of which one cost is lower, in every segment of sizes."""
    pieces: list[dict[str, Any]] = [{key: getattr(one, key) / factor} for one in messages.segments]
    segments = tuple(replace(one, **lower) for one, lower in zip(messages.segments, pieces, strict=True))
    whole: dict[str, Any] = {key: getattr(messages, key) / factor}
    return replace(messages, segments=segments, **whole)


def _with_local_messages(name: str, messages: LocalMessages, machine: Machine) -> Machine:
    changed: dict[str, Any] = {name: messages}
    return replace(machine, network=replace(machine.network, **changed))


def _whole_disk(machine: Machine, factor: float) -> Iterator[Change]:
    """All constants of the disk together, if it has several."""
    constants = machine.constants()
    paths = [path for path, value in constants.items() if path.startswith("disk.") and np.any(np.asarray(value) != 0)]
    if len(paths) > 1:
        values = {path: better(path, constants[path], factor) for path in paths}
        yield Change(f"disk {AS_A_WHOLE}", "disk", partial(_with_constants, values))


def _caches(machine: Machine, factor: float) -> Iterator[Change]:
    """Yield the latency of each cache, and its size in whole sets."""
    memory = machine.memory
    for place, level in enumerate(() if memory is None else memory.caches):
        assert memory is not None
        geometry = memory.geometries()[place]
        unit = level.ways or 1
        lines = max(round(geometry.lines * factor / unit), geometry.lines // unit + 1) * unit
        for key, change in (
            ("latency", replace(level, latency_s=level.latency_s / factor)),
            ("size", replace(level, size_bytes=lines * memory.line_bytes)),
        ):
            faster = partial(_on_machine, partial(_with_level, place, change))
            yield Change(f"caches.{level.name}.{key}", "memory", faster)


def _with_level(place: int, level: CacheLevel, machine: Machine) -> Machine:
    memory = machine.memory
    assert memory is not None
    caches = (*memory.caches[:place], level, *memory.caches[place + 1 :])
    return replace(machine, memory=replace(memory, caches=caches))
