"""Which demand of a workload a measured metric is: by its name, or as the user declares it.

The requirements are from Calotoiu et al., CLUSTER 2018, Table I, all per process: bytes used, operations, bytes
sent and received, loads and stores, stack distance. Metrics are taken to be in SI units.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from simcodesign.core.errors import InputError, nearest

#: Demand -> names of metrics that mean it, in addition to its own. Case and the characters between words do not
#: matter.
METRICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "flops": ("flop", "fp_ops", "PAPI_FP_OPS", "PAPI_DP_OPS", "PAPI_SP_OPS"),
        "instructions": ("ins", "instruction", "PAPI_TOT_INS"),
        "seconds": ("second", "time", "runtime", "run_time", "wall_time", "walltime"),
        "bytes_sent": ("sent_bytes",),
        "bytes_sent_received": ("bytes_sent_and_received", "bytes_sent_recv", "bytes_sent_and_recv"),
        "loads": ("load", "PAPI_LD_INS"),
        "stores": ("store", "PAPI_SR_INS"),
        "accesses": ("loads_stores", "loads_and_stores", "memory_accesses", "PAPI_LST_INS"),
        "stack_distance": ("stack_dist", "lru_stack_distance"),
        "bytes_used": ("footprint", "memory_footprint", "rss", "max_rss"),
        "bytes_read": ("read_bytes",),
        "bytes_written": ("written_bytes",),
    }
)
#: How bytes are sent, after a colon (``bytes_sent:allreduce``) -> the step of a program and its algorithm.
PATTERNS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "allreduce": ("allreduce", "recursive_doubling"),
        "bcast": ("broadcast", "binomial"),
        "alltoall": ("all_to_all", "pairwise"),
        "allgather": ("allgather", "ring"),
        **{f"halo{dims}d": ("exchange", "") for dims in range(1, 5)},
    }
)
#: Units allowed in brackets behind a name: units in which a demand is its value; a time in ms is not seconds.
UNITS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "seconds": ("s", "sec", "second", "seconds"),
        "flops": ("flop", "FLOP", "flops", "FLOPs"),
        **dict.fromkeys(
            ("bytes_sent", "bytes_sent_received", "bytes_used", "bytes_read", "bytes_written"),
            ("B", "byte", "bytes", "Byte", "Bytes"),
        ),
    }
)
_OTHER_PATTERNS = {"broadcast": "bcast", "all_to_all": "alltoall"}
#: Name that leaves a metric out.
NONE = "none"
#: Demands of messages; of the second, half is sent.
SENT = ("bytes_sent", "bytes_sent_received")
#: Patterns of neighbours in a process grid.
HALOS = tuple(pattern for pattern, (step, _) in PATTERNS.items() if step == "exchange")
#: Demands that would be charged twice if two metrics of a region were mapped to the same one.
_PARTS = {
    **dict.fromkeys(("flops", "instructions", "seconds"), ("computation",)),
    **dict.fromkeys(SENT, ("messages",)),
    "accesses": ("loads", "stores"),
}


@dataclass(frozen=True)
class Use:
    """The demand that a metric is. ``pattern``: how its bytes are sent, if known; ``is_given``: named by the user."""

    demand: str
    pattern: str = ""
    is_given: bool = False

    @property
    def parts(self) -> set[tuple[str, str]]:
        """The parts that it is charged as."""
        return {(part, self.pattern) for part in _PARTS.get(self.demand, (self.demand,))}

    @property
    def text(self) -> str:
        """Return the use as ``demand:pattern``."""
        return f"{self.demand}:{self.pattern}" if self.pattern else self.demand


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")


_UNIT = re.compile(r"(.*?)\s*[\[(]\s*([^\[\]()]*?)\s*[\])]\s*")
_DEMAND_OF = {_plain(name): demand for demand, names in METRICS.items() for name in (demand, *names)}


def recognised(metric: str) -> Use | None:
    """Return the use of a metric of this name, None if nothing is known of it."""
    name, colon, pattern = metric.partition(":")
    bare = _UNIT.fullmatch(name)
    demand = _DEMAND_OF.get(_plain(bare[1] if bare else name))
    if bare and bare[2] not in ("", "#", "1", "count", *UNITS.get(demand or "", ())):
        return None
    if demand is None or not colon:
        return None if demand is None else Use(demand)
    way = _plain(pattern).removeprefix("mpi_")
    way = _OTHER_PATTERNS.get(way, way)
    return Use(demand, way) if demand in SENT and way in PATTERNS else None


def allowed_demands() -> list[str]:
    """Everything that a metric can be declared as."""
    return [*METRICS, *(f"bytes_sent:{pattern}" for pattern in PATTERNS), NONE]


def uses_of(metrics: Collection[str], demands: Mapping[str, str]) -> dict[str, Use | None]:
    """Return the use of every metric; ``demands`` declares it for some of them.

    Raises InputError for a metric that there is not, an unknown demand, and if nothing at all is recognised.
    """
    for metric in demands:
        if metric not in metrics:
            raise InputError("no such metric", value=metric, allowed=nearest(metric, metrics))
    uses = {metric: _given(demands[metric]) if metric in demands else recognised(metric) for metric in metrics}
    if not any(uses.values()):
        known = "; ".join(f"{demand} ({', '.join(names)})" for demand, names in METRICS.items())
        what = "none of these metrics is known to be a demand of a workload"
        allowed = f"declare it, METRIC=DEMAND, or call them {known}; bytes_sent:PATTERN with {', '.join(PATTERNS)}"
        raise InputError(what, value=", ".join(sorted(metrics)), allowed=allowed)
    return uses


def _given(demand: str) -> Use | None:
    if demand == NONE:
        return None
    use = recognised(demand)
    if use is None:
        raise InputError("not a demand", value=demand, allowed=nearest(demand, allowed_demands()))
    return replace(use, is_given=True)


def without_twins(region: str, uses: Sequence[tuple[str, Use]]) -> tuple[list[tuple[str, Use]], list[str]]:
    """Return the metrics of a region that are charged, and notes about those that are not.

    They would be charged twice.

    If two metrics match one part, the metric that the user named counts. Raises InputError if that does not decide.
    """
    kept: list[tuple[str, Use]] = []
    notes = []
    for metric, use in sorted(uses, key=lambda pair: not pair[1].is_given):
        twin = next(((name, other) for name, other in kept if other.parts & use.parts), None)
        if twin is None:
            kept.append((metric, use))
        elif twin[1].is_given and not use.is_given:
            notes.append(f"{metric} is left out: {twin[0]} is declared as the {twin[1].text}")
        else:
            what = f"two metrics of region {region!r} for one demand, which would be charged twice"
            allowed = f"one of them; leave the other out, e.g. {metric}={NONE}"
            raise InputError(what, value=f"{twin[0]} ({twin[1].text}), {metric} ({use.text})", allowed=allowed)
    return kept, notes
