"""The forecast of open streams: formulas written out by hand, loads and limits, arrays of design points, two readings."""

from __future__ import annotations

import math
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.formulas.formula import phase_formula
from simcodesign.analytic.requirements_per_process import requirements_of
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.describe.demands.arrivals import BETWEEN, REQUESTS
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.noise import Noise
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.report.results.comparison_tables import comparison_tables
from simcodesign.report.results.tables import forecast_tables, simulation_tables
from tests import builders, examples
from tests.builders import arrivals, network, network_with

S = 0.01


def machine(nodes: int = 4, spindles: int = 1, shared_by: int = 1, **more: object) -> Machine:
    torus = network(nodes, "torus", startup_s=1e-6, per_byte_s=1e-9, hop_latency_s=1e-7)
    return builders.machine(torus, 1e9, Disk(S, S, 0.0, shared_by, spindles), **more)


def workload(*steps: str) -> Workload:
    return arrivals(*steps, head="parameters: {r: {default: 80}, K: {default: 3}}\n")


DISK = "to: disk, rate: r, requests: 1000, bytes: 0"
#: Coefficients of variation squared: of the services; C of M/M/2 is 2 a^2 / (1 + a).
KNOWN = {
    "varies: exponential": (1, "M/M/1", lambda a: S / (1 - a)),
    "kind: read": (1, "M/D/1", lambda a: S + a * S / (2 * (1 - a))),
    "varies: {distribution: gamma, variation: 2}": (
        1,
        "M/G/1 (Pollaczek-Khinchine)",
        lambda a: S + 5 * a * S / (2 * (1 - a)),
    ),
    "varies: {distribution: weibull, shape: 1}": (1, "M/M/1", lambda a: S / (1 - a)),
    "kind: write, varies: exponential": (2, "M/M/2", lambda a: S + 2 * a**2 / (1 + a) * S / (2 * (1 - a))),
}


@pytest.mark.parametrize("law", KNOWN)
@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_a_disk(law: str, load: float) -> None:
    spindles, formula, response = KNOWN[law]
    rate = load * spindles / S
    result = forecast(workload(f"{DISK}, {law}"), machine(1, spindles), {"P": 1, "r": rate})
    assert result.response_s == pytest.approx(response(load))
    assert result.formulas == (formula,)
    assert result.blocked == 0
    assert result.makespan_s == pytest.approx(1000 / rate + response(load))
    assert result.phases[BETWEEN]["computation"] == pytest.approx(1000 / rate)
    assert result.phases[REQUESTS]["disk"] == result.response_s


def test_ranks_that_share_a_disk() -> None:
    """Three ranks at one disk and one at another: 60 and 20 per second."""
    result = forecast(workload(f"{DISK}, varies: exponential"), machine(4, shared_by=3), {"P": 4, "r": 20})
    assert result.response_s == pytest.approx((3 * S / (1 - 0.6) + S / (1 - 0.2)) / 4)


def test_a_mixture_of_services() -> None:
    """Writes twice as long as reads: E[S] = 1.5 s, E[S^2] = 2.5 s^2 (deterministic each)."""
    two = machine(1)
    disk = Disk(S, 2 * S, 0.0)
    both = workload(
        "to: disk, rate: 20, requests: 10, bytes: 0", "to: disk, rate: 20, requests: 10, bytes: 0, kind: write"
    )
    result = forecast(both, Machine("two", two.processor, two.network, disk), {"P": 1})
    wait = 40 * 2.5 * S**2 / (2 * (1 - 40 * 1.5 * S))
    assert result.response_s == pytest.approx(wait + 1.5 * S)


@pytest.mark.parametrize("load", [0.5, 1.0, 2.0])
def test_losses(load: float) -> None:
    p = load ** np.arange(4)
    p /= p.sum()
    result = forecast(workload(f"{DISK}, varies: exponential, capacity: K"), machine(1), {"P": 1, "r": load / S})
    assert result.blocked == pytest.approx(p[3])
    assert result.response_s == pytest.approx(p @ np.arange(4) / (load / S * (1 - p[3])))
    assert result.formulas == ("M/M/1/3",)


