"""Formulas against another simulator: the Ciw library (Palmer, Knight, Harper, Hawa, Journal of Simulation 13, 2019)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from simcodesign.analytic.queueing.networks import jackson, mva
from simcodesign.analytic.queueing.station import mmc, mmck

ciw = pytest.importorskip("ciw")
RUNS, END, WARM = 10, 1200.0, 200.0


def runs_of(network: object, measured: Callable[[list], list[float]], end: float = END) -> np.ndarray:
    """What is ``measured`` on the records of services that began after the warm-up, (runs, numbers)."""
    rows = []
    for seed in range(RUNS):
        ciw.seed(seed)
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(end)
        rows.append(measured([one for one in simulation.get_all_records() if one.arrival_date > WARM]))
    return np.array(rows)


def agrees(runs: np.ndarray, expected: list[float]) -> None:
    """Within four standard errors of the replications, each at most 6 % of the number."""
    error = runs.std(axis=0, ddof=1) / math.sqrt(len(runs))
    assert np.all(np.abs(runs.mean(axis=0) - expected) < 4 * error)
    assert np.all(error < 0.06 * np.array(expected))


def test_several_servers() -> None:
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(2.1)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[3],
    )
    queue = mmc(2.1, 1.0, 3)

    def measured(records: list) -> list[float]:
        waits = np.array([one.waiting_time for one in records])
        return [waits.mean(), (waits > 0).mean(), (waits**2).mean()]

    runs = runs_of(network, measured)
    agrees(runs[:, :2], [queue.waiting_s, queue.delayed])
    error = runs[:, 2].std(ddof=1) / math.sqrt(RUNS)
    assert abs(runs[:, 2].mean() - queue.waiting_square_s2) < 4 * error


@pytest.mark.thorough
def test_limited_room() -> None:
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(2.5)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[2],
        queue_capacities=[3],
    )
    queue = mmck(2.5, 1.0, 2, 5)

    def measured(records: list) -> list[float]:
        served = [one for one in records if one.record_type == "service"]
        refused = sum(one.record_type == "rejection" for one in records)
        return [float(np.mean([one.waiting_time for one in served])), refused / len(records)]

    agrees(runs_of(network, measured), [queue.waiting_s, queue.blocked])


def test_an_open_network() -> None:
    routing = [[0.1, 0.5, 0.0], [0.0, 0.0, 0.6], [0.3, 0.0, 0.0]]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(0.6), ciw.dists.Exponential(0.3), None],
        service_distributions=[ciw.dists.Exponential(rate) for rate in (1.2, 0.7, 1.0)],
        number_of_servers=[1, 2, 1],
        routing=routing,
    )
    expected = jackson([0.6, 0.3, 0.0], routing, [1 / 1.2, 1 / 0.7, 1.0], [1, 2, 1])

    def measured(records: list) -> list[float]:
        times: dict[int, list[float]] = {1: [], 2: [], 3: []}
        for one in records:
            times[one.node].append(one.waiting_time + one.service_time)
        return [float(np.mean(times[node])) for node in (1, 2, 3)]

    agrees(runs_of(network, measured), np.asarray(expected.stations.response_s).tolist())


@pytest.mark.thorough
def test_a_closed_network() -> None:
    """Six requests that all come at the beginning and never leave: thinking, a disk of two spindles, another of one."""
    nothing = ciw.dists.Sequential([math.inf])
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([0.0, math.inf]), nothing, nothing],
        batching_distributions=[ciw.dists.Deterministic(6), ciw.dists.Deterministic(1), ciw.dists.Deterministic(1)],
        service_distributions=[ciw.dists.Exponential(0.5), ciw.dists.Exponential(0.6), ciw.dists.Exponential(1.5)],
        number_of_servers=[math.inf, 2, 1],
        routing=[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
    )
    closed = mva([2.0, 1 / 0.6, 1 / 1.5], 6, [math.inf, 2, 1])

    def measured(records: list) -> list[float]:
        second, third = ([one for one in records if one.node == node] for node in (2, 3))
        cycles = len([one for one in second if one.exit_date < END - 100]) / (END - 100 - WARM)
        return [
            cycles,
            *(float(np.mean([one.waiting_time + one.service_time for one in node])) for node in (second, third)),
        ]

    agrees(runs_of(network, measured), [float(closed.throughput_per_s), *closed.residence_s[1:].tolist()])
