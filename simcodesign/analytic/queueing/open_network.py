"""Latency of open streams of messages: every link and interface as an M/G/1 queue, by what passes it.

Uniform traffic from every host has closed forms (``uniform_traffic``); for other streams the loads are counted on the
routes between the pairs that send, and so are hops, whatever the machine's distance law. All stations are taken to be
independent (Kleinrock, Communication Nets, 1964), with Poisson arrivals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.collective_traffic import checked_peers
from simcodesign.analytic.messages.message_costs import price
from simcodesign.analytic.messages.route_links import group_table, links_of_messages
from simcodesign.analytic.queueing.station import mg1
from simcodesign.analytic.queueing.uniform_traffic import check_closed_form, uniform_latency
from simcodesign.core.errors import CapacityError, InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.machine import Machine

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
#: Pairs of ranks whose routes are looked at, times design points.
MOST_PAIRS = 20_000_000


@dataclass(frozen=True)
class Crowd:
    """Messages under way.

    Their mean latency (...), the load of every station (..., S) and the stations' names, and the load of the busiest
    link (...).
    """

    latency_s: FloatOrArray
    load: _Floats
    names: Sequence[str]
    formula: str
    link_load: FloatOrArray


def crowd(
    step: Arrivals,
    machine: Machine,
    design_point: DesignPoint,
    count: _Floats,
    rate: _Floats,
    size: _Floats,
    spread: float,
) -> Crowd:
    """Latency and loads of a step.

    ``count``, ``rate``, ``size``: (..., P) messages of a rank, their rate and mean bytes, ``spread``: coefficient of
    variation of their services. ``machine``: its constants have a last axis of 1.

    CapacityError where routes of too many pairs would have to be looked at.
    """
    own = design_point.machine.own_interface_of(design_point.ranks)
    check_closed_form(design_point.machine.network, step.place, have_own=own is not None)
    kind = "M/D/1" if spread == 0 else "M/G/1"
    formula = f"{kind} at every link and interface (Kleinrock's independence)"
    if _is_uniform(step, design_point, rate, size):
        uniform = uniform_latency(design_point.machine.network, rate[..., 0], size[..., 0], spread)
        load = np.asarray(uniform.utilisation)[..., None]
        name = f"{kind} at every link and interface ({uniform.formula})"
        return Crowd(uniform.latency_s, load, ["the busiest link or interface"], name, uniform.link_load)
    return _counted(step, machine, design_point, count, rate, size, spread, formula)


def _is_uniform(step: Arrivals, design_point: DesignPoint, rate: _Floats, size: _Floats) -> bool:
    """Whether every host sends alike, to all others."""
    nodes = design_point.machine.node_of(design_point.ranks)
    every_host = design_point.ranks == design_point.machine.network.topology.node_count == len(np.unique(nodes))
    alike = bool(np.all(rate == rate[..., :1]) and np.all(size == size[..., :1]))
    network = design_point.machine.network
    alike = alike and not network.links_differ and network.interfaces.count == 1
    alike = alike and design_point.machine.interface_factors is None
    return step.destination is None and every_host and alike


def _counted(
    step: Arrivals,
    machine: Machine,
    design_point: DesignPoint,
    count: _Floats,
    rate: _Floats,
    size: _Floats,
    spread: float,
    formula: str,
) -> Crowd:
    source, target, share = pairs_of(step, design_point)
    node, topology = design_point.machine.node_of(design_point.ranks), design_point.machine.network.topology
    here, there = node[source], node[target]
    far = here != there
    stations, passes = _passes(design_point, source, target, far)
    network = machine.network
    first_link = network.interfaces.stations(machine.nodes)
    is_link = stations >= first_link
    pair_rate, pair_size = rate[..., source] * share, size[..., source]
    interface_s, link_s = network.interface_occupancy_s_per_byte, group_table(network.links_s_per_byte)
    group = topology.group_of(np.where(is_link, stations - first_link, 0))
    factors = machine.interface_factors
    if factors is not None:
        node = stations // network.interfaces.count % machine.nodes
        interface_s = interface_s * factors[..., np.where(is_link, 0, node)]
    per_byte = np.where(is_link, link_s[..., group], interface_s)
    passing = _sums(passes, pair_rate)
    loads = (_sums(passes, pair_rate * pair_size**power) for power in (1, 2))
    busy, squares = (load * per_byte**power for power, load in enumerate(loads, start=1))
    some = busy > 0
    mean = np.where(some, busy / np.where(passing > 0, passing, 1.0), 0.0)
    variations = np.where(some, squares * passing / np.where(some, busy, 1.0) ** 2 * (1 + spread**2) - 1, 0.0)
    waits = np.asarray(mg1(passing, mean, np.sqrt(np.maximum(variations, 0.0))).waiting_s)
    waits = np.where(passing > 0, waits, 0.0)
    hops = np.where(far, topology.hops(here, there), 0).astype(np.float64)
    links = links_of_messages(machine, design_point.ranks, source, target) if machine.paths_differ else None
    ranks = np.asarray(float(design_point.ranks))
    alone = np.asarray(price(network, ranks, hops, links).message(pair_size).arrival_s)
    if network.is_stored:  # the receiver's interface may be slower than the last link
        if network.links_differ:
            what = "requests to the network over links that differ and store messages have no closed form"
            raise InputError(what, step.place, value=network.switching, allowed="network.switching: cut_through")
        stored = np.minimum(pair_size, network.sharing.stored_bytes)
        later = stored * np.maximum(interface_s - network.link_occupancy_s_per_byte, 0.0)
        alone = alone + np.where(hops > 1, later, 0.0)
    latency = alone + _sums(passes.T.tocsr(), waits)
    weight = count[..., source] * share
    mean_latency = np.sum(np.where(weight > 0, weight * latency, 0.0), axis=-1) / weight.sum(axis=-1)
    names = _Names(design_point.machine, stations)
    load = np.asarray(passing * mean)
    link_load = np.max(load[..., is_link], axis=-1, initial=0.0)
    mean_latency = np.where(link_load >= network.saturation, np.inf, mean_latency)
    return Crowd(mean_latency, load, names, formula, link_load)


def pairs_of(step: Arrivals, design_point: DesignPoint) -> tuple[_Ints, _Ints, float]:
    """Return sources and targets, and the fraction of a source's messages that each pair has."""
    ranks = design_point.ranks
    every = np.arange(ranks)
    if step.destination is not None:
        names: dict[str, FloatOrArray] = {
            name: value for name, value in design_point.values.items() if not np.ndim(value)
        }
        names["rank"] = design_point.every_rank()
        here = every if step.when is None else np.flatnonzero(np.broadcast_to(step.when.evaluate(names), ranks))
        return here, checked_peers("destination", step.destination, names, here), 1.0
    points = int(np.prod(design_point.shape, dtype=np.int64))
    if ranks * (ranks - 1) * points > MOST_PAIRS:
        what = f"{ranks * (ranks - 1):.3g} pairs of ranks, whose routes must be looked at"
        raise CapacityError(what, step.place, allowed="all hosts sending alike, one rank on each; or fewer ranks")
    source, other = np.divmod(np.arange(ranks * (ranks - 1)), ranks - 1)
    return source, other + (other >= source), 1.0 / (ranks - 1)


