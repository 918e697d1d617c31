"""Loops cut short: whatever is extrapolated equals the simulation of all iterations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import DeadlockError, InputError
from simcodesign.core.result import Result
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from tests import builders, examples
from tests.builders import network_of

QUIET = ("hops", "links", "interfaces", "disks", "imbalance")
SETS = ("none", "links", "imbalance", QUIET)


def workload(program: str) -> Workload:
    return builders.workload(program, "imbalance: 20 %\nparameters: {n: 50}\n")


def check_same(result: Result, whole: Result, rel: float = 1e-9) -> None:
    """Everything that the Results say, times within ``rel`` of themselves or of the makespan, counts exactly."""
    close = {"rel": rel, "abs": rel * whole.makespan_s}
    assert result.makespan_s == pytest.approx(whole.makespan_s, rel=rel)
    assert list(result.phases) == list(whole.phases)
    for name, times in whole.phases.items():
        assert result.phases[name] == pytest.approx(times, **close)
    for name in ("messages", "events", "effects", "seed", "values"):
        assert getattr(result, name) == getattr(whole, name)
    for name in ("message_bytes", "disk_bytes"):
        assert getattr(result, name) == pytest.approx(getattr(whole, name), rel=1e-12)
    assert result.ranks.phases == whole.ranks.phases
    for name in ("busy_s", "waiting_s", "end_s"):
        assert getattr(result.ranks, name) == pytest.approx(getattr(whole.ranks, name), **close)
    assert len(result.stations) == len(whole.stations)
    for name in ("busy_s", "wait_s"):
        crowd = 1 + whole.stations.longest_queue.max(initial=0)  # that may wait at once
        assert getattr(result.stations, name) == pytest.approx(
            getattr(whole.stations, name), rel=rel, abs=rel * whole.makespan_s * crowd
        )
    for name in ("served", "kind", "servers"):
        assert getattr(result.stations, name).tolist() == getattr(whole.stations, name).tolist()
    # Requests come together, or just not, by the rounding of a later iteration.
    assert (abs(result.stations.longest_queue - whole.stations.longest_queue) <= 1).all()
    assert [use.name for use in result.stations] == [use.name for use in whole.stations]
    if len(whole.stations):
        assert result.stations.span_s == pytest.approx(whole.stations.span_s, rel=rel)


def both(described: Workload | str, machine: Machine | str, *given: object, **options: object) -> tuple[Result, Result]:
    """Steady, and all iterations."""
    return tuple(simulate(described, machine, *given, iterations=which, **options) for which in ("steady", "all"))


# ---------------------------------------------------------------------------------------------------------------------
# What settles

SHIPPED = {
    "jacobi": ({"sweeps": 60}, ("sweep",)),
    "cg-iteration": ({"iterations": 50}, ("iterate",)),
    "seismic": ({"samples": 40, "traces": 40, "lines": 8}, ("generation", "stacking", "depth-migration")),
}


@pytest.mark.parametrize("effects", SETS)
@pytest.mark.parametrize("machine", ["torus-cluster", "crossbar-16"])
@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.thorough
def test_shipped_workloads(name: str, machine: str, effects: object) -> None:
    parameters, loops = SHIPPED[name]
    result, whole = both(name, machine, {"P": 8, **parameters}, effects=effects)
    # Requests that tie but for rounding may be served in another order in some iterations.
    check_same(result, whole, rel=1e-9 if effects in ("none", "imbalance") else 1e-6)
    assert tuple(loop.phase for loop in result.steady.loops) == loops
    if effects in ("none", "imbalance") and name != "seismic":
        assert result.steady.extrapolated
        assert all(loop.simulated < loop.repeat and loop.iteration_s > 0 for loop in result.steady.loops)
    assert whole.steady is None


PROGRAMS = {
    "one loop": ("  - repeat: n\n    do: [{compute: {seconds: 1 + rank}}, {barrier: {}}]\n", 1),
    "two loops": (
        "  - repeat: n\n    phase: one\n    do: [{compute: {seconds: 1 + rank % 2}}, {allreduce: {bytes: 100}}]\n"
        "  - compute: {seconds: rank}\n"
        "  - repeat: 2*n\n    phase: two\n    do: [{write: {bytes: 1000}}, {broadcast: {bytes: 10}}, {barrier: {}}]\n",
        2,
    ),
    "a loop in a phase": (
        "  - phase: outer\n    do:\n    - compute: {seconds: rank}\n    - repeat: n\n      phase: inner\n      do:\n"
        "      - exchange: {pattern: halo2d, bytes: [100, 30]}\n      - barrier: {}\n    - write: {bytes: 99}\n",
        1,
    ),
    "a loop in two phases of one name": (
        "  - phase: one\n    do: [{compute: {seconds: 3}}]\n"
        "  - repeat: n\n    do:\n    - phase: one\n      do: [{compute: {seconds: 1}}]\n"
        "    - phase: two\n      do: [{barrier: {}}]\n    - compute: {seconds: 0.5}\n",
        1,
    ),
    "loops in a loop": (
        "  - repeat: n\n    do:\n    - repeat: 3\n      do: [{compute: {seconds: 1}}, {barrier: {}}]\n"
        "    - repeat: 20\n      do: [{compute: {seconds: 0.1}}]\n    - allreduce: {bytes: 8}\n",
        1,
    ),
    "a loop that is come to twice": (
        "  - repeat: 2\n    do:\n    - write: {bytes: 77}\n"
        "    - repeat: n\n      phase: inner\n      do: [{compute: {seconds: 1}}, {barrier: {}}]\n",
        2,
    ),
    "work before and after": (
        "  - compute: {seconds: 7*(rank == 2)}\n  - all_to_all: {bytes: 50}\n"
        "  - repeat: n\n    do: [{compute: {seconds: 1 + rank % 3}}, {all_broadcast: {bytes: 20}}]\n"
        "  - write: {bytes: 1000, when: rank < 2}\n  - send: {to: 0, bytes: 50, when: rank == 1}\n"
        "  - receive: {from: 1, when: rank == 0}\n",
        1,
    ),
    "whoever comes first": (
        "  - repeat: n\n    do:\n    - send: {to: 0, bytes: 100, when: rank > 0}\n"
        "    - repeat: P - 1\n      do: [{receive: {from: anyone, when: rank == 0}}]\n"
        "    - compute: {seconds: 1 + rank}\n    - barrier: {}\n",
        1,
    ),
    "constants of a phase": (
        "  - repeat: n\n    phase: slow\n    constants: {network.startup: 0.1 s, processor.rate: 1 FLOP/s}\n"
        "    do: [{compute: {flops: 3}}, {allreduce: {bytes: 8}}]\n",
        1,
    ),
}


@pytest.mark.parametrize("effects", ["none", QUIET])
@pytest.mark.parametrize("machine", ["torus-cluster", "crossbar-16", "hypercube-256", "forwarding-mesh"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.thorough
def test_programs(name: str, machine: str, effects: object) -> None:
    program, loops = PROGRAMS[name]
    result, whole = both(workload(program), machine, {"P": 6}, effects=effects)
    check_same(result, whole, rel=1e-9 if effects == "none" else 1e-6)
    if effects == "none":
        assert result.steady.extrapolated
        assert len(result.steady.loops) == loops
        assert all(loop.simulated < loop.repeat for loop in result.steady.loops)


def test_what_is_said_about_a_loop() -> None:
    result = simulate(workload(PROGRAMS["one loop"][0]), "crossbar-16", {"P": 2}, effects="none", iterations="steady")
    (loop,) = result.steady.loops
    assert (loop.phase, loop.repeat, result.steady.times, result.steady.reason) == ("main", 50, 3, "")
    assert loop.iteration_s == pytest.approx(result.makespan_s / 50)
    assert result.to_dict()["steady"]["loops"][0]["repeat"] == 50


def test_a_billion_iterations() -> None:
    program = "  - compute: {seconds: 5}\n  - repeat: 1e9\n    do: [{compute: {seconds: 1}}, {write: {bytes: 10}}]\n"
    disk = Disk(0.0, 0.25, 0.0)
    machine = Machine("one", Processor(1.0), network_of(build_topology("bus", 1), 1.0, 1.0, sends="blocking"), disk)
    result = simulate(workload(program), machine, effects="disks", iterations="steady")
    assert result.makespan_s == 5 + 1.25e9
    assert result.components == {"computation": 5 + 1e9, "communication": 0, "disk": 0.25e9, "memory": 0}
    assert (result.disk_bytes, result.stations[0].served, result.stations[0].busy_s) == (10e9, 10**9, 0.25e9)


def test_the_same_with_both_engines() -> None:
    pytest.importorskip("numba")
    one, other = (
        simulate("jacobi", "torus-cluster", {"P": 8, "sweeps": 99}, effects=QUIET, iterations="steady", engine=name)
        for name in ("simpy", "compiled")
    )
    assert (one.makespan_s, one.phases, one.steady) == (other.makespan_s, other.phases, other.steady)


# ---------------------------------------------------------------------------------------------------------------------
# What looks settled, and is not

TRAPS = {
    "a rank catches up behind a barrier": """
  - compute: {seconds: 100, when: rank == 1}
  - repeat: 1000
    do: [{compute: {seconds: 1 - 0.875*(rank == 1)}}]
  - barrier: {}
