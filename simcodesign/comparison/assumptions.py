"""Assumptions on messages, in a few words for each subject: possible causes of a difference of both readings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set

import numpy as np

from simcodesign.core.result import Result
from simcodesign.core.units import format_quantity
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism, switched_on
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.algorithm_choice import ALL_RULES
from simcodesign.describe.network.interfaces import DIRECTION, NEAREST, RANK, ROUND_ROBIN
from simcodesign.describe.network.network import Network

#: Which of several interfaces a message takes, by ``Machine.interface_assignment``.
ASSIGNMENT_WORDS = {
    RANK: "each rank its own",
    NEAREST: "each rank its own of its socket",
    ROUND_ROBIN: "taken one after another",
    DIRECTION: "taken by direction",
}
#: A link or an interface without its effect.
NOT_SHARED = "nothing waits (effect off)"


def message_assumptions(point: DesignPoint, effects: Collection[str]) -> dict[str, str]:
    """Return what a simulation with these effects assumes of messages, by subject.

    Subjects are ``protocol``, ``sender``, ``receiver``, ``links``, ``interfaces``, and ``node`` if nodes have networks
    inside. If phases differ, the assumptions of one ``or`` another are listed.
    """
    assumed = [_of_network(machine, switched_on(effects)) for machine in _machines(point)]
    return {subject: " or ".join(dict.fromkeys(one[subject] for one in assumed)) for subject in assumed[0]}


def collectives_of(point: DesignPoint, simulation: Result) -> tuple[str, ...]:
    """Yield each collective operation of the program once, with its algorithm.

    The algorithm is the given one, or those that ``auto`` takes in this simulation.
    """
    taken: dict[str, list[str]] = {}
    for one in simulation.algorithms:
        taken.setdefault(one.operation, []).append(one.algorithm.replace("_", " "))
    texts: list[str] = []
    for step in Evaluation.at_points(point, by_rank=False).program.demands():
        if isinstance(step.demand, Collective) and np.any(np.asarray(step.repetitions) > 0):
            label = step.demand.label
            chosen = ", ".join(dict.fromkeys(taken.get(label, [])))
            for chooser in ALL_RULES if chosen else ():
                label = label.replace(f"({chooser})", f"({chooser}: {chosen})")
            texts.append(label)
    return tuple(dict.fromkeys(texts))


def _machines(point: DesignPoint) -> Iterator[Machine]:
    """Yield the machine of every demand, with the constants of its phase; without a demand, the machine itself."""
    machines = [step.machine for step in Evaluation.at_points(point, by_rank=False).program.demands()]
    yield from machines or [point.machine]


def _of_network(machine: Machine, on: Set[Mechanism]) -> dict[str, str]:
    network = machine.network
    sender, receiver = _held(network, on)
    node = network.sharing.words if Mechanism.NODE_NETWORKS in on else NOT_SHARED
    return {
        "protocol": _protocol(network),
        "sender": sender,
        "receiver": receiver,
        "links": network.sharing.words if Mechanism.LINKS in on else NOT_SHARED,
        "interfaces": _interfaces(machine) if Mechanism.INTERFACES in on else NOT_SHARED,
        **({"node": node} if machine.has_levels else {}),
    }


def _protocol(network: Network) -> str:
    """Whether a sender continues before its message is received."""
    above_bytes = network.message_model.rendezvous_above_bytes
    if any(segment.rendezvous for segment in network.message_model.segments):
        return f"rendezvous of {_rendezvous_sizes(network)}"
    return "eager" if above_bytes is None else f"rendezvous above {format_quantity(float(above_bytes), 'size')}"


def _rendezvous_sizes(network: Network) -> str:
    """Return the sizes of messages whose segments say that they wait."""
    ends = [float(np.max(segment.up_to_bytes)) for segment in network.message_model.segments]
    texts = ["0 B", *(format_quantity(end, "size") for end in ends[:-1])]
    sizes = [
        f"messages above {low}" + ("" if np.isinf(end) else f" up to {format_quantity(end, 'size')}")
        for low, end, segment in zip(texts, ends, network.message_model.segments, strict=True)
        if segment.rendezvous
    ]
    return ", ".join(sizes)


def _held(network: Network, on: Set[Mechanism]) -> tuple[str, str]:
    """For what a message holds its sender and its receiver."""
    shares = on & {Mechanism.LINKS, Mechanism.INTERFACES, Mechanism.NODE_NETWORKS}
    last = network.sharing.last if shares else None
    return network.message_model.sender_words(last), network.message_model.receiver_words()


def _interfaces(machine: Machine) -> str:
    """How many a node has, whether they send and receive concurrently, and how they are shared."""
    network, interfaces = machine.network, machine.network.interfaces
    assignment = machine.interface_assignment
    differ = [f"{count} per node of {name}" for name, count in machine.interfaces_by_partition.items()]
    several = f"{', '.join(differ) or f'{interfaces.count} per node'}, {ASSIGNMENT_WORDS[assignment]}"
    count = "one per node" if interfaces.count == 1 else several
    is_one = interfaces.count > 1 and assignment != DIRECTION and network.interfaces_have_one_link
    rails = ", all on the one link of the node (rails: 1)" if is_one else ""
    used = "" if interfaces.used is None else f", {interfaces.used} of them by the messages of a rank"
    return f"{count}{used}{rails}, {interfaces.duplex} duplex, {network.sharing.words}"
