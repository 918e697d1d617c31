"""Costs of collective operations in LogGP, and the burst: by whose rules a message is taken up decides which formula holds.

Sources: A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, SPAA 1995 (LogGP); D. Culler et al., PPoPP 1993 (LogP); T.
Hoefler, T. Schneider, A. Lumsdaine, HPDC 2010 (LogGOPSim, by whose rules the simulation runs, with its constants).
"""

from __future__ import annotations

from simcodesign.studies.validation.case import Case

from .collectives import LEFT_OUT, costs, points, words
from .formula_cases import FormulaRuns, formula_case

LOGGP = "By hand from the messages of A. Alexandrov et al., SPAA 1995"
MACHINE = "loggop-64"
#: Rounds in which every rank takes one message up, trees, and sends of one rank.
ROUNDS = (
    "broadcast-binomial",
    "broadcast-scatter-allgather",
    "broadcast-chain",
    "broadcast-linear",
    "reduce-binomial",
    "reduce-chain",
    "scatter-binomial",
    "scatter-linear",
    "gather-binomial",
    "allreduce-recursive-doubling",
    "allreduce-ring",
    "allreduce-rabenseifner",
    "allreduce-reduce-broadcast",
    "reduce-scatter-recursive-halving",
    "reduce-scatter-ring",
    "reduce-scatter-pairwise",
    "scan-recursive-doubling",
    "scan-linear",
    "allgather-ring",
    "allgather-recursive-doubling",
    "allgather-bruck",
    "allgather-neighbour-exchange",
    "all-to-all-pairwise",
    "all-to-all-bruck",
    "barrier-dissemination",
)
#: All ranks send to all others at once.
BURSTS = ("allgather-linear", "all-to-all-linear", "all-broadcast-linear")
SIZES = (1, 501, 502, 4096)


def bursts(formula: str, *sizes: int) -> FormulaRuns:
    """A formula of the burst among 64 ranks, by the bytes of a message."""
    at = {size: {"P": 64, "size": float(size)} for size in sizes}
    return FormulaRuns("burst-loggp", formula, MACHINE, at)


CASES: list[Case] = [
    *(
        formula_case(
            f"collectives-loggp/{phase}",
            f"In LogGP {words(phase)} takes its rounds, or sends, of 2o + L + (m - 1)G.",
            costs("loggp", MACHINE, phase, points(8, 64)),
            source=LOGGP,
            axis="ranks",
        )
        for phase in ROUNDS
    ),
    *(
        formula_case(
            f"collectives-loggp/{phase}",
            f"In LogGP receives of {words(phase)} overlap sends.",
            costs("loggp", MACHINE, phase, points(16, 64)),
            source=LOGGP,
            axis="ranks",
            fails="By LogGOPSim's rules one processor does both in turn, and is busy while the bytes of a message come in.",
            largest=LEFT_OUT,
        )
        for phase in BURSTS
    ),
    formula_case(
        "collectives-loggp/gather-linear",
        "In LogGP messages to a root follow one another by the gap, or by the overhead.",
        costs("loggp", MACHINE, "gather-linear", points(64, size=12800.0)),
        source=LOGGP,
        axis="ranks",
        fails="The gap and the overhead do not overlap at the receiver: it is busy for o and for the bytes, which is more than "
        "g and the bytes.",
        largest=LEFT_OUT,
    ),
    formula_case(
        "burst-loggp/in-turn",
        "By LogGOPSim's rules a rank sends and receives in turn: (P - 1)(2o + xG), and L more for each message from the size "
        "on at which it arrives before the next may be sent.",
        bursts("in_turn", *SIZES),
        source="By hand from the rules of LogGOPSim (T. Hoefler, T. Schneider, A. Lumsdaine, HPDC 2010)",
        axis="bytes",
    ),
    formula_case(
        "burst-loggp/overlapped",
        "In a burst, receives overlap sends: 2o + L + xG + (P - 2) max(g + xG, o).",
        bursts("overlapped", 1, 502, 4096),
        source=LOGGP,
        axis="bytes",
        fails="It needs a processor of its own for receives. One processor is busy for 2(P - 1)o at least; by LogGOPSim's "
        "rules it is so for the bytes too, and waits for L in every turn of long messages.",
        largest=LEFT_OUT,
    ),
    formula_case(
        "burst-loggp/one-processor",
        "In a burst of long messages, one processor does both overheads between two sends: 2o + L + xG + (P - 2)(g + xG).",
        bursts("one_processor", 1024, 4096),
        source=LOGGP,
        axis="bytes",
        fails="It needs an interface that stores what comes in: by LogGOPSim's rules the processor is busy meanwhile.",
        largest=LEFT_OUT,
    ),
]
