"""Run a Plan on the reference engine: which classes simulate it is chosen here, by its records."""

from __future__ import annotations

import gc
from types import NoneType

from simcodesign.engine.event_contract import Log, OnProgress, check_finished
from simcodesign.engine.reference.engine import Simulation
from simcodesign.engine.reference.fair_links import Flows
from simcodesign.engine.reference.loggopsim import LogGOPSimulation
from simcodesign.engine.reference.messages import Messages
from simcodesign.engine.reference.others import Others
from simcodesign.engine.reference.packets import Packets
from simcodesign.generate.plan import FairSharing, LogGOPS, PacketSharing, Plan

#: The processes of ranks, by the rules of the Plan.
SIMULATIONS: dict[type, type[Simulation]] = {NoneType: Simulation, LogGOPS: LogGOPSimulation}
#: The processes of messages, by how they share stations.
MESSAGES: dict[type, type[Messages]] = {NoneType: Messages, FairSharing: Flows, PacketSharing: Packets}


def run(plan: Plan, on_progress: OnProgress | None = None, records_services: bool = False) -> Log:
    """Simulate the Plan to its end. DeadlockError when ranks wait for each other."""
    sharing = None if plan.routes is None else plan.routes.fair or plan.routes.packets
    # No reference cycles arise here, and the search for them takes a quarter of a run with a million messages.
    collects_garbage = gc.isenabled()
    gc.disable()
    try:
        simulation = SIMULATIONS[type(plan.loggops)](plan, MESSAGES[type(sharing)])
        simulation.env.services = [] if records_services else None
        if plan.background is not None:
            Others(simulation)
        simulation.run(on_progress)
    finally:
        if collects_garbage:
            gc.enable()
    check_finished(plan, simulation.finish_s)
    return simulation.log()
