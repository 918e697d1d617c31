"""The rules by which messages share the stations of their routes, found by the class of the description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcodesign.core.registry import Registry
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.sharing import Fcfs
from simcodesign.generate.plan import Plan

ENTRY_POINTS = "simcodesign.simulated_sharing"
#: Class of the description -> the Plan whose messages share their stations so: ``made(plan, machine, rule)``.
SHARED: Registry[Any, Callable[[Plan, Machine, Any], Plan]] = Registry("simulation of sharing", __name__, ENTRY_POINTS)


def shared(plan: Plan, machine: Machine) -> Plan:
    """The Plan whose messages share stations as the network of the machine says; the same one without routes."""
    rule = machine.network.sharing
    return plan if plan.routes is None else SHARED.of(rule)(plan, machine, rule)


def _in_turn(plan: Plan, machine: Machine, rule: Fcfs) -> Plan:
    """The Plan itself, whose messages take turns at every station."""
    return plan


SHARED.add(Fcfs, _in_turn)
