"""Open networks of queues: disks that pass requests on.

Times are in mean services S of a disk. Product forms are written out here, where the package solves traffic equations.

Source: J. R. Jackson, "Networks of waiting lines", Operations Research 5(4), 1957.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Case, Derived

from .long_runs import Chain, Move
from .stations import (
    Forecast,
    Quantity,
    S,
    Seen,
    disks,
    forecast_case,
    response_of,
    simulated_case,
    stream,
)

JACKSON = "Jackson, Operations Research 5(4), 1957"
#: States less probable than this are left out of the estimate of how long a run must be.
UNLIKELY = 1e-5


@dataclass(frozen=True)
class Jackson:
    """Disks to which ``outside`` requests per hundred services S come, and that pass them on by ``routes``. ``loads``:
    by the traffic equations, which ``check`` writes out."""

    name: str
    about: str
    outside: tuple[int, ...]
    routes: tuple[tuple[float, ...], ...]
    loads: tuple[float, ...]
    seed: int

    @property
    def check(self) -> tuple[Derived, ...]:
        """The traffic equations: every load is what comes from outside and from all disks."""
        return tuple(self._flow(target) for target in range(len(self.loads)))

    def _flow(self, target: int) -> Derived:
        shares = {f"x{i}": row[target] for i, row in enumerate(self.routes) if row[target]}
        terms = [f"{self.outside[target] / 100:g}", *(f"{share:g}*{name}" for name, share in shares.items())]
        return Derived(f"x{target}", " + ".join(terms), {name: self.loads[int(name[1:])] for name in shares})

    @property
    def response(self) -> Derived:
        """Little's law over the whole network, each disk an M/M/1 queue of its own."""
        number = " + ".join(f"x{i}/(1 - x{i})" for i in range(len(self.loads)))
        values = {f"x{i}": load for i, load in enumerate(self.loads)} | {"g": sum(self.outside) / 100}
        return Derived("T/S", f"({number})/g", values, about="g: requests from outside, per S")

    def work(self, requests: int) -> Workload:
        """So many requests per rank in the mean; as many of each as its share of the rate, so that all streams end
        together."""
        times = max(1, math.ceil(requests * len(self.outside) / sum(self.outside)))
        counts = _by_rank([times * count for count in self.outside])
        return stream(_by_rank([count / 100 / S for count in self.outside]), counts, routes=self.routes)

    def case(self) -> Case:
        """By simulation."""
        quantities = [
            Quantity(
                "response",
                self.response,
                lambda observed: observed.response,
                lambda: open_chain(self).spread_of_ratio(_total),
                response_of,
                self.check,
            ),
            *(self._utilisation(place) for place in range(len(self.loads))),
        ]
        return simulated_case(
            f"queueing/jackson/{self.name}",
            self._claim,
            f"{JACKSON}; Kleinrock, Queueing Systems I, 1975, Sec. 4.8",
            quantities,
            self.work,
            disks(len(self.loads)),
            seed=self.seed,
            ranks=len(self.loads),
        )

    @property
    def _claim(self) -> str:
        return (
            f"{self.about}: every disk is as an M/M/1 queue with the load of the traffic equations, and a request stays "
            "for the sum of x/(1 - x) over the disks, by the rate from outside."
        )

    def _utilisation(self, place: int) -> Quantity:
        def shown(observed: Seen) -> float:
            return observed.utilisation(place)

        def busy(state: Hashable) -> float:
            assert isinstance(state, tuple)
            return float(state[place] > 0)

        load = Derived("U", f"x{place}", {f"x{place}": self.loads[place]})
        return Quantity(
            f"utilisation of disk {place}", load, shown, lambda: open_chain(self).spread_of_time_average(busy)
        )


@cache
def open_chain(net: Jackson) -> Chain:
    """Requests at every disk, those from outside counted."""
    most = [math.ceil(math.log(UNLIKELY) / math.log(load)) for load in net.loads]

    def moves(state: Hashable) -> Iterator[Move]:
        assert isinstance(state, tuple)
        for place, count in enumerate(net.outside):
            if count:
                yield count / 100, _moved(state, None, place, most), 1.0
            if not state[place]:
                continue
            for target, share in enumerate(net.routes[place]):
                if share and target != place:
                    yield share, _moved(state, place, target, most), 0.0
            yield 1 - sum(net.routes[place]), _moved(state, place, None, most), 0.0

    return Chain.explored((0,) * len(net.loads), moves)


def _total(state: Hashable) -> float:
    assert isinstance(state, tuple)
    return float(sum(state))


def _by_rank(values: Sequence[float]) -> str:
    """An expression of the rank."""
    text = f"{values[-1]:.17g}"
    for rank in reversed(range(len(values) - 1)):
        text = f"where(rank == {rank}, {values[rank]:.17g}, {text})"
    return text


def _moved(state: tuple[int, ...], origin: int | None, target: int | None, most: Sequence[int]) -> tuple[int, ...]:
    """One request from here to there; it is lost if there are more than matter."""
    after = list(state)
    if origin is not None:
        after[origin] -= 1
    if target is not None:
        after[target] = min(after[target] + 1, most[target])
    return tuple(after)


#: Requests come from outside at the first disk alone: several streams would not end together.
OPEN = (
    Jackson("feedback", "Two disks with feedback", (39, 0), ((0.1, 0.75), (0.3, 0.1)), (0.6, 0.5), 7200),
    Jackson(
        "three-disks",
        "Three disks that pass requests to each other",
        (40, 0, 0),
        ((0.0, 0.6, 0.3), (0.2, 0.0, 0.44), (0.25, 0.35, 0.0)),
        (0.6, 0.5, 0.4),
        7300,
    ),
)
#: For the forecast alone.
ANYWHERE = (
    Jackson(
        "from everywhere", "", (30, 20, 8), ((0.0, 0.5, 0.2), (0.2, 0.0, 0.4), (0.5, 0.0, 0.0)), (0.6, 0.5, 0.4), 0
    ),
    Jackson("tandem", "", (90, 0), ((0.0, 1.0), (0.0, 0.0)), (0.9, 0.9), 0),
)


def _open_forecast() -> Case:
    rows = [
        Forecast(one.name, one.response, one.work(100), disks(len(one.loads)), len(one.loads), lines=one.check)
        for one in (*OPEN, *ANYWHERE)
    ]
    return forecast_case(
        "queueing/jackson",
        "The forecast of disks that pass requests on is that of M/M/1 queues with the loads of the traffic equations.",
        JACKSON,
        rows,
    )


CASES: list[Case] = [_open_forecast(), *(one.case() for one in OPEN)]
