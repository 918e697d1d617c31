"""One cost more of a message is a subclass of a model in each of three files: its constants (describe), the seconds that
it adds to a message (generate), and the same in closed form (analytic). Machine files, data sheets, constants of sweeps
and both engines then know it, and everything else is the model's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.analytic.messages.even_sharing import Doubling, evenly_shared_s
from simcodesign.analytic.messages.message_models.base import FORECAST
from simcodesign.core.errors import InputError
from simcodesign.describe.network.message_models.hockney import Hockney
from simcodesign.generate.messages.message_models.base import SIMULATED
from tests.extension import pinned

MACHINE: dict[str, Any] = {
    "name": "pinning",
    "nodes": 4,
    "processor": {"rate": 1e9},
    "network": {
        "topology": {"kind": "crossbar"},
        "model": "pinned",
        "sends": "blocking",
        "startup": "10 us",
        "bandwidth": "1 GB/s",
        "pin": "50 us",
        "pinned_above": "8000 B",
    },
}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The model, for one test only."""
    pinned.register()
    yield
    pinned.take_back()


def machine(**network: Any) -> sc.Machine:
    return sc.Machine.load({**MACHINE, "network": {**MACHINE["network"], **network}})


def broadcast(size_bytes: float, algorithm: str = "linear") -> sc.Workload:
    program = [{"broadcast": {"bytes": size_bytes, "algorithm": algorithm}}]
    return sc.Workload.load({"name": "messages", "program": program})


def simulated_s(workload: sc.Workload, machine: sc.Machine, **options: Any) -> float:
    return float(sc.simulate(workload, machine, {"P": machine.nodes}, **options).makespan_s)


@pytest.mark.parametrize("effects", ["none", "links"])
@pytest.mark.parametrize(
    ("size_bytes", "sends", "takes_s"),
    [
        (1000, "blocking", 3 * (10e-6 + 1e-6)),  # the root sends three messages one after another
        (8000, "blocking", 3 * (10e-6 + 8e-6)),
        (10_000, "blocking", 3 * (10e-6 + 50e-6 + 10e-6)),
        (8000, "nonblocking", 3 * 10e-6 + 8e-6),  # the bytes of the last one come after its startup
        (10_000, "nonblocking", 3 * (10e-6 + 50e-6) + 10e-6),
    ],
)
def test_both_readings_charge_it(size_bytes: float, sends: str, takes_s: float, effects: str) -> None:
    workload, ours = broadcast(size_bytes), machine(sends=sends)
    assert sc.forecast(workload, ours, {"P": 4}).makespan_s == pytest.approx(takes_s, rel=1e-12)
    for engine in ("simpy", "compiled"):
        assert simulated_s(workload, ours, effects=effects, engine=engine) == pytest.approx(takes_s, rel=1e-12)


@pytest.mark.parametrize("rule", ["max_min", {"round_robin": "5 kB"}])
def test_it_comes_before_shared_links(rule: Any) -> None:
    for engine in ("simpy", "compiled"):
        took_s = simulated_s(broadcast(10_000), machine(sharing=rule), effects=["links"], engine=engine)
        assert took_s == pytest.approx(3 * 70e-6, rel=1e-9)


def test_flight_that_holds_no_sender_comes_after_it() -> None:
    """3 sends of 70 us, and 2 us over the hop of the last one."""
    ours = machine(hops_hold_sender=False, hop_latency="2 us")
    assert sc.forecast(broadcast(10_000), ours, {"P": 4}).makespan_s == pytest.approx(212e-6, rel=1e-12)
    assert simulated_s(broadcast(10_000), ours, effects="none") == pytest.approx(212e-6, rel=1e-12)


def test_streams_of_messages_know_it() -> None:
    """Hardly any traffic: nobody waits, and a message takes 10 + 50 + 10 us."""
    arrivals = {"to": "network", "rate": 1e-3, "requests": 5, "bytes": 10_000}
    workload = sc.Workload.load({"name": "stream", "program": [{"arrivals": arrivals}]})
    result = sc.simulate(workload, machine(), {"P": 4}, effects=["links"])
    assert result.requests is not None
    took_s = (result.requests.left_s - result.requests.arrived_s).tolist()
    assert took_s == pytest.approx([70e-6] * len(took_s), rel=1e-6)
    assert sc.forecast(workload, machine(), {"P": 4}).response_s == pytest.approx(70e-6, rel=1e-6)


