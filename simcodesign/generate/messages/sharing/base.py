"""The rules by which messages share the stations of their routes, found by the class of the description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.registry import Registry
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.hockney import BLOCKING
from simcodesign.describe.network.sharing import Fcfs
from simcodesign.generate.plan import Plan

ENTRY_POINTS = "simcodesign.simulated_sharing"
#: Class of the description -> the Plan whose messages share their stations so: ``made(plan, machine, rule)``.
SHARED: Registry[Any, Callable[[Plan, Machine, Any], Plan]] = Registry("simulation of sharing", __name__, ENTRY_POINTS)


def _hold_both_ends(plan: Plan, machine: Machine, sends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each of these messages holds its sender, and its receiver.

    For as long as it would take if it were alone. Messages of others, with numbers after all operations, do not.
    """
    holds = np.array([network.message_model.holds_both_ends for network in machine.levels])
    both = np.zeros(len(sends), bool)
    if holds.any():
        own = sends < len(plan)
        ends = (plan.rank[sends[own]].astype(np.int64), plan.peer[sends[own]].astype(np.int64))
        both[own] = holds[machine.level_of(plan.ranks, *ends)]
    return both


def shared(plan: Plan, machine: Machine) -> Plan:
    """Return the Plan whose messages share stations as the network of the machine specifies.

    The same one without routes.
    """
    rule = machine.network.sharing
    return plan if plan.routes is None else SHARED.of(rule)(plan, machine, rule)


def senders_held(plan: Plan, machine: Machine, sends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether these messages hold their senders until their bytes have passed, (n,).

    As the machine or operation specifies. Messages that hold both ends do not: how long that is does not depend on what
    they share.
    """
    held = np.full(len(sends), machine.network.message_model.bytes_hold_sender)
    if plan.holds is not None:
        own = sends < len(plan)  # they come before messages of others
        held[own] = plan.holds[sends[own]]
    return held & ~_hold_both_ends(plan, machine, sends)


def held_until_arrival(machine: Machine) -> bool:
    """Return whether senders that their bytes hold are held by the flight of the messages as well."""
    return machine.network.message_model.sending(BLOCKING).flight_holds_sender


def _in_turn(plan: Plan, machine: Machine, rule: Fcfs) -> Plan:
    """Return the Plan itself, whose messages take turns at every station."""
    return plan


SHARED.add(Fcfs, _in_turn)
