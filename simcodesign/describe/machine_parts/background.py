"""Messages of other jobs on the same machine, which a job on a part of it meets on links.

They are open streams: every node of others sends messages of one size at random times (Poisson arrivals), a fraction
``load`` of what its messages could be at most, from time 0 until the job ends. The sending nodes, and the targets of
each one, follow from the nodes that the job uses: others have the rest, in one job or several, and send within their
own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import format_quantity
from simcodesign.describe.keys.forms import Choice, Number, Quantity, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section

Int64s = NDArray[np.int64]
#: Targets of the nodes of a job of others: any other of them, each as likely; the next one, or the one
#: half way round, in the order of their numbers; each always to the same one, by a random order of them.
UNIFORM, NEIGHBOUR, OPPOSITE, PERMUTATION = PATTERNS = ("uniform", "neighbour", "opposite", "permutation")
#: Which nodes send: those without ranks of the job, or all.
OTHERS, ALL = NODES = ("others", "all")
#: How jobs of others have their nodes: one job after another by number, or at random.
LINEAR, RANDOM = MAPPINGS = ("linear", "random")
MOST_JOBS = 1_000_000
#: Bytes of a message where the file states none.
USUAL_BYTES = 65536.0


@dataclass(frozen=True)
class Background:
    """Traffic of other jobs.

    ``load``: bytes that a node sends per second, over the bandwidth of a message; ``size_bytes``: of every message,
    None for ``USUAL_BYTES``, or more if a simulation of these messages would take long; ``jobs``: of others, as
    even in nodes as can be; ``mapping``: of these jobs. Raises InputError for what cannot be.
    """

    load: float
    size_bytes: float | None = None
    pattern: str = UNIFORM
    nodes: str = OTHERS
    jobs: int = 1
    mapping: str = LINEAR
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.load <= 1:
            raise InputError("background.load is out of range", self.place, value=self.load, allowed="0 to 1")
        if self.size_bytes is not None and not 1 <= self.size_bytes < np.inf:
            raise InputError(
                "background.size is out of range", self.place, value=self.size_bytes, allowed="1 B or more"
            )
        for name, allowed in (("pattern", PATTERNS), ("nodes", NODES), ("mapping", MAPPINGS)):
            if getattr(self, name) not in allowed:
                value = getattr(self, name)
                raise InputError(
                    f"background.{name}: not one of the choices", self.place, value=value, allowed=", ".join(allowed)
                )
        if not 1 <= self.jobs <= MOST_JOBS:
            raise InputError(
                "background.jobs is out of range", self.place, value=self.jobs, allowed=f"1 to {MOST_JOBS:,}"
            )

    def senders(self, nodes: int, used: Int64s) -> Int64s:
        """Return the nodes that others have, ascending, of a machine with ``nodes`` nodes.

        The job has ``used`` of them.
        """
        every = np.arange(nodes)
        return every if self.nodes == ALL else np.setdiff1d(every, used)

    def parts(self, nodes: Int64s) -> list[Int64s]:
        """Split ``nodes`` evenly among the background jobs.

        Omit a job with a single node, because it has no destination.
        """
        parts = np.array_split(nodes, min(self.jobs, max(1, len(nodes))))
        return [part for part in parts if len(part) > 1]

    def senders_among(self, nodes: int, used: Int64s) -> int:
        """Return the number of nodes that send, of ``nodes`` nodes of which the job has ``used``."""
        return sum(len(part) for part in self.parts(self.senders(nodes, used)))

    def text(self, senders: int, size_bytes: float | None = None) -> str:
        """In a few words, for an answer about ``senders`` nodes.

        ``size_bytes``: of their messages, if it was chosen for a simulation.
        """
        if not senders:
            return "no background: the job leaves others no two nodes"
        return f"background of {senders:,} {'' if self.nodes == ALL else 'other '}nodes{self.traffic(size_bytes)}"

    def traffic(self, size_bytes: float | None = None) -> str:
        """Describe what each of them sends; messages of ``size_bytes`` if none are stated."""
        jobs = "" if self.jobs == 1 else f" in {self.jobs:,} jobs"
        stated = size_bytes if self.size_bytes is None else self.size_bytes
        size = format_quantity(USUAL_BYTES if stated is None else stated, "size")
        size += " or more" if stated is None else ""
        return f"{jobs} at a load of {self.load:.3g}, messages of {size}, {self.pattern}"


#: Keys of ``background``.
BACKGROUND = Section(
    Key("load", Number(), "fraction of its bandwidth that each of the nodes sends", range="0 to 1", required=True),
    Key(
        "size",
        Quantity("size"),
        "bytes of each message; by default more where 64 KiB would take long to simulate",
        "64 KiB to 1 MiB",
        "1 B or more",
        field="size_bytes",
    ),
    Key("pattern", Choice(PATTERNS), "the targets of each node", UNIFORM),
    Key("nodes", Choice(NODES), "which nodes send: those without ranks, or all", OTHERS),
    Key("jobs", Whole(1, MOST_JOBS), "number of other jobs", "1"),
    Key("mapping", Choice(MAPPINGS), "how the nodes of the other jobs are chosen", LINEAR),
)
