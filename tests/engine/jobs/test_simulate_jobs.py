"""Several jobs on one machine: against separate simulations, against merged programs by hand, and on a shared link."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simcodesign.core.errors import DeadlockError, InputError
from simcodesign.core.jobs_result import JobsResult
from simcodesign.describe.jobs.job import Job
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.jobs.simulate_jobs import simulate_jobs
from simcodesign.engine.simulate import simulate
from tests.builders import read_machine, read_workload, workload

ENGINES = ("simpy", "compiled")

HEAD = "simcodesign: 1\nname: {name}\n"
NODES = """
nodes: 16
processors_per_node: {each}
processor: {{rate: 1 GFLOP/s, clock: 1 GHz}}
network:
  topology: {topology}
  {model}
disk: {{read_startup: 1 ms, write_startup: 1 ms, bandwidth: 100 MB/s, shared_by: 8}}
storage: {{servers: 3, stripe: 64 KiB, bandwidth: 1 GB/s, latency: 10 us, metadata_rate: 100 kop/s}}
"""
HOCKNEY = "startup: 2 us\n  bandwidth: 2 GB/s\n  hop_latency: 100 ns\n  interfaces: {bandwidth: 4 GB/s}"
LOGGOPS = "model: loggop\n  L: 1 us\n  o: 500 ns\n  g: 200 ns\n  G: 0.5 ns/B\n  O: 0 ns/B\n  S: 16 KiB"
NETWORKS = {
    "ring": ("{kind: torus, shape: [16]}", HOCKNEY, 1),
    "max_min": ("{kind: torus, shape: [16]}", f"{HOCKNEY}\n  sharing: max_min", 1),
    "packets": ("{kind: torus, shape: [16]}", f"{HOCKNEY}\n  sharing: {{round_robin: 8 KiB}}", 1),
    "tapered": ("{kind: fat_tree, arity: 4, taper: [1, 4]}", HOCKNEY, 1),
    "two ranks a node": ("{kind: torus, shape: [4, 4]}", HOCKNEY, 2),
    "ecmp": ("{kind: torus, shape: [4, 4]}", f"{HOCKNEY}\n  routing: ecmp", 1),
    "nonblocking": ("{kind: torus, shape: [16]}", f"{HOCKNEY}\n  sends: nonblocking", 1),
    "loggops": ("{kind: torus, shape: [16]}", LOGGOPS, 1),
}
#: A job of 8 ranks as it is alone, and in a program of 16 of which it has those where {r} is 0 to 7. {sends}: to its
#: next rank, {group}: its communicator.
STENCIL = """
- phase: {name}
  repeat: 5
  do:
    - compute: {{flops: "1e4*(1 + ({r}) % 3)"{and_when}}}
    - send: {{to: "rank + {step}", bytes: 200000, when: "{here}*(({r}) < {last})"}}
    - receive: {{from: "rank - {step}", bytes: 200000, when: "{here}*(({r}) > 0)"}}
    - allreduce: {{bytes: 4096{group}}}
    - write: {{to: storage, bytes: "1e5*(1 + ({r}) % 2)"{and_when}}}
"""
TRANSPOSE = """
- phase: {name}
  repeat: 4
  do:
    - all_to_all: {{bytes: 50000, algorithm: pairwise{group}}}
    - compute: {{flops: "2e5"{and_when}}}
    - read: {{bytes: 1e5{and_when}}}
    - broadcast: {{bytes: 30000{group}}}