def test_where_nobody_may_wait_any_service_loses_as_many() -> None:
    """Erlang's loss formula with two servers: a^2/2 / (1 + a + a^2/2)."""
    result = forecast(workload(f"{DISK}, capacity: 2"), machine(1, 2), {"P": 1, "r": 1 / S})
    assert result.blocked == pytest.approx(0.5 / 2.5)
    assert result.formulas == ("M/M/2/2",)


def test_a_jackson_network() -> None:
    step = f"{DISK}, varies: exponential, next: [[0, 0.5], [0.2, 0]]"
    result = forecast(workload(step), machine(2), {"P": 2, "r": 30})
    assert result.response_s == pytest.approx((40 / 60 + 50 / 50) / 60)
    assert result.formulas == ("Jackson network of M/M/1",)


def test_noise_of_the_disk_is_in_the_service() -> None:
    noise = Noise(disk=Distribution("exponential"))
    result = forecast(workload(DISK), machine(1, noise=noise), {"P": 1, "r": 50})
    assert result.response_s == pytest.approx(2 * S)
    assert result.formulas == ("M/M/1",)


def test_approximations_are_named() -> None:
    result = forecast(workload(f"{DISK}, between: {{distribution: erlang, stages: 2}}"), machine(1), {"P": 1, "r": 50})
    assert result.response_s == pytest.approx(S + S * 0.5 * 0.5)
    assert "Allen and Cunneen" in result.formulas[0]
    result = forecast(workload(f"{DISK}, capacity: 3"), machine(1), {"P": 1, "r": 50})
    assert "as if" in result.formulas[0]


def test_a_load_of_one_is_refused_with_the_largest_rate() -> None:
    with pytest.raises(InputError, match=r"w.yaml:5.*disk 0 has a load of 1.2.*below 100 per second"):
        forecast(workload(DISK), machine(1), {"P": 1, "r": 120})
    assert forecast(workload(DISK), machine(1), {"P": 1, "r": 120}, queueing=False).response_s == S
    with pytest.raises(InputError, match="interface"):
        forecast(workload("to: network, rate: r, requests: 1, bytes: 1e6"), machine(4), {"P": 4, "r": 1e4})


def test_arrays_of_design_points() -> None:
    rates, services = np.array([10.0, 50.0, 90.0, 120.0]), np.array([[S], [S / 10]])
    result = forecast(
        workload(f"{DISK}, varies: exponential"), machine(1), {"P": 1, "r": rates, "disk.read_startup": services}
    )
    with np.errstate(divide="ignore"):
        expected = np.where(rates * services < 1, services / (1 - rates * services), np.inf)
    assert np.asarray(result.response_s) == pytest.approx(expected)
    for row, column in np.ndindex(2, 3):
        one = {"P": 1, "r": rates[column], "disk.read_startup": services[row, 0]}
        assert forecast(workload(f"{DISK}, varies: exponential"), machine(1), one).response_s == pytest.approx(
            expected[row, column]
        )
    capacity = forecast(
        workload(f"{DISK}, varies: exponential, capacity: K"), machine(1), {"P": 1, "K": np.array([1, 2, 3])}
    )
    assert np.asarray(capacity.blocked) == pytest.approx([0.8 / 1.8, 0.64 / 2.44, 0.512 / 2.952])


TRAFFIC = "to: network, rate: r, requests: 2000, bytes: 1000"


def test_messages_counted_on_routes_are_those_of_the_closed_form() -> None:
    """Uniform traffic of all hosts, and the same by ranks that differ by rounding; sizes vary."""
    torus = network(16, "torus", startup_s=1e-6, per_byte_s=1e-9, hop_latency_s=1e-7)
    on = builders.machine(torus, 1e9)
    step = f"{TRAFFIC}, varies: exponential"
    closed = forecast(workload(step), on, {"P": 16, "r": 1e5})
    counted = forecast(workload(step.replace("rate: r", "rate: r*(1+1e-13*rank)")), on, {"P": 16, "r": 1e5})
    assert counted.response_s == pytest.approx(closed.response_s, rel=1e-9)
    assert closed.messages == 32000


