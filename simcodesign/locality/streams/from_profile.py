"""A stream of addresses with a given stack-distance profile.

Distances are drawn so that each occurs as often as in the profile, scaled to the number of accesses, and the key at
that depth of the LRU stack is accessed. A distance needs a stack that is deeper than it; at the start it is empty:
- ``synthetic_stream`` puts the draws that are too deep off until cold accesses have made the stack deep enough: each
  access is drawn, with equal chances, from the draws left that are possible. The stream alone has the profile, but it
  must have as many keys as its deepest distance needs;
- ``warm_stream`` fills the stack first, with accesses that are returned apart: any number of accesses of any profile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.locality.profile import COLD, StackDistanceProfile
from simcodesign.locality.streams import lru_stack
from simcodesign.locality.traces.trace import Addresses, at_least, line_shift

#: No address is above this.
END = 1 << 63
#: Number of accesses below which their scale factor is no finite number.
_FEWEST = 1e-290


class WarmStream(NamedTuple):
    """A stream that has the distances of the profile when it is read after ``warmup``.

    ``warmup`` accesses each key of ``address`` once, and so often as the deepest distance needs.
    """

    warmup: Addresses
    address: Addresses


def synthetic_stream(
    profile: StackDistanceProfile, accesses: int, seed: int, key_bytes: int | None = None
) -> Addresses:
    """Return ``accesses`` addresses (uint64) with the profile, when measured with lines of ``key_bytes``.

    None: as it is.

    The number of accesses with a distance up to d is the scaled profile's number, rounded, for every d: exactly
    the counts of the profile if they are whole and ``accesses`` is their sum. Keys are numbered from 0 as they are
    first accessed, so that new ones follow each other in memory. Equal seeds give equal streams. Takes 24 bytes an
    access and 20 a key. InputError for an empty profile, a number of accesses below 1, a size of keys that is no power
    of two, and if there are too few cold accesses for the deepest distance (as in a short piece of a long profile).
    """
    draws = _draws(profile, accesses)
    cold = int(np.count_nonzero(draws < 0))
    if draws[-1] >= cold:
        what = f"{accesses} accesses with {cold} cold ones cannot reach a stack distance of {draws[-1]}"
        raise InputError(what, allowed=f"more accesses ({profile.accesses:g} are in the profile), or warm_stream")
    return _accessed(draws, 0, seed, _key_bytes(profile, key_bytes))


def warm_stream(profile: StackDistanceProfile, accesses: int, seed: int, key_bytes: int | None = None) -> WarmStream:
    """As ``synthetic_stream``, for any number of accesses, after one access to each of the keys that are needed."""
    draws, size = _draws(profile, accesses), _key_bytes(profile, key_bytes)
    keys = int(draws[-1]) + 1
    warmup = np.arange(keys, dtype=np.uint64) * np.uint64(size)
    return WarmStream(warmup, _accessed(draws, keys, seed, size))


def _draws(profile: StackDistanceProfile, accesses: int) -> NDArray[np.int64]:
    """Return each distance as often as it is to occur, cold ones as -1; (accesses,), ascending.

    Rounding sums rather than counts leaves hits of every cache size within half an access of the profile.
    """
    accesses = at_least("accesses of a stream", accesses, 1)
    if profile.accesses == 0:
        raise InputError("a profile without accesses gives no stream")
    counts = np.append(profile.count, profile.cold)
    up_to = np.cumsum(counts if profile.accesses > _FEWEST else counts * 2.0**1000)
    ends = np.rint(up_to * (accesses / up_to[-1])).astype(np.int64)
    ends[-1] = accesses
    times = np.diff(np.minimum(ends, accesses), prepend=0)
    return np.repeat(np.append(COLD, profile.distance), np.append(times[-1], times[:-1]))


def _accessed(draws: NDArray[np.int64], keys: int, seed: int, key_bytes: int) -> Addresses:
    """Return the addresses of the draws in a random order, after a first access to each of ``keys``."""
    most = keys + int(np.count_nonzero(draws < 0))
    if most > END // key_bytes:
        allowed = f"up to {END // key_bytes} of {key_bytes} bytes"
        raise InputError("a stream needs more keys than there are addresses", value=most, allowed=allowed)
    chances = np.random.default_rng(at_least("seed", seed, 0)).random(len(draws))
    lru_stack.shuffle(draws, chances, keys)
    stack = lru_stack.stack_for(most)
    lru_stack.touch(stack, np.full(keys, COLD), np.empty(keys, np.int64))
    lru_stack.touch(stack, draws, draws)
    address = draws.view(np.uint64)
    address *= np.uint64(key_bytes)
    return address


def _key_bytes(profile: StackDistanceProfile, key_bytes: int | None) -> int:
    return profile.line_bytes if key_bytes is None else 1 << line_shift(key_bytes)
