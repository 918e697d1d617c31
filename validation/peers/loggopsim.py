"""LogGOPSim (Hoefler, Schneider, Lumsdaine, HPDC 2010) beside ours: small schedules, as programs of a few lines.

``loggopsim.csv`` has the times that it gives for schedules of these patterns; those of collectives were written by its
own Schedgen, for 8 ranks and 4,096 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

import simcodesign as sc
from simcodesign.describe.machine import Machine
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from .record import machine, table, workload

LETTERS = ("L", "o", "g", "G", "O", "S")
#: The S of the record that no message reaches, in bytes.
NEVER = 2**32 - 1
EXACT = Tolerance("both count whole nanoseconds; ours are doubles of seconds", absolute=1e-3)


@dataclass(frozen=True)
class Pattern:
    """A schedule as a program. ``forecast``: whether its closed form is that of the same time."""

    ranks: int
    about: str
    program: str
    forecast: bool = False


def _rounds(work: str = "") -> str:
    """Three rounds in which every rank sends to the one 1, 2 and 4 places on, with work between them. Nothing but a
    round's receive is waited for before the next."""
    rounds = [
        f"- {{start: {{send: {{to: (rank + {far}) % P, bytes: 4096, tag: {far}}}}}, as: to{far}}}\n"
        f"- receive: {{from: (rank - {far}) % P, tag: {far}}}\n"
        for far in (1, 2, 4)
    ]
    return work.join(rounds) + "- wait: [to1, to2, to4]"


PATTERNS = {
    "one message": Pattern(
        2,
        "a message of 10,001 bytes, after which its sender computes for 10 ns",
        """- send: {to: 1, bytes: 10001, when: rank == 0}
- receive: {from: 0, when: rank == 1}
- compute: {seconds: 10e-9, when: rank == 0}""",
    ),
    "late receive": Pattern(
        2,
        "a message of 5,001 bytes to a rank that computes for 90 us before it receives",
        """- compute: {seconds: 90e-6, when: rank == 1}
- send: {to: 1, bytes: 5001, when: rank == 0}
- receive: {from: 0, when: rank == 1}
- compute: {seconds: 100e-9, when: rank == 0}""",
    ),
    "two into one": Pattern(
        3,
        "messages of 2,001 bytes from two ranks to a third, sent at the same time",
        """- send: {to: 2, bytes: 2001, when: rank < 2}
- receive: {from: 0, when: rank == 2}
- receive: {from: 1, when: rank == 2}""",
    ),
    "two sends, then work": Pattern(
        3,
        "two messages of 1,001 bytes one after the other, after which their sender computes for 5 us",
        """- send: {to: 1, bytes: 1001, when: rank == 0}
- send: {to: 2, bytes: 1001, when: rank == 0}
- compute: {seconds: 5e-6, when: rank == 0}
- receive: {from: 0, when: rank > 0}""",
    ),
    "broadcast, binomial": Pattern(8, "a binomial broadcast", "- broadcast: {bytes: 4096}", True),
    "broadcast, binary tree": Pattern(
        8, "a broadcast by a binary tree", "- broadcast: {bytes: 4096, algorithm: binary_tree}", True
    ),
    "broadcast, chain": Pattern(
        8,
        "a broadcast along a chain in segments of 512 bytes",
        "- broadcast: {bytes: 4096, algorithm: chain, segment: 512 B}",
        True,
    ),
    "reduce, binomial": Pattern(8, "a binomial reduction", "- reduce: {bytes: 4096}", True),
    "scatter": Pattern(8, "a linear scatter", "- scatter: {bytes: 4096, algorithm: linear}", True),
    "gather": Pattern(8, "a linear gather", "- gather: {bytes: 4096, algorithm: linear}", True),
    "all to all": Pattern(8, "a linear all-to-all", "- all_to_all: {bytes: 4096, algorithm: linear}", True),
    "allreduce, Rabenseifner": Pattern(
        8, "an allreduce by halving and doubling", "- allreduce: {bytes: 4096, algorithm: rabenseifner}", True
    ),
    "dissemination": Pattern(8, "rounds to the ranks 1, 2 and 4 places on", _rounds()),
    "dissemination with work": Pattern(
        8, "the same with work of 4,096 ns before each round but the first", _rounds("- compute: {seconds: 4096e-9}\n")
    ),
    "linear barrier": Pattern(
        8,
        "a byte from every rank to the first one, then back",
        "- gather: {bytes: 1, algorithm: linear}\n- broadcast: {bytes: 1, algorithm: linear}",
    ),
}


def loggops(nodes: int, **letters: float) -> Machine:
    """A machine with these parameters, in ns and bytes."""
    units = {"G": " ns/B", "O": " ns/B", "S": " B"}
    values = ", ".join(f"{letter}: {value:g}{units.get(letter, ' ns')}" for letter, value in letters.items())
    return machine(nodes, f"model: loggop, topology: {{kind: crossbar}}, {values}")


def parameters(row: pd.Series) -> dict[str, int]:
    """Those of a row, by their letters."""
    return {letter: int(row[letter]) for letter in LETTERS}


def simulated_ns(name: str, letters: dict[str, int]) -> float:
    """What ours says of a pattern."""
    pattern = PATTERNS[name]
    work, on = workload(pattern.program), loggops(pattern.ranks, **letters)
    return float(sc.simulate(work, on, {"P": pattern.ranks}, effects="none").makespan_s) * 1e9


def _forecast_ns(name: str, letters: dict[str, int]) -> float:
    pattern = PATTERNS[name]
    work, on = workload(pattern.program), loggops(pattern.ranks, **letters)
    return float(np.asarray(sc.forecast(work, on, {"P": pattern.ranks}).makespan_s)) * 1e9


def accepted(row: pd.Series) -> bool:
    """Whether ours differs on purpose: above S, the dependencies of these two in Schedgen are others."""
    return bool(row.pattern in ("broadcast, chain", "linear barrier") and row.S == 0)


def _label(row: pd.Series) -> str:
    """Such as ``L2500 o1500 g1000 G6 O0``; with S only where messages may be larger."""
    return " ".join(f"{letter}{int(row[letter])}" for letter in LETTERS if letter != "S" or row.S < NEVER)


def _case(name: str) -> Case:
    pattern, frame = PATTERNS[name], table("loggopsim")
    rows = [row for _, row in frame[frame.pattern == name].iterrows() if not accepted(row)]

    def measure() -> Readings:
        simulation = {_label(row): simulated_ns(name, parameters(row)) for row in rows}
        forecast = {_label(row): _forecast_ns(name, parameters(row)) for row in rows if pattern.forecast}
        return Readings(forecast, simulation)

    return Case(
        printed=True,
        name=f"peers/loggopsim/{name.lower().replace(', ', '-').replace(' ', '-')}",
        claim=f"LogGOPSim gives these times for {pattern.about}.",
        source="LogGOPSim at commit 76451de of github.com/spcl/LogGOPSim (Hoefler et al., HPDC 2010)",
        unit="ns",
        expected={_label(row): float(row.theirs) for row in rows},
        tolerance=EXACT,
        reading="both" if pattern.forecast else "simulation",
        measure=measure,
        quick=True,
    )


CASES: list[Case] = [_case(name) for name in PATTERNS]
