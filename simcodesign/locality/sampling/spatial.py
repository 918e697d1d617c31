"""Which keys of a long trace are sampled, by their hash, and the stack distances among them.

A key is sampled when its hash is at or below a threshold, so that either all its accesses are, or none. The threshold
falls as keys turn up, so that there are never more than a fixed number (SHARDS with a fixed sample size: Waldspurger,
Park, Garthwaite, Ahmad, "Efficient MRC construction with SHARDS", FAST 2015). The paper lowers it at the
access that makes them too many; here it is lowered for a whole chunk before its distances are counted. As the keys that
stay have been sampled from their first access on, these distances equal the distances of one fixed threshold, and the
sample is at no time larger than in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.locality.stack.distances import stack_distances
from simcodesign.locality.traces.trace import Trace, line_shift

#: Accesses hashed at a time: their temporary arrays stay in the second-level cache.
_BLOCK = 1 << 15
_HASHES = 2.0**64
#: Multipliers and shifts of the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), which is one to one.
_SHIFTS = tuple(np.uint64(shift) for shift in (30, 27, 31))
_FACTORS = tuple(np.uint64(factor) for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


class SampledChunk(NamedTuple):
    """The sampled accesses of a chunk, in order."""

    accesses: int  # of the chunk, sampled or not
    rate: float  # share of all keys that is sampled, above 0 up to 1
    keys: int  # in the sample, so far
    distance: NDArray[np.int64]  # (m,) stack distance among sampled keys, -1 for a first touch
    part: NDArray[np.int64]  # (m,) which of the parts the key belongs to
    part_distance: NDArray[np.int64]  # (m,) stack distance among the sampled keys of its part


def sampled_chunks(trace: Trace, line_bytes: int, most_keys: int, seed: int, parts: int) -> Iterator[SampledChunk]:
    """Yield the sample of a trace, chunk by chunk; it never holds more than ``most_keys`` keys.

    ``parts`` splits the keys, by other bits of their hash, into as many samples of 1 / ``parts`` the rate each.
    """
    shift = np.uint64(line_shift(line_bytes))
    salt = np.random.default_rng(seed).integers(0, 2**64, 2, np.uint64)
    last = np.zeros(0, np.uint64)  # hashes of the sampled keys, the least recently used first
    highest = np.uint64(2**64 - 1)  # hashes up to this one are sampled
    for chunk in trace.by_line(line_bytes):
        chosen = _low_hashes(chunk.address, shift, salt, highest)
        stream = np.concatenate([last, chosen])
        key, hashes = pd.factorize(stream)
        if len(hashes) > most_keys:
            highest = np.partition(hashes, most_keys)[most_keys] - np.uint64(1)
            stream, last = stream[stream <= highest], last[last <= highest]
            key, hashes = pd.factorize(stream)
        old = len(last)
        part = (hashes % np.uint64(parts)).astype(np.int64)[key]
        distance, part_distance = stack_distances(key, 1), _within_parts(key, part)
        rate = (float(highest) + 1) / _HASHES
        yield SampledChunk(len(chunk), rate, len(hashes), distance[old:], part[old:], part_distance[old:])
        latest = np.empty(len(hashes), np.int64)
        latest[key] = np.arange(len(key))  # of equal keys the last one stays
        last = hashes[np.argsort(latest)]


def _within_parts(key: NDArray[np.int64], part: NDArray[np.int64]) -> NDArray[np.int64]:
    """Stack distances among the keys of the same part: one part after the other, as none shares a key with another."""
    order = np.argsort(part, kind="stable")
    distance = np.empty(len(key), np.int64)
    distance[order] = stack_distances(key[order], 1)
    return distance


def _low_hashes(
    address: NDArray[np.uint64], shift: np.uint64, salt: NDArray[np.uint64], highest: np.uint64
) -> NDArray[np.uint64]:
    """Hashes of the keys of these addresses, in order, as far as they do not exceed ``highest``."""
    parts, spare = [], np.empty(_BLOCK, np.uint64)
    for start in range(0, len(address), _BLOCK):
        hashed = address[start : start + _BLOCK] >> shift
        _mix(hashed, salt, spare[: len(hashed)])
        parts.append(hashed[hashed <= highest])
    return np.concatenate(parts)


def _mix(values: NDArray[np.uint64], salt: NDArray[np.uint64], spare: NDArray[np.uint64]) -> None:
    """Each value replaced by its hash: one to one, and without a pattern from keys that follow one another."""
    values += salt[0]
    for shift, factor in zip(_SHIFTS, (*_FACTORS, None), strict=True):
        np.right_shift(values, shift, out=spare)
        values ^= spare
        if factor is not None:
            values *= factor
    values ^= salt[1]
