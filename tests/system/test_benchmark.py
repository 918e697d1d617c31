"""How fast it is: figures to read, with generous bounds as ratios or CPU seconds of one run. Off by default.

``make benchmark`` runs them; ``-s`` shows the figures.
"""

from __future__ import annotations

import json
import lzma
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import simpy

from simcodesign.analytic.forecast import forecast
from simcodesign.core.memory_limit import memory_bytes
from simcodesign.describe.design_point import bind
from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.engine.reference.run import run
from simcodesign.engine.simulate import simulate
from simcodesign.fitting.fit import Fits, fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.generate.lower import make_plan
from simcodesign.generate.plan import Plan
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.simulate import lru_hits, simulate_hierarchy
from simcodesign.locality.sampling.sampling import sampled_profile
from simcodesign.locality.stack.distances import stack_profile
from simcodesign.locality.streams.kernels import kernel_trace
from simcodesign.locality.traces.trace import ArrayTrace, read_all
from simcodesign.studies.sweep.executors import DaskExecutor, LocalExecutor, SweepExecutor
from simcodesign.studies.sweep.run import run as run_sweep
from simcodesign.studies.sweep.store import Store
from simcodesign.studies.sweep.sweep import sweep_of
from tests import ROOT
from tests.oracles import truth_sets
from tests.processes.local_cluster import LocalCluster
from tests.processes.spinning import POINT_S, spin

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


def process_cpu_s(*arguments: str, repeats: int = 5) -> float:
    """CPU seconds of a Python process, the median of several."""
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


@pytest.mark.parametrize(("command", "ratio"), [("forecast", 6.0), ("simulate", 8.0)])
def test_start_of_a_command(command: str, ratio: float) -> None:
    """The whole process, against the import of NumPy in one; the files are in memory after the first of them."""
    case = ("-m", "simcodesign", command, "jacobi", "torus-cluster", "-P", "4")
    process_cpu_s(*case, repeats=1)
    spent, least = process_cpu_s(*case), process_cpu_s("-c", "import numpy")
    print(f"\n{command}: {spent:.2f} CPU s, NumPy alone {least:.2f} CPU s")
    assert spent <= ratio * least


def plan_of(workload: str, machine, effects=(), **options) -> Plan:
    return make_plan(bind(load_workload(workload), machine, **options), effects)


def test_overhead_over_bare_simpy(benchmark) -> None:
    """The small data set, phase 2, on 16 processors: at most 6 times as long as the same number of bare timeouts.

    Measured: 4.2 times, on a busy machine. The engine is processes, requests and releases in Python, to be read: per
    event it yields to its process through a calendar in Python, where a bare timeout goes through a heap in C.
    """
    machine = load_machine("power-challenge")
    options = {"parameters": {"P": 16}, "preset": "small", "phases": ["stacking"]}
    plan = plan_of("seismic", machine, **options)
    events = run(plan).events
    # In turn, so that both meet the same machine.
    rounds = [(cpu_s(lambda: run(plan), 3), cpu_s(lambda: bare_simpy(events, 16), 3)) for _ in range(5)]
    walk, bare = (min(column) for column in zip(*rounds, strict=True))
    whole = cpu_s(lambda: simulate("seismic", machine, effects="none", **options))
    print(
        f"\n{len(plan)} operations, {events} events: {walk / bare:.2f} times bare SimPy; "
        f"with description, plan and measurement {whole / bare:.2f}"
    )
    benchmark(run, plan)
    assert walk < 6 * bare


def test_burst_with_link_contention(benchmark) -> None:
    """All-to-all burst of 4,096 bytes on a 16x16 mesh with link contention: under 30 CPU seconds.

    Measured: 19.2, 79,000 events per CPU second, on a busy machine; the compiled engine is there for more than that.
    """
    machine = load_machine("mesh-256")
    start = time.process_time()
    plan = plan_of("burst", machine, ("hops", "links"))
    log = benchmark.pedantic(run, (plan,), rounds=1)
    spent = time.process_time() - start
    print(f"\n65,280 messages, {log.events} events: {spent:.2f} CPU s, {log.events / spent:,.0f} events per CPU s")
    assert spent < 30


