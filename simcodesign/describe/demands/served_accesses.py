"""Memory demands with every name given its value: how many accesses, and where a machine's caches serve them.

Both readings take these shares, as they take measured data; what they make of them in seconds is their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simcodesign.core.errors import CapacityError, InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import Memory
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hits_by_level import (
    COUNTED,
    SETS,
    SYNTHETIC,
    Served,
    served_by_distances,
    served_by_profile,
    served_in_sets,
)
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.stack.distances import stack_profile
from simcodesign.locality.streams.from_profile import warm_stream
from simcodesign.locality.traces.trace import ArrayTrace

#: Accesses of a kernel that are looked at, a second or two of work.
MOST_ACCESSES = 100_000_000
#: Accesses of the stream that is made of a profile, to be sent through the sets of caches.
SAMPLED = 1_000_000
#: Distances of so many times the lines of the largest cache miss in any of its sets.
FAR = 8
#: No stack is deeper than this.
FARTHEST = 2.0**60
#: Bytes that an access brings to the core, at most, of a demand whose elements may be lines.
WORD_BYTES = 8
#: Relative: shares of 1 in all may add up to a little more.
ROUNDING = 1e-9


def memory_of(demand: MemoryAccesses, machine: Machine) -> Memory:
    """The memory that the demand needs. InputError when the machine has none."""
    if machine.memory is None:
        what = f"a memory demand needs a memory, which {machine.name} has not"
        raise InputError(what, demand.place, allowed="memory (and caches) in the machine file")
    return machine.memory


@dataclass(frozen=True)
class ServedAccesses:
    """``accesses`` in all, where they are ``served``, and ``access_bytes`` that one moves from or to the core."""

    accesses: FloatOrArray
    served: Served
    access_bytes: FloatOrArray = WORD_BYTES


def served_accesses(
    demand: MemoryAccesses, memory: Memory, value: Evaluate, method: str | None = None, seed: int = 0
) -> ServedAccesses:
    """How the machine's caches serve the demand, by ``method`` (None: that of the machine).

    ``value`` evaluates an expression and names it in errors. ``seed`` is that of the sampled stream where one is made.
    Raises InputError for sizes that the kernel cannot have and shares that are none, CapacityError for a kernel too
    long to be looked at.
    """
    lookup = _Lookup(demand, memory, memory.hits if method is None else method, seed)
    if demand.hits:
        accesses, served = lookup.counted(value)
    else:
        accesses, served = lookup.kernel(value) if demand.kernel else lookup.distances(value)
    return ServedAccesses(value(demand.times, "times") * accesses, served, lookup.access_bytes(value))


@dataclass(frozen=True)
class _Lookup:
    """One demand before the caches of one machine, and the method by which its hits are computed."""

    demand: MemoryAccesses
    memory: Memory
    method: str
    seed: int

    def levels(self, key_bytes: int) -> tuple[CacheGeometry, ...]:
        """The caches with lines of one key of a profile: distances say nothing about what else lies in a line."""
        return self.memory.geometries(key_bytes)

    def access_bytes(self, value: Evaluate) -> FloatOrArray:
        """An element of a kernel; else one of the distances, but no more than a word."""
        if not self.demand.kernel:
            return min(self.demand.element_bytes, WORD_BYTES)
        from simcodesign.locality.streams.kernels import KERNELS

        given = dict(self.demand.sizes).get("element_bytes")
        if given is None or isinstance(given, str):
            default = KERNELS[self.demand.kernel].sizes["element_bytes"].default
            return WORD_BYTES if default is None else float(default)
        return value(given, "element_bytes")

    def kernel(self, value: Evaluate) -> tuple[FloatOrArray, Served]:
        """The kernel once: its own accesses, at every size of the design points."""
        words = {name: size for name, size in self.demand.sizes if isinstance(size, str)}
        numbers = {name: value(size, name) for name, size in self.demand.sizes if not isinstance(size, str)}
        levels, writebacks = self.levels(self.memory.line_bytes), self.memory.writebacks

        def one(*sizes: float) -> tuple[float, Served]:
            key = tuple(sorted({**words, **dict(zip(numbers, sizes, strict=True))}.items()))
            try:
                return _of_kernel(self.demand.kernel, key, self.memory.line_bytes, levels, self.method, writebacks)
            except InputError as error:
                raise type(error)(str(error), self.demand.place) from None

        return _everywhere([*numbers.values()], one)

    def counted(self, value: Evaluate) -> tuple[FloatOrArray, Served]:
        """Shares as they were counted: a level that the machine lacks leaves its hits to the next one outward."""
        caches = len(self.memory.caches)
        shares: list[FloatOrArray] = [0.0] * caches
        given = {role: value(share, f"hits of {role}") for role, share in self.demand.hits}
        self._check_shares(list(given.values()))
        for role, share in given.items():
            wanted = {"l1": 0, "l2": 1, "llc": max(caches - 1, 1)}[role]
            if wanted < caches:
                shares[wanted] = shares[wanted] + share
        memory = np.maximum(1.0 - sum(shares, start=np.zeros(())), 0.0)  # rounding
        served = Served((*shares, memory), memory * self.memory.line_bytes, (COUNTED,) * caches)
        return (0.0 if self.demand.accesses is None else value(self.demand.accesses, "accesses")), served

    def distances(self, value: Evaluate) -> tuple[FloatOrArray, Served]:
        """A measured profile, or stack distances by formula."""
        profile, given = self.demand.profile, self.demand.accesses
        accesses: FloatOrArray = 0.0 if given is None else value(given, "accesses")
        if profile is not None:
            return (profile.accesses if given is None else accesses), self._of_profile(profile)
        pairs = [(value(share, "share"), value(distance, "distance")) for share, distance in self.demand.distances]
        self._check_shares([share for share, _ in pairs])
        key_bytes = self.demand.element_bytes
        if self.method != SETS:
            levels, moved_bytes = self.levels(key_bytes), self.memory.line_bytes
            return accesses, served_by_distances(pairs, moved_bytes, levels, self.method)

        def one(*numbers: float) -> tuple[float, Served]:
            return 0.0, self._of_profile(_profile_of(numbers[::2], numbers[1::2], key_bytes))

        return accesses, _everywhere([number for pair in pairs for number in pair], one)[1]

    def _check_shares(self, shares: Sequence[FloatOrArray]) -> None:
        total = sum(shares, start=np.zeros(()))
        if np.any(total > 1 + ROUNDING):
            raise InputError(
                "shares of the accesses, together", self.demand.place, value=float(np.max(total)), allowed="up to 1"
            )

    def _of_profile(self, profile: StackDistanceProfile) -> Served:
        if self.demand.profile is not None and profile.line_bytes != self.memory.line_bytes:
            what = (
                f"a profile of lines of {profile.line_bytes} bytes; those of the machine have {self.memory.line_bytes}"
            )
            raise InputError(what, self.demand.place, allowed="one measured with lines of the same size")
        levels = self.levels(profile.line_bytes)
        if self.method != SETS or not levels:
            served = served_by_profile(profile, levels, "auto" if self.method == SETS else self.method)
            traffic_bytes = served.traffic_bytes / profile.line_bytes * self.memory.line_bytes
            return served._replace(traffic_bytes=traffic_bytes)
        stream = warm_stream(_near(profile, FAR * max(level.lines for level in levels)), SAMPLED, self.seed)
        warmup = ArrayTrace(stream.warmup) if len(stream.warmup) else None
        in_sets = served_in_sets(ArrayTrace(stream.address), levels, warmup)
        # Also where keys are elements, a miss moves the line that holds it.
        traffic_bytes = in_sets.traffic_bytes / profile.line_bytes * self.memory.line_bytes
        return Served(in_sets.shares, traffic_bytes, (SYNTHETIC,) * len(levels))


@lru_cache(maxsize=256)
def _of_kernel(
    name: str,
    sizes: tuple[tuple[str, float | str], ...],
    line_bytes: int,
    levels: tuple[CacheGeometry, ...],
    method: str,
    writebacks: bool,
) -> tuple[float, Served]:
    """Accesses of a kernel, and where they are served, from its own stream."""
    from simcodesign.locality.streams.kernels import kernel_trace

    trace = kernel_trace(name, **dict(sizes))
    if trace.accesses > MOST_ACCESSES:
        what = f"the stream of {trace.name} has {trace.accesses:.3g} accesses, too many to look at each"
        allowed = f"up to {MOST_ACCESSES:.3g}; or stack_distance, with a formula that holds for smaller sizes"
        raise CapacityError(what, allowed=allowed)
    if method == SETS and levels:
        return float(trace.accesses), served_in_sets(trace, levels)
    profile, intervals, loads = _profiles_of_kernel(name, sizes, line_bytes, writebacks)
    served = served_by_profile(profile, levels, "auto" if method == SETS else method, intervals)
    return float(trace.accesses), served._replace(loads=loads)


@lru_cache(maxsize=64)
def _profiles_of_kernel(
    name: str, sizes: tuple[tuple[str, float | str], ...], line_bytes: int, writebacks: bool
) -> tuple[StackDistanceProfile, StackDistanceProfile | None, float]:
    """The stack distances of a kernel, which are the same for all caches, those of its dirty intervals if
    ``writebacks``, and the share of loads."""
    from simcodesign.locality.streams.kernels import kernel_trace

    trace = kernel_trace(name, **dict(sizes))
    loads = 1 - trace.stores / trace.accesses
    if not writebacks:
        return stack_profile(trace, line_bytes), None, loads
    from simcodesign.locality.stack.writebacks import profiles_with_writebacks

    return *profiles_with_writebacks(trace, line_bytes), loads


def _near(profile: StackDistanceProfile, lines: int) -> StackDistanceProfile:
    """The profile with distances from ``lines`` up as first touches, which miss as well and need no stack so deep."""
    near = profile.distance < lines
    cold = profile.cold + float(profile.count[~near].sum())
    return StackDistanceProfile(profile.distance[near], profile.count[near], cold, profile.line_bytes)


def _profile_of(shares: tuple[float, ...], distances: tuple[float, ...], key_bytes: int) -> StackDistanceProfile:
    """A profile of one access with these chances."""
    profile = StackDistanceProfile.from_counts(
        np.floor(np.minimum(distances, FARTHEST)).astype(np.int64),
        np.array(shares),
        max(1.0 - sum(shares), 0.0),
        key_bytes,
    )
    return profile.scaled(accesses=float(SAMPLED))


def _everywhere(values: list[FloatOrArray], one: Callable[..., tuple[float, Served]]) -> tuple[FloatOrArray, Served]:
    """What ``one`` gives at every point of arrays that broadcast together; once at points that are the same."""
    if not any(np.ndim(value) for value in values):
        return one(*(float(value) for value in values))
    every = np.stack(np.broadcast_arrays(*values))
    points, index = np.unique(every.reshape(len(values), -1), axis=1, return_inverse=True)
    by_point = [one(*point) for point in points.T.tolist()]
    levels = len(by_point[0][1].shares)
    rows = np.array(
        [(accesses, one.traffic_bytes, one.loads, *one.shares, *one.written_back) for accesses, one in by_point]
    )
    accesses, traffic, loads, *rest = (column[index.ravel()].reshape(every.shape[1:]) for column in rows.T)
    methods = by_point[0][1].methods
    return accesses, Served(tuple(rest[:levels]), traffic, methods, tuple(rest[levels:]), loads)