"""


def machine(name: str) -> Machine:
    topology, model, each = NETWORKS[name]
    return read_machine(HEAD.format(name="m") + NODES.format(topology=topology, model=model, each=each))


def alone(program: str, name: str) -> Workload:
    own = {"name": name, "r": "rank", "step": 1, "here": "1", "last": "P - 1", "and_when": "", "group": ""}
    return read_workload(HEAD.format(name=name) + "program:" + program.format(**own))


def merged(first: str, second: str, interleaved: bool) -> Workload:
    """Both programs by hand as one of 16 ranks: the first job has the even ranks, or the first half."""
    programs = ""
    for number, (name, program) in enumerate((("a", first), ("b", second))):
        r, here = (
            (f"(rank - {number})/2", f"(rank % 2 == {number})")
            if interleaved
            else (
                f"rank - {8 * number}",
                "(rank < 8)" if number == 0 else "(rank >= 8)",
            )
        )
        when, group = f', when: "{here}"', f", group: {name}"
        own = {"name": name, "r": r, "step": 2 if interleaved else 1, "here": here, "last": "7", "and_when": when}
        programs += program.format(**own, group=group)
    colour = ("(rank % 2 == 0) - 1", "(rank % 2 == 1) - 1") if interleaved else ("(rank < 8) - 1", "(rank >= 8) - 1")
    return read_workload(f"{HEAD.format(name='merged')}groups: {{a: {colour[0]}, b: {colour[1]}}}\nprogram:{programs}")


def ends_s(answer: JobsResult) -> np.ndarray[Any, Any]:
    assert answer.together is not None
    assert answer.together.ranks is not None
    return answer.together.ranks.end_s


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("effects", ["none", "all"])
@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "ecmp"])  # each job draws its own routes
def test_jobs_are_as_a_merged_program_by_hand(name: str, effects: str, interleaved: bool, engine: str) -> None:
    places = (range(0, 16, 2), range(1, 16, 2)) if interleaved else (range(8), range(8, 16))
    on = machine(name)
    if interleaved and NETWORKS[name][2] > 1:
        on = replace(on, mapping=tuple(node for node in range(16)))
    jobs = [Job(alone(STENCIL, "a"), places[0]), Job(alone(TRANSPOSE, "b"), places[1])]
    answer = simulate_jobs(jobs, on, effects=effects, engine=engine)
    by_hand = simulate(merged(STENCIL, TRANSPOSE, interleaved), on, {"P": 16}, effects=effects, engine=engine)
    assert by_hand.ranks is not None
    np.testing.assert_array_equal(ends_s(answer), by_hand.ranks.end_s)
    assert answer.makespan_s == by_hand.makespan_s
    assert answer.together is not None
    np.testing.assert_array_equal(answer.together.stations.busy_s, by_hand.stations.busy_s)
    for job, own in zip(answer.jobs, places, strict=True):
        assert job.together is not None
        assert job.together.ranks is not None
        np.testing.assert_array_equal(job.together.ranks.end_s, by_hand.ranks.end_s[list(own)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NETWORKS)
def test_jobs_that_share_nothing_are_as_two_simulations(name: str, engine: str) -> None:
    """The halves of a ring, whose jobs go from neighbour to neighbour, have no link in common."""
    on = machine(name)
    neighbours = STENCIL.replace("- allreduce: {{bytes: 4096{group}}}", "").replace("to: storage, ", "")
    each = NETWORKS[name][2]
    places = range(8 * each), range(8 * each, 16 * each)
    jobs = [Job(alone(neighbours, "a"), places[0]), Job(alone(neighbours, "b"), places[1])]
    answer = simulate_jobs(jobs, replace(on, noise=0.02), engine=engine)
    nodes = on.node_of(16 * each)
    for number, job in enumerate(answer.jobs):
        part = replace(on, noise=0.02, mapping=tuple(nodes[list(places[number])].tolist()))
        separate = simulate(alone(neighbours, "ab"[number]), part, {"P": 8 * each}, seed=number, engine=engine)
        assert separate.ranks is not None
        for result in (job.together, job.alone):
            assert result is not None
            assert result.ranks is not None
            np.testing.assert_array_equal(result.ranks.end_s, separate.ranks.end_s)
            np.testing.assert_array_equal(result.ranks.waiting_s, separate.ranks.waiting_s)
            assert result.phases == separate.phases
        assert job.slowdown == 1.0


LINE = """
nodes: 4
processor: {rate: 1 GFLOP/s, clock: 1 GHz}
network:
  topology: {kind: mesh, shape: [4]}
  startup: 0 s
  bandwidth: 1 GB/s
  sharing: max_min
