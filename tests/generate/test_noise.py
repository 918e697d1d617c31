"""Noise of machines, slow nodes, bursts, demands that vary: what the files may say, and what becomes of it in a Plan."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPUTE, MEMORY, READ, RECEIVE, SEND, WRITE
from simcodesign.core.simulation_parts import RANK_COUNTERS
from simcodesign.describe.design_point import bind
from simcodesign.describe.effects import effect_named, effect_names, random_effects
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.memory import Memory
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.noise import Bursts, Imbalance, Noise, SlowNodes
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.noise import imbalance_from, noise_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.engine.simulate import schedule_of, simulate
from simcodesign.generate.lower import make_plan
from simcodesign.generate.passes.randomness import running_sums
from simcodesign.generate.plan import NONE, Plan
from tests import examples
from tests.builders import network_of, workload

EXPONENTIAL = Distribution("exponential")
UNEVEN = Distribution("lognormal", {"variation": 0.3})
BOTH = ("imbalance", "noise")


def machine(
    nodes: int = 8, noise: float | Noise = 0.0, per_node: int = 1, model: str = "hockney", **changes: float
) -> Machine:
    times: dict[str, Any] = {
        "sends": "blocking",
        "startup_s": 1e-3,
        "per_byte_s": 1e-6,
        "hop_latency_s": 1e-4,
        "receive_overhead_s": 2e-4,
    }
    if model == "loggop":
        times = {"latency_s": 1e-3, "overhead_s": 1e-4, "gap_s": 3e-4, "per_byte_s": 1e-6, "model": "loggop"}
    network = network_of(build_topology("torus", nodes), **times)
    processor = Processor(changes.get("rate", 1.0), 1.0)
    return Machine(
        "machine", processor, network, Disk(0.01, 0.02, 1e-6), per_node, noise=noise, memory=Memory(1e-7, 1e-9)
    )


def free(nodes: int, noise: float | Noise = 0.0) -> Machine:
    """Whose messages take no time, so that a barrier is the latest of all."""
    return Machine("free", Processor(1.0), network_of(build_topology("crossbar", nodes), sends="blocking"), noise=noise)


def planned(
    program: Workload, on: Machine, effects: Sequence[str] = BOTH, seed: int = 1, ranks: int | None = None, **more
) -> Plan:
    return make_plan(bind(program, on, {"P": ranks or on.processors}, **more), effects, seed)


def stretched(
    program: Workload, on: Machine, effects: Sequence[str] = BOTH, **more
) -> tuple[Plan, NDArray[np.float64]]:
    """The Plan, and by which factor every operation takes longer than without effects of chance."""
    others = [effect for effect in effects if effect not in BOTH]
    plan, plain = planned(program, on, effects, **more), planned(program, on, others, **more)
    with np.errstate(invalid="ignore"):
        return plan, np.where(plain.duration_s == 0, 1.0, plan.duration_s / plain.duration_s)


# ---------------------------------------------------------------------------------------------------------------------
# What is read


def entry(text: str):
    return parse_yaml(f"a: 1\nnoise: {text}\n", "m.yaml").mapping()["noise"]


def test_everything_that_noise_may_be() -> None:
    text = (
        "{compute: exponential, disk: {distribution: erlang, stages: 2}, memory: 5 %, network: deterministic, "
        "slow_nodes: {nodes: [3, 1], factor: 1.5}, bursts: {period: 10 ms, length: 100 us, together: true}}"
    )
    noise = noise_from(entry(text), 4)
    assert noise == Noise(
        EXPONENTIAL,
        Distribution("erlang", {"stages": 2}),
        Distribution("lognormal", {"variation": 0.05}),
        Distribution("deterministic"),
        SlowNodes(1.5, (3, 1)),
        Bursts(0.01, 1e-4, True),
    )
    assert isinstance(noise, Noise)
    assert [*noise.parts] == ["compute", "disk", "memory"]
    assert dict(noise.texts()) == {
        "noise of computations": "exponential",
        "noise of disk accesses": "erlang (stages 2)",
        "noise of memory demands": "lognormal (variation 0.05)",
        "slow nodes": "3, 1; 1.5 times as long",
        "bursts of noise": "100 us of every 10 ms, all nodes together",
    }


@pytest.mark.parametrize("text", ["{count: 2, factor: 3}", "{fraction: 10 %, factor: 3}"])
def test_slow_nodes_chosen_at_random(text: str) -> None:
    noise = noise_from(entry(f"{{slow_nodes: {text}}}"), 4)
    assert isinstance(noise, Noise)
    assert noise.slow_nodes
    assert noise.slow_nodes.is_random
    assert not noise.varies
    assert dict(noise.texts())["slow nodes"] in (
        "2 at random; 3 times as long",
        "10 % of them, at random; 3 times as long",
    )


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{compute: deterministic}",
        "{compute: 0 %}",
        "{slow_nodes: {nodes: [1], factor: 1}}",
        "{slow_nodes: {count: 0, factor: 2}}",
        "{bursts: {period: 1 s, length: 0 s}}",
        "0 %",
    ],
)
def test_noise_that_is_none(text: str) -> None:
    quiet = machine(noise=noise_from(entry(text), 4))
    assert not quiet.noise
    assert not effect_named("noise").acts_on(workload("- compute: {seconds: 1}\n"), quiet)
    assert not effect_named("imbalance").acts_on(workload("- compute: {seconds: 1}\n"), quiet)
    assert simulate(STEPS, quiet, {"P": 8}).makespan_s == simulate(STEPS, machine(), {"P": 8}).makespan_s


WRONG = [
    ("7", "a coefficient of variation"),
    ("[1]", "must be a mapping"),
    ("{computes: 5 %}", "did you mean 'compute'"),
    (
        "exponential",
        "noise: of what part, got 'exponential' (allowed: {PART: exponential}, with a part of compute, disk, memory, network)",
    ),
    ("{compute: exponental}", "m.yaml:2: noise.compute: no such distribution, got 'exponental'"),
    ("{slow_nodes: {nodes: [1]}}", "'factor' is missing"),
    ("{slow_nodes: {factor: 2}}", "which nodes are slow, got [] (allowed: one of nodes, count, fraction)"),
    ("{slow_nodes: {nodes: [1], count: 1, factor: 2}}", "which nodes are slow, got ['nodes', 'count']"),
    (
        "{slow_nodes: {nodes: [4], factor: 2}}",
        "noise.slow_nodes.nodes[0]: whole number out of range, got '4' (allowed: 0 to 3)",
    ),
    ("{slow_nodes: {nodes: [1, 1], factor: 2}}", "each node once"),
    ("{slow_nodes: {nodes: 1, factor: 2}}", "must be a sequence"),
    ("{slow_nodes: {count: 5, factor: 2}}", "0 to 4"),
    ("{slow_nodes: {fraction: 110 %, factor: 2}}", "fraction of slow nodes is out of range, got 1.1 (allowed: 0 to 1)"),
    ("{slow_nodes: {count: 1, factor: 0.5}}", "factor of slow nodes is out of range, got 0.5 (allowed: 1 to 1e+06)"),
    ("{bursts: {period: 10 ms}}", "'length' is missing"),
    (
        "{bursts: {period: 10 ms, length: 10 ms}}",
        "noise.bursts: length of bursts is out of range, got 0.01 (allowed: 0 to less than the period)",
    ),
    ("{bursts: {period: 0 s, length: 0 s}}", "period of bursts"),
    ("{bursts: {period: 10 B, length: 1 s}}", "'B' is a unit of size, not of time"),
    ("{bursts: {period: 1 s, length: 1 ms, together: maybe}}", "true"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_wrong_noise_is_said_where_it_stands(text: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        noise_from(entry(text), 4)
    assert str(error.value).startswith("m.yaml:2: noise")
    assert words in str(error.value)


PIECES = (
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "nodes",
    "count",
    "fraction",
    "factor",
    "slow_nodes",
    "bursts",
    "period",
    "length",
    "compute",
    "distribution",
    "values",
    "stages",
    "of",
    "erlang",
    "exponential",
    "empirical",
    "5 %",
    "1",
    "-1",
    "1e400",
    "2 s",
    " ",
)


@given(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.sampled_from([text for text, _ in WRONG]),
    st.booleans(),
)
@settings(max_examples=examples(300))
def test_nothing_else_than_an_input_error(text: str, of_machine: bool) -> None:
    try:
        result = noise_from(entry(text), 4) if of_machine else imbalance_from(entry(text))
    except InputError:
        return
    assert isinstance(result, float | Noise | Imbalance)


def test_slow_nodes_are_nodes_of_the_machine() -> None:
    with pytest.raises(InputError, match="slow node that does not exist, got 8"):
        machine(8, Noise(slow_nodes=SlowNodes(2.0, (8,))))
    with pytest.raises(InputError, match="count of slow nodes, got 9"):
        machine(8, Noise(slow_nodes=SlowNodes(2.0, count=9)))


@pytest.mark.parametrize("bad", [-0.1, 11.0, math.nan, "5 %", True])
def test_shares_that_are_none(bad: object) -> None:
    with pytest.raises(InputError, match="noise"):
        machine(noise=bad)


def test_imbalance_of_a_file() -> None:
    assert imbalance_from(entry("5 %")) == 0.05
    assert imbalance_from(entry("exponential")) == Imbalance(EXPONENTIAL)
    assert imbalance_from(entry("{distribution: uniform, spread: 0.5, of: nodes}")) == Imbalance(
        Distribution("uniform", {"spread": 0.5}), "nodes"
    )
    for text, words in (
        ("{of: nodes}", "'distribution' is missing"),
        ("{distribution: exponential, of: node}", "did you mean 'nodes'"),
    ):
        with pytest.raises(InputError, match=words):
            imbalance_from(entry(text))


@pytest.mark.parametrize(
    "demand",
    [
        "compute: {flops: 1, varies: exponential}",
        "read: {bytes: 1, varies: exponential}",
        "write: {bytes: 1, varies: exponential}",
        "memory: {kernel: triad, sizes: {n: 8}, varies: exponential}",
        "compute: {loops: [{range: 1, operations: 1}], varies: exponential}",
    ],
)
def test_demands_that_vary(demand: str) -> None:
    kernel = "memory: {stack_distance: 100, accesses: 8, varies: exponential}"
    described = workload(f"- {kernel if demand.startswith('memory') else demand}\n")
    assert described.program[0].varies == EXPONENTIAL
    assert effect_named("noise").acts_on(described, machine())


@pytest.mark.parametrize(
    ("demand", "words"),
    [
        ("compute: {flops: 1, varies: expo}", "w.yaml:4: program[0].compute.varies: no such distribution"),
        (
            "read: {bytes: 1, varies: {distribution: erlang, stages: x}}",
            "w.yaml:4: program[0].read.varies.stages: not a quantity",
        ),
        ("send: {to: 1, bytes: 1, varies: exponential}", "unknown key"),
    ],
)
def test_demands_that_cannot_vary_so(demand: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        workload(f"- {demand}\n")
    assert words in str(error.value)


# ---------------------------------------------------------------------------------------------------------------------
# Which effects have anything to do

STEPS = workload("- {repeat: 5, do: [compute: {seconds: 1}, barrier: {}]}\n")


@pytest.mark.parametrize(
    ("noise", "imbalance", "noisy", "random"),
    [
        (0.0, False, False, ()),
        (0.1, False, True, ("noise",)),
        (Noise(network=EXPONENTIAL), False, True, ("noise",)),
        (Noise(slow_nodes=SlowNodes(2.0, (1,))), True, False, ()),
        (Noise(slow_nodes=SlowNodes(2.0, count=1)), True, False, ("imbalance",)),
        (Noise(bursts=Bursts(1.0, 0.1), slow_nodes=SlowNodes(2.0, fraction=0.5)), True, True, BOTH),
    ],
)
def test_effects_that_have_something_to_do(
    noise: float | Noise, imbalance: bool, noisy: bool, random: tuple[str, ...]
) -> None:
    on = machine(noise=noise)
    assert (effect_named("imbalance").acts_on(STEPS, on), effect_named("noise").acts_on(STEPS, on)) == (
        imbalance,
        noisy,
    )
    assert random_effects(STEPS, on, effect_names()) == random
    assert random_effects(STEPS, on, ("hops",)) == ()
    assert bool(on.noise) == (imbalance or noisy)


def test_the_ladder_shows_what_they_explain() -> None:
    on = machine(noise=Noise(slow_nodes=SlowNodes(2.0, (1,)), bursts=Bursts(1.0, 0.2, together=True)))
    rungs = {rung.effect: rung.change_s for rung in compare(STEPS, on, {"P": 8}).rungs}
    assert rungs["imbalance"] == pytest.approx(5, rel=1e-9)  # one node in eight takes 2 s for each step
    assert rungs["noise"] > 0


# ---------------------------------------------------------------------------------------------------------------------
# Factors

MIXED = """
- phase: first
  repeat: 3
  do:
    - compute: {seconds: "1 + rank"COMPUTE}
    - read: {bytes: 1000READ}
    - exchange: {pattern: halo1d, bytes: 500}
