"""A sharing rule is two classes of another package, in two files: what the rule is (describe), and the function that
gives the Plan the weights by which messages share their links (generate). Forecasts need nothing: they know sharing by
equal parts alone. Both engines know the Plan already.

What a Plan can express: first come, first served; max-min fair shares by weights; packets of one size for each message.
Any other rule changes both engines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.generate.messages.sharing.base import SHARED
from tests.extension import by_size

MACHINE: dict[str, Any] = {
    "name": "line",
    "nodes": 3,
    "processor": {"rate": 1e9},
    "network": {
        "topology": {"kind": "mesh", "shape": [3]},
        "sharing": "by_size",
        "sends": "blocking",
        "startup": 0,
        "bandwidth": "1 GB/s",
    },
}
#: Both messages take the link from 1 to 2; rank 2 works for 3 ms when it has the small one.
WORKLOAD = {
    "name": "two messages",
    "program": [
        {"send": {"to": 2, "bytes": 1e6, "when": "rank == 0"}},
        {"send": {"to": 2, "bytes": 4e6, "when": "rank == 1"}},
        {"receive": {"from": 0, "when": "rank == 2"}},
        {"compute": {"seconds": 3e-3, "when": "rank == 2"}},
        {"receive": {"from": 1, "when": "rank == 2"}},
    ],
}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The rule, for one test only."""
    by_size.register()
    yield
    by_size.take_back()


def machine(**network: Any) -> sc.Machine:
    return sc.Machine.load({**MACHINE, "network": {**MACHINE["network"], **network}})


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize(
    ("sharing", "takes_s"),
    [
        ("by_size", 5e-3 + 3e-3),  # 200 and 800 MB/s: 5 MB are through at once
        ("max_min", 2e-3 + 3e-3),  # 500 MB/s each: 1 MB is through after 2 ms, 4 MB after 5 ms
    ],
)
def test_messages_share_a_link(engine: str, sharing: str, takes_s: float) -> None:
    result = sc.simulate(
        sc.Workload.load(WORKLOAD), machine(sharing=sharing), {"P": 3}, effects=["links"], engine=engine
    )
    assert result.makespan_s == pytest.approx(takes_s, rel=1e-6)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_alone_it_is_the_forecast(engine: str) -> None:
    """Nobody shares: 1 MB after 1 ms, 3 ms of work, and 4 MB are there by then."""
    workload = sc.Workload.load(WORKLOAD)
    assert sc.forecast(workload, machine(), {"P": 3}).makespan_s == pytest.approx(4e-3, rel=1e-12)
    alone = sc.simulate(workload, machine(), {"P": 3}, effects="none", engine=engine)
    assert alone.makespan_s == pytest.approx(4e-3, rel=1e-12)


def test_its_errors_are_those_of_any_rule() -> None:
    with pytest.raises(InputError, match="sharing: by_size is for messages that are on all links"):
        machine(switching="store_and_forward")
    with pytest.raises(InputError, match=r"sharing: not one of the choices.*'by_siz'.*did you mean 'by_size'"):
        machine(sharing="by_siz")


def test_a_simulation_that_does_not_know_it_says_so() -> None:
    SHARED.remove(by_size.BySize)
    with pytest.raises(
        InputError, match=r"no simulation of sharing is registered for this class, got 'BySize'.*MaxMin"
    ):
        sc.simulate(sc.Workload.load(WORKLOAD), machine(), {"P": 3}, effects=["links"])
    SHARED.add(by_size.BySize, by_size.by_size)