def test_messages_without_contention(benchmark) -> None:
    """The same burst of 1,024 ranks without contention: at least 70,000 messages per CPU second.

    Measured: 110,000, on a busy machine.
    """
    machine = load_machine("torus-cluster", {"nodes": 256, "network.topology.shape": [4, 8, 8]})
    start = time.process_time()
    plan = plan_of("burst", machine)
    benchmark.pedantic(run, (plan,), rounds=1)
    rate = 1024 * 1023 / (time.process_time() - start)
    print(f"\n1,047,552 messages: {rate:,.0f} messages per CPU s, plan included")
    assert rate > 70_000


def at_scale(case: str, effects: str, engine: str) -> dict[str, float]:
    """A case of tests/scale.py in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "tests.scale", case, effects, engine]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    data = json.loads(done.stdout)
    spent = data["engine_s"]
    print(
        f"\n{case} {effects or 'no contention'} {engine}: {data['messages']:,} messages, {data['hops']:,} hops, Plan "
        f"{data['plan_s']:.2f} s, engine {spent:.2f} s = {data['messages'] / spent / 1e6:.3g} M messages/s, "
        f"{data['events'] / spent / 1e6:.3g} M events/s; the rest {data['measure_s']:.2f} s; "
        f"{data['memory_gb']:.2f} GB"
    )
    return data


#: The table of docs/speed.md: case, effects, and gigabytes that it may take.
END_TO_END = [
    ("W2-16", "", 1),
    ("W2-32", "", 2),
    ("W2-16", "links", 1),
    ("W1-1024", "links", 1),
    ("W2-48", "links", 4),
    ("CG-doubling", "links", 10),
]


@pytest.mark.parametrize(("case", "effects", "limit_gb"), END_TO_END)
def test_simulations_end_to_end(case: str, effects: str, limit_gb: float) -> None:
    """CPU seconds through ``simulate``, the least of three processes of the smaller ones."""
    if memory_bytes() < limit_gb * 1e9:
        pytest.skip(f"needs up to {limit_gb} GB of memory")
    command = [sys.executable, "-m", "tests.scale", case, effects]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)
        for _ in range(3 if limit_gb < 3 else 1)
    ]
    spent, memory_gb = (min(run[name] for run in runs) for name in ("cpu_s", "memory_gb"))
    print(f"\n{case} {effects or 'no contention'}, end to end: {spent:.2f} CPU s, {memory_gb:.2f} GB")
    assert memory_gb < limit_gb


#: Case, effects, engine, and the least number of messages per CPU second of the engine.
RATES = [
    ("W1-64", "", "simpy", 0),
    ("W1-64", "", "compiled", 0),
    ("W1-64", "links", "simpy", 0),
    ("W1-64", "links", "compiled", 0),
    ("W1-256", "", "simpy", 0),
    ("W1-256", "", "compiled", 0),
    ("W1-256", "links", "simpy", 0),
    ("W1-256", "links", "compiled", 0),
    ("W1-1024", "", "simpy", 0),
    ("W1-1024", "", "compiled", 3e6),
    ("W1-1024", "links", "compiled", 0.3e6),
    ("W1-2048", "", "compiled", 0),
    ("W1-2048", "links", "compiled", 0),
    ("W2-16", "", "simpy", 0),
    ("W2-16", "", "compiled", 4e6),
    ("W2-16", "links", "simpy", 0),
    ("W2-16", "links", "compiled", 1.5e6),
    ("W2-32", "", "compiled", 4e6),
    ("W2-32", "links", "compiled", 0),
    ("W3-16", "", "simpy", 0),
    ("W3-16", "", "compiled", 0),
    ("W3-16", "links", "simpy", 0),
    ("W3-16", "links", "compiled", 0),
    ("W3-20", "", "compiled", 0),
    ("W3-20", "links", "compiled", 0),
]


@pytest.mark.parametrize(("case", "effects", "engine", "rate"), RATES)
def test_engines_at_scale(case: str, effects: str, engine: str, rate: float) -> None:
    result = at_scale(case, effects, engine)
    assert result["messages"] > rate * result["engine_s"]


def test_a_halo_exchange_is_generated_quickly() -> None:
    """32^3 ranks, 10 iterations, 6.9 million messages: under 3 s."""
    assert at_scale("W2-32", "", "compiled")["plan_s"] < 3


def test_a_broadcast_to_a_million_ranks() -> None:
    """2^20 ranks, generation and measurement included: under 1.2 s."""
    result = at_scale("W3-20", "", "compiled")
    assert result["plan_s"] + result["engine_s"] + result["measure_s"] < 1.2


@pytest.mark.parametrize(("case", "limit_s", "limit_gb"), [("CG-tree", 60, 10), ("CG-doubling", 300, 16)])
def test_a_conjugate_gradient_iteration_on_a_million_nodes(case: str, limit_s: float, limit_gb: float) -> None:
    """With link contention on a 128x128x64 torus; everything included."""
    if memory_bytes() < limit_gb * 1e9:
        pytest.skip(f"needs up to {limit_gb} GB of memory")
    result = at_scale(case, "links", "compiled")
    assert result["plan_s"] + result["engine_s"] + result["measure_s"] < limit_s
    assert result["memory_gb"] < limit_gb


def test_the_compiled_engine_starts_quickly() -> None:
    """A first small simulation in a fresh process, compiled code cached: under 1.5 s of CPU time."""
    code = (
        "import time; import simcodesign as sc; "
        "sc.simulate('jacobi', 'torus-cluster', engine='compiled'); print(time.process_time())"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    spent = min(float(subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout) for _ in range(3))
    print(f"\nfirst compiled simulation in a process, warm cache: {spent:.2f} CPU s")
    assert spent < 1.5


def test_reading_goal(tmp_path: Path) -> None:
    """A GOAL file of 100 MB: at least 20 MB per CPU second."""
    lines = ["num_ranks 1024"]
    for rank in range(1024):
        lines.append(f"rank {rank} {{")
        for step in range(620):
            lines += [
                f"l{3 * step}: calc {1000 + step} cpu 0",
                f"l{3 * step + 1}: send 12304b to {(rank + 1 + step) % 1024} tag {step} cpu 0",
                f"l{3 * step + 2}: recv 12304b from {(rank - 1 - step) % 1024} tag {step} cpu 0",
                f"l{3 * step + 1} requires l{3 * step}",
                f"l{3 * step + 2} requires l{3 * step + 1}",
            ]
        lines.append("}")
    file = tmp_path / "trace.goal"
    file.write_text("\n".join(lines) + "\n")
    read_goal(file)  # compiled
    size, spent = file.stat().st_size / 1e6, cpu_s(lambda: read_goal(file), 1)
    print(f"\n{size:.0f} MB of GOAL: {size / spent:.0f} MB per CPU s")
    assert size > 20 * spent


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


@pytest.mark.parametrize(
    ("command", "limit_s"),
    [
        (["-c", "import simcodesign"], 0.4),
        (["-m", "simcodesign", "--help"], 0.6),
        (["-c", "from simcodesign import forecast, simulate, compare"], 2.0),
    ],
)
def test_start(command: list[str], limit_s: float) -> None:
    """CPU seconds of a fresh process, the interpreter's own included."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"
    )
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", code, sys.executable, *command], capture_output=True, check=True
            ).stdout
        )
        for _ in range(3)
    ]
    print(f"\n{' '.join(command)}: {min(times):.2f} CPU s")
    assert min(times) < limit_s