"""


def message(size_bytes: float, before: str = "") -> Workload:
    """Rank 0 sends to rank 1."""
    return workload(
        f"{before}- send: {{to: 1, bytes: {size_bytes}, when: rank == 0}}\n"
        f"- receive: {{from: 0, bytes: {size_bytes}, when: rank == 1}}"
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("first_bytes", "second_bytes"), [(1e6, 1e6), (1e6, 3e6), (5e6, 2e6)])
def test_two_jobs_on_one_link_have_half_of_it_each(first_bytes: float, second_bytes: float, engine: str) -> None:
    """Messages of m <= n bytes, from node 0 to 2 and from 1 to 3 of a line, share the link from 1 to 2 of bandwidth B:
    the smaller takes 2 m/B, the larger has the whole link after that and takes (m + n)/B."""
    on = read_machine(HEAD.format(name="line") + LINE)
    jobs = [Job(message(first_bytes), range(0, 4, 2)), Job(message(second_bytes), range(1, 4, 2))]
    answer = simulate_jobs(jobs, on, engine=engine)
    smaller, total = min(first_bytes, second_bytes), first_bytes + second_bytes
    for job, size_bytes in zip(answer.jobs, (first_bytes, second_bytes), strict=True):
        assert job.alone_s == pytest.approx(size_bytes / 1e9, rel=1e-12)
        assert job.makespan_s == pytest.approx((2 * smaller if size_bytes == smaller else total) / 1e9, rel=1e-12)
        assert job.slowdown == pytest.approx(job.makespan_s / job.alone_s, rel=1e-15)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_job_that_starts_later_shares_the_link_from_then_on(engine: str) -> None:
    """3 MB from 0 s on, 1 MB from 1 ms on, at 1 GB/s: the first has 2 MB left when the second comes, which takes 2 ms;
    then 1 MB of the first is left, and it ends at 4 ms."""
    on = read_machine(HEAD.format(name="line") + LINE)
    jobs = [Job(message(3e6), range(0, 4, 2)), Job(message(1e6), range(1, 4, 2), start_s=1e-3)]
    first, second = simulate_jobs(jobs, on, engine=engine).jobs
    assert first.makespan_s == pytest.approx(4e-3, rel=1e-12)
    assert (second.makespan_s, second.alone_s) == pytest.approx((2e-3, 1e-3), rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_jobs_share_the_servers_of_the_storage(engine: str) -> None:
    """One server of 1 GB/s: a write of 1 MB each takes 1 ms alone, and one of them waits for the other."""
    on = read_machine(HEAD.format(name="line") + LINE + "storage: {servers: 1, stripe: 16 MiB, bandwidth: 1 GB/s}\n")
    write = workload("[write: {to: storage, bytes: 1e6}]")
    answer = simulate_jobs([Job(write, range(1)), Job(write, range(1, 2))], on, engine=engine)
    assert [job.makespan_s for job in answer.jobs] == pytest.approx([1e-3, 2e-3], rel=1e-12)
    assert [job.slowdown for job in answer.jobs] == pytest.approx([1.0, 2.0], rel=1e-12)


@pytest.mark.parametrize(("name", "pairs"), [("torus-cluster", 2), ("loggop-64", 2), ("packet-torus", 2)])
def test_engines_agree_on_shipped_workloads(name: str, pairs: int) -> None:
    jobs = ["jacobi@0:16", "broadcast@16:32+1ms" if name != "loggop-64" else "broadcast@16:32"]
    one, other = (simulate_jobs(jobs, name, engine=engine) for engine in ENGINES)
    np.testing.assert_array_equal(ends_s(one), ends_s(other))
    for left, right in zip(one.jobs, other.jobs, strict=True):
        assert (left.makespan_s, left.alone_s) == (right.makespan_s, right.alone_s)


def test_background_comes_from_the_nodes_of_no_job() -> None:
    """With jobs on all nodes nobody is left to send; with one on half of them, others slow it down in both runs."""
    text = HEAD.format(name="line") + LINE + "background: {load: 0.5, size: 10 kB}\n"
    on = read_machine(text)
    full = simulate_jobs([Job(message(1e6), range(0, 4, 2)), Job(message(1e6), range(1, 4, 2))], on)
    assert [job.alone_s for job in full.jobs] == pytest.approx([1e-3, 1e-3], rel=1e-12)
    half = simulate_jobs([Job(message(1e6), range(0, 4, 2))], on).jobs[0]
    assert half.alone_s == half.makespan_s > 1.05e-3


def test_what_several_jobs_cannot_be() -> None:
    on = load_machine("torus-cluster")
    with pytest.raises(InputError, match="overlap"):
        simulate_jobs(["jacobi@0:16", "jacobi@8:24"], on)
    with pytest.raises(InputError, match=r"places that torus-cluster does not have, got 256 \(allowed: 0 to 255\)"):
        simulate_jobs(["jacobi@0:257"], on)
    with pytest.raises(InputError, match=r"share node 1 \(allowed: whole nodes: places in multiples of 4"):
        simulate_jobs(["jacobi@0:6", "jacobi@6:12"], on)
    with pytest.raises(InputError, match="as many ranks as places"):
        Job("jacobi", range(4), {"P": 8})
    for wrong in ("jacobi@4:4", "jacobi@8:4", "jacobi@0:", "jacobi@0:8:0", "jacobi@-1:4", "jacobi@0:8+noon"):
        with pytest.raises(InputError):
            simulate_jobs([wrong], on)
    waits = workload("[receive: {from: 1 - rank, bytes: 8}, send: {to: 1 - rank, bytes: 8}]")
    with pytest.raises(DeadlockError, match="test@4:6/main"):
        simulate_jobs(["jacobi@0:4", Job(waits, range(4, 6))], on, effects="none")
