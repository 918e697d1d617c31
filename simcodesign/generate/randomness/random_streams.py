"""All randomness of a simulation: named streams of one seed, sampled before the engines start."""

from __future__ import annotations

import math
import zlib
from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.randomness.distribution import Distribution

Floats = NDArray[np.float64]
#: Variation below which a gamma distribution is 1 to the last bit, and its shape no number.
LEAST_VARIATION = 1e-16


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the generator of a name: the same seed and name give the same numbers, whatever else is sampled."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()),)))


def random_factors(distribution: Distribution, generator: np.random.Generator, count: int) -> Floats:
    """(count,) factors of mean 1. The first ones are the same, however many are sampled."""
    name, parameters = distribution.name, distribution.parameters
    if distribution.constant:
        return np.ones(count)
    if name == "exponential":
        return generator.standard_exponential(count)
    if name == "erlang":
        return generator.standard_gamma(parameters["stages"], count) / parameters["stages"]
    if name == "gamma":
        return _gamma(generator, parameters["variation"], count)
    if name == "lognormal":
        return lognormal_factors(generator, parameters["variation"], count)
    if name == "weibull":
        return generator.weibull(parameters["shape"], count) / math.gamma(1 + 1 / parameters["shape"])
    if name == "uniform":
        return 1 + parameters["spread"] * (2 * generator.random(count) - 1)
    values = np.array(distribution.values) / max(distribution.values)  # whose sum can be taken
    chosen: Floats = (values / values.mean())[generator.integers(len(values), size=count)]
    return chosen


def _gamma(generator: np.random.Generator, variation: float, count: int) -> Floats:
    if variation < LEAST_VARIATION:
        return np.ones(count)
    shape = 1 / variation**2
    return generator.standard_gamma(shape, count) / shape


def lognormal_factors(generator: np.random.Generator, variation: float, count: int) -> Floats:
    """Lognormal factors of mean 1 and coefficient of variation ``variation``."""
    sigma = np.sqrt(np.log1p(variation**2))
    return generator.lognormal(-(sigma**2) / 2, sigma, count)


def imbalance_shares(design_point: DesignPoint, on: Set[Mechanism], seed: int) -> Floats | None:
    """Return the factor of every rank on its computations, (P,), None if all are alike.

    The ranks of a node have one factor, if the imbalance is between nodes.
    """
    uneven = design_point.workload.imbalance_model
    if Mechanism.UNEVEN_RANKS not in on or not uneven:
        return None
    generator = stream(seed, "imbalance")
    if uneven.of == "ranks":
        return random_factors(uneven.distribution, generator, design_point.ranks)
    node = design_point.machine.node_of(design_point.ranks)
    return random_factors(uneven.distribution, generator, int(node.max()) + 1)[node]


def speed_factors(design_point: DesignPoint, on: Set[Mechanism]) -> Floats | None:
    """(P,) the factor of every rank on the time of its computations by its speed, None if all are alike."""
    machine, ranks = design_point.machine, design_point.ranks
    if Mechanism.UNEVEN_RANKS not in on or not machine.processor.speeds_differ:
        return None
    if np.ndim(machine.processors_of_nodes):  # then there is one speed for every node
        return 1 / machine.processor.speed_of(machine.node_of(ranks), machine.nodes)
    return 1 / machine.processor.speed_of(machine.processor_of(ranks), machine.processors)


def slow_factors(design_point: DesignPoint, on: Set[Mechanism], seed: int) -> Floats | None:
    """(P,) the factor of every rank on the time of its computations that comes of slow nodes, None without any."""
    slow = design_point.machine.noise_model.slow_nodes
    if Mechanism.UNEVEN_RANKS not in on or not slow:
        return None
    node, generator = design_point.machine.node_of(design_point.ranks), stream(seed, "slow nodes")
    if slow.fraction:
        is_slow = generator.random(int(node.max()) + 1)[node] < slow.fraction
    elif slow.count:
        is_slow = np.isin(node, generator.choice(design_point.machine.nodes, slow.count, replace=False))
    else:
        is_slow = np.isin(node, slow.nodes)
    return np.where(is_slow, slow.factor, 1.0)
