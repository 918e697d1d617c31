"""Visits to stations, and the critical path through their queues, held against logs and against a case by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from simcodesign.core.errors import InputError
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.queues.critical_path import path_through_queues
from simcodesign.engine.queues.visits import StationVisits, run_with_visits
from simcodesign.engine.reference.run import run
from simcodesign.generate.lower import make_plan
from simcodesign.generate.plan import NONE, Plan


def plan_of(
    workload: str, machine: str, changes: dict[str, object], parameters: dict[str, object], effects: tuple[str, ...]
) -> Plan:
    return make_plan(Scenario.of(workload, load_machine(machine, changes), parameters).bind(), effects, 0)


CASES = [
    (
        "broadcast",
        "mesh-256",
        {"nodes": 16, "network.topology.shape": [4, 4]},
        {"P": 16, "m": 1e6, "order": "near"},
        ("hops", "links"),
    ),
    (
        "broadcast",
        "mesh-256",
        {"nodes": 16, "network.topology.shape": [4, 4]},
        {"P": 16, "m": 1e6, "order": "near"},
        ("hops", "links", "interfaces"),
    ),
    ("jacobi", "torus-cluster", {}, {"P": 8, "sweeps": 2}, ("hops", "links", "interfaces")),
    ("seismic", "power-challenge", {}, {"P": 4}, ("hops", "links", "disks")),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{len(case[4])}" for case in CASES])
def test_visits_are_those_of_the_log_and_the_path_has_no_gaps(
    case: tuple[str, str, dict[str, object], dict[str, object], tuple[str, ...]],
) -> None:
    plan = plan_of(*case)
    log, visits = run_with_visits(plan)
    plain = run(plan)
    assert log.finish_s.tolist() == plain.finish_s.tolist()
    count = np.bincount(visits.station, minlength=len(plan.stations))
    assert count.tolist() == plain.served.tolist()
    busy = np.bincount(visits.station, visits.end_s - visits.grant_s, minlength=len(plan.stations))
    # The difference of two times, each of which is rounded once.
    rounding_s = float(np.spacing(plain.finish_s.max()) * count.max())
    assert busy == pytest.approx(plain.busy_s, rel=1e-9, abs=rounding_s)
    waits = np.bincount(visits.station, visits.grant_s - visits.arrival_s, minlength=len(plan.stations))
    assert waits == pytest.approx(plain.wait_s, rel=1e-9, abs=rounding_s)
    path = path_through_queues(plan, log, visits)
    assert path[0].from_s == 0
    assert path[-1].to_s == plain.finish_s.max()
    for one, following in pairwise(path):
        assert one.to_s == following.from_s
        assert one.from_s < one.to_s


def test_the_path_jumps_to_the_message_that_holds_the_link() -> None:
    """Four nodes on a line, nearest child first, no startup, 1 s a message: 0 sends to 1, then 0 to 2 and 1 to 3, which
    share the link from 1 to 2. Both come to it at 1 s; the one of the lower rank has it first, the other from 2 to 3 s."""
    changes = {
        "nodes": 4,
        "network.topology.shape": [1, 4],
        "network.startup": 0,
        "network.hop_latency": 0,
        "network.distance": "none",
    }
    plan = plan_of("broadcast", "mesh-256", changes, {"P": 4, "m": 1e8, "order": "near"}, ("hops", "links"))
    log, visits = run_with_visits(plan)
    assert log.finish_s.max() == pytest.approx(3.0)
    path = path_through_queues(plan, log, visits)
    assert [round(one.to_s - one.from_s, 9) for one in path] == [1, 1, 1]
    assert [one.station == NONE for one in path] == [True, False, False]  # node 0 is busy for the first second
    shared = [one.station for one in path[-2:]]
    assert shared[0] == shared[1]
    assert path[-2].op != path[-1].op
    first, second = (visit_at(visits, one.op, one.station) for one in path[-2:])
    assert (first[0], first[1]) == pytest.approx((1.0, 1.0))
    assert (second[0], second[1]) == pytest.approx((1.0, 2.0))


def visit_at(visits: StationVisits, op: int, station: int) -> tuple[float, float]:
    (row,) = np.flatnonzero((visits.op == op) & (visits.station == station))
    return float(visits.arrival_s[row]), float(visits.grant_s[row])


@pytest.mark.parametrize("sharing", ["max_min", "round_robin"])
def test_who_shares_a_link_has_no_turn_there(sharing: str) -> None:
    changes = {"nodes": 4, "network.topology.shape": [1, 4], "network.sharing": sharing}
    plan = plan_of("broadcast", "mesh-256", changes, {"P": 4, "m": 1e6}, ("hops", "links"))
    with pytest.raises(InputError, match="messages"):
        run_with_visits(plan)