""",
    "a rank overtakes": """
  - compute: {seconds: 100, when: rank == 1}
  - repeat: 1000
    do: [{compute: {seconds: 1 - 0.875*(rank == 1)}}]
""",
    "a rank has no part in it": """
  - compute: {seconds: 100, when: rank == 1}
  - repeat: 1000
    do: [{compute: {seconds: 1, when: rank != 1}}]
  - barrier: {}
""",
    "messages wait from before": """
  - send: {to: 1, bytes: 0, when: rank == 0}
  - send: {to: 1, bytes: 0, when: rank == 0}
  - send: {to: 1, bytes: 0, when: rank == 0}
  - send: {to: 1, bytes: 0, when: rank == 0}
  - send: {to: 1, bytes: 0, when: rank == 0}
  - send: {to: 1, bytes: 0, when: rank == 0}
  - send: {to: 1, bytes: 0, when: rank == 0}
  - send: {to: 1, bytes: 0, when: rank == 0}
  - compute: {seconds: 100, when: rank == 0}
  - repeat: 200
    do:
    - send: {to: 1, bytes: 0, when: rank == 0}
    - receive: {from: 0, when: rank == 1}
    - compute: {seconds: 1}
  - repeat: 8
    do: [{receive: {from: 0, when: rank == 1}}]
