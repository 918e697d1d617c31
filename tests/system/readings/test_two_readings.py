"""With every effect off, the simulation is the forecast: for shipped workloads and machines of all kinds that fit.
All draw power, so that their energies are the same, too.

The two sides share the description and nothing else (tests/test_layers.py). A difference above rounding would mean that a
closed form and the messages that it stands for are not the same.
"""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.analytic.demands.base import ESTIMATE_IN_LOGGOPS
from simcodesign.analytic.forecast import forecast
from simcodesign.describe.demands.collective import every_algorithm
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.network import DISTANCES
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import available, load_machine
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.engine.simulate import simulate
from tests import THOROUGH
from tests.analytic.test_bounds import holds
from tests.builders import algorithm_entry, closed_forms, network_of
from tests.shipped_pairs import (
    NOT_THE_SUM,
    arrives,
    is_loggops,
    is_open,
    load_workload,
    needs_memory,
    pair_parameters,
    pairs,
    plain_workloads,
    powered,
    with_power,
)

#: Some 10^5 additions of float64: each rounds by at most 1.1e-16 of the sum, rarely in the same direction.
ROUNDING = 1e-12
#: One, powers of two, odd, prime, and as many as the smallest machine has.
RANKS = (1, 2, 3, 5, 7, 8, 12, 13, 16)
#: Workloads that take fractions of an iteration, or no grid at all, unless P is a power of two.
POWERS_ONLY = ("seismic", "cg", "fft-binary-exchange")
#: Workloads that exchange messages or reduce again after an allreduce.
FOLDED = ("cg-iteration", "jacobi", "milc")
#: Workloads of broadcasts by one rank after another.
SUCCESSIVE = ("seismic", "seismic-at-once")


def both(workload: str, machine: str, ranks: int, preset: str | None = None):
    described = load_workload(workload), powered(machine)
    if workload in POWERS_ONLY and ranks & (ranks - 1):
        return None, None
    if ranks == 1 and arrives(workload, "network"):
        return None, None
    if is_open(workload):
        given = {"P": ranks, "requests": 20}
        return forecast(*described, given, queueing=False), simulate(*described, given, effects="none")
    result = forecast(*described, {"P": ranks}, preset=preset)
    return result, simulate(*described, {"P": ranks}, preset=preset, effects="none")


def assert_equal(expected, result) -> None:
    if expected.response_s is not None:
        assert_streams_equal(expected, result)
        return
    assert result.makespan_s == pytest.approx(expected.makespan_s, rel=ROUNDING)
    scale = expected.makespan_s * ROUNDING
    for phase, times in expected.phases.items():
        for part, time in times.items():
            assert result.phases[phase][part] == pytest.approx(time, rel=ROUNDING, abs=scale), (phase, part)
    assert (result.messages, result.message_bytes) == pytest.approx(
        (expected.messages, expected.message_bytes), rel=ROUNDING
    )
    assert result.disk_bytes == pytest.approx(expected.disk_bytes, rel=ROUNDING)
    assert (result.flops, result.instructions) == pytest.approx((expected.flops, expected.instructions), rel=ROUNDING)
    assert result.served == pytest.approx(expected.served, rel=ROUNDING)
    assert result.used == pytest.approx(expected.used, rel=ROUNDING)
    assert (result.energy_j is None) == (expected.energy_j is None)
    if expected.energy_j is not None:
        assert result.energy_j == pytest.approx(expected.energy_j, rel=10 * ROUNDING)


def assert_streams_equal(expected, result) -> None:
    """When requests arrive is drawn, and how long they take is not; clocks are rounded at the end of the run."""
    ulp = np.spacing(result.makespan_s)
    assert result.response_s == pytest.approx(expected.response_s, rel=ROUNDING, abs=4 * ulp)
    assert result.blocked == expected.blocked == 0
    assert (result.messages, result.message_bytes) == pytest.approx(
        (expected.messages, expected.message_bytes), rel=ROUNDING
    )
    assert result.disk_bytes == pytest.approx(expected.disk_bytes, rel=ROUNDING)
    forecast_j, simulated_j = (side.energy_j - side.static_power_w * side.makespan_s for side in (expected, result))
    assert simulated_j == pytest.approx(forecast_j, rel=1e-9)