def test_one_pair_alone_is_a_row_of_queues() -> None:
    """Rank 0 to its neighbour: the sender's interface, the link and the receiver's, each M/D/1 of the same service."""
    step = "to: network, rate: r*(rank == 0), requests: 10*(rank == 0), bytes: 1000, destination: (rank+2)%P"
    result = forecast(workload(step), machine(4), {"P": 4, "r": 4e5})
    wait = 0.4 * 1e-6 / (2 * 0.6)
    assert result.response_s == pytest.approx(1e-6 + 1e-6 + 1e-7 + 3 * wait)


def test_traffic_on_a_part_of_the_machine() -> None:
    """Four ranks in a row of a 4 x 4 mesh are 5/3 hops apart in the mean, all sixteen nodes 8/3. Without queues and
    effects both readings take the distance law, here the latter mean; else both look at the routes of the pairs."""
    mesh = network(16, "mesh", startup_s=1e-6, per_byte_s=1e-9, hop_latency_s=1e-7, distance="mean")
    described = workload("to: network, rate: 1, requests: 300, bytes: 1000"), builders.machine(mesh), {"P": 4}
    assert forecast(*described, queueing=False).response_s == pytest.approx(2e-6 + 8 / 3 * 1e-7, rel=1e-12)
    assert simulate(*described, effects="none").response_s == pytest.approx(2e-6 + 8 / 3 * 1e-7, rel=1e-12)
    assert forecast(*described).response_s == pytest.approx(2e-6 + 5 / 3 * 1e-7, rel=1e-5)
    # The mean of 1200 messages, whose hops have a standard deviation of 0.75: six standard errors.
    assert simulate(*described).response_s == pytest.approx(2e-6 + 5 / 3 * 1e-7, abs=6 * 0.75 * 1e-7 / 1200**0.5)


def test_ranks_of_a_node_have_no_network_between_them() -> None:
    on = Machine("node", Processor(1e9), machine().network, processors_per_node=4)
    result = forecast(workload(TRAFFIC), on, {"P": 4, "r": 1e6})
    assert result.response_s == pytest.approx(2e-6)


@settings(max_examples=examples(30), deadline=None)
@given(rate=st.floats(1, 95), variation=st.floats(0, 3, allow_subnormal=False), spindles=st.integers(1, 4))
def test_more_load_is_a_longer_response(rate: float, variation: float, spindles: int) -> None:
    varied = workload(f"{DISK}, varies: {{distribution: gamma, variation: {variation}}}")
    responses = forecast(varied, machine(1, spindles), {"P": 1, "r": np.linspace(rate, 99, 5)}).response_s
    assert np.all(np.diff(responses) >= 0)
    assert np.all(np.asarray(responses) >= S)


def test_energy_of_both_readings() -> None:
    """Busy disks draw 7 W, idle ones nothing."""
    on = machine(2).with_constants({"disk.dynamic_power": 7.0})
    forecasted, simulated = (read(workload(DISK), on, {"P": 2, "r": 50}) for read in (forecast, simulate))
    assert (forecasted.energy_j, simulated.energy_j) == pytest.approx((2000 * S * 7, 2000 * S * 7))
    assert forecasted.peak_power_w == simulated.peak_power_w == 14
    assert math.isclose(float(forecasted.disk_bytes), float(simulated.disk_bytes))


def test_comparison_is_of_response_times() -> None:
    comparison = compare(workload(f"{DISK}, varies: exponential"), machine(1), {"P": 1, "r": 50})
    assert comparison.forecast.response_s == pytest.approx(2 * S)
    assert comparison.simulation.response_s is not None
    assert comparison.error == pytest.approx(2 * S / float(comparison.simulation.response_s) - 1)
    ladder = comparison.ladder().set_index("effect")["simulated_s"]
    assert ladder["dependencies and waiting"] == pytest.approx(S)
    assert S < ladder["disks"] < ladder["noise"]
    assert comparison_tables(comparison)
    assert forecast_tables(comparison.forecast)
    assert simulation_tables(comparison.simulation)
    assert comparison.simulation.to_dict()["response_s"] == comparison.simulation.response_s