""",
    "messages wait from a loop before": """
  - repeat: 20
    do: [{send: {to: 1, bytes: 0, when: rank == 0}}]
  - compute: {seconds: 100, when: rank == 0}
  - repeat: 1000
    do:
    - send: {to: 1, bytes: 0, when: rank == 0}
    - receive: {from: 0, when: rank == 1}
    - compute: {seconds: 1}
  - repeat: 20
    do: [{receive: {from: 0, when: rank == 1}}]
""",
    "one loop sends, another receives": """
  - repeat: 100
    do: [{send: {to: 1, bytes: 8, when: rank == 0}}, {barrier: {}}]
  - repeat: 100
    do: [{receive: {from: 0, when: rank == 1}}, {barrier: {}}]
""",
    "a rank comes late to a disk": """
  - compute: {seconds: 100, when: rank == 3}
  - repeat: 400
    do: [{compute: {seconds: 0.015625}}, {write: {bytes: 0}}]
""",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", TRAPS)
def test_traps(name: str) -> None:
    """Either it is seen that nothing has settled, or what is extrapolated is right."""
    machine = load_machine("crossbar-16", {"disk.shared_by": "all"})
    for effects in ("none", QUIET):
        check_same(*both(workload(TRAPS[name]), machine, {"P": 4}, effects=effects))


# ---------------------------------------------------------------------------------------------------------------------
# Random programs

#: Steps with times that are no rounded numbers, so that equal times are equal in every iteration.
STEPS = (
    ("compute: {seconds: 0.5*(1 + rank % 3)}",),
    ("compute: {seconds: 3, when: rank == 0}",),
    ("compute: {seconds: 10, when: rank > 0}",),
    ("read: {bytes: 64, times: 2}",),
    ("write: {bytes: 256, when: rank % 2 == 0}",),
    ("allreduce: {bytes: 64}",),
    ("broadcast: {bytes: 512}",),
    ("barrier: {}",),
    ("all_to_all: {bytes: 128}",),
    ("exchange: {pattern: halo2d, bytes: [128, 64], periodic: false}",),
    ("send: {to: (rank + 1) % P, bytes: 64, tag: 1}", "receive: {from: (rank - 1) % P, tag: 1}"),
    (
        "receive: {from: rank - 1, tag: 2, when: rank > 0}",
        "send: {to: rank + 1, bytes: 512, tag: 2, when: rank < P - 1}",
    ),
    (
        "send: {to: 0, bytes: 64, tag: 3, when: rank > 0}",
        "repeat: P - 1, do: [{receive: {from: anyone, tag: 3, when: rank == 0}}]",
    ),
)
BODIES = st.lists(st.sampled_from(STEPS), min_size=1, max_size=4)
LOOPS = st.tuples(st.sampled_from([17, 24, 40]), st.sampled_from(["a", "b"]), BODIES)
RANDOM_PROGRAMS = st.lists(st.one_of(LOOPS, st.sampled_from(STEPS)), min_size=1, max_size=5)


def written(parts: list[object], indent: str = "  ") -> str:
    text = ""
    for part in parts:
        if isinstance(part[0], int):
            repeat, phase, body = part
            text += (
                f"{indent}- repeat: {repeat}\n{indent}  phase: {phase}\n{indent}  do:\n{written(body, indent + '  ')}"
            )
        else:
            text += "".join(f"{indent}- {{{step}}}\n" for step in part)
    return text


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Whose times are sums of powers of two."""
    network = network_of(
        build_topology(draw(st.sampled_from(["bus", "mesh", "torus", "tree"])), draw(st.integers(2, 4))),
        startup_s=2**-6,
        per_byte_s=2**-10,
        receive_overhead_s=draw(st.sampled_from([0.0, 2**-7])),
        hop_latency_s=draw(st.sampled_from([0.0, 2**-8, 2.0])),
        link_per_byte_s=draw(st.sampled_from([2**-10, 2**-11])),
        sends="blocking",
    )
    disk = Disk(2**-4, 2**-3, 2**-10, shared_by=draw(st.integers(1, 3)), spindles=draw(st.integers(1, 2)))
    return Machine("test machine", Processor(8.0), network, disk, draw(st.integers(1, 2)))


