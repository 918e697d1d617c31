"""Runs of Ciw on the models of ``validation/peers/ciw.py``: a mean of replications and its standard error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from validation.peers.ciw import CUSTOMERS, LOOP, QUEUES, TWO_DISKS, Queue

#: Replications of each model; their length and warm-up, in mean services.
RUNS, END, WARM = 30, 22_000.0, 2000.0
Means = dict[tuple[str, str], tuple[float, float]]


def all_models() -> Means:
    """Mean and standard error by model and quantity."""
    import ciw

    found: Means = {}
    for name, queue in QUEUES.items():
        quantities = ("response",) if queue.capacity is None else ("response", "blocked")
        _add(found, name, quantities, _replicate(_station(ciw, queue), _of_station))
    _add(found, "two disks", ("response",), _replicate(_two_disks(ciw), _of_network))
    _add(found, "six customers", ("cycle",), _replicate(_loop(ciw), _of_loop))
    return found


def _add(found: Means, model: str, quantities: tuple[str, ...], runs: np.ndarray) -> None:
    for column, quantity in enumerate(quantities):
        values = runs[:, column]
        found[model, quantity] = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))


def _replicate(network: Any, measured: Callable[[list[Any]], list[float]]) -> np.ndarray:
    import ciw

    rows = []
    for seed in range(RUNS):
        ciw.seed(seed)
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(END)
        rows.append(measured(simulation.get_all_records()))
    return np.array(rows)


def _station(ciw: Any, queue: Queue) -> Any:
    service = ciw.dists.Deterministic(1.0) if queue.constant else ciw.dists.Exponential(1.0)
    waiting = {} if queue.capacity is None else {"queue_capacities": [queue.capacity - queue.servers]}
    return ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(queue.load)],
        service_distributions=[service],
        number_of_servers=[queue.servers],
        **waiting,
    )


def _of_station(records: list[Any]) -> list[float]:
    """Mean response of those served, and the share of those that found no place."""
    late = [one for one in records if one.arrival_date > WARM]
    served = [one for one in late if one.record_type == "service"]
    return [
        float(np.mean([one.waiting_time + one.service_time for one in served])),
        sum(one.record_type == "rejection" for one in late) / len(late),
    ]


def _two_disks(ciw: Any) -> Any:
    return ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate / 100) if rate else None for rate in TWO_DISKS.outside],
        service_distributions=[ciw.dists.Exponential(1.0) for _ in TWO_DISKS.outside],
        number_of_servers=[1 for _ in TWO_DISKS.outside],
        routing=[list(row) for row in TWO_DISKS.routes],
    )


def _of_network(records: list[Any]) -> list[float]:
    """Mean time that a request stays in the network: all its visits, by the number of requests."""
    spent: dict[int, float] = {}
    first: dict[int, float] = {}
    for one in records:
        spent[one.id_number] = spent.get(one.id_number, 0.0) + one.waiting_time + one.service_time
        first[one.id_number] = min(first.get(one.id_number, math.inf), one.arrival_date)
    # A request that has only begun by the end is left out: it has come in the last hundred services.
    return [float(np.mean([time for who, time in spent.items() if WARM < first[who] < END - 100]))]


def _loop(ciw: Any) -> Any:
    """All customers come at the beginning and never leave: own work, then the disk."""
    return ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([0.0, math.inf]), None],
        batching_distributions=[ciw.dists.Deterministic(CUSTOMERS), ciw.dists.Deterministic(1)],
        service_distributions=[ciw.dists.Exponential(1 / LOOP.own), ciw.dists.Exponential(1.0)],
        number_of_servers=[math.inf, LOOP.spindles],
        routing=[[0.0, 1.0], [1.0, 0.0]],
    )


def _of_loop(records: list[Any]) -> list[float]:
    """Mean cycle of a customer: the customers by the services of the disk per time."""
    served = [one for one in records if one.node == 2 and WARM < one.exit_date < END - 100]
    return [CUSTOMERS * (END - 100 - WARM) / len(served)]