- phase: second
  repeat: 4
  do:
    - compute: {seconds: 2COMPUTE}
    - memory: {stack_distance: 100, accesses: 1000MEMORY}
    - compute: {seconds: 3, when: "rank > 0"COMPUTE}
    - write: {bytes: 100WRITE}
    - allreduce: {bytes: 8}
"""


def mixed(**laws: str) -> Workload:
    text = MIXED
    for name in ("COMPUTE", "READ", "MEMORY", "WRITE"):
        text = text.replace(name, f", varies: {laws[name.lower()]}" if name.lower() in laws else "")
    return workload(text)


def lognormal(seed: int, name: str, variation: float, count: int) -> NDArray[np.float64]:
    """The draws of a plain share, as they have always been."""
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()),)))
    sigma = np.sqrt(np.log1p(variation**2))
    return generator.lognormal(-(sigma**2) / 2, sigma, count)


@pytest.mark.parametrize("noise", [0.05, Noise(compute=Distribution("lognormal", {"variation": 0.05}))])
def test_plain_shares_draw_what_they_always_drew(noise: float | Noise) -> None:
    """Bit for bit."""
    text = MIXED
    for name in ("COMPUTE", "READ", "MEMORY", "WRITE"):
        text = text.replace(name, "")
    uneven = workload(text, "imbalance: 20 %\n")
    plan, plain = planned(uneven, machine(noise=noise), seed=7), planned(uneven, machine(), (), seed=7)
    expected = plain.duration_s.copy()
    computes = plan.kind == COMPUTE
    expected[computes] *= lognormal(7, "imbalance", 0.2, 8)[plan.rank[computes]]
    for number, phase in enumerate(plan.phases):
        mine = computes & (plan.phase == number)
        expected[mine] *= lognormal(7, f"noise in {phase}", 0.05, mine.sum())
    assert plan.duration_s.tolist() == expected.tolist()


PARTS = {"compute": (COMPUTE,), "disk": (READ, WRITE), "memory": (MEMORY,), "network": (SEND,)}


@pytest.mark.parametrize("part", PARTS)
def test_noise_of_each_part_is_a_factor_on_each_of_its_operations(part: str) -> None:
    plan, factor = stretched(mixed(), machine(noise=Noise(**{part: UNEVEN})))
    mine = np.isin(plan.kind, PARTS[part])
    assert (factor[~mine] == 1).all()
    assert len(set(factor[mine])) == mine.sum() > 20


@pytest.mark.parametrize("part", ["compute", "read", "memory", "write"])
def test_each_doing_of_a_demand_has_a_factor(part: str) -> None:
    kind = {"compute": COMPUTE, "read": READ, "memory": MEMORY, "write": WRITE}[part]
    plan, factor = stretched(mixed(**{part: "exponential"}), machine())
    assert (factor[plan.kind != kind] == 1).all()
    assert len(set(factor[plan.kind == kind])) == (plan.kind == kind).sum()
    assert (stretched(mixed(**{part: "exponential"}), machine(), ("imbalance",))[1] == 1).all()


@pytest.mark.parametrize("noisy", [False, True])
def test_slices_of_a_memory_demand_have_the_same_factor_as_the_whole(noisy: bool) -> None:
    """And it is the same one where controllers are shared, so that the effects do not change the draws."""
    program = mixed() if noisy else mixed(memory="exponential")
    on = machine(4, Noise(memory=EXPONENTIAL) if noisy else 0.0, per_node=2)
    whole, sliced = (stretched(program, on, (*BOTH, *more)) for more in ((), ("memory",)))
    one, many = (factor[plan.kind == MEMORY] for plan, factor in (whole, sliced))
    assert len(many) == 32 * len(one)
    assert many.reshape(-1, 32) == pytest.approx(np.repeat(one[:, None], 32, axis=1), rel=1e-12)


def test_factors_follow_the_law() -> None:
    program = workload("- {repeat: 5000, do: [compute: {seconds: 2, varies: exponential}]}\n")
    _, factor = stretched(program, machine(2))
    assert abs(factor.mean() - 1) < 5 / math.sqrt(10_000)
    assert abs(factor.var() - 1) < 5 * math.sqrt(8 / 10_000)  # the kurtosis of an exponential is 9
    by_rank = factor.reshape(2, -1)
    assert abs(np.corrcoef(by_rank)[0, 1]) < 5 / math.sqrt(5000)


@pytest.mark.parametrize("noise", [0.0, Noise(EXPONENTIAL, UNEVEN, UNEVEN, UNEVEN, SlowNodes(2.0, count=3))])
def test_a_phase_alone_has_the_same_factors(noise: float | Noise) -> None:
    program = mixed(compute="exponential", read="5 %", memory="exponential", write="{distribution: erlang, stages: 2}")
    whole, factor = stretched(program, machine(noise=noise))
    for phase in ("first", "second"):
        alone, result = stretched(program, machine(noise=noise), phases=[phase])
        mine = whole.phase == whole.phases.index(phase)
        assert (alone.kind == whole.kind[mine]).all()
        assert result == pytest.approx(factor[mine], rel=1e-15)


def test_two_machines_have_common_random_numbers() -> None:
    """Repetition k of a demand in rank r is as long a one, whatever the constants and the effects that are on."""
    program = mixed(compute="exponential", read="5 %", memory="exponential")
    noise = Noise(EXPONENTIAL, UNEVEN, UNEVEN, UNEVEN, SlowNodes(2.0, fraction=0.4))
    one = stretched(program, machine(noise=noise))[1]
    quick = machine(noise=noise).with_constants(
        {"processor.rate": 9.0, "network.startup": 1e-6, "disk.read_startup": 1e-4}
    )
    assert stretched(program, quick)[1] == pytest.approx(one, rel=1e-12)
    assert stretched(program, machine(noise=noise), ("hops", "links", "interfaces", "disks", *BOTH))[
        1
    ] == pytest.approx(one, rel=1e-12)
    assert stretched(program, machine(16, noise), ranks=8)[1] == pytest.approx(one, rel=1e-12)


def test_steps_between_barriers_are_as_long_as_the_slowest() -> None:
    """The maximum of P exponential times of mean 1 has the mean 1 + 1/2 + ... + 1/P, and the variance 1 + ... + 1/P^2."""
    ranks, steps = 8, 1000
    result = simulate("random-steps", free(ranks), {"P": ranks, "steps": steps, "flops": 1}, effects=["noise"], seed=4)
    mean = sum(1 / rank for rank in range(1, ranks + 1))
    error = math.sqrt(sum(1 / rank**2 for rank in range(1, ranks + 1)) / steps)
    assert abs(result.makespan_s / steps - mean) < 4 * error
    assert (
        simulate("random-steps", free(ranks), {"P": ranks, "steps": steps, "flops": 1}, effects="none").makespan_s
        == steps
    )


def test_demands_have_streams_of_their_own() -> None:
    """What varies besides does not change the factors of a demand, and no two demands have the same."""
    reads = stretched(mixed(read="exponential"), machine())
    both = stretched(mixed(read="exponential", write="exponential"), machine())
    mine = reads[0].kind == READ
    assert both[1][mine].tolist() == reads[1][mine].tolist()
    plan, factor = stretched(mixed(compute="exponential"), machine())
    assert len(set(factor[plan.kind == COMPUTE])) == (plan.kind == COMPUTE).sum()


def test_factors_multiply() -> None:
    program = mixed(compute="exponential")
    noise = Noise(compute=UNEVEN, slow_nodes=SlowNodes(3.0, (2, 5)))
    _, every = stretched(program, machine(noise=noise))
    _, varied = stretched(program, machine())
    _, noisy = stretched(mixed(), machine(noise=noise), ("noise",))
    _, slow = stretched(mixed(), machine(noise=noise), ("imbalance",))
    assert every == pytest.approx(varied * noisy * slow, rel=1e-14)


def test_counters_of_instructions_know_imbalance_and_no_noise() -> None:
    """Uneven shares are more work; all else is longer times for the same work."""
    noise = Noise(compute=UNEVEN, slow_nodes=SlowNodes(2.0, (1,)), bursts=Bursts(1.0, 0.1))
    text = "- compute: {instructions: 100, varies: exponential}\n"
    result = simulate(
        workload(text, "imbalance: 50 %\n"),
        machine(noise=noise),
        effects=BOTH,
        counters=True,
        seed=3,
        parameters={"P": 8},
    )
    assert result.counters is not None
    counted = result.counters.values[RANK_COUNTERS.index("instructions")].sum(axis=1)
    assert counted == pytest.approx(100 * lognormal(3, "imbalance", 0.5, 8), rel=1e-12)


def test_imbalance_of_nodes() -> None:
    text = "- {repeat: 2, do: [compute: {seconds: 1}]}\n"
    program = workload(text, "imbalance: {distribution: lognormal, variation: 30 %, of: nodes}\n")
    _, factor = stretched(program, machine(4, per_node=3))
    assert factor == pytest.approx(np.repeat(lognormal(1, "imbalance", 0.3, 4), 6), rel=1e-14)


# ---------------------------------------------------------------------------------------------------------------------
# Slow nodes


def test_named_slow_nodes() -> None:
    on = machine(8, Noise(slow_nodes=SlowNodes(1.5, (3, 7))), per_node=2)
    plan, factor = stretched(mixed(), on)
    slow = (plan.kind == COMPUTE) & np.isin(plan.rank // 2, (3, 7))
    assert set(factor[slow]) == {1.5}
    assert set(factor[~slow]) == {1.0}


def test_a_slow_node_holds_everybody_up() -> None:
    quick, slow = (simulate(STEPS, free(8, noise), {"P": 8}) for noise in (0.0, Noise(slow_nodes=SlowNodes(3.0, (4,)))))
    assert slow.makespan_s - quick.makespan_s == pytest.approx(5 * 2.0, rel=1e-12)


@pytest.mark.thorough
def test_drawn_slow_nodes() -> None:
    def slow(noise: SlowNodes, seed: int) -> list[int]:
        plan, factor = stretched(STEPS, machine(64, Noise(slow_nodes=noise)), seed=seed)
        return sorted({int(rank) for rank in plan.rank[factor == 2]})

    assert all(len(slow(SlowNodes(2.0, count=5), seed)) == 5 for seed in range(20))
    counts = [len(slow(SlowNodes(2.0, fraction=0.25), seed)) for seed in range(40)]
    assert abs(sum(counts) - 640) < 5 * math.sqrt(40 * 64 * 0.25 * 0.75)
    hit = np.bincount([node for seed in range(60) for node in slow(SlowNodes(2.0, count=8), seed)], minlength=64)
    assert ((hit - 7.5) ** 2 / 7.5).sum() < 63 + 5 * math.sqrt(2 * 63)  # every node as likely
    assert slow(SlowNodes(2.0, count=64), 1) == list(range(64))
    assert slow(SlowNodes(2.0, fraction=1.0), 1) == list(range(64))
    assert slow(SlowNodes(2.0, count=5), 1) == slow(SlowNodes(2.0, count=5), 1) != slow(SlowNodes(2.0, count=5), 2)


# ---------------------------------------------------------------------------------------------------------------------
# Bursts


def burst_times(work_s: Sequence[float], phase_s: float, bursts: Bursts) -> list[float]:
    """By a clock that stops at every burst: what each of these pieces of work takes."""
    left, taken = bursts.between_s - phase_s, []
    for piece in work_s:
        time, rest = piece, piece
        while rest >= left:
            rest -= left
            time += bursts.length_s
            left = bursts.between_s
        left -= rest
        taken.append(time)
    return taken


def phases_of(bursts: Bursts, nodes: int, seed: int) -> list[float]:
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(b"bursts"),)))
    return (
        [generator.random() * bursts.between_s] * nodes
        if bursts.together
        else (generator.random(nodes) * bursts.between_s).tolist()
    )


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(("period", "length"), [(1.0, 0.25), (0.125, 0.0625), (16.0, 0.5), (3.7, 1.1)])
def test_bursts_are_those_of_a_clock(together: bool, period: float, length: float) -> None:
    """Two ranks on a node, uneven programs."""
    bursts = Bursts(period, length, together)
    on = machine(4, Noise(bursts=bursts), per_node=2)
    plan, plain = planned(mixed(), on, ("noise",), seed=5), planned(mixed(), on, (), seed=5)
    phases = phases_of(bursts, 4, 5)
    for rank in range(8):
        mine = (plan.rank == rank) & (plan.kind == COMPUTE)
        expected = burst_times(plain.duration_s[mine].tolist(), phases[rank // 2], bursts)
        assert plan.duration_s[mine] == pytest.approx(expected, rel=1e-12)
    others = plan.kind != COMPUTE
    assert (plan.duration_s[others] == plain.duration_s[others]).all()


def test_bursts_come_on_times_that_vary() -> None:
    """First the factors, then the bursts."""
    bursts = Bursts(1.0, 0.25)
    program = mixed(compute="exponential")
    with_bursts = planned(program, machine(noise=Noise(compute=UNEVEN, bursts=bursts)), seed=5)
    without = planned(program, machine(noise=Noise(compute=UNEVEN)), seed=5)
    for rank, phase in enumerate(phases_of(bursts, 8, 5)):
        mine = (without.rank == rank) & (without.kind == COMPUTE)
        assert with_bursts.duration_s[mine] == pytest.approx(
            burst_times(without.duration_s[mine].tolist(), phase, bursts), rel=1e-12
        )


@given(st.lists(st.lists(st.floats(0, 1e9), max_size=6), max_size=12))
def test_running_sums(groups: list[list[float]]) -> None:
    """Added one by one, as in plain Python."""
    expected = []
    for group in groups:
        total = 0.0
        for value in group:
            total += value
            expected.append(total)
    values = np.array([value for group in groups for value in group], dtype=float)
    assert running_sums(values, np.array([len(group) for group in groups], dtype=int)).tolist() == expected


def step_times(bursts: Bursts, phases: Sequence[float], steps: int, work_s: float) -> float:
    """Repeated work and barrier, by hand: each step takes as long as the slowest rank."""
    return sum(
        max(times) for times in zip(*(burst_times([work_s] * steps, phase, bursts) for phase in phases), strict=True)
    )


@pytest.mark.parametrize("ranks", [2, 8, 24])
def test_noise_of_all_nodes_together_costs_its_share_and_else_more(ranks: int) -> None:
    """The classical result on OS noise: in programs of short steps and barriers, only noise that comes to all nodes at
    one time takes no more than its share; at times of its own on every node, nearly every step meets some burst."""
    steps, work_s = 200, 0.05
    program = workload(f"- {{repeat: {steps}, do: [compute: {{seconds: {work_s}}}, barrier: {{}}]}}\n")
    values = {}
    for together in (True, False):
        bursts = Bursts(1.0, 0.1, together)
        time_s = simulate(program, free(ranks, Noise(bursts=bursts)), {"P": ranks}, seed=3).makespan_s
        assert time_s == pytest.approx(step_times(bursts, phases_of(bursts, ranks, 3), steps, work_s), rel=1e-12)
        values[together] = time_s - steps * work_s
    work = steps * work_s  # 10 s, in which bursts come after every 0.9 s of work
    assert abs(values[True] - 0.1 * work / 0.9) <= 0.1
    assert values[False] > 1.8 * values[True]


def test_bursts_that_cannot_be_counted() -> None:
    on = machine(noise=Noise(bursts=Bursts(1e-200, 1e-201)))
    with pytest.raises(InputError, match="bursts cannot be counted"):
        simulate(STEPS, on, {"P": 2})


# ---------------------------------------------------------------------------------------------------------------------
# Messages

RING = workload(
    "- {repeat: 4, do: [send: {to: (rank + 1) % P, bytes: 1000}, receive: {from: (rank + P - 1) % P}, barrier: {}]}\n"
)
WAYS = [(), ("hops", "links"), ("interfaces",), ("hops", "links", "interfaces")]


@pytest.mark.parametrize("shared", WAYS)
@pytest.mark.parametrize("model", ["hockney", "loggop"])
def test_a_message_takes_its_factor_along(shared: tuple[str, ...], model: str) -> None:
    on = machine(8, Noise(network=UNEVEN), model=model)
    plan, plain = planned(RING, on, (*shared, "noise")), planned(RING, on, shared)
    sends = np.flatnonzero(plan.kind == SEND)
    factor = lognormal(1, "noise of network in main", 0.3, len(sends))
    assert plan.duration_s[sends] == pytest.approx(plain.duration_s[sends] * factor, rel=1e-15)
    assert (plan.duration_s[plan.kind == RECEIVE] == plain.duration_s[plan.kind == RECEIVE]).all()
    for name in ("flight_s", "gap_s"):
        now, before = getattr(plan, name), getattr(plain, name)
        assert (now is None) == (before is None)
        if now is not None:
            assert now[sends] == pytest.approx(before[sends] * factor, rel=1e-15)
    if shared:
        assert plan.routes is not None
        assert plain.routes is not None
        assert (plan.routes.route == plain.routes.route).all()
        assert (plan.routes.route[sends] != NONE).all()
        for name in ("inject_s", "tail_s", "interface_s", "link_s", "after_interface_s", "latency_s"):
            now, before = (getattr(one.routes, name)[one.routes.cost[sends]] for one in (plan, plain))
            assert now == pytest.approx(before * factor, rel=1e-15)


@pytest.mark.parametrize("shared", WAYS)
def test_one_message_alone_takes_its_factor_times_as_long(shared: tuple[str, ...]) -> None:
    program = workload("- {send: {to: 5, bytes: 1000, when: rank == 0}}\n- {receive: {from: 0, when: rank == 5}}\n")
    on = machine(8, Noise(network=EXPONENTIAL)).with_constants({"network.receive_overhead": 0.0})
    noisy, quiet = (simulate(program, on, {"P": 8}, effects=(*shared, *more), seed=4) for more in (("noise",), ()))
    generator = np.random.default_rng(np.random.SeedSequence(4, spawn_key=(zlib.crc32(b"noise of network in main"),)))
    assert noisy.makespan_s == pytest.approx(quiet.makespan_s * generator.standard_exponential(), rel=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# All of it

ALL = Noise(
    EXPONENTIAL, Distribution("erlang", {"stages": 3}), UNEVEN, UNEVEN, SlowNodes(2.0, count=2), Bursts(0.5, 0.01)
)


@pytest.mark.parametrize("model", ["hockney", "loggop"])
@pytest.mark.parametrize("effects", [BOTH, effect_names()])
def test_both_engines_say_the_same_with_all_of_it(model: str, effects: tuple[str, ...]) -> None:
    program = mixed(
        compute="exponential", read="exponential", memory="exponential", write="{distribution: weibull, shape: 2}"
    )
    for seed in range(3):
        values = [
            simulate(program, machine(4, ALL, 2, model), {"P": 8}, effects=effects, seed=seed, engine=engine)
            for engine in ("simpy", "compiled")
        ]
        assert values[0].makespan_s == values[1].makespan_s
        assert values[0].phases == values[1].phases
        assert values[0].stations.busy_s.tolist() == values[1].stations.busy_s.tolist()


def test_the_schedule_has_the_times_of_the_plan() -> None:
    program = mixed(compute="exponential", write="exponential")
    plan = planned(program, machine(noise=ALL), BOTH, seed=2)
    schedule = schedule_of(program, machine(noise=ALL), {"P": 8}, effects=BOTH, seed=2)
    work = np.isin(plan.kind, (COMPUTE, READ, WRITE, MEMORY))
    assert schedule.calc_s[schedule.kind == COMPUTE].tolist() == plan.duration_s[work].tolist()


def test_without_these_effects_nothing_varies() -> None:
    program, plain = mixed(compute="exponential", read="exponential", memory="exponential"), mixed()
    others = [effect for effect in effect_names() if effect not in BOTH]
    for effects in ((), others):
        varied, same = (planned(one, on, effects) for one, on in ((program, machine(noise=ALL)), (plain, machine())))
        assert varied.duration_s.tolist() == same.duration_s.tolist()