def test_its_constants_are_constants_of_the_machine() -> None:
    ours = machine()
    assert (ours.constants()["network.pin"], ours.constants()["network.startup"]) == (50e-6, 10e-6)
    slower = ours.with_constants({"network.pin": 80e-6})
    assert sc.forecast(broadcast(10_000), slower, {"P": 4}).makespan_s == pytest.approx(3 * 100e-6, rel=1e-12)


def test_segments_leave_it_to_the_model() -> None:
    """20 us and 2 GB/s above 5 kB; the memory of 10 kB is pinned as before."""
    segments = [
        {"up_to": "5 kB", "startup": "10 us", "bandwidth": "1 GB/s"},
        {"startup": "20 us", "bandwidth": "2 GB/s"},
    ]
    network = {key: value for key, value in MACHINE["network"].items() if key not in ("startup", "bandwidth")}
    ours = sc.Machine.load({**MACHINE, "network": {**network, "segments": segments}})
    for size_bytes, message_s in ((1000, 11e-6), (6000, 23e-6), (10_000, 75e-6)):
        workload = broadcast(size_bytes)
        assert sc.forecast(workload, ours, {"P": 4}).makespan_s == pytest.approx(3 * message_s, rel=1e-12)
        assert simulated_s(workload, ours, effects="none") == pytest.approx(3 * message_s, rel=1e-12)
    slower = ours.with_constants({"network.pin": 80e-6, "network.segments.2.startup": 30e-6})
    assert sc.forecast(broadcast(10_000), slower, {"P": 4}).makespan_s == pytest.approx(3 * 115e-6, rel=1e-12)
    with pytest.raises(InputError, match=r"segments\[0\]\.pin: unknown key"):
        sc.Machine.load({**MACHINE, "network": {**network, "segments": [{**segments[1], "pin": "1 us"}]}})
    with pytest.raises(InputError, match="no segment with this constant"):
        ours.with_constants({"network.segments.1.pin": 1e-6})


def test_no_closed_form_of_the_model_leaves_it_out() -> None:
    """Two rounds on a line of four hosts, over one hop and over two: two messages share the link in the middle then.

    The closed form of such rounds, and formulas in symbols, are those of Hockney's messages: 20 us + 30 us.
    """
    line = {"topology": {"kind": "mesh", "shape": [4]}, "sharing": "max_min"}
    without = {key: value for key, value in MACHINE["network"].items() if key not in ("model", "pin", "pinned_above")}
    hockney = sc.Machine.load({**MACHINE, "network": {**without, **line}})
    assert evenly_shared_s(hockney, 4, 10_000.0, Doubling.EXCHANGE) == pytest.approx(50e-6, rel=1e-12)
    assert evenly_shared_s(machine(**line), 4, 10_000.0, Doubling.EXCHANGE) is None
    workload = sc.Workload.load(
        {"name": "rounds", "program": [{"allreduce": {"bytes": 10_000, "algorithm": "recursive_doubling"}}]}
    )
    for engine in ("simpy", "compiled"):
        assert simulated_s(workload, machine(**line), effects=["links"], engine=engine) == pytest.approx(150e-6)
    assert Hockney.has_symbolic_prices
    assert not pinned.Pinned.has_symbolic_prices


def test_keys_belong_to_the_model_that_had_them_first() -> None:
    loggop = {"topology": {"kind": "crossbar"}, "model": "loggop", "L": 0, "o": 0, "g": 0, "bandwidth": "1 GB/s"}
    for key, value, owner in (("sends", "blocking", "hockney"), ("startup", 0, "hockney"), ("pin", 0, "pinned")):
        with pytest.raises(InputError, match=f"'{key}' belongs to the network model {owner}, not to loggop"):
            sc.Machine.load({**MACHINE, "network": {**loggop, key: value}})


def test_a_reading_that_does_not_know_it_says_so() -> None:
    workload, ours = broadcast(1000), machine()
    FORECAST.remove(pinned.Pinned)
    with pytest.raises(
        InputError, match=r"no forecast of messages is registered for this class, got 'Pinned'.*Hockney"
    ):
        sc.forecast(workload, ours, {"P": 4})
    FORECAST.add(pinned.Pinned, pinned.ForecastPinned())
    SIMULATED.remove(pinned.Pinned)
    with pytest.raises(InputError, match="no simulation of messages is registered for this class, got 'Pinned'"):
        sc.simulate(workload, ours, {"P": 4})
    SIMULATED.add(pinned.Pinned, pinned.SimulatedPinned())
