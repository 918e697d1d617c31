"""Fair sharing of links beside SimGrid: the same makespans, and how long both take.

Needs a C++ compiler and SimGrid (Debian: g++, libsimgrid-dev). Tori have odd extents, so that no route has a choice.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import numpy as np
import pytest

from simcodesign.describe.design_point import bind
from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.yaml.files import workload_of
from simcodesign.engine.selection import run
from simcodesign.generate.lower import make_plan
from tests.builders import read_machine
from tests.peers.simgrid_runs import NotThereError, compile_program
from tests.peers.simgrid_runs import run as run_simgrid
from validation.peers.simgrid import PLAIN, Flows

pytestmark = pytest.mark.benchmark

Messages = list[tuple[int, int, int]]


def permutation(ranks: int, seed: int, sizes_differ: bool = False) -> Messages:
    """One message of 1 MB, or of 0.1 to 2 MB, from every rank to another one of its own."""
    random = Random(seed)
    targets = random.sample(range(ranks), ranks)
    sizes = [random.randint(100_000, 2_000_000) if sizes_differ else 1_000_000 for _ in targets]
    return [(rank, *rest) for rank, rest in enumerate(zip(targets, sizes, strict=True)) if rank != rest[0]]


def all_at_once(ranks: int) -> Messages:
    """100 kB from every rank to every other one."""
    return [(source, target, 100_000) for source in range(ranks) for target in range(ranks) if source != target]


PATTERNS: dict[str, tuple[tuple[int, ...], Messages]] = {
    "permutation": ((31, 31), permutation(961, 1)),
    "permutation, sizes differ": ((31, 31), permutation(961, 2, sizes_differ=True)),
    "ten permutations": ((31, 31), [message for seed in range(10) for message in permutation(961, seed)]),
    "all to all": ((15, 15), all_at_once(225)),
}


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SimGrid's side, compiled."""
    try:
        return compile_program(tmp_path_factory.mktemp("simgrid"))
    except NotThereError as error:
        pytest.skip(str(error))


def as_schedule(ranks: int, messages: Messages) -> str:
    """For us: each message on a processor of its own at both ends, so that none waits for another."""
    lines: list[list[str]] = [[] for _ in range(ranks)]
    for number, (source, target, size_bytes) in enumerate(messages):
        for rank, what in ((source, f"send {size_bytes}b to {target}"), (target, f"recv {size_bytes}b from {source}")):
            place = len(lines[rank]) + 1
            lines[rank].append(f"l{place}: {what} tag {number} cpu {place}")
    return "\n".join(
        [f"num_ranks {ranks}", *(line for rank in range(ranks) for line in (f"rank {rank} {{", *lines[rank], "}"))]
    )


@pytest.mark.parametrize("name", PATTERNS)
def test_flows(name: str, program: Path, tmp_path: Path) -> None:
    shape, messages = PATTERNS[name]
    ranks = int(np.prod(shape))
    (tmp_path / "flows.goal").write_text(as_schedule(ranks, messages))
    makespan_us, theirs_s = run_simgrid(program, Flows(tuple(messages), shape), PLAIN, tmp_path)

    torus = read_machine(
        f"simcodesign: 1\nname: torus\nnodes: {ranks}\nprocessor: {{rate: 1 GFLOP/s}}\nnetwork:\n  sends: blocking\n  startup: 0 s\n"
        "  bandwidth: 1 GB/s\n  hop_latency: 1 us\n  sharing: {max_min: by_latency}\n"
        f"  topology: {{kind: torus, shape: {[*shape]}}}\n"
    )
    plan = make_plan(bind(workload_of(read_goal(tmp_path / "flows.goal")), torus), ("hops", "links"))
    run(plan, "compiled")  # so that no compiling is counted
    start_s = time.process_time()
    log = run(plan, "compiled")
    ours_s = time.process_time() - start_s
    print(f"\n{name}: SimGrid {theirs_s:.3g} CPU s, ours {ours_s:.3g}: {theirs_s / ours_s:.3g} times; {makespan_us} us")
    assert float(np.nanmax(log.finish_s)) * 1e6 == pytest.approx(makespan_us, rel=1e-6)
