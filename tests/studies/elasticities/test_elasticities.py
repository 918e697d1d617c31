"""What would help, held against its definition: homogeneous costs, exact times, each change made by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.engine.simulate import simulate
from simcodesign.generate.randomness.random_streams import random_factors
from simcodesign.studies.elasticities.changes import AS_A_WHOLE
from simcodesign.studies.elasticities.elasticities import Elasticities, Improvement, elasticities
from simcodesign.studies.elasticities.spreads import narrower
from tests.builders import read_machine, workload

CROSSBAR = """
simcodesign: 1
name: m
nodes: 8
processor: {rate: 2 GFLOP/s}
network: {topology: {kind: crossbar}, startup: 3 us, bandwidth: 1 GB/s, sends: blocking}
disk: {read_startup: 1 ms, write_startup: 2 ms, bandwidth: 100 MB/s}
"""
#: From its first to its last node it is seven hops of 1 us.
LINE = CROSSBAR.replace("{kind: crossbar}", "{kind: mesh, shape: [8], latency: [1 us], bandwidth: [1 GB/s]}")
AMOUNTS = st.floats(1e3, 1e7)
ACROSS = "[send: {to: 7, bytes: 1000, when: rank == 0}, receive: {from: 0, bytes: 1000, when: rank == 7}]"


def by_name(found: Elasticities) -> dict[str, Improvement]:
    """The improvements by what they are of."""
    return {one.what: one for one in found.improvements}


@pytest.mark.thorough
@given(AMOUNTS, AMOUNTS, AMOUNTS, st.floats(0.01, 1))
def test_changes_of_a_sum_of_costs_add_up_as_eulers_theorem_says(
    flops: float, size: float, written: float, improvement: float
) -> None:
    """A time that is linear in every cost falls by 1 - 1/f of each part, and by so much of the whole in all."""
    steps = f"[compute: {{flops: {flops!r}}}, broadcast: {{bytes: {size!r}}}, write: {{bytes: {written!r}}}]"
    program, machine = workload(steps), read_machine(CROSSBAR)
    found = elasticities(program, machine, {"P": 8}, effects="none", improvement=improvement)
    better = [one for one in found.improvements if not (one.is_algorithm or one.what.endswith(AS_A_WHOLE))]
    for changes in ([one.simulated for one in better], [one.forecast for one in better]):
        assert sum(changes) == pytest.approx(1 / (1 + improvement) - 1, rel=1e-9)


def test_a_latency_helps_by_its_share_of_the_route_and_not_at_all_without_its_effect() -> None:
    """3 us, 1000 bytes at 1 GB/s and 7 hops of 1 us are 11 us, of which latency is 7."""
    program, machine = workload(ACROSS), read_machine(LINE)
    latency, bandwidth = "latency of links of dimension 0", "bandwidth of links of dimension 0"
    with_hops = by_name(elasticities(program, machine, {"P": 8}, effects="hops", improvement=0.25))
    assert with_hops[latency].simulated == pytest.approx(-(7 - 7 / 1.25) / 11, rel=1e-9)
    assert with_hops["network.startup"].simulated == pytest.approx(-(3 - 3 / 1.25) / 11, rel=1e-9)
    assert (with_hops[bandwidth].simulated, "links" in with_hops[bandwidth].reason) == (0, True)
    without = by_name(elasticities(program, machine, {"P": 8}, effects="none"))
    assert (without[latency].simulated, "hops" in without[latency].reason) == (0, True)


def test_messages_within_nodes_have_costs_of_their_own() -> None:
    """One in a node takes 1 us and 1000 bytes at 2 GB/s, 1.5 us, of which two thirds are the startup."""
    local = CROSSBAR.replace("sends:", "node: {startup: 1 us, bandwidth: 2 GB/s}, sends:") + "processors_per_node: 2\n"
    steps = "[send: {to: 1, bytes: 1000, when: rank == 0}, receive: {from: 0, bytes: 1000, when: rank == 1}]"
    found = by_name(elasticities(workload(steps), read_machine(local), {"P": 2}, effects="none"))
    for what, part_us in (("startup", 1), ("bandwidth", 0.5)):
        change = found[f"network.node.{what} (messages within nodes)"]
        assert change.simulated == change.forecast == pytest.approx(-(part_us - part_us / 1.1) / 1.5, rel=1e-9)


def test_segments_of_sizes_are_tried_one_by_one_and_within_nodes_together() -> None:
    """1000 bytes: 2 us and 1 us of the first segment, within a node 0.25 us and 0.25 us of the only one."""
    network = (
        "{topology: {kind: crossbar}, sends: blocking, node: {segments: [{startup: 250 ns, bandwidth: 4 GB/s}]}, "
        "link_bandwidth: 2 GB/s, segments: [{up_to: 2 KiB, startup: 2 us, bandwidth: 1 GB/s}, "
        "{startup: 9 us, bandwidth: 2 GB/s}]}"
    )
    machine = read_machine(
        f"simcodesign: 1\nname: m\nnodes: 2\nprocessors_per_node: 2\nprocessor: {{rate: 1 GFLOP/s}}\nnetwork: {network}\n"
    )

    def found(peer: int) -> dict[str, Improvement]:
        send = f"send: {{to: {peer}, bytes: 1000, when: rank == 0}}"
        receive = f"receive: {{from: 0, bytes: 1000, when: rank == {peer}}}"
        return by_name(elasticities(workload(f"[{send}, {receive}]"), machine, {"P": 4}, effects="none"))

    across, within = found(2), found(1)
    # Only the fastest messages might outrun links and interfaces, so that these get faster with them alone.
    slow, fast = "network.segments.1.per_byte", "network.segments.2.per_byte (messages, links and interfaces)"
    assert across["network.segments.1.startup"].simulated == pytest.approx((2 / 1.1 - 2) / 3, rel=1e-9)
    assert across[slow].simulated == pytest.approx((1 / 1.1 - 1) / 3, rel=1e-9)
    for nothing in ("network.segments.2.startup", "network.segments.1.up_to (larger)", fast):
        assert (across[nothing].simulated, bool(across[nothing].reason)) == (0, True)
    for what in ("startup", "bandwidth"):
        change = within[f"network.node.{what} (messages within nodes)"]
        assert change.simulated == change.forecast == pytest.approx((1 / 1.1 - 1) / 2, rel=1e-9)


def test_a_disk_as_a_whole_gives_what_its_constants_give_together() -> None:
    """2 ms and 1 MB at 100 MB/s: 12 ms, all of it the disk's."""
    found = by_name(elasticities(workload("[write: {bytes: 1e6}]"), read_machine(CROSSBAR), {"P": 1}, effects="none"))
    assert found[f"disk {AS_A_WHOLE}"].simulated == pytest.approx(1 / 1.1 - 1, rel=1e-9)


