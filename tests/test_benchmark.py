"""How fast it is: figures to read, with generous bounds as ratios or CPU seconds of one run. Off by default.

``make benchmark`` runs them; ``-s`` shows the figures.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
import simpy

from simcodesign.analytic.forecast import forecast
from simcodesign.describe.files import load_machine, load_workload
from simcodesign.describe.setting import set_up
from simcodesign.engine.simpy_engine import run
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from simcodesign.generate.plan import Plan

pytestmark = pytest.mark.benchmark


def cpu_s(work: Callable[[], object], repeats: int = 5) -> float:
    """CPU seconds of the quickest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def bare_simpy(events: int, processes: int) -> None:
    """The same number of timeouts in plain SimPy."""
    env = simpy.Environment()

    def wait(count: int, delay: float):
        for _ in range(count):
            yield env.timeout(delay)

    for number in range(processes):
        env.process(wait(events // processes, 1.0 + number / 1000))
    env.run()


def plan_of(workload: str, machine, effects=(), **options) -> Plan:
    return make_plan(set_up(load_workload(workload), machine, **options), effects)


def test_overhead_over_bare_simpy(benchmark) -> None:
    """The small data set, phase 2, on 16 processors: at most 1.5 times the bare timeouts that the engine needs."""
    machine = load_machine("power-challenge")
    options = {"parameters": {"P": 16}, "preset": "small", "phases": ["stacking"]}
    plan = plan_of("seismic", machine, **options)
    events = run(plan).events
    # In turn, so that both meet the same machine.
    rounds = [(cpu_s(lambda: run(plan), 3), cpu_s(lambda: bare_simpy(events, 16), 3)) for _ in range(5)]
    walk, bare = (min(column) for column in zip(*rounds, strict=True))
    whole = cpu_s(lambda: simulate("seismic", machine, effects="none", **options))
    print(f"\n{len(plan)} operations, {events} events: {walk / bare:.2f} times bare SimPy; "
          f"with description, plan and measurement {whole / bare:.2f}")  # fmt: skip
    benchmark(run, plan)
    assert walk < 1.5 * bare


def test_burst_with_link_contention(benchmark) -> None:
    """All-to-all burst of 4,096 bytes on a 16x16 mesh with link contention: under 6 CPU seconds."""
    machine = load_machine("mesh-256")
    start = time.process_time()
    plan = plan_of("burst", machine, ("hops", "links"))
    log = benchmark.pedantic(run, (plan,), rounds=1)
    spent = time.process_time() - start
    print(f"\n65,280 messages, {log.events} events: {spent:.2f} CPU s, {log.events / spent:,.0f} events per CPU s")
    assert spent < 6


def test_messages_without_contention(benchmark) -> None:
    """The same burst of 1,024 ranks without contention: at least 150,000 messages per CPU second."""
    machine = load_machine("torus-cluster", {"nodes": 256, "network.topology.shape": [4, 8, 8]})
    start = time.process_time()
    plan = plan_of("burst", machine)
    benchmark.pedantic(run, (plan,), rounds=1)
    rate = 1024 * 1023 / (time.process_time() - start)
    print(f"\n1,047,552 messages: {rate:,.0f} messages per CPU s, plan included")
    assert rate > 150_000


@pytest.mark.parametrize("workload", ["seismic", "cg-iteration", "jacobi", "transpose", "collectives"])
def test_forecast_of_a_million_points(benchmark, workload: str) -> None:
    """10^6 design points in under 0.5 s."""
    machine = load_machine("power-challenge-mesh", {"nodes": 2048})
    chance = np.random.default_rng(1)
    points = {"P": chance.integers(1, 2049, 10**6), "network.startup": chance.uniform(1e-6, 1e-3, 10**6)}
    described = load_workload(workload)
    spent = cpu_s(lambda: forecast(described, machine, points), 3)
    print(f"\n{workload}: {spent:.2f} CPU s")
    benchmark.pedantic(forecast, (described, machine, points), rounds=1)
    assert spent < 0.5


@pytest.mark.parametrize(("command", "limit_s"), [
    (["-c", "import simcodesign"], 0.4),
    (["-m", "simcodesign", "--help"], 0.6),
    (["-c", "from simcodesign import forecast, simulate, compare"], 2.0),
])  # fmt: skip
def test_start(command: list[str], limit_s: float) -> None:
    """CPU seconds of a fresh process, the interpreter's own included."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); " \
           "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"  # fmt: skip
    times = [
        float(subprocess.run([sys.executable, "-c", code, sys.executable, *command], capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    print(f"\n{' '.join(command)}: {min(times):.2f} CPU s")
    assert min(times) < limit_s
