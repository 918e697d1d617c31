"""Collective operations: time, messages and bytes of every algorithm, by the closed forms of the literature.

A message of m bytes costs a + m b (Hockney: startup and time per byte), its receiver r on top of that. The sources
count no r and let all ranks start together; where they count in another way, the law says so.
What no source gives (other numbers of ranks than 2^k, or r > 0) comes from ``replay``, which runs the sends and
receives of every rank, written here from the description of the algorithm.

Sources: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005); Chan, Heimlich, Purkayastha, van de Geijn, CCPE 19 (2007); Bruck,
Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8 (1997); Hensgen, Finkel, Manber, IJPP 17 (1988); Patarasuk, Yuan, JPDC 69
(2009).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import simcodesign as sc
from simcodesign.describe.topology.build import build_topology
from simcodesign.studies.validation.case import Case, Derived, Readings

from ..definitions import Steps, doubling, replay, tree_down, tree_up_and_down
from ..machines import EXACT, ROUNDING, TS, TW, M, collective, hockney

#: Numbers of ranks: powers of two and others, few and many (the latter only for the tests that may take long).
POWERS, MANY_POWERS = (2, 4, 8, 16, 32, 64), (128, 256)
OTHERS, MANY_OTHERS = (3, 5, 6, 7, 12, 24, 31, 33, 48), (100, 129)
MOST = (512, 1000, 1024)
#: Time of a receive where it is not 0: neither below nor above all other times.
R = 3e-6
THAKUR = "Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005)"


# --- Closed forms -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """An algorithm: ``time_s`` for a, b, m, r and P (and ``blocks``, what Bruck's all-to-all sends per rank).

    ``programs`` makes what ``replay`` needs where the formula does not hold: for r > 0 and other than powers of two.
    """

    collective: str
    algorithm: str
    time_s: str
    messages: str
    message_bytes: str
    source: str
    note: str = ""
    programs: Callable[[int], list[Steps]] | None = None
    quadratic: bool = False  # messages grow with P^2

    @property
    def name(self) -> str:
        return f"{self.collective}-{self.algorithm}".replace("_", "-")

    def values(self, ranks: int, receive_s: float) -> dict[str, float]:
        """Symbols of the formulas."""
        blocks = sum(distance.bit_count() for distance in range(ranks))
        return {"a": TS, "b": TW, "m": M, "r": receive_s, "P": ranks, "blocks": blocks}

    def line(self, formula: str, ranks: int, receive_s: float = 0.0, unit: str = "") -> Derived:
        """A formula for so many ranks."""
        return Derived("T" if unit else "N", formula, self.values(ranks, receive_s), unit, f"{ranks} ranks")

    def expected_s(self, ranks: int, receive_s: float) -> float:
        """The time, by the formula where it holds."""
        if self.programs and ranks & (ranks - 1) and receive_s:
            return replay(self.programs(ranks), TS + M * TW, receive_s)
        return self.line(self.time_s, ranks, receive_s).value


ROUND = "(a + m*b + r)"
LAWS = [
    Law(
        "broadcast",
        "binomial",
        f"ceil(log2(P))*{ROUND}",
        "P - 1",
        "(P - 1)*m",
        f"{THAKUR}, broadcast: binomial tree",
        programs=tree_down,
    ),
    Law(
        "broadcast",
        "linear",
        "(P - 1)*(a + m*b) + r",
        "P - 1",
        "(P - 1)*m",
        "One port (the model of Chan et al., CCPE 19 (2007)): P - 1 messages one after another",
    ),
    Law(
        "allreduce",
        "recursive_doubling",
        f"(floor(log2(P)) + 2*(P > 2**floor(log2(P))))*{ROUND}",
        "2**floor(log2(P))*floor(log2(P)) + 2*(P - 2**floor(log2(P)))",
        "(2**floor(log2(P))*floor(log2(P)) + 2*(P - 2**floor(log2(P))))*m",
        f"{THAKUR}, allreduce: lg P (a + m b) for powers of two, and one step before and one after for others",
        programs=doubling,
    ),
    Law(
        "allreduce",
        "ring",
        "2*(P - 1)*(a + m/P*b + r)",
        "2*P*(P - 1)",
        "2*(P - 1)*m",
        f"Patarasuk and Yuan, JPDC 69 (2009); the ring in {THAKUR}",
        quadratic=True,
    ),
    Law(
        "allreduce",
        "reduce_broadcast",
        f"(floor(log2(P)) + ceil(log2(P)))*{ROUND}",
        "2*(P - 1)",
        "2*(P - 1)*m",
        f"{THAKUR}, reduce and broadcast by a binomial tree: ceil(lg P) (a + m b) each",
        note=" The source counts ceil(lg P) rounds of the reduction for other numbers of ranks too. But nothing keeps "
        "small subtrees from sending before their round: of P = 2^i + j ranks, j < 2^i, the j are done with theirs by "
        "induction after floor(lg j) <= i - 1 messages, so that rank 0 has all after i = floor(lg P).",
        programs=tree_up_and_down,
    ),
    Law(
        "allgather",
        "ring",
        f"(P - 1)*{ROUND}",
        "P*(P - 1)",
        "P*(P - 1)*m",
        f"{THAKUR}, allgather: ring (m is what one rank contributes; the source's n is P m)",
        quadratic=True,
    ),
    Law(
        "allgather",
        "bruck",
        "ceil(log2(P))*(a + r) + (P - 1)*m*b",
        "P*ceil(log2(P))",
        "P*(P - 1)*m",
        f"{THAKUR}, allgather: Bruck; Bruck et al., IEEE TPDS 8 (1997), concatenation",
    ),
    Law(
        "allgather",
        "linear",
        f"(P - 1)*{ROUND}",
        "P*(P - 1)",
        "P*(P - 1)*m",
        "One port (the model of Chan et al., CCPE 19 (2007)): P - 1 messages sent, then as many received",
        quadratic=True,
    ),
    Law(
        "all_to_all",
        "pairwise",
        f"(P - 1)*{ROUND}",
        "P*(P - 1)",
        "P*(P - 1)*m",
        f"{THAKUR}, all-to-all: pairwise (m is what one rank sends to another; the source's n is P m)",
        quadratic=True,
    ),
    Law(
        "all_to_all",
        "linear",
        f"(P - 1)*{ROUND}",
        "P*(P - 1)",
        "P*(P - 1)*m",
        f"{THAKUR}, all-to-all: all sends and receives posted at once",
        quadratic=True,
    ),
    Law(
        "all_to_all",
        "bruck",
        "ceil(log2(P))*(a + r) + blocks*m*b",
        "P*ceil(log2(P))",
        "P*blocks*m",
        f"{THAKUR}, all-to-all: Bruck (lg P a + P/2 lg P m b for powers of two); "
        "Bruck et al., IEEE TPDS 8 (1997), index",
        note=" A block travels one hop for every bit of its distance, so that a rank sends as many blocks as the "
        "numbers 1 to P - 1 have bits (P/2 lg P for powers of two).",
    ),
    Law(
        "all_broadcast",
        "linear",
        f"(P - 1)*{ROUND}",
        "P*(P - 1)",
        "P*(P - 1)*m",
        "Armstrong and Eigenmann, SPECseis96, section Modeling Communication",
        quadratic=True,
        note=" All messages to the last rank are the last that their senders send.",
    ),
    Law(
        "barrier",
        "dissemination",
        f"ceil(log2(P))*{ROUND}",
        "P*ceil(log2(P))",
        "P*ceil(log2(P))*m",
        "Hensgen, Finkel, Manber, IJPP 17 (1988): ceil(lg P) rounds for any P",
    ),
]


# --- What the system says ---------------------------------------------------------------------------------------------


@functools.cache
def _simulated(name: str, algorithm: str, ranks: int, receive_s: float) -> tuple[float, float, float]:
    """Time, messages and bytes."""
    machine = hockney(build_topology("crossbar", ranks), hop_latency_s=0.0, receive_overhead_s=receive_s)
    result = sc.simulate(collective(name, algorithm), machine, {"P": ranks}, effects="none")
    return float(result.makespan_s), float(result.messages), float(result.message_bytes)


def _forecast(law: Law, ranks: Sequence[int], receive_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for many numbers of ranks in one call."""
    machine = hockney(build_topology("crossbar", max(ranks)), hop_latency_s=0.0, receive_overhead_s=receive_s)
    result = sc.forecast(collective(law.collective, law.algorithm), machine, {"P": np.array(ranks)})
    numbers = (result.makespan_s, result.messages, result.message_bytes)
    time_s, messages, message_bytes = (np.broadcast_to(number, len(ranks)) for number in numbers)
    return time_s, messages, message_bytes


def _readings(law: Law, ranks: Sequence[int], receive_s: float, quantity: int) -> Readings:
    forecast = _forecast(law, ranks, receive_s)[quantity]
    return Readings(
        forecast={P: float(value) for P, value in zip(ranks, forecast, strict=True)},
        simulation={P: _simulated(law.collective, law.algorithm, P, receive_s)[quantity] for P in ranks},
    )


def _time_case(law: Law, detail: str, ranks: Sequence[int], receive_s: float, quick: bool, full: bool = False) -> Case:
    powers = all(P & (P - 1) == 0 for P in ranks)
    replayed = bool(law.programs and receive_s) and not powers
    how = f"as a replay of its messages says (T = {law.time_s} for powers of two)" if replayed else f"T = {law.time_s}"
    which = "a power of two" if powers else "any number"
    shown = next(P for P in ranks if not replayed or P & (P - 1) == 0 or ranks[-1] == P)
    line = law.line(law.time_s, shown, receive_s, "s")
    value = law.expected_s(shown, receive_s)
    return Case(
        name=f"collectives/{law.name}/{detail}",
        claim=f"The {law.algorithm.replace('_', ' ')} {law.collective.replace('_', '-')} of P ranks, P {which}, takes "
        f"{how}{', with r at the receiver' if receive_s else ', r = 0'}.{law.note}",
        source=law.source + ("; replayed here" if replayed else "; r added here" if receive_s else ""),
        unit="s",
        expected={P: law.expected_s(P, receive_s) for P in ranks},
        tolerance=ROUNDING,
        reading="both",
        measure=lambda: _readings(law, ranks, receive_s, 0),
        axis="ranks",
        derivation=(line if line.value == value else Derived("T", "replay", {"replay": value}, "s", f"{shown} ranks"),),
        quick=quick,
        full=full,
    )


def _replay_case(law: Law) -> Case:
    ranks = (*POWERS, *OTHERS, *MANY_OTHERS)
    return Case(
        name=f"collectives/{law.name}/replay",
        claim=f"The closed form T = {law.time_s} is what a replay of its messages, written here, gives, r = 0. "
        "This compares the formula with its algorithm; no reading is tested.",
        source=law.source + "; replayed here",
        unit="s",
        expected={P: law.line(law.time_s, P).value for P in ranks},
        own={P: replay(law.programs(P), TS + M * TW, 0.0) for P in ranks} if law.programs else {},
        tolerance=ROUNDING,
        reading="source",
        axis="ranks",
        derivation=(law.line(law.time_s, 12, 0.0, "s"),),
        quick=True,
    )


def _count_case(law: Law, detail: str, formula: str, quantity: int, unit: str) -> Case:
    ranks = (1, *POWERS, *OTHERS)
    return Case(
        name=f"collectives/{law.name}/{detail}",
        claim=f"The {law.algorithm.replace('_', ' ')} {law.collective.replace('_', '-')} of P ranks sends {formula} "
        f"{detail} in all.",
        source=law.source,
        unit=unit,
        expected={P: law.line(formula, P).value for P in ranks},
        # A ring sends m / P bytes, which no double holds exactly.
        tolerance=EXACT if law.name != "allreduce-ring" or unit == "1" else ROUNDING,
        reading="both",
        measure=lambda: _readings(law, ranks, 0.0, quantity),
        axis="ranks",
        derivation=(law.line(formula, 12),),
        quick=True,
    )


def _cases(law: Law) -> list[Case]:
    few = law.quadratic
    powers = POWERS if few else POWERS + MANY_POWERS
    others = OTHERS if few else OTHERS + MANY_OTHERS
    cases = [
        _time_case(law, "powers-of-two", powers, 0.0, quick=True),
        _time_case(law, "other-ranks", others, 0.0, quick=True),
        _time_case(law, "receive-overhead", (2, 8, 32), R, quick=True),
        _time_case(law, "receive-overhead-other-ranks", (3, 5, 6, 7, 12, 31, 33), R, quick=True),
        _count_case(law, "messages", law.messages, 1, "1"),
        _count_case(law, "bytes", law.message_bytes, 2, "B"),
    ]
    if few:
        cases.append(_time_case(law, "many-ranks", MANY_OTHERS + MANY_POWERS, 0.0, quick=False))
    if law.programs:
        cases.append(_replay_case(law))
    return [*cases, _time_case(law, "very-many-ranks", MOST, 0.0, quick=False, full=few)]


CASES: list[Case] = [case for law in LAWS for case in _cases(law)]