@pytest.mark.parametrize(
    ("beside", "reason"),
    [
        (
            "write: {bytes: 1000, when: rank == 1}",
            "some operations take another time, but none on the critical path",
        ),  # 2 ms of 11
        ("read: {bytes: 1000, when: rank == 1}", "every operation of this run takes the same time with it"),
    ],
)
def test_what_acts_off_the_critical_path_is_told_from_what_does_not_act(beside: str, reason: str) -> None:
    """The first rank reads 1 MB in 11 ms, whatever the second does meanwhile."""
    program = workload(f"[read: {{bytes: 1e6, when: rank == 0}}, {beside}]")
    found = by_name(elasticities(program, read_machine(CROSSBAR), {"P": 2}, effects="none"))
    assert (found["disk.write_startup"].simulated, found["disk.write_startup"].reason) == (0, reason)


def test_an_algorithm_changes_the_time_as_a_workload_that_names_it() -> None:
    machine = read_machine(LINE)
    names = ("binomial", "chain", "linear")
    times = {
        name: simulate(workload(f"[broadcast: {{bytes: 1e6, algorithm: {name}}}]"), machine, {"P": 8}).makespan_s
        for name in names
    }
    found = elasticities(workload("[broadcast: {bytes: 1e6, algorithm: binomial}]"), machine, {"P": 8})
    algorithms = {one.what.rpartition(" by ")[2]: one.simulated for one in found.improvements if one.is_algorithm}
    for name in names[1:]:
        assert algorithms[name] == pytest.approx(float(times[name]) / float(times["binomial"]) - 1, rel=1e-12)
    assert "binomial" not in algorithms


def test_an_algorithm_that_is_chosen_by_rules_is_replaced() -> None:
    """By ``auto``, a reduction goes up a binomial tree."""
    of_auto, of_name = (
        {one.what.rpartition(" by ")[2]: one.simulated for one in found.improvements if one.is_algorithm}
        for found in (
            elasticities(workload(f"[reduce: {{bytes: 1e6, algorithm: {name}}}]"), read_machine(LINE), {"P": 8})
            for name in ("auto", "binomial")
        )
    )
    assert of_auto == of_name
    assert of_auto["chain"] > 0.5


def test_operations_that_do_not_run_get_no_other_algorithm() -> None:
    never = "{repeat: P - 8, do: [broadcast: {bytes: 10, algorithm: chain}]}"
    program = workload(f"[{never}, broadcast: {{bytes: 10, algorithm: linear}}]")
    found = elasticities(program, read_machine(LINE), {"P": 8})
    labels = {one.what.partition(", ")[0] for one in found.improvements if one.is_algorithm}
    assert labels == {"main: broadcast (linear)"}


def test_the_same_random_numbers_make_less_imbalance_a_scaled_one() -> None:
    """The last rank ends at w (1 + d), with a tenth less of d at w (1 + d / 1.1): the same draw, or it would not."""
    program = workload("[compute: {flops: 2e9}]", head="imbalance: {distribution: uniform, spread: 0.4}\n")
    found = elasticities(program, read_machine(CROSSBAR), {"P": 8}, seed=7)
    late = float(found.simulation.makespan_s) - 1
    assert 0 < late < 0.4
    assert by_name(found)["imbalance"].simulated == pytest.approx((late / 1.1 - late) / (1 + late), rel=1e-9)