@pytest.mark.parametrize(("workload", "machine"), pair_parameters())
def test_simulation_without_effects_is_the_forecast(workload: str, machine: str) -> None:
    compared = 0
    for ranks in RANKS:
        forecasted, simulated = both(workload, machine, ranks)
        if simulated is not None:
            is_path = forecasted.sum_s is not None
            is_sum = forecasted.response_s is not None or is_the_sum(workload, load_machine(machine), ranks)
            (assert_equal if is_path or is_sum else assert_no_longer)(forecasted, simulated)
            compared += 1
    assert compared >= 3


def is_the_sum(workload: str, machine: Machine, ranks: int) -> bool:
    """Return whether operations on a machine take the sum of their closed forms, one after another.

    On machines with networks inside nodes, messages are nonblocking: ranks that are on several levels, or only fold in
    and out of a power of two, leave an operation before others and begin the next one early. So do ranks that only fold
    where a single network's messages are nonblocking, in workloads of ``FOLDED``; and where receives take time besides,
    roots in workloads of ``SUCCESSIVE``, while the last ranks of one broadcast still receive it.
    """
    folds, model = bool(ranks & (ranks - 1)), machine.network.message_model
    if machine.has_levels:
        return ranks <= machine.processors_per_node // machine.node_kinds[0].sockets and not folds
    if not model.bytes_flow_together:
        return True
    if machine.network.distance != "none" and np.any(machine.network.hop_latency_s) and workload in SEVERAL_ROOTS:
        return False  # a root goes on before its last message has passed the hops
    return not (folds and workload in FOLDED) and not (
        model.has_receive_overhead and ranks > 3 and workload in SUCCESSIVE
    )


def assert_no_longer(expected, result) -> None:
    """The sum of closed forms is an upper bound, of the same messages and computations."""
    assert result.makespan_s <= expected.makespan_s * (1 + ROUNDING)
    counted = ("messages", "message_bytes", "disk_bytes", "flops", "instructions")
    for name in counted:
        assert getattr(result, name) == pytest.approx(getattr(expected, name), rel=ROUNDING), name


@pytest.mark.parametrize("ranks", [2, 4, 8, 16])
def test_trains_of_messages_where_receives_take_time(ranks: int) -> None:
    """On Fugaku a receive takes its rank's time, so that a train is simulated as its messages."""
    given = {"P": ranks, "cores": 8, "train": 3}
    described = load_workload("cg"), powered("fugaku")
    simulated = simulate(*described, given, effects="none")
    assert_equal(forecast(*described, given), simulated)
    assert simulated.makespan_s == simulate(*described, given | {"train": 1}, effects="none").makespan_s


@pytest.mark.parametrize("ranks", [4, 8])
def test_hpl_where_receives_take_time(ranks: int) -> None:
    """Panels are pipelined: the forecast is their longest path, of which the longest sum of any rank is an upper bound."""
    given = {"P": ranks, "n": 400, "b": 100}
    described = load_workload("hpl"), powered("fugaku")
    forecasted = forecast(*described, given, bounds=True)
    compiled, simpy = (simulate(*described, given, effects="none", engine=engine) for engine in ("compiled", "simpy"))
    assert_equal(forecasted, compiled)
    assert_no_longer(closed_forms(*described, given), compiled)
    holds(forecasted, compiled)
    assert (compiled.makespan_s, compiled.phases) == (simpy.makespan_s, simpy.phases)


@pytest.mark.parametrize("machine", [name for name in available("topologies") if load_machine(name).disk is not None])
@pytest.mark.parametrize("ranks", [4, 8])
@pytest.mark.thorough
def test_seismic_small(machine: str, ranks: int) -> None:
    forecasted, simulated = both("seismic", machine, ranks, "small")
    assert simulated is not None
    is_sum = is_the_sum("seismic", load_machine(machine), ranks)
    (assert_equal if is_sum else assert_no_longer)(forecasted, simulated)


#: Without the two whose steps are all-broadcasts: on 256 ranks, 65,280 messages in each of 256 steps. One rank adds up
#: that many flights, and rounding alone comes to 2e-11 of the sum.
LARGE = [
    (workload, machine)
    for workload, machine in pairs()
    if machine in ("torus-cluster", "fat-tree-cluster", "mesh-256") and workload not in ("seismic", "seismic-at-once")
]


@pytest.mark.parametrize(("workload", "machine"), LARGE)
@pytest.mark.thorough
def test_whole_machine(workload: str, machine: str) -> None:
    assert_equal(*both(workload, machine, load_machine(machine).processors))


# LogGOPS: exact for every operation; a program's sum is an upper bound where gaps do not outlast operations.