# --- Locality -------------------------------------------------------------------------------------------------

ACCESSES = 10_000_000
#: Kernels of ten million accesses or more, cut to that; 0.7 million distinct elements in the stencil and the triad.
LONG_KERNELS = {
    "naive multiply": ("matmul", {"n": 172}),
    "blocked multiply": ("blocked_matmul", {"n": 176, "b": 16}),
    "stencil": ("stencil", {"n": 592, "sweeps": 5}),
    "triad": ("triad", {"n": 233_333, "repeats": 15}),
}


def long_stream(name: str, request: pytest.FixtureRequest) -> np.ndarray:
    """Addresses of a kernel, of a recorded million accesses ten times over, or of a worst case."""
    if name == "gzip":
        with lzma.open(request.getfixturevalue("cases") / "cache" / "gzip_1M.npy.xz") as file:
            return np.tile(np.load(file), 10)
    if name in LONG_KERNELS:
        kernel, sizes = LONG_KERNELS[name]
        return read_all(kernel_trace(kernel, **sizes)).address[:ACCESSES]
    every = np.arange(ACCESSES, dtype=np.uint64)
    if name == "any of 4 M":
        return np.random.default_rng(1).integers(0, 4_000_000, ACCESSES, np.uint64)
    return every if name == "all distinct" else every % np.uint64(1_000_000)