def _passes(point: DesignPoint, source: _Ints, target: _Ints, far: NDArray[np.bool_]) -> tuple[_Ints, Any]:
    """Return the stations that are passed, and a matrix (S, M) of which pair of ranks passes which.

    Stations are interfaces in the order of ``Interfaces``, then links; ``far`` (M,): whether the ranks are on different
    nodes.
    """
    from scipy.sparse import csr_array

    machine, pair = point.machine, np.flatnonzero(far)
    node, own = machine.node_of(point.ranks), machine.interfaces_of(point.ranks)
    here, there = node[source[far]], node[target[far]]
    interfaces, routes = machine.network.interfaces, machine.network.topology.routes(here, there)
    leaves: _Ints | int = 0 if own is None else own.leaving(source[far])
    comes: _Ints | int = 0 if own is None else own.leaving(target[far])
    ends = [interfaces.injection(here, leaves), interfaces.ejection(there, machine.nodes, comes)]
    station = np.concatenate([*ends, routes.link + interfaces.stations(machine.nodes)])
    who = np.concatenate([pair, pair, np.repeat(pair, np.diff(routes.start))])
    passed = np.bincount(station) > 0  # np.unique would sort tens of millions of numbers
    stations, row = np.flatnonzero(passed), (np.cumsum(passed) - 1)[station]
    matrix = csr_array((np.ones(len(row)), (row, who)), shape=(len(stations), len(source)))
    return stations, matrix


def _sums(matrix: Any, values: _Floats) -> _Floats:
    """(..., S) sums over the pairs (..., M) that pass each station."""
    flat = values.reshape(int(np.prod(values.shape[:-1])), values.shape[-1])
    return np.asarray((matrix @ flat.T).T.reshape(*values.shape[:-1], matrix.shape[0]))


class _Names(Sequence[str]):
    """Names of stations, made when they are indexed."""

    def __init__(self, machine: Machine, stations: _Ints) -> None:
        self._machine, self._stations = machine, stations
        self._interfaces = machine.network.interfaces.stations(machine.nodes)

    def __len__(self) -> int:
        return len(self._stations)

    def __getitem__(self, place: Any) -> Any:
        number = int(self._stations[place])
        network = self._machine.network
        if number < self._interfaces:
            return network.interfaces.station_name(number, self._machine.nodes)
        return f"link {network.topology.link_name(number - self._interfaces)}"
