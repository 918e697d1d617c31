"""Memory demands with every name given its value: how many accesses, and where a machine's caches serve them.

Both readings take these shares, as they take measured data; what they make of them in seconds is their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.evaluated.co_runners import CoRunners
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import Memory
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hits_by_level import (
    COUNTED,
    SETS,
    SYNTHETIC,
    Served,
    Stream,
    served_by_distances,
    served_by_profile,
    served_in_sets,
    served_together,
)
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.served_kernels import (
    Numbers,
    Outcomes,
    Sizes,
    kernel_by_distances,
    kernel_in_sets,
    kernels_in_sets,
)
from simcodesign.locality.traces.trace import ArrayTrace

#: Accesses of the stream that is made of a profile, to be sent through the sets of caches.
SAMPLED = 1_000_000
#: Distances of this many times the lines of the largest cache miss in any of its sets.
FAR = 8
#: No stack is deeper than this.
FARTHEST = 2.0**60
#: Bytes that an access brings to the core, at most, of a demand whose elements may be lines.
WORD_BYTES = 8
#: Relative: shares of 1 in all may add up to a little more.
ROUNDING = 1e-9
#: Values of each of several ranks.
Points = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class OfMemory:
    """A memory demand of the ranks ``here`` (P,) whose nodes have this ``memory``; None: of all ranks."""

    memory: Memory
    here: NDArray[np.bool_] | None

    def each(self, amount: FloatOrArray) -> FloatOrArray:
        """Return an amount of these ranks, 0 of others."""
        return amount if self.here is None else np.where(self.here, amount, 0.0)


def memories_of(demand: MemoryAccesses, machine: Machine, ranks: FloatOrArray) -> list[OfMemory]:
    """Return the memories that the demand needs: several where partitions have caches of their own.

    InputError when the machine has none.
    """
    if machine.memory is None:
        what = f"a memory demand needs a memory, which {machine.name} has not"
        raise InputError(what, demand.place, allowed="memory (and caches) in the machine file")
    if all(kind.caches is None for kind in machine.node_kinds):
        return [OfMemory(machine.memory, None)]
    return [OfMemory(*one) for one in machine.memories(int(np.max(ranks)))]


def remote_share(demand: MemoryAccesses, memory: Memory, value: Evaluate) -> FloatOrArray:
    """Return the fraction of its lines that are at other controllers than the processor's own.

    InputError for one above 1.
    """
    if memory.controllers == 1:
        return 0.0
    if demand.remote is None:
        return memory.remote_share
    share = value(demand.remote, "remote")
    if np.any(np.asarray(share) > 1):
        raise InputError("fraction of remote accesses", demand.place, value=float(np.max(share)), allowed="0 to 1")
    return share


@dataclass(frozen=True)
class ServedAccesses:
    """Accesses and the levels that have served them.

    ``accesses`` in all, the levels that have ``served`` them, and ``access_bytes`` that one moves from or to the core.
    """

    accesses: FloatOrArray
    served: Served
    access_bytes: FloatOrArray = WORD_BYTES


def served_accesses(
    demand: MemoryAccesses,
    memory: Memory,
    value: Evaluate,
    runners: CoRunners | None = None,
    method: str | None = None,
    seed: int = 0,
) -> ServedAccesses:
    """How the machine's caches serve the demand, by ``method`` (None: the machine's method).

    ``value`` evaluates an expression and names it in errors. ``runners``: the co-runners on caches; None:
    none. ``seed`` is the seed of the sampled stream, if one is made. Raises InputError for sizes that the kernel cannot
    have and shares that are none, CapacityError for a kernel too long to be looked at.
    """
    lookup = _Lookup(demand, memory, memory.hits if method is None else method, seed, runners)
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
    runners: CoRunners | None

    @property
    def sharers(self) -> tuple[FloatOrArray, ...]:
        """How many ranks share each cache; empty if none is shared."""
        return () if self.runners is None else self.runners.sharers

    @property
    def streams(self) -> FloatOrArray:
        """Streams that the prefetcher recognises; 0 without one."""
        return 0.0 if self.memory.prefetch is None else np.floor(self.memory.prefetch.streams)

    def levels(self, key_bytes: int) -> tuple[CacheGeometry, ...]:
        """Return the caches with lines of one key of a profile: distances do not show the other contents of a line."""
        return self.memory.geometries(key_bytes)

    def access_bytes(self, value: Evaluate) -> FloatOrArray:
        """Return an element of a kernel; otherwise one of the distances, but no more than a word."""
        if not self.demand.kernel:
            return min(self.demand.element_bytes, WORD_BYTES)
        from simcodesign.locality.streams.kernels import KERNELS

        given = dict(self.demand.sizes).get("element_bytes")
        if given is None or isinstance(given, str):
            default = KERNELS[self.demand.kernel].sizes["element_bytes"].default
            return WORD_BYTES if default is None else float(default)
        return value(given, "element_bytes")

    def kernel(self, value: Evaluate) -> tuple[FloatOrArray, Served]:
        """Return the kernel once: its own accesses, at every size of the design points."""
        words = {name: size for name, size in self.demand.sizes if isinstance(size, str)}
        numbers = {name: value(size, name) for name, size in self.demand.sizes if not isinstance(size, str)}
        levels, writebacks = self.levels(self.memory.line_bytes), self.memory.writebacks
        name, line_bytes, count = self.demand.kernel, self.memory.line_bytes, len(numbers)

        def key_of(sizes: tuple[float, ...]) -> Sizes:
            every: dict[str, float | str] = {**words, **dict(zip(numbers, sizes, strict=True))}
            return tuple(sorted(every.items()))

        def together(points: Points, caches: Numbers, streams: int) -> Outcomes:
            return kernels_in_sets(name, tuple(map(key_of, points)), levels, caches, streams)

        def one(*given: float) -> tuple[float, Served]:
            sizes, streams, sharers = key_of(given[:count]), int(given[count]), given[count + 1 :]
            if self.method != SETS or not levels:
                model = "auto" if self.method == SETS else self.method
                return kernel_by_distances(name, sizes, line_bytes, levels, model, writebacks, sharers, streams)
            if streams:
                return together((given[:count],), ((0,),) * len(levels), streams)[0]
            return kernel_in_sets(name, sizes, levels)

        try:
            if self._meet_in_sets:
                return self._by_caches([*numbers.values()], self.streams, together)
            return _everywhere([*numbers.values(), self.streams, *self.sharers], one)
        except InputError as error:
            raise type(error)(str(error), self.demand.place) from None

    @property
    def _meet_in_sets(self) -> bool:
        """Whether the streams of ranks go through the sets of caches that they share."""
        return self.method == SETS and self.runners is not None and self.runners.caches is not None

    def _by_caches(
        self, values: list[FloatOrArray], streams: FloatOrArray, together: Callable[[Points, Numbers, int], Outcomes]
    ) -> tuple[FloatOrArray, Served]:
        """Evaluate ``together`` for ranks with shared caches, with the values that each of them has."""
        assert self.runners is not None
        caches, present = self.runners.caches, self.runners.present
        assert caches is not None
        assert present is not None
        here, *every = np.broadcast_arrays(present, streams, *values)
        rows, methods = np.zeros((len(caches) + 5, *here.shape)), (SETS,) * len(caches)
        found: dict[tuple[Points, Numbers, int], Outcomes] = {}
        # Whoever shares any cache shares the last one.
        order = np.argsort(caches[-1], kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(caches[-1][order])) + 1)
        for index in np.ndindex(here.shape[:-1]):
            for group in groups:
                ranks = group[here[index][group]]
                if not len(ranks):
                    continue
                points = tuple(tuple(float(value[index][rank]) for value in every[1:]) for rank in ranks.tolist())
                own = tuple(tuple(np.unique(level[ranks], return_inverse=True)[1].tolist()) for level in caches)
                key = points, own, int(every[0][index][ranks[0]])
                if key not in found:
                    found[key] = together(*key)
                each = np.array([_row(*outcome) for outcome in found[key]]).T
                if len(each) > len(rows):  # lines that go back are known
                    rows = np.zeros((len(each), *here.shape))
                rows[(slice(None), *index, ranks)], methods = each, found[key][0][1].methods
        return _of_rows(rows, methods)

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
        """Return a measured profile, or stack distances by formula."""
        profile, given = self.demand.profile, self.demand.accesses
        accesses: FloatOrArray = 0.0 if given is None else value(given, "accesses")
        if profile is not None:
            return (profile.accesses if given is None else accesses), self._of_profile(profile)
        pairs = [(value(share, "fraction"), value(distance, "distance")) for share, distance in self.demand.distances]
        self._check_shares([share for share, _ in pairs])
        key_bytes = self.demand.element_bytes
        if self.method != SETS:
            levels, moved_bytes = self.levels(key_bytes), self.memory.line_bytes
            return accesses, served_by_distances(pairs, moved_bytes, levels, self.method, self.sharers)

        def profile_at(numbers: tuple[float, ...]) -> StackDistanceProfile:
            return _profile_of(numbers[::2], numbers[1::2], key_bytes)

        def one(*numbers: float) -> tuple[float, Served]:
            return 0.0, self._of_profile(profile_at(numbers))

        def together(points: Points, caches: Numbers, streams: int) -> Outcomes:
            return self._of_profiles([profile_at(point) for point in points], caches)

        numbers = [number for pair in pairs for number in pair]
        if self._meet_in_sets:
            return accesses, self._by_caches(numbers, 0.0, together)[1]
        return accesses, _everywhere(numbers, one)[1]

    def _check_shares(self, shares: Sequence[FloatOrArray]) -> None:
        total = sum(shares, start=np.zeros(()))
        if np.any(total > 1 + ROUNDING):
            raise InputError(
                "fractions of the accesses, together", self.demand.place, value=float(np.max(total)), allowed="up to 1"
            )

    def _of_profile(self, profile: StackDistanceProfile) -> Served:
        if self.demand.profile is not None and profile.line_bytes != self.memory.line_bytes:
            what = (
                f"a profile of lines of {profile.line_bytes} bytes; lines of the machine have {self.memory.line_bytes}"
            )
            raise InputError(what, self.demand.place, allowed="one measured with lines of the same size")
        levels = self.levels(profile.line_bytes)
        if self.method != SETS or not levels:
            model = "auto" if self.method == SETS else self.method

            def one(*sharers: float) -> tuple[float, Served]:
                served = served_by_profile(profile, levels, model, sharers=sharers)
                traffic_bytes = served.traffic_bytes / profile.line_bytes * self.memory.line_bytes
                return 0.0, served._replace(traffic_bytes=traffic_bytes)

            return _everywhere([*self.sharers], one)[1]
        if self._meet_in_sets:
            return self._by_caches([], 0.0, lambda points, own, _: self._of_profiles([profile] * len(points), own))[1]
        stream = self._stream_of(profile, levels)
        return self._synthetic(served_in_sets(stream.trace, levels, stream.warmup), profile.line_bytes)

    def _of_profiles(self, profiles: Sequence[StackDistanceProfile], caches: Numbers) -> Outcomes:
        """Profiles of ranks with shared caches: of one profile each has the same stream, in a memory of its own."""
        line_bytes = profiles[0].line_bytes
        levels, streams = self.levels(line_bytes), dict[int, Stream]()
        for profile in profiles:
            if id(profile) not in streams:
                streams[id(profile)] = self._stream_of(profile, levels)
        every = served_together([streams[id(profile)] for profile in profiles], levels, np.array(caches), 0)
        return tuple((0.0, self._synthetic(served, line_bytes)) for served in every)

    def _stream_of(self, profile: StackDistanceProfile, levels: Sequence[CacheGeometry]) -> Stream:
        """Return a stream with this profile: its addresses do not determine which lines are neighbours."""
        from simcodesign.locality.streams.from_profile import warm_stream

        stream = warm_stream(_near(profile, FAR * max(level.lines for level in levels)), SAMPLED, self.seed)
        end = int(max(part.max(initial=0) for part in stream)) + profile.line_bytes
        warmup = ArrayTrace(stream.warmup) if len(stream.warmup) else None
        return Stream(ArrayTrace(stream.address), (0, end), warmup)

    def _synthetic(self, in_sets: Served, key_bytes: int) -> Served:
        """Return the result for such a stream.

        A miss moves the line that holds the element, also if keys are elements.
        """
        traffic_bytes = in_sets.traffic_bytes / key_bytes * self.memory.line_bytes
        return Served(in_sets.shares, traffic_bytes, (SYNTHETIC,) * (len(in_sets.shares) - 1))


def _near(profile: StackDistanceProfile, lines: int) -> StackDistanceProfile:
    """Return the profile with distances from ``lines`` up as first touches.

    They miss as well and need no stack so deep.
    """
    near = profile.distance < lines
    cold = profile.cold + float(profile.count[~near].sum())
    return StackDistanceProfile(profile.distance[near], profile.count[near], cold, profile.line_bytes)


def _profile_of(shares: tuple[float, ...], distances: tuple[float, ...], key_bytes: int) -> StackDistanceProfile:
    """Return a profile of one access with these chances."""
    profile = StackDistanceProfile.from_counts(
        np.floor(np.minimum(distances, FARTHEST)).astype(np.int64),
        np.array(shares),
        max(1.0 - sum(shares), 0.0),
        key_bytes,
    )
    return profile.scaled(accesses=float(SAMPLED))


def _everywhere(values: list[FloatOrArray], one: Callable[..., tuple[float, Served]]) -> tuple[FloatOrArray, Served]:
    """Return what ``one`` gives at every point of arrays that broadcast together.

    Once at points that are the same.
    """
    if not any(np.ndim(value) for value in values):
        return one(*(float(value) for value in values))
    every = np.stack(np.broadcast_arrays(*values))
    points, index = np.unique(every.reshape(len(values), -1), axis=1, return_inverse=True)
    by_point = [one(*point) for point in points.T.tolist()]
    rows = np.array([_row(*outcome) for outcome in by_point]).T
    return _of_rows(rows[:, index.ravel()].reshape(-1, *every.shape[1:]), by_point[0][1].methods)


def _row(accesses: float, served: Served) -> tuple[FloatOrArray, ...]:
    """Return the numbers of one outcome; ``_of_rows`` makes it of them again."""
    return accesses, served.traffic_bytes, served.loads, served.prefetched, *served.shares, *served.written_back


def _of_rows(rows: NDArray[np.float64], methods: tuple[str, ...]) -> tuple[FloatOrArray, Served]:
    """Return the accesses, and the levels that serve them, of outcomes as ``rows`` (numbers, ...)."""
    accesses, traffic, loads, prefetched, *rest = rows
    levels = len(methods) + 1
    return accesses, Served(tuple(rest[:levels]), traffic, methods, tuple(rest[levels:]), loads, prefetched)