#: Stream, bytes of a key, and the least million accesses per CPU second: worst cases may be slow, but not quadratic.
STREAMS = [
    ("gzip", 64, 55),
    ("naive multiply", 64, 55),
    ("blocked multiply", 64, 55),
    ("stencil", 8, 40),
    ("triad", 8, 40),
    ("all distinct", 1, 1),
    ("loop over 1 M", 1, 1),
    ("any of 4 M", 1, 1),
]


@pytest.mark.parametrize(("name", "line_bytes", "least"), STREAMS)
def test_exact_stack_distances(name: str, line_bytes: int, least: float, request: pytest.FixtureRequest) -> None:
    """10 M accesses counted, one thread: what one run needs, arrays and growth included."""
    address = long_stream(name, request)
    stack_profile(address[:1000], line_bytes)  # compiled
    rate = len(address) / cpu_s(lambda: stack_profile(address, line_bytes)) / 1e6
    print(f"\n{name}: {rate:.1f} M accesses per CPU s")
    assert rate > least


@pytest.mark.parametrize("name", ["gzip", *LONG_KERNELS])
def test_caches(name: str, request: pytest.FixtureRequest) -> None:
    """Three levels of 8 ways, and fully associative LRU: 150 M accesses per CPU second on a quiet machine."""
    address = long_stream(name, request)
    kind = (np.arange(len(address)) % 3 == 2).astype(np.uint8)
    levels = [CacheGeometry(size << 10, 64, 8) for size in (32, 256, 2048)]
    work: dict[str, Callable[[], object]] = {
        "3 levels": lambda: simulate_hierarchy(address, levels),
        "with stores": lambda: simulate_hierarchy(ArrayTrace(address, kind), levels),
        "512 lines": lambda: lru_hits(address, 512),
        "32768 lines": lambda: lru_hits(address, 32768),
        "inclusive": lambda: simulate_hierarchy(address, levels, inclusion="inclusive"),
        "exclusive": lambda: simulate_hierarchy(address, levels, inclusion="exclusive"),
    }
    for call in work.values():
        call()  # compiled
    rate = {what: len(address) / cpu_s(call) / 1e6 for what, call in work.items()}
    print(f"\n{name}: " + ", ".join(f"{what} {value:.0f}" for what, value in rate.items()), end="")
    assert min(rate["3 levels"], rate["512 lines"], rate["32768 lines"]) > 75  # half: other work on the machine


def test_sampled_distances() -> None:
    """A fixed number of keys out of very many."""
    address = np.random.default_rng(1).integers(0, 20_000_000, 3 * ACCESSES, np.uint64) * np.uint64(64)
    sampled_profile(address[:1000])  # compiled
    rate = len(address) / cpu_s(lambda: sampled_profile(address), 2) / 1e6
    print(f"\n{rate:.1f} M accesses per CPU s")
    assert rate > 50