@settings(max_examples=examples(60))
@given(RANDOM_PROGRAMS, machines(), st.sampled_from(["none", "hops", "links", "interfaces", "disks", QUIET]))
def test_random_programs(parts: list[object], machine: Machine, effects: object) -> None:
    program = workload(written(parts))
    whole = simulate(program, machine, effects=effects)
    check_same(simulate(program, machine, effects=effects, iterations="steady"), whole)


@pytest.mark.thorough
@settings(max_examples=examples(20))
@given(RANDOM_PROGRAMS, machines(), st.sampled_from(["none", QUIET]))
def test_random_programs_with_a_tolerance(parts: list[object], machine: Machine, effects: object) -> None:
    program = workload(written(parts))
    result, whole = (simulate(program, machine, effects=effects, iterations=which) for which in ("steady:1%", "all"))
    assert result.steady.tolerance == 0.01
    assert result.makespan_s == pytest.approx(whole.makespan_s, rel=0.01)
    assert result.messages == whole.messages


# ---------------------------------------------------------------------------------------------------------------------
# What is not extrapolated


def check_whole(result: Result, whole: Result, reason: str) -> None:
    assert not result.steady.extrapolated
    assert reason in result.steady.reason
    assert all(loop.simulated == loop.repeat and np.isnan(loop.iteration_s) for loop in result.steady.loops)
    assert (result.makespan_s, result.phases, result.events) == (whole.makespan_s, whole.phases, whole.events)
    assert result.ranks.end_s.tolist() == whole.ranks.end_s.tolist()
    assert list(result.stations) == list(whole.stations)