#: L, o, g, G, O: gaps that do not outlast the processor's work, gaps that do, nothing but a gap, nothing per byte.
LOGGOP = [
    (20e-6, 10e-6, 8e-6, 8e-9, 9e-9),
    (2.5e-6, 1.5e-6, 1e-6, 6e-9, 0.0),
    (0.0, 0.0, 5e-6, 1e-9, 0.0),
    (1e-6, 2e-6, 9e-6, 0.0, 0.0),
]


def loggop(constants: tuple[float, ...], rendezvous_above_bytes: float | None = None) -> Machine:
    latency, overhead, gap, per_byte, overhead_per_byte = constants
    network = network_of(
        build_topology("crossbar", 64),
        model="loggop",
        latency_s=latency,
        overhead_s=overhead,
        gap_s=gap,
        per_byte_s=per_byte,
        overhead_per_byte_s=overhead_per_byte,
        rendezvous_above_bytes=rendezvous_above_bytes,
    )
    return with_power(Machine("loggop", Processor(1e9), network, Disk(1e-3, 1e-3, 1e-9)))


def operation(text: str) -> Workload:
    return workload_from(parse_yaml(f"simcodesign: 1\nname: one\nprogram:\n  - {text}\n", "one.yaml"))


#: Numbers of ranks for single operations; tests of formulas try 64 and more on a crossbar (``tests/analytic``).
RANKS_OF_OPERATIONS = (1, 2, 3, 5, 8, 12, 13, 16, 27) if THOROUGH else (1, 2, 5, 27)

OPERATIONS = [
    *(f"{name}: {{bytes: 1000, {algorithm_entry(name, way)}}}" for name, way in every_algorithm() if name != "barrier"),
    "barrier: {}",
    *(
        f"exchange: {{pattern: halo{dims}d, bytes: 1000, periodic: {periodic}}}"
        for dims in (1, 2, 3)
        for periodic in ("true", "false")
    ),
]


#: Simulated over forecast, without rounding, of operations whose forecast is a lower bound.
AT_LEAST = 1 - ROUNDING
#: Operations in LogGOPS whose ranks differ, so that who comes first where decides: least and most of simulated over
#: forecast. Chosen by hand, wider than what thousands of random operations among up to 64 ranks showed
#: (``docs/messages.md``): 0.88 to 1.46.
ESTIMATES = {"scatter_allgather": (0.8, 1.6), "all_broadcast": (AT_LEAST, 2.0), "periodic: false": (AT_LEAST, 2.0)}
#: Workloads of operations with a root, one after another.
SEVERAL_ROOTS = ("collectives",)
FOLDED_ALGORITHMS = (
    "recursive_doubling",
    "bine",
    "two_level",
)  # which is the former if every rank has a node for itself
#: The same of those that are exact where P is a power of two.
FOLDED_ESTIMATES = {"rabenseifner": (0.8, 2.0), "scan": (0.8, 2.0)} | {
    f"allreduce: {{bytes: 1000, algorithm: {way}": (AT_LEAST, 2.0) for way in FOLDED_ALGORITHMS
}


def estimated_in_loggops(text: str, ranks: int) -> tuple[float, float] | None:
    """The range of an estimate; None where the closed form is exact."""
    estimates = ESTIMATES | FOLDED_ESTIMATES if ranks & (ranks - 1) else ESTIMATES
    return next((bounds for name, bounds in estimates.items() if name in text), None)


@pytest.mark.parametrize(
    "constants", [pytest.param(it, marks=pytest.mark.thorough if it in LOGGOP[2:] else ()) for it in LOGGOP]
)
@pytest.mark.parametrize("text", OPERATIONS)
def test_one_operation_in_loggops_is_its_closed_form(text: str, constants: tuple[float, ...]) -> None:
    for limit in (None, 100.0):
        machine = loggop(constants, limit)
        for ranks in RANKS_OF_OPERATIONS:
            forecasted = forecast(operation(text), machine, {"P": ranks})
            simulated = simulate(operation(text), machine, {"P": ranks}, effects="none")
            if any(ESTIMATE_IN_LOGGOPS in basis for basis in forecasted.basis):
                continue  # tests/system/readings/test_accelerator_collectives.py
            if estimate := estimated_in_loggops(text, ranks):
                least, most = (bound * forecasted.makespan_s for bound in estimate)
                assert least <= simulated.makespan_s <= most, (ranks, limit)
                continue
            assert simulated.makespan_s == pytest.approx(forecasted.makespan_s, rel=ROUNDING), (ranks, limit)
            assert simulated.energy_j == pytest.approx(forecasted.energy_j, rel=10 * ROUNDING), (ranks, limit)
            assert (simulated.messages, simulated.message_bytes) == pytest.approx(
                (forecasted.messages, forecasted.message_bytes), rel=ROUNDING
            )