def test_what_has_no_formula() -> None:
    pytest.importorskip("sympy")
    with pytest.raises(InputError, match="open stream"):
        phase_formula(workload(DISK), REQUESTS)


def test_requirements_are_of_ranks() -> None:
    with pytest.raises(InputError, match="arrivals"):
        requirements_of(bind(workload(DISK), machine(1), {"P": 1}))


WRONG = {
    "to: disk, rate: 1, requests: 0, bytes: 0": "no requests",
    "to: disk, rate: 0, requests: 1, bytes: 0": "rate of arrivals",
    "to: disk, rate: 1, requests: 1, bytes: 0, capacity: 1.5": "capacity of a disk",
    "to: disk, rate: 1, requests: 1, bytes: 0, next: [[0, 1], [1, 0]]": "never leave",
    "to: disk, rate: 1, requests: 1, bytes: 0, next: [[0.7]]": "rows of next",
    "to: disk, rate: 1, requests: 1, bytes: 0, next: [[0.7, 0.7], [0, 0]]": "more than 1",
    "to: network, rate: 1, requests: 1, bytes: 0, destination: P": "not another rank",
}


@pytest.mark.parametrize("step", WRONG)
def test_what_cannot_be_forecast(step: str) -> None:
    with pytest.raises(InputError, match=WRONG[step]):
        forecast(workload(step), machine(), {"P": 2})


# Links that saturate early.


ONE_WAY = "to: network, rate: r, requests: 500, bytes: 1e6, destination: 1, when: rank == 0"


@pytest.mark.parametrize("stream", ["to: network, rate: r, requests: 50, bytes: 1e6", ONE_WAY])
def test_a_ceiling_of_the_load_of_links(stream: str) -> None:
    """On a ring of 4 hosts a message takes 1 ms on a link; every host sends a third of its messages to either
    neighbour, and those to the opposite host over two links: 2/3 of a message a link."""
    share = 1.0 if stream == ONE_WAY else 2 / 3
    free = machine()
    early = replace(free, network=network_with(free.network, saturation=0.6))
    rates = np.array([0.2, 0.5, 0.65]) / share * 1e3
    result = forecast(workload(stream), early, {"P": 4, "r": rates})
    assert result.link_load == pytest.approx([0.2, 0.5, 0.65])
    assert list(np.isfinite(result.response_s)) == [True, True, False]
    same = forecast(workload(stream), free, {"P": 4, "r": rates}).response_s
    assert np.asarray(result.response_s)[:2].tolist() == np.asarray(same)[:2].tolist()
    with pytest.raises(InputError, match=r"load of 0\.65.*saturates at 0\.6"):
        forecast(workload(stream), early, {"P": 4, "r": float(rates[2])})
    assert np.isfinite(forecast(workload(stream), free, {"P": 4, "r": float(rates[2])}).response_s)


def test_the_busiest_link_of_a_simulation() -> None:
    """That of its table of stations; above 60 % the answer warns of buffers."""
    for rate, warns in ((100.0, False), (900.0, True)):
        result = simulate(workload(ONE_WAY), machine(), {"P": 4, "r": rate}, effects="links")
        table = result.station_table()
        assert result.link_load == pytest.approx(table[table["kind"] == "link"]["utilisation"].max())
        assert result.link_load == pytest.approx(rate * 1e-3, rel=0.1)
        assert ("docs/buffers.md" in shown(result)) == warns


def shown(result: Result) -> str:
    console = Console(width=200, record=True, file=StringIO())
    for part in simulation_tables(result):
        console.print(part)
    return console.export_text()


@pytest.mark.parametrize("saturation", ["0", "1.1", "-1", "x"])
def test_bad_saturation(saturation: str) -> None:
    text = (
        "simcodesign: 1\nname: m\nnodes: 4\nprocessor: {rate: 1 GFLOP/s}\n"
        "network: {startup: 1 us, bandwidth: 1 GB/s, topology: {kind: torus}, saturation: %s}\n"
    )
    assert builders.read_machine(text % 0.5).network.saturation == 0.5
    with pytest.raises(InputError, match=r"m\.yaml:5: network\.saturation"):
        builders.read_machine(text % saturation)