def test_nothing_is_without_a_reason_and_the_cost_is_said_before() -> None:
    announced: list[int] = []
    steps = "[compute: {flops: 1e9}, broadcast: {bytes: 1e6}]"
    found = elasticities(workload(steps), read_machine(LINE), {"P": 8}, effects="none", on_cost=announced.append)
    assert all(bool(one.simulated) != bool(one.reason) for one in found.improvements if not one.is_algorithm)
    assert "disk" in by_name(found)["disk.per_byte"].reason
    looked_at = [one for one in found.improvements if not one.what.startswith(("bandwidth of", "latency of"))]
    assert announced == [len(looked_at) + len(found.impossible)]


def test_constants_that_the_phases_replace_are_named() -> None:
    steps = "[{constants: {network.startup: 1 us}, phase: a, do: [broadcast: {bytes: 8}]}]"
    startup = by_name(elasticities(workload(steps), read_machine(LINE), {"P": 8}))["network.startup"]
    assert startup.simulated == startup.forecast == 0
    assert "phase" in startup.reason


def test_what_the_scenario_sets_is_what_gets_better() -> None:
    """With a startup of 4 us in place of 3 the route takes 12 us."""
    found = elasticities(workload(ACROSS), read_machine(LINE), {"P": 8, "network.startup": 4e-6}, improvement=1.0)
    assert by_name(found)["network.startup"].simulated == pytest.approx(-2 / 12, rel=1e-9)


@pytest.mark.parametrize("improvement", [0, -0.1, math.inf, math.nan])
def test_no_improvement_is_refused(improvement: float) -> None:
    with pytest.raises(InputError, match="improvement"):
        elasticities(workload("[barrier: {}]"), read_machine(LINE), {"P": 8}, improvement=improvement)


@pytest.mark.parametrize(
    "law",
    [
        Distribution("uniform", {"spread": 0.5}),
        Distribution("lognormal", {"variation": 0.3}),
        Distribution("gamma", {"variation": 0.3}),
        Distribution("empirical", values=(0.5, 1.0, 4.0)),
    ],
)
def test_a_narrower_distribution_has_that_much_less_deviation(law: Distribution) -> None:
    """Sample deviations of 200,000 draws, whose standard error is below 1 % for these."""
    of = [float(np.std(random_factors(one, np.random.default_rng(3), 200_000))) for one in (law, narrower(law, 2.0))]
    assert of[1] / of[0] == pytest.approx(0.5, rel=0.03)


def test_an_exponential_distribution_has_no_width_of_its_own() -> None:
    with pytest.raises(InputError, match="exponential"):
        narrower(Distribution("exponential"), 2.0)
    program = workload("[compute: {flops: 2e9}]", head="imbalance: {distribution: exponential}\n")
    found = elasticities(program, read_machine(CROSSBAR), {"P": 8})
    assert [what for what, _ in found.impossible] == ["imbalance"]


@pytest.mark.parametrize(("efficiency", "better"), [(0.5, 0.55), (0.95, 1.0)])
def test_a_higher_efficiency_is_the_better_one(efficiency: float, better: float) -> None:
    """Kernels that flops limit take as much less time; an efficiency of 1 cannot get better."""
    link = "memory: {bandwidth: 1 TB/s}, link: {bandwidth: 1 TB/s}"
    gpu = f"accelerator: {{count: 1, rate: 1 TFLOP/s, rates: {{fp64: 1 TFLOP/s}}, efficiency: SHARE, {link}}}"
    text = f"{CROSSBAR}{gpu}\n"
    work = workload("- kernel: {flops: 1e12, bytes: 1, type: fp64}\n")
    found = by_name(elasticities(work, read_machine(text.replace("SHARE", str(efficiency))), {"P": 1}, effects="none"))
    gained = found["accelerator.efficiency"]
    assert gained.forecast == gained.simulated == pytest.approx(efficiency / better - 1)
    assert "accelerator.efficiency" not in by_name(
        elasticities(work, read_machine(text.replace("SHARE", "1")), {"P": 1}, effects="none")
    )


def test_a_higher_efficiency_of_attention_is_the_better_one() -> None:
    link = "memory: {bandwidth: 1 TB/s}, link: {bandwidth: 1 TB/s}"
    gpu = f"accelerator: {{count: 1, rate: 1 TFLOP/s, rates: {{fp64: 1 TFLOP/s}}, attention_efficiency: 0.5, {link}}}"
    work = workload("- kernel: {flops: 1e12, bytes: 1, type: fp64, efficiency: attention}\n")
    found = by_name(elasticities(work, read_machine(f"{CROSSBAR}{gpu}\n"), {"P": 1}, effects="none"))
    gained = found["accelerator.attention_efficiency"]
    assert gained.forecast == gained.simulated == pytest.approx(0.5 / 0.55 - 1)
