"""Random programs and machines, and how far the sum of closed forms is from the simulation without effects on them.

``python -m tests.random_programs 1000`` prints the range of simulated / forecast over seeds 0 to 999, for both models of
messages: the figures in the documentation.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from textwrap import indent

from simcodesign.analytic.forecast import forecast
from simcodesign.core.result import Result
from simcodesign.describe.demands.collective import ALGORITHMS, SIGNALS
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests.builders import machine, network, workload

#: Numbers of ranks, sizes of messages in bytes, and times in microseconds, all as likely.
RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 24, 27)
SIZES_BYTES = (0, 8, 1000, 20_000)
TIMES_US = (0.0, 0.3, 1.0, 4.0, 20.0)
NODES = 32


def operations() -> list[str]:
    """One of each collective algorithm and halo exchange, with BYTES for their size."""
    algorithms = [(name, algorithm) for name, several in ALGORITHMS.items() for algorithm in several]
    collectives = [f"{name}: {{bytes: BYTES, algorithm: {way}}}" for name, way in algorithms if name not in SIGNALS]
    signals = [f"{name}: {{}}" for name in SIGNALS]
    halos = [
        f"exchange: {{pattern: halo{dims}d, bytes: BYTES, periodic: {periodic}}}"
        for dims in (1, 2, 3)
        for periodic in ("true", "false")
    ]
    return collectives + signals + halos


def random_program(rng: random.Random) -> str:
    """Steps of a program in YAML: computations, collectives and exchanges that all ranks do alike, and loops of them."""
    return "\n".join(_steps(rng, 0))


def _steps(rng: random.Random, depth: int) -> Iterator[str]:
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        if depth < 2 and rng.random() < 0.4:
            body = indent("\n".join(_steps(rng, depth + 1)), "    ")
            yield f"- repeat: {rng.choice((0, 1, 2, 3, 6))}\n  do:\n{body}"
        elif rng.random() < 0.25:
            yield f"- compute: {{seconds: {rng.choice(TIMES_US)}e-6}}"
        else:
            yield f"- {rng.choice(operations()).replace('BYTES', str(rng.choice(SIZES_BYTES)))}"


def random_machine(rng: random.Random, model: str) -> Machine:
    """A crossbar, all of whose times are random: Hockney's with all ways of holding a sender."""

    def time_s() -> float:
        return rng.choice(TIMES_US) * 1e-6

    per_byte_s = rng.choice((0.0, 1e-10, 1e-9))
    if model == "loggop":
        own = {"latency_s": time_s(), "overhead_s": time_s(), "gap_s": time_s()}
        own |= {"overhead_per_byte_s": rng.choice((0.0, 1e-9))}
    else:
        own = {"startup_s": time_s(), "receive_overhead_s": time_s()}
        own |= {"hop_latency_s": time_s()}
        own |= rng.choice(({}, {"hops_hold_sender": False}, {"sends": "nonblocking"}))
    return machine(network(NODES, model=model, per_byte_s=per_byte_s, distance="one", **own))


def random_case(seed: int, model: str) -> tuple[Workload, Machine, int]:
    """A program, a machine and a number of ranks."""
    rng = random.Random(f"{model} {seed}")
    return workload(random_program(rng)), random_machine(rng, model), rng.choice(RANKS)


def readings(seed: int, model: str) -> tuple[Result, Result]:
    """The forecast and the simulation without effects of a random case."""
    program, where, ranks = random_case(seed, model)
    return forecast(program, where, {"P": ranks}), simulate(program, where, {"P": ranks}, effects="none")


def main(count: int) -> None:
    """Print the range, the quartiles, and how often both are the same to rounding."""
    for model in ("hockney", "loggop"):
        pairs = [readings(seed, model) for seed in range(count)]
        ratios = sorted(float(b.makespan_s) / float(a.makespan_s) for a, b in pairs if float(a.makespan_s))
        same = sum(abs(ratio - 1) < 1e-9 for ratio in ratios)
        marks = [ratios[len(ratios) * share // 100] for share in (5, 25, 50, 75, 95)]
        shown = ", ".join(f"{mark:.3f}" for mark in marks)
        print(f"{model}: {len(ratios)} programs, simulated / forecast {ratios[0]:.3f} to {ratios[-1]:.3f}")
        print(f"    percentiles 5, 25, 50, 75, 95: {shown}; the same in {same / len(ratios):.0%}")
        given = [(a.pipelined.makespan_s, float(b.makespan_s)) for a, b in pairs if a.pipelined and float(a.makespan_s)]
        times = sorted(seen_s / said_s for said_s, seen_s in given if said_s)
        if times:
            same = sum(abs(ratio - 1) < 1e-9 for ratio in times)
            print(f"    simulated / pipelined {times[0]:.3f} to {times[-1]:.3f}; the same in {same / len(times):.0%}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
