"""Queues with one station: the formulas, written out here, apart from the package's.

Times are in mean services S; the load is rate x S / servers.

Sources: L. Kleinrock, "Queueing Systems I: Theory" (1975); A. K. Erlang, "Solution of some problems in the theory of
probabilities of significance in automatic telephone exchanges" (1917); F. Pollaczek (1930), A. Khinchine (1932);
A. O. Allen, "Probability, Statistics, and Queueing Theory" (2nd ed. 1990).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.optimize import brentq

from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.studies.validation.case import Derived

KLEINROCK = "Kleinrock, Queueing Systems I, 1975"


def erlang_c(servers: int, load: float) -> Derived:
    """Share of the requests that wait, with every term written out."""
    terms = " + ".join(f"a**{k}/{math.factorial(k)}" for k in range(servers))
    last = f"a**{servers}/{math.factorial(servers)}/(1 - rho)"
    return Derived("C", f"{last}/({terms} + {last})", {"a": load * servers, "rho": load}, about="all servers at work")


def mmc_response(servers: int, load: float, share: Derived) -> Derived:
    """The response of M/M/c, of the fraction that waits."""
    return Derived("T/S", "1 + C/(c*(1 - rho))", {"C": share.value, "c": servers, "rho": load})


def blocked_and_response(load: float, capacity: int) -> tuple[Derived, Derived]:
    """Share blocked, and the response of those served."""
    values = {"rho": load, "K": capacity}
    blocked = Derived("p_K", "(1 - rho)*rho**K/(1 - rho**(K + 1))", values)
    number = "rho/(1 - rho) - (K + 1)*rho**(K + 1)/(1 - rho**(K + 1))"
    return blocked, Derived(
        "T/S", f"({number})/(rho*(1 - p))", values | {"p": blocked.value}, about="N by Little's law"
    )


@dataclass(frozen=True)
class Service:
    """A law of services: its moments E[S] ... E[S^4] in mean services, written out; its squared variation. ``about``:
    how it is called."""

    name: str
    about: str
    law: Distribution
    variation: str
    moments: tuple[str, str, str, str]
    load: float
    seed: int

    @property
    def raw(self) -> list[float]:
        """The moments."""
        return [Derived("m", formula).value for formula in self.moments]

    @property
    def wait(self) -> Derived:
        """Pollaczek-Khinchine."""
        return self.wait_at(self.load)

    def wait_at(self, load: float) -> Derived:
        """The mean wait in services."""
        return Derived("W/S", f"rho*(1 + ({self.variation}))/(2*(1 - rho))", {"rho": load}, about=self.name)


SERVICES = (
    Service("deterministic", "constant", Distribution("deterministic"), "0", ("1", "1", "1", "1"), 0.7, 5100),
    Service(
        "erlang-4",
        "Erlang-4",
        Distribution("erlang", {"stages": 4}),
        "1/4",
        ("1", "5/4", "5/4*6/4", "5/4*6/4*7/4"),
        0.6,
        5200,
    ),
    Service(
        "uniform",
        "uniform (0 to 2 S)",
        Distribution("uniform", {"spread": 1}),
        "1/3",
        ("1", "4/3", "2", "16/5"),
        0.6,
        5300,
    ),
    Service(
        "lognormal",
        "lognormal (c = 1)",
        Distribution("lognormal", {"variation": 1}),
        "1",
        ("1", "2", "8", "64"),
        0.5,
        5400,
    ),
    Service(
        "gamma", "gamma (c = 2)", Distribution("gamma", {"variation": 2}), "4", ("1", "5", "5*9", "5*9*13"), 0.5, 5500
    ),
)


def gim1_response(stages: int, load: float) -> tuple[Derived, Derived]:
    """The root of sigma = E[exp(-(1 - sigma) time between arrivals)] below 1, and the response that it gives."""
    root = float(brentq(lambda x: (stages * load / (stages * load + 1 - x)) ** stages - x, 0.0, 1 - 1e-6, xtol=1e-15))
    check = Derived("sigma", "(k*rho/(k*rho + 1 - s))**k", {"k": stages, "rho": load, "s": root}, about="its own root")
    return check, Derived("T/S", "1/(1 - sigma)", {"sigma": root})


def erlang_intervals(stages: int) -> Distribution:
    """Of times between arrivals."""
    return Distribution("erlang", {"stages": stages})
