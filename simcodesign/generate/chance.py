"""All randomness of a simulation: named streams of one seed, spent before the engines start."""

from __future__ import annotations

import zlib
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.setting import Setting


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator of a name: the same seed and name give the same numbers, whatever else is drawn."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()),)))


def factors(generator: np.random.Generator, variation: float, count: int) -> NDArray[np.float64]:
    """Lognormal factors of mean 1 and coefficient of variation ``variation``."""
    sigma = np.sqrt(np.log1p(variation**2))
    return generator.lognormal(-(sigma**2) / 2, sigma, count)


def imbalance_shares(setting: Setting, effects: Collection[str], seed: int) -> NDArray[np.float64] | None:
    """(P,) the factor of every rank on its computations, None where all are alike."""
    if "imbalance" not in effects or not setting.workload.imbalance:
        return None
    return factors(stream(seed, "imbalance"), setting.workload.imbalance, setting.ranks)
