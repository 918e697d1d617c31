"""Laws that hold on every run, whatever its distributions: utilisation, flow balance, Little.

They are accounts of one run, not of a steady state, and so hold to rounding (Denning and Buzen, The Operational Analysis
of Queueing Network Models, ACM Computing Surveys 10, 1978).
"""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Requests

#: Sums of some 10^5 numbers, and clocks that are rounded at the end of a run.
ROUNDING = 1e-9


def check_laws(result: Result) -> None:
    """All laws that a Result has what they need for."""
    for station in result.stations:
        assert 0 <= station.utilisation <= 1 + ROUNDING, station
        assert station.wait_s >= 0, station
    if any(station.kind == "disk" for station in result.stations):
        check_disks(result)
    if result.requests is not None:
        check_requests(result, result.requests)


def check_disks(result: Result) -> None:
    """The disks were busy as long as the accesses took, and made them wait as long as these waited."""
    assert result.ranks is not None
    disk = COMPONENTS.index("disk")
    spent, waited = (float(times[..., disk].sum()) for times in (result.ranks.busy_s, result.ranks.waiting_s))
    disks = [station for station in result.stations if station.kind == "disk"]
    clock = sum(station.served for station in disks) * 4 * np.spacing(float(result.makespan_s))
    assert sum(station.busy_s for station in disks) == pytest.approx(spent - waited, rel=ROUNDING, abs=clock)
    assert sum(station.wait_s for station in disks) == pytest.approx(waited, rel=ROUNDING, abs=clock)


def check_requests(result: Result, requests: Requests) -> None:
    """Flow balance, and Little's law: the area under the number in the system is the sum of the response times."""
    arrived, left = requests.arrived_s, requests.left_s
    served = ~np.isnan(left)
    assert len(requests) == np.count_nonzero(served) + requests.blocked
    assert requests.blocked == sum(station.blocked for station in result.stations)
    assert result.blocked == requests.blocked / len(requests)
    assert np.all(np.diff(arrived) >= 0)
    assert np.all(left[served] >= arrived[served])
    area = area_under_number(arrived[served], left[served])
    clock = len(requests) * 4 * np.spacing(float(result.makespan_s))
    assert area == pytest.approx(float(result.response_s or 0) * np.count_nonzero(served), rel=ROUNDING, abs=clock)


def area_under_number(arrived_s: np.ndarray, left_s: np.ndarray) -> float:
    """The integral of the number in the system, from one change to the next."""
    times = np.concatenate([arrived_s, left_s])
    change = np.concatenate([np.ones(len(arrived_s)), -np.ones(len(left_s))])
    order = np.argsort(times, kind="stable")
    number = np.cumsum(change[order])
    assert np.all(number >= 0)
    assert not len(number) or number[-1] == 0
    return float(number[:-1] @ np.diff(times[order]))
