"""Choice of the engine for a Plan: the compiled one, unless it is not installed, or a small timeline needs details."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.memory_limit import check_memory
from simcodesign.core.native.shared_library import library
from simcodesign.engine.event_contract import Log, OnProgress
from simcodesign.engine.memory_estimate import run_bytes
from simcodesign.generate.plan import NONE, Plan

#: Names of the engines, and the modules with their ``run``, which are loaded when they are used.
ENGINES = {"simpy": "simcodesign.engine.reference.run", "compiled": "simcodesign.engine.native.engine"}
AUTO = "auto"
#: Number of operations and hops above which ``auto`` does not use SimPy for its additional records (the services of
#: stations in a timeline), and warns if the compiled engine is not installed: SimPy takes two seconds for them.
SIMPY_UP_TO = 100_000
#: Weight of a hop if links are shared fairly: at least this many (measured: 3 if flows begin and end together), plus
#: one
#: per this many messages, because each message that begins or ends may change the shares of all others on its route.
TIMES_SHARED, MESSAGES_OF_A_HOP = 5, 100

Run = Callable[..., Log]


def check_engine(engine: object) -> str:
    """Return the name of the engine. InputError unless there is one of this name and it can be used."""
    if engine not in (AUTO, *ENGINES):
        raise InputError("unknown engine", value=engine, allowed=", ".join((AUTO, *ENGINES)))
    if engine == "compiled" and library() is None:
        raise InputError(
            "the compiled engine is not installed: there was no C compiler",
            allowed="simpy; or install a C compiler and simcodesign again",
        )
    return str(engine)


def chosen_engine(plan: Plan, engine: str, records_services: bool = False) -> str:
    """Return the name of the engine that runs this Plan.

    Says once if a large one would need the compiled engine. ``records_services``: see ``run``.
    """
    if engine != AUTO:
        return engine
    is_small = work(plan) <= SIMPY_UP_TO
    if library() is not None:
        return "simpy" if records_services and is_small else "compiled"
    if not is_small:
        _warn_that_it_takes_long()
    return "simpy"


def work(plan: Plan) -> int:
    """Return the operations, and the stations that messages pass.

    Several times each if they are shared fairly (the more, the more messages there are), by each packet if messages
    pass as packets.
    """
    routes = plan.routes
    if routes is None:
        return len(plan)
    sends = np.flatnonzero(routes.route != NONE)
    hops = (routes.start[1:] - routes.start[:-1])[routes.route[sends]]
    if routes.packets is not None:
        return len(plan) + int((hops * routes.packets.count[sends]).sum())
    times = 1 if routes.fair is None else max(TIMES_SHARED, len(sends) / MESSAGES_OF_A_HOP)
    return len(plan) + int(times * hops.sum())


@cache
def _warn_that_it_takes_long() -> None:
    warnings.warn(
        "the compiled engine is not installed (there was no C compiler), so large simulations run on the SimPy engine, "
        "which is some 100 times slower",
        stacklevel=8,
    )


def run(plan: Plan, engine: str, on_progress: OnProgress | None = None, records_services: bool = False) -> Log:
    """Run the Plan on an engine.

    ``records_services``: who is served by which station, which SimPy's alone records. CapacityError when it would not
    fit in memory.
    """
    _check_memory(plan, engine, records_services)
    run: Run = import_module(ENGINES[engine]).run
    return run(plan, on_progress, True) if records_services and engine == "simpy" else run(plan, on_progress)


def _check_memory(plan: Plan, engine: str, has_timeline: bool) -> None:
    what = f"{len(plan):.3g} operations take, on the {'SimPy' if engine == 'simpy' else engine} engine"
    allowed = "the compiled engine, which takes a fraction of it" if engine == "simpy" else None
    check_memory(what, run_bytes(plan, engine, has_timeline), Place(), allowed=allowed)