@pytest.mark.thorough
@pytest.mark.parametrize("constants", LOGGOP)
def test_several_messages_in_loggops(constants: tuple[float, ...]) -> None:
    for dims, several in ((1, "[3]"), (2, "[4, 2]"), (2, "[0, 3]"), (3, "[2, 5, 1]")):
        step = operation(f"exchange: {{pattern: halo{dims}d, bytes: 1000, messages: {several}, periodic: true}}")
        for ranks in (1, 2, 3, 6, 9, 27, 64):
            forecasted = forecast(step, loggop(constants), {"P": ranks})
            simulated = simulate(step, loggop(constants), {"P": ranks}, effects="none")
            assert_equal(forecasted, simulated)


@pytest.mark.parametrize(
    "distance", [pytest.param(law, marks=() if law == "log2" else pytest.mark.thorough) for law in DISTANCES]
)
@pytest.mark.parametrize("text", OPERATIONS)
def test_one_operation_whose_hops_do_not_hold_the_sender(text: str, distance: str) -> None:
    kinds = (("cut_through", "fcfs"), ("store_and_forward", "fcfs"), ("store_and_forward", "round_robin"))
    for receive_s, (switching, sharing) in zip((9e-6, 2e-6, 0.0), kinds, strict=True):
        network = network_of(
            build_topology("torus", 64),
            startup_s=4e-6,
            per_byte_s=1e-9,
            hop_latency_s=3e-6,
            distance=distance,
            receive_overhead_s=receive_s,
            switching=switching,
            sharing=sharing,
            packet_bytes=100.0,
            hops_hold_sender=False,
            sends="blocking",
        )
        machine = with_power(Machine("free", Processor(1e9), network))
        for ranks in RANKS_OF_OPERATIONS:
            result = forecast(operation(text), machine, {"P": ranks})
            assert_equal(result, simulate(operation(text), machine, {"P": ranks}, effects="none"))


@pytest.mark.parametrize(
    ("workload", "machine"),
    [
        (workload, machine)
        for workload in ("jacobi", "cg-iteration")  # the first writes to a disk
        for machine in available("topologies")
        if not is_loggops(machine) and (workload != "jacobi" or load_machine(machine).disk is not None)
    ],
)
def test_no_hops_at_all(workload: str, machine: str) -> None:
    described = load_machine(machine, {"network.distance": "none", "mapping": "one_per_node"})
    ranks = min(described.most_ranks, 16)
    result = forecast(workload, described, {"P": ranks})
    assert_equal(result, simulate(workload, described, {"P": ranks}, effects="none"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "workload",
    [name for name in plain_workloads() if name not in ("seismic", *NOT_THE_SUM) and not needs_memory(name)],
)
def test_programs_in_loggops_take_about_the_sum(workload: str) -> None:
    """Where no ranks fold in and out of a power of two. More where a rank goes on before another, whose next send then
    waits until its early message has been taken up: up to 26 % in a row of all collectives."""
    machine = loggop(LOGGOP[0])
    for ranks in (1, 2, 8, 16, 64) if THOROUGH else (1, 2, 16):
        forecasted, simulated = (
            forecast(workload, machine, {"P": ranks}),
            simulate(workload, machine, {"P": ranks}, effects="none"),
        )
        assert 0.94 * forecasted.makespan_s <= simulated.makespan_s <= 1.27 * forecasted.makespan_s


@pytest.mark.thorough
@pytest.mark.parametrize("constants", [values for values in LOGGOP if values[0] + values[1] > values[3]])
def test_idle_links_add_nothing_in_loggops(constants: tuple[float, ...]) -> None:
    """A broadcast on a crossbar: no link ever carries two messages at a time. The first byte passes within o + L."""
    for size in (0, 1, 2, 1000):
        for ranks in (2, 8, 64):
            broadcast = operation(f"broadcast: {{bytes: {size}}}")
            forecasted = forecast(broadcast, loggop(constants), {"P": ranks})
            simulated = simulate(broadcast, loggop(constants), {"P": ranks}, effects="links")
            assert simulated.makespan_s == pytest.approx(forecasted.makespan_s, rel=ROUNDING)
