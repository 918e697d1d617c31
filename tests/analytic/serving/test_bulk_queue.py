"""The bulk queue against closed forms: M/D/1, M/M/1, M/M(1,B)/1, and bounds for batches whose times are linear."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from simcodesign.analytic.serving.bulk_queue import BulkQueue
from simcodesign.analytic.serving.lengths import Law
from simcodesign.core.errors import CapacityError


def constant(value_s: float) -> Law:
    """A time that is always the same."""
    return Law(np.array([value_s]), np.ones(1))


def exponential(mean_s: float, nodes: int = 80) -> Law:
    """Nodes and weights of Gauss and Laguerre: all moments of an exponential time."""
    values, weights = np.polynomial.laguerre.laggauss(nodes)
    return Law(mean_s * values, weights / weights.sum())


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_one_at_a_time_of_constant_service(load: float) -> None:
    """M/D/1: Kleinrock I, Sec. 5.6; the distribution of the wait by Erlang (Crommelin, 1932)."""
    queue = BulkQueue(load / 0.2, [constant(0.2)])
    assert queue.utilisation == pytest.approx(load, rel=1e-7)
    assert queue.in_system / queue.rate_per_s == pytest.approx(0.2 + 0.2 * load / (2 * (1 - load)), rel=1e-6)
    waits = queue.samples().wait_s
    for time_s in (0.0, 0.1, 0.3, 0.7):
        terms = (
            (-load * (time_s / 0.2 - k)) ** k / math.factorial(k) * math.exp(load * (time_s / 0.2 - k))
            for k in range(int(time_s / 0.2 + 1e-9) + 1)
        )
        assert np.mean(waits <= time_s + 1e-12) == pytest.approx((1 - load) * sum(terms), abs=0.003)


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_one_at_a_time_of_exponential_service(load: float) -> None:
    """M/M/1: the response is exponential (Kleinrock I, Sec. 5.12)."""
    parts = (np.arange(4000) + 0.5) / 4000
    service = Law(-np.log1p(-parts), np.full(4000, 1 / 4000))
    queue = BulkQueue(load, [exponential(1.0)])
    assert queue.in_system == pytest.approx(load / (1 - load), rel=1e-6)
    times = BulkQueue(load, [service]).samples().with_service([service])
    for share in (0.5, 0.9, 0.99):
        assert np.quantile(times, share) == pytest.approx(-math.log(1 - share) / (1 - load), rel=0.03)


@pytest.mark.parametrize("largest", [1, 2, 5, 16])
@pytest.mark.parametrize("load", [0.2, 0.7, 0.95])
def test_batches_of_exponential_service(largest: int, load: float) -> None:
    """M/M(1,B)/1 (Medhi, Stochastic Models in Queueing Theory, 2003, Sec. 4.2): n wait at a busy server with
    probabilities in geometric progression, whose ratio solves mu r^(B+1) - (lambda + mu) r + lambda = 0."""
    rate = load * largest
    ratio = optimize.brentq(lambda r: r ** (largest + 1) - (rate + 1) * r + rate, 1e-12, 1 - 1e-9)
    busy = 1 / (1 - ratio)  # over the probability that the server is busy and nothing waits
    idle = 1 / rate
    waiting = ratio / (1 - ratio) ** 2 / (busy + idle)
    queue = BulkQueue(rate, [exponential(1.0)] * largest)
    assert queue.utilisation == pytest.approx(busy / (busy + idle), rel=1e-6)
    waits = queue.in_system - rate  # each is served for a mean of 1
    assert waits == pytest.approx(waiting, rel=1e-5)
    assert queue.samples().wait_s.mean() == pytest.approx(waiting / rate, rel=0.05)


@pytest.mark.parametrize("load", [0.1, 0.4, 0.7, 0.9])
def test_batches_without_limit_of_linear_service(load: float) -> None:
    """Y. Inoue, Performance Evaluation 147, 2021 (arXiv 1912.06322), Theorem 2: with times alpha b + tau of a batch of b,
    the mean response is at most the smaller of two closed forms, which are close to it. The abstract states the bound;
    its two forms were not verified in the original."""
    alpha, tau = 0.5, 1.0
    rate = load / alpha
    times = [constant(alpha * size + tau) for size in range(1, 151)]
    response = BulkQueue(rate, times).in_system / rate
    first = (alpha + tau) / (2 * (1 - load)) * (1 + 2 * rate * tau + (1 - rate * tau) / (1 + load))
    second = 1.5 * tau / (1 - load) + alpha / 2 * (load + 2) / (1 - load**2)
    bound = min(first, second)
    assert 0.95 * bound < response <= bound


def test_numbers_agree() -> None:
    """Requests that leave are those that arrive; samples have the mean of the equations."""
    times = [constant(0.1 + 0.02 * size) for size in range(1, 9)]
    queue = BulkQueue(20.0, times)
    batches = queue.utilisation / np.sum(
        np.bincount(queue.sizes - 1, queue.left, minlength=8) * [one.mean for one in times]
    )
    assert batches * np.sum(queue.left * queue.sizes) == pytest.approx(20.0, rel=1e-6)
    assert queue.samples().with_service(times).mean() == pytest.approx(queue.in_system / 20.0, rel=0.01)


def test_a_queue_that_is_too_long() -> None:
    with pytest.raises(CapacityError, match="too long"):
        _ = BulkQueue(0.9999, [constant(1.0)]).left
