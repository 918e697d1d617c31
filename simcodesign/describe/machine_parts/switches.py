"""Switches that combine messages on the way (``in_switch``): which networks of a machine have them.

InfiniBand SHARP between nodes (Graham et al., COM-HPC 2016), NVLink SHARP inside nodes (Klenk et al., ISCA 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.machine_parts.levels import NodeKind
from simcodesign.describe.network.network import Network


@dataclass(frozen=True)
class Switches:
    """The networks between the nodes and inside each node, if their switches combine messages; otherwise None."""

    between: Network | None = None
    within: Network | None = None

    @classmethod
    def of(cls, network: Network, kinds: Sequence[NodeKind]) -> Switches:
        """Return the networks of a machine with these kinds of nodes."""
        inside = kinds[0].node_network
        return cls(
            network if network.combines_in_switches else None,
            inside if inside is not None and inside.combines_in_switches else None,
        )


def check_switches(network: Network, place: Place, path: str) -> None:
    """InputError for switches that combine at a rate, but without a latency, or where processors copy messages."""
    if network.switch_per_byte_s is not None and network.switch_latency_s is None:
        what = f"{path}.in_switch.bandwidth without a latency"
        raise InputError(what, place, value=network.switch_per_byte_s, allowed=f"{path}.in_switch.latency as well")
    if network.combines_in_switches and network.message_model.holds_both_ends:
        what = f"{path}.in_switch, although messages there hold both ends: processors copy them"
        raise InputError(what, place, value=network.switch_latency_s, allowed=f"no {path}.in_switch")


def needs_switches(network: Network, kinds: Sequence[NodeKind], machine: str, label: str, place: Place) -> None:
    """InputError for an operation in switches of a machine whose switches cannot combine, or differ from node to node.

    ``label``: the operation.
    """
    inside = [one for kind in kinds for one in kind.networks]
    if not network.combines_in_switches and not any(one.combines_in_switches for one in inside):
        what = f"{label} needs switches that combine messages, and {machine} states none"
        raise InputError(what, place, allowed="network.in_switch or node.network.in_switch of the machine")
    if any(one.combines_in_switches for one in inside):
        times = {(_bits(kind.node_network), kind.socket_network is None) for kind in kinds}
        if len(times) > 1 or not next(iter(times))[1]:
            what = f"{label} on {machine}, with networks inside sockets or different networks inside nodes"
            raise InputError(what, place, allowed="one node.network with in_switch, or only network.in_switch")


def _bits(network: Network | None) -> tuple[bytes, ...]:
    """Return the times of switches inside nodes, as values that compare equal."""
    times = () if network is None else (network.switch_latency_s, network.switch_per_byte_s)
    return tuple(b"" if one is None else np.asarray(one, dtype=np.float64).tobytes() for one in times)