def test_noise() -> None:
    check_whole(*both("jacobi", "torus-cluster", {"P": 8, "sweeps": 50}, seed=3), "noise")


def test_noise_that_is_none() -> None:
    quiet = replace(load_machine("torus-cluster"), noise=0.0)
    assert simulate("jacobi", quiet, {"P": 8, "sweeps": 50}, iterations="steady").steady.extrapolated


@pytest.mark.parametrize("repeat", [0, 1, 2, 5, 16])
def test_loops_too_short(repeat: int) -> None:
    program = f"  - repeat: {repeat}\n    do: [{{compute: {{seconds: 1}}}}, {{barrier: {{}}}}]\n  - barrier: {{}}\n"
    check_whole(*both(workload(program), "crossbar-16", {"P": 4}, effects="none"), "no block is repeated often enough")


def test_a_program_without_loops() -> None:
    result, whole = both(workload("  - compute: {seconds: 1}\n"), "crossbar-16", effects="none")
    check_whole(result, whole, "no block is repeated often enough")
    assert result.steady.loops == ()


def test_ranks_that_never_settle() -> None:
    program = "  - repeat: 100\n    do: [{compute: {seconds: 1 + rank}}]\n"
    check_whole(*both(workload(program), "crossbar-16", {"P": 2}, effects="none"), "did not settle")


def test_a_tolerance_lets_ranks_drift_that_much() -> None:
    program = workload("  - repeat: 1000\n    do: [{compute: {seconds: 1 + 0.005*rank}}]\n")
    whole = simulate(program, "crossbar-16", {"P": 2}, effects="none")
    assert not simulate(program, "crossbar-16", {"P": 2}, effects="none", iterations="steady:0.1%").steady.extrapolated
    result = simulate(program, "crossbar-16", {"P": 2}, effects="none", iterations="steady:1%")
    assert result.steady.extrapolated
    assert result.makespan_s == pytest.approx(whole.makespan_s, rel=0.01)
    assert result.ranks.end_s == pytest.approx(whole.ranks.end_s, rel=0.01)


# ---------------------------------------------------------------------------------------------------------------------
# Errors


@pytest.mark.parametrize(
    "iterations", ["foo", "", "Steady", "all:1%", "steady:2", "steady:x", "steady:-1", "steady:1 s", 7, None]
)
def test_bad_iterations(iterations: object) -> None:
    with pytest.raises(InputError):
        simulate("jacobi", "torus-cluster", {"P": 4}, iterations=iterations)


def test_no_timeline_of_what_is_not_simulated() -> None:
    with pytest.raises(InputError, match="timeline"):
        simulate("jacobi", "torus-cluster", {"P": 4}, iterations="steady", timeline=True)


@pytest.mark.parametrize("before", ["", "  - barrier: {}\n", "  - repeat: 90\n    do: [{barrier: {}}]\n"])
def test_a_deadlock_in_a_loop(before: str) -> None:
    program = workload(
        f"{before}  - repeat: 90\n    phase: stuck\n    do:\n"
        "    - receive: {from: 1 - rank, when: rank < 2}\n    - send: {to: 1 - rank, bytes: 0, when: rank < 2}\n"
    )
    errors = []
    for iterations in ("all", "steady"):
        with pytest.raises(DeadlockError, match="phase 'stuck'") as caught:
            simulate(program, "crossbar-16", {"P": 2}, iterations=iterations)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("repeat", ["20.5", "-30", "1e300"])
def test_repeats_that_are_none(repeat: str) -> None:
    program = workload(f"  - repeat: {repeat}\n    do: [{{barrier: {{}}}}]\n")
    errors = []
    for iterations in ("all", "steady"):
        with pytest.raises(InputError) as caught:
            simulate(program, "crossbar-16", {"P": 2}, iterations=iterations)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_sends_and_receives_that_do_not_match() -> None:
    program = workload("  - repeat: 90\n    do: [{send: {to: 1 - rank, bytes: 0}}]\n")
    with pytest.raises(InputError, match="rank 0 sends 90 messages"):
        simulate(program, "crossbar-16", {"P": 2}, iterations="steady")
