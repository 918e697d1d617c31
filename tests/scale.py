"""Large simulations for the benchmarks, each run in a process of its own: ``python -m tests.scale CASE EFFECTS ENGINE``,
or ``python -m tests.scale CASE EFFECTS`` for all of ``simulate``, which also runs in an older checkout.

W1: an all-to-all burst, all sends posted, then all receives. W2: a halo exchange with six neighbours and an allreduce by
recursive doubling, ten times. W3: a binomial broadcast. CG: an iteration of a conjugate gradient: a halo exchange and two
allreduces, up and down a binomial tree or by recursive doubling. One rank per node of a torus.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np

from simcodesign.core.operation_kinds import SEND
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.engine.selection import ENGINES
from simcodesign.engine.simulate import simulate
from simcodesign.engine.to_result import measured
from simcodesign.generate.lower import make_plan
from tests.builders import network_of

BURST = "- all_to_all: {bytes: 4096, algorithm: linear}"
HALO = """
- repeat: 10
  do:
    - compute: {seconds: 20e-6}
    - exchange: {pattern: halo3d, bytes: 12304}
    - allreduce: {bytes: 8}
"""
BROADCAST = "- broadcast: {bytes: 4096}"
CG = """
- compute: {seconds: 20e-6}
- exchange: {pattern: halo3d, bytes: 12304, grid: [128, 128, 64]}
- allreduce: {bytes: 8, algorithm: %s}
- compute: {seconds: 5e-6}
- allreduce: {bytes: 8, algorithm: %s}
"""
TREE, DOUBLING = "reduce_broadcast", "recursive_doubling"

#: Name -> program and torus.
CASES: dict[str, tuple[str, tuple[int, ...]]] = {
    "W1-64": (BURST, (8, 8)),
    "W1-256": (BURST, (16, 16)),
    "W1-1024": (BURST, (32, 32)),
    "W1-2048": (BURST, (32, 64)),
    "W2-16": (HALO, (16, 16, 16)),
    "W2-32": (HALO, (32, 32, 32)),
    "W2-48": (HALO, (48, 48, 48)),
    "W3-16": (BROADCAST, (64, 32, 32)),
    "W3-20": (BROADCAST, (128, 128, 64)),
    "CG-tree": (CG % (TREE, TREE), (128, 128, 64)),
    "CG-doubling": (CG % (DOUBLING, DOUBLING), (128, 128, 64)),
    "warm-up": (HALO, (2, 2, 2)),
}


def described(name: str) -> tuple[Workload, Machine]:
    """The workload and the machine of a case."""
    program, shape = CASES[name]
    text = "simcodesign: 1\nname: scale\nprogram:\n" + "\n".join(f"  {line}" for line in program.strip().split("\n"))
    network = network_of(
        build_topology("torus", int(np.prod(shape)), shape),
        startup_s=1.5e-6,
        per_byte_s=0.5e-9,
        hop_latency_s=1e-7,
        sends="blocking",
    )
    return workload_from(parse_yaml(text, "scale.yaml")), Machine("torus", Processor(1e9), network)


def measure(name: str, effects: tuple[str, ...], engine: str) -> dict[str, float]:
    """CPU seconds of the Plan, of the engine and of the rest of a simulation, and its peak memory."""
    run = import_module(ENGINES[engine]).run
    run(make_plan(bind(*described("warm-up")), effects))  # compiled or loaded from the cache
    point = bind(*described(name))
    times = [time.process_time()]
    plan = make_plan(point, effects)
    times.append(time.process_time())
    log = run(plan)
    times.append(time.process_time())
    result = measured(point, plan, log, effects, 0)
    times.append(time.process_time())
    return {
        "messages": int(np.count_nonzero(plan.kind == SEND)),
        "hops": int(log.served.sum()),
        "events": log.events,
        "makespan_s": float(result.makespan_s),
        **dict(zip(("plan_s", "engine_s", "measure_s"), np.diff(times).tolist(), strict=True)),
        "memory_gb": peak_memory_gb(),
    }


def end_to_end(name: str, effects: tuple[str, ...]) -> dict[str, float]:
    """CPU seconds of ``simulate`` on the compiled engine from the description to the Result, in a process that has
    imported everything and has loaded the compiled code; and its peak memory."""
    chosen = effects or "none"
    simulate(*described("warm-up"), effects=chosen, engine="compiled")
    case = described(name)
    began_s = time.process_time()
    result = simulate(*case, effects=chosen, engine="compiled")
    spent_s = time.process_time() - began_s
    return {"cpu_s": spent_s, "makespan_s": float(result.makespan_s), "memory_gb": peak_memory_gb()}


def peak_memory_gb() -> float:
    """Of this process alone: what getrusage says includes the one that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6


if __name__ == "__main__":
    of_effects = tuple(filter(None, sys.argv[2].split(",")))
    print(
        json.dumps(
            measure(sys.argv[1], of_effects, *sys.argv[3:]) if sys.argv[3:] else end_to_end(sys.argv[1], of_effects)
        )
    )
