"""A model of messages of another package: one class each in describe, generate and analytic, and no other file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from tests.extension import postal

MACHINE = {
    "name": "post",
    "nodes": 4,
    "processor": {"rate": 1e9},
    "network": {
        "topology": {"kind": "crossbar"},
        "model": "postal",
        "send": "2 us",
        "delivery": "10 us",
        "bandwidth": "1 GB/s",
    },
}
WORKLOAD = {"name": "messages", "program": [{"broadcast": {"bytes": 1000, "algorithm": "linear"}}]}
#: The root sends three messages one after another; the last one comes a delivery later.
TAKES_S = 3 * (2e-6 + 1000e-9) + 10e-6


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The model, for one test only."""
    postal.register()
    yield
    postal.take_back()


def test_both_readings_take_it_from_a_machine_file() -> None:
    machine, workload = sc.Machine.load(MACHINE), sc.Workload.load(WORKLOAD)
    assert sc.forecast(workload, machine, {"P": 4}).makespan_s == pytest.approx(TAKES_S, rel=1e-12)
    for engine in ("simpy", "compiled"):
        result = sc.simulate(workload, machine, {"P": 4}, effects="none", engine=engine)
        assert result.makespan_s == pytest.approx(TAKES_S, rel=1e-12)


def test_its_constants_are_constants_of_the_machine() -> None:
    machine = sc.Machine.load(MACHINE)
    assert machine.constants()["network.delivery"] == 1e-5
    slower = machine.with_constants({"network.delivery": 2e-5})
    assert sc.forecast(sc.Workload.load(WORKLOAD), slower, {"P": 4}).makespan_s == pytest.approx(
        TAKES_S + 1e-5, rel=1e-12
    )
    with pytest.raises(InputError, match=r"network\.startup is a constant of the network model hockney"):
        machine.with_constants({"network.startup": 1e-6})
    with pytest.raises(InputError, match="'L' belongs to the network model loggop, not to postal"):
        sc.Machine.load({**MACHINE, "network": {**MACHINE["network"], "L": "1 us"}})  # type: ignore[dict-item]


def test_a_model_without_segments_says_so() -> None:
    network = {"topology": {"kind": "crossbar"}, "model": "postal", "segments": [{"bandwidth": "1 GB/s"}]}
    with pytest.raises(InputError, match="the network model postal has no segments"):
        sc.Machine.load({**MACHINE, "network": network})  # type: ignore[dict-item]
