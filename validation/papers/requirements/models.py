"""The requirement models of Calotoiu et al., CLUSTER 2018, and what follows from them, computed again.

Table II is evaluated term by term with the standard library; sizes that fill a memory are found by bisection.
Nothing here is a part of the system that is compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from ...published.tables import number, table

APPS = ("kripke", "lulesh", "milc", "relearn", "icofoam")
UPGRADES = ("racks", "sockets", "memory")
SYSTEMS = ("massively-parallel", "vector", "hybrid")
METRICS = ("bytes_used", "flop", "bytes_sent", "loads_stores", "stack_distance")
#: Columns of Table V.
RATIOS = ("n", "N", "computation", "communication", "memory")
#: Bases of log n and of log p.
LOG2, NATURAL, MIXED = (2.0, 2.0), (math.e, math.e), (math.e, 2.0)
Bases = tuple[float, float]
COLLECTIVES: dict[str, Callable[[float], float]] = {
    "Allreduce": math.log2,
    "Bcast": lambda p: (p - 1) / p,
    "Alltoall": lambda p: p - 1,
}
#: The largest size of a process that is looked for.
MOST = 1e15


@cache
def terms(app: str, metric: str) -> tuple[tuple[float, float, float, float, float, str], ...]:
    """Rows of Table II: coefficient, exponents of n, log n, p and log p, and a collective operation or nothing."""
    rows = table("requirements-table-2")
    mine = rows[(rows.app == app) & (rows.metric == metric)]
    numbers = zip(*(mine[name].astype(float) for name in ("coefficient", "n", "log_n", "p", "log_p")), strict=True)
    names = ("" if name != name else str(name) for name in mine.collective)
    return tuple((*row, name) for row, name in zip(numbers, names, strict=True))


@cache
def model(app: str, metric: str, n: float, p: float, bases: Bases = LOG2) -> float:
    """A requirement of a process."""
    log_n, log_p = math.log(n) / math.log(bases[0]), math.log(p) / math.log(bases[1])
    return sum(
        coefficient * n**a * log_n**b * p**c * log_p**d * (COLLECTIVES[name](p) if name else 1.0)
        for coefficient, a, b, c, d, name in terms(app, metric)
    )


@cache
def origins(app: str, *metrics: str) -> dict[str, str]:
    """Return the origin of each requirement: that of its least certain row of Table II."""
    rows = table("requirements-table-2")
    order = ("published", "reconstructed", "assumed", "chosen")
    found = {}
    for metric in metrics:
        status = rows[(rows.app == app) & (rows.metric == metric)].status
        found[f"{metric} of {app} in Table II"] = max(status, key=order.index)
    return found


def additive_flop(n: float, p: float) -> float:
    """LULESH if what depends on n and what depends on p were added (section III-B)."""
    return 1e5 * n * math.log2(n) + p**0.25 * math.log2(p)


@cache
def largest(app: str, p: float, m: float, bases: Bases = LOG2) -> float:
    """The size of a process whose footprint is its memory; 0 if that of the smallest, 1, is larger."""
    if model(app, "bytes_used", 1.0, p, bases) > m:
        return 0.0
    low, high = 0.0, math.log(MOST)
    for _ in range(80):
        middle = 0.5 * (low + high)
        if model(app, "bytes_used", math.exp(middle), p, bases) <= m:
            low = middle
        else:
            high = middle
    return math.exp(low)


@cache
def factor(upgrade: str, column: str) -> float:
    """A number of Table III."""
    return number("requirements-table-3", column, upgrade=upgrade)


@cache
def ratios(app: str, upgrade: str, p: float, m: float, bases: Bases = LOG2) -> dict[str, float]:
    """A column of Table V for a machine of p processes with a memory of m; all 0 if nothing fits after it."""
    new_p, new_m = p * factor(upgrade, "p"), m * factor(upgrade, "m")
    if app == "baseline":
        size = new_m / m
        return {"n": size, "N": size * new_p / p, "computation": size, "communication": size, "memory": size}
    n, new_n = largest(app, p, m, bases), largest(app, new_p, new_m, bases)
    if not new_n:
        return dict.fromkeys(RATIOS, 0.0)

    def ratio(*metrics: str) -> float:
        return math.prod(model(app, it, new_n, new_p, bases) / model(app, it, n, p, bases) for it in metrics)

    return {
        "n": new_n / n,
        "N": new_n * new_p / (n * p),
        "computation": ratio("flop"),
        "communication": ratio("bytes_sent"),
        "memory": ratio("loads_stores", "stack_distance"),
    }


@cache
def system(name: str, column: str) -> float:
    """A number of Table VI."""
    return number("requirements-table-6", column, system=name)


@cache
def overall(app: str, name: str, bases: Bases = LOG2) -> float:
    """The largest overall problem of Table VII."""
    p = system(name, "processors")
    return p * largest(app, p, system(name, "memory"), bases)


def benchmark(app: str, bases: Bases = LOG2) -> float:
    """The largest overall problem that all systems hold."""
    return min(overall(app, name, bases) for name in SYSTEMS)


def wall_time_s(app: str, name: str, problem: float, bases: Bases = LOG2) -> float:
    """The least time of Table VII: flops of a process over the rate of a processor."""
    p = system(name, "processors")
    flop = additive_flop(problem / p, p) if app == "lulesh-additive" else model(app, "flop", problem / p, p, bases)
    return flop / system(name, "rate")
