"""Which engine runs a Plan: SimPy for small ones, the compiled engine for large ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.jit import HAVE_NUMBA
from simcodesign.core.memory_limit import check_memory
from simcodesign.engine.event_contract import Log, OnProgress
from simcodesign.engine.memory_estimate import run_bytes
from simcodesign.generate.plan import NONE, Plan

#: Names of the engines, and the modules with their ``run``, which are loaded when they are used.
ENGINES = {"simpy": "simcodesign.engine.reference.run", "compiled": "simcodesign.engine.compiled.engine"}
#: The same for Plans by the rules of LogGOPSim.
LOGGOPSIM = {"simpy": "simcodesign.engine.reference.run", "compiled": "simcodesign.engine.compiled.loggopsim"}
AUTO = "auto"
#: Operations and hops above which ``auto`` takes the compiled engine. CPU seconds of ``simulate jacobi torus-cluster
#: --set P=64 --engine ...`` as a whole, least of three, the compiled engine out of its cache:
#:
#:     no effects   52,000: SimPy 1.9, compiled 2.7    103,000: 2.4, 2.8    206,000: 2.6, 2.5
#:     links        40,000: SimPy 1.9, compiled 2.5     79,000: 2.1, 2.3    157,000: 2.9, 2.2
#:
#: They meet at 180,000 and at 95,000; below the limit 0.7 s at most are lost, above it SimPy takes ever longer. The
#: first run of an installation compiles for 74 CPU seconds more. That is paid once, so it does not count: what an
#: engine is chosen by must not depend on what has run before.
SIMPY_UP_TO = 100_000
#: How many hops a hop counts for where links are shared fairly: so many at least (measured: 3 where flows begin and end
#: together), and one for so many messages, for each that begins or ends may change the shares of all that are on their
#: way. CPU seconds of the burst on ``mesh-256``, links and interfaces shared fairly, without the start of the engines:
#:
#:     32 ranks, 992 messages: SimPy 0.4, compiled 0.03    48 ranks, 2,256 messages: 3.3, 0.04
#:
#: The least alone would have them at 42,000 and 98,500, both below the limit.
TIMES_SHARED, MESSAGES_OF_A_HOP = 5, 100

Run = Callable[..., Log]


def check_engine(engine: object) -> str:
    """The name of the engine. InputError unless there is one of this name and it can be used."""
    if engine not in (AUTO, *ENGINES):
        raise InputError("engine", value=engine, allowed=", ".join((AUTO, *ENGINES)))
    if engine == "compiled" and not HAVE_NUMBA:
        raise InputError(
            "the compiled engine needs Numba, which is not installed", allowed="pip install simcodesign[fast]"
        )
    return str(engine)


def chosen_engine(plan: Plan, engine: str) -> str:
    """The name of the engine that runs this Plan. Says once if it would be the compiled one but for Numba."""
    if engine != AUTO:
        return engine
    if work(plan) <= SIMPY_UP_TO:
        return "simpy"
    if not HAVE_NUMBA:
        _warn_that_numba_is_missing()
    return "compiled" if HAVE_NUMBA else "simpy"


def work(plan: Plan) -> int:
    """Operations, and stations that messages pass: several times each where they are shared fairly (the more, the
    more messages there are), by each packet where messages pass as packets."""
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
def _warn_that_numba_is_missing() -> None:
    warnings.warn(
        "Numba is not installed, so large simulations run on the SimPy engine, which is some 100 times slower "
        "(pip install simcodesign[fast])",
        stacklevel=8,
    )


def run(plan: Plan, engine: str, on_progress: OnProgress | None = None, records_services: bool = False) -> Log:
    """Run the Plan on an engine. ``records_services``: who is served by which station, which SimPy's alone records.
    CapacityError when it would not fit in memory."""
    _check_memory(plan, engine, records_services)
    run: Run = import_module((ENGINES if plan.loggops is None else LOGGOPSIM)[engine]).run
    return run(plan, on_progress, True) if records_services and engine == "simpy" else run(plan, on_progress)


def _check_memory(plan: Plan, engine: str, has_timeline: bool) -> None:
    what = f"{len(plan):.3g} operations take, on the {'SimPy' if engine == 'simpy' else engine} engine"
    allowed = "the compiled engine, which takes a fraction of it" if engine == "simpy" else None
    check_memory(what, run_bytes(plan, engine, has_timeline), Place(), allowed=allowed)