# --- Models of measurements ---------------------------------------------------------------------------------------


def test_models_of_ten_thousand_kernels() -> None:
    """25 points of two parameters each, 5 % noise, with every model read and, apart, every prediction made."""
    kernels = 10_000
    _, values = truth_sets.make(truth_sets.in_space, kernels, 0.05, 5, 3301)
    names = tuple(map(str, range(kernels)))
    data = Measurements(("p", "n"), truth_sets.GRID, names, ("time",) * kernels, values)
    recorded: list[Fits] = []
    fitted_s = cpu_s(lambda: recorded.append(fit(data)), 1)
    read_s = cpu_s(lambda: [one.model for one in recorded[0]], 1)
    predicted_s = cpu_s(lambda: [one.predict(truth_sets.TARGET) for one in recorded[0]], 1)
    print(f"\nfitted in {fitted_s:.1f}, models read in {read_s:.1f}, predicted in {predicted_s:.1f} CPU s")
    assert fitted_s + read_s < 12


# --- Sweeps --------------------------------------------------------------------------------------------------

POINTS = 1000


def swept_s(folder: Path, crew: SweepExecutor) -> tuple[float, float]:
    """Seconds of a sweep of POINTS points with its start, and from its first rows on for one row of them."""
    sweep = sweep_of("jacobi", "crossbar-16", [f"seed=1:{POINTS}:+1"], simulate=True)
    recorded: list[tuple[float, int]] = []
    began = time.monotonic()
    with crew, Store.create(folder / f"{type(crew).__name__}.sqlite", sweep.meta()) as store:
        outcome = run_sweep(
            sweep, store, crew, lambda rows: recorded.append((time.monotonic(), len(rows))), evaluate=spin
        )
    assert outcome.stored == POINTS
    whole = recorded[-1][0] - began
    return whole, (recorded[-1][0] - recorded[0][0]) / (POINTS - recorded[0][1])


def test_two_processes_are_kept_busy(tmp_path: Path) -> None:
    """Of two cores, at least 90 %; the start of the processes, which read SciPy, is not work on points."""
    whole, each = swept_s(tmp_path, LocalExecutor(2))
    print(
        f"\nsweep of {POINTS} points of 20 ms: {whole:.2f} s, busy {POINT_S / 2 / each:.1%} once it runs, "
        f"{POINTS * POINT_S / 2 / whole:.1%} with the start"
    )
    assert POINT_S / 2 / each >= 0.9


def test_dask_has_the_throughput_of_processes(tmp_path: Path) -> None:
    """At least 80 %: a scheduler and two workers here."""
    pytest.importorskip("distributed")
    cluster = LocalCluster(tmp_path)
    try:
        _, ours = swept_s(tmp_path, LocalExecutor(2))
        _, theirs = swept_s(tmp_path, DaskExecutor(cluster.address()))
    finally:
        cluster.close()
    print(f"\nDask with two workers has {ours / theirs:.1%} of the throughput of two processes")
    assert ours / theirs >= 0.8


def test_a_store_of_a_million_points_is_resumed_quickly(tmp_path: Path) -> None:
    """In under three seconds: open it, check that it is of this sweep, know what is left."""
    sweep = sweep_of("jacobi", "crossbar-16", ["seed=1:1000000:+1"], simulate=True)
    file = tmp_path / "million.sqlite"
    with Store.create(file, sweep.meta()) as store:
        for low in range(0, 1_000_000, 20_000):
            points = sweep.points(range(low, low + 20_000))
            store.add(sweep.row(point, {"simulated_makespan_s": 1.0}) for point in points)
    began = time.monotonic()
    with Store.open(file) as store:
        store.check_sweep(sweep)
        assert not len(store.left(sweep.count))
        took = time.monotonic() - began
    print(f"\n10^6 finished points: known after {took:.2f} s, {file.stat().st_size / 1e6:.0f} MB")
    assert took < 3
