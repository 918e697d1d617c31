"""Simulated servers of the workload ``inference`` against closed forms, with the times of its own steps."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.evaluated.server import Server
from simcodesign.describe.programs.serving import SAME, Length
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.serving.simulate import ServerSimulation
from simcodesign.engine.serving.step_times import RATIO, StepTimes, lengths_simulated
from simcodesign.generate.serving.requests import draw_requests

#: A small model.
MODEL = {"P": 1, "layers": 2, "hidden": 1024, "heads": 16, "vocabulary": 8192}


def server_of(parameters: dict[str, object], outputs: Distribution = SAME, **changes: object) -> Server:
    """A server of prompts that are alike."""
    workload = sc.Workload.load("inference")
    assert workload.serving is not None
    serving = replace(
        workload.serving, prompt=Length("prompt_tokens"), output=Length("output_tokens", outputs), **changes
    )
    return Server.of(Scenario.of(replace(workload, serving=serving), "selene", {**MODEL, **parameters}))


def simulation_of(server: Server) -> ServerSimulation:
    """Its simulation with all effects."""
    return ServerSimulation(server, Experiment.of(server.scenario))


def alone_s(parameters: dict[str, object]) -> float:
    """A request by itself, by the simulation of the whole program."""
    return sc.simulate("inference", "selene", {**MODEL, **parameters, "batch": 1}).makespan_s


def test_one_request_takes_the_time_of_the_program() -> None:
    """Prefill and 39 steps, with times of steps between lengths that are simulated."""
    at = {"prompt_tokens": 333, "output_tokens": 40, "batch": 4, "requests": 1}
    result = simulation_of(server_of(at)).run(0)
    assert result.latency.mean_s == pytest.approx(alone_s(at), rel=1e-9)


def test_times_of_steps_between_lengths() -> None:
    """The attention of a prefill grows with the square of the length: between a and a (1 + r) the chord of a square is
    above it by at most r^2/(4 (1 + r)) of it (derivative zero at the harmonic mean), 0.23 % for lengths 10 % apart."""
    server = server_of({"batch": 4})
    varied = replace(
        server, serving=replace(server.serving, prompt=Length("prompt_tokens", Distribution("exponential")))
    )
    times = StepTimes(varied, Experiment.of(server.scenario), 5000)
    for tokens in (37, 1234, 4821.5):
        own = sc.simulate(server.step("prefill", 3, tokens)).makespan_s
        apart = RATIO - 1
        assert 1 - 1e-12 <= times.prefill_s(3, tokens) / own <= 1 + apart**2 / (4 * RATIO)
        own = sc.simulate(server.step("decode", 3, tokens)).makespan_s
        assert times.decode_s(3, tokens) == pytest.approx(own, rel=1e-9)
    assert lengths_simulated(50)[-1] >= 50


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_one_at_a_time_of_constant_lengths(load: float) -> None:
    """M/D/1: the mean wait is load s / (2 (1 - load)) (Kleinrock I, Sec. 5.6); interval of 8 runs."""
    at: dict[str, object] = {"prompt_tokens": 300, "output_tokens": 5, "batch": 1, "requests": 20000}
    service_s = alone_s(at)
    simulation = simulation_of(server_of(at | {"rate": load / service_s}))
    waits = [simulation.run(seed).waiting_s for seed in range(8)]
    wait_s = load * service_s / (2 * (1 - load))
    assert np.mean(waits) == pytest.approx(wait_s, abs=3.5 * np.std(waits, ddof=1) / np.sqrt(8))
    assert np.std(waits) / np.sqrt(8) < 0.02 * wait_s


#: A prefill of one token takes as long as a step; 20 tokens on average.
EXPONENTIAL: dict[str, object] = {"prompt_tokens": 1, "output_tokens": 20, "batch": 1, "requests": 20000, "kv_heads": 1}


@cache
def service_law() -> tuple[float, np.polynomial.Polynomial]:
    """Return the time of a request of one token, and a law for more tokens, from simulations of the whole program.

    Steps are linear in the length of the cache, so that the law is a polynomial of degree 2, which further points confirm.
    """
    one_s, *times = (alone_s(EXPONENTIAL | {"output_tokens": tokens}) for tokens in (1, 2, 60, 160))
    law = np.polynomial.Polynomial.fit([2, 60, 160], times, 2)
    for tokens in (3, 30, 110, 220):
        assert law(tokens) == pytest.approx(alone_s(EXPONENTIAL | {"output_tokens": tokens}), rel=1e-9)
    return one_s, law


def services_s(lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the times of requests by their tokens."""
    one_s, law = service_law()
    return np.where(lengths == 1, one_s, law(lengths))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_at_a_time_is_lindleys_recursion(seed: int) -> None:
    """The wait of a request is max(0, wait + service of the one before it - gap) (D. V. Lindley, Proc. Camb. Phil. Soc. 48,
    1952). All that a run states follows from the waits, by the definitions of the fields."""
    at = EXPONENTIAL | {"requests": 5000}
    server = server_of(at | {"rate": 0.6 / alone_s(at)}, Distribution("exponential"))
    result, drawn = simulation_of(server).run(seed), draw_requests(server, seed)
    arrival_s, service_s = drawn.arrival_s, services_s(drawn.output_tokens)
    wait_s = [0.0]
    for gap_s, before_s in zip(np.diff(arrival_s), service_s, strict=False):
        wait_s.append(max(0.0, wait_s[-1] + before_s - gap_s))
    latency_s = wait_s + service_s
    end_s, kept = arrival_s + latency_s, slice(500, None)
    begin_s, last_s = arrival_s[500], arrival_s[-1]
    moments_s = np.concatenate([arrival_s, end_s])
    order = np.argsort(moments_s)
    present = np.cumsum(np.repeat([1, -1], len(arrival_s))[order])[:-1]  # between neighbouring moments
    inside_s = np.diff(np.clip(moments_s[order], begin_s, last_s))
    assert {
        "waiting": result.waiting_s,
        "mean": result.latency.mean_s,
        "p50": result.latency.p50_s,
        "p99": result.latency.p99_s,
        "utilisation": result.utilisation,
        "throughput": result.requests_per_s,
        "in system": result.in_system,
    } == pytest.approx(
        {
            "waiting": np.mean(wait_s[500:]),
            "mean": np.mean(latency_s[kept]),
            "p50": np.quantile(latency_s[kept], 0.5),
            "p99": np.quantile(latency_s[kept], 0.99),
            "utilisation": np.sum(service_s) / np.max(end_s),
            "throughput": np.sum((begin_s < end_s) & (end_s <= last_s)) / (last_s - begin_s),
            "in system": np.sum(present * inside_s) / (last_s - begin_s),
        },
        rel=1e-9,
    )


def test_one_at_a_time_of_exponential_lengths() -> None:
    """M/G/1 of whole lengths, which are nearly exponential: the mean wait by Pollaczek and Khinchine (Kleinrock I, Sec. 5.6).

    The mean wait of n requests in M/M/1 has the variance load (2 + 5 load - 4 load^2 + load^3) / (1 - load)^4 / n, in squares
    of the mean service (D. J. Daley, J. Appl. Prob. 5, 1968; W. Whitt, Management Science 35, 1989): 3.5 standard deviations.
    """
    load, seeds = 0.6, range(4)
    rate = load / alone_s(EXPONENTIAL)
    simulation = simulation_of(server_of(EXPONENTIAL | {"rate": rate}, Distribution("exponential")))
    lengths = np.arange(1, 800)
    edges = np.exp(-(np.concatenate([[0.0], lengths + 0.5])) / 20)  # rounded, and 1 if rounded to 0
    services = services_s(lengths)
    mean_s, square = (float(np.sum(-np.diff(edges) * services**power)) for power in (1, 2))
    wait_s = rate * square / (2 * (1 - rate * mean_s))
    variance = load * (2 + 5 * load - 4 * load**2 + load**3) / (1 - load) ** 4
    waits = [simulation.run(seed).waiting_s for seed in seeds]
    count = len(waits) * 0.9 * 20000  # without the warm-up
    assert np.mean(waits) == pytest.approx(wait_s, abs=3.5 * mean_s * math.sqrt(variance / count))


def test_arrivals_at_equal_times_do_not_wait() -> None:
    """D/D/1."""
    at: dict[str, object] = {"prompt_tokens": 300, "output_tokens": 5, "batch": 1, "requests": 500}
    result = simulation_of(server_of(at | {"rate": 0.99 / alone_s(at)}, between=SAME)).run(0)
    assert result.waiting_s == 0
    assert result.latency.p99_s == pytest.approx(alone_s(at), rel=1e-9)


def test_the_memory_limits_the_batch() -> None:
    """Room for two requests: never more are in the batch, and one that never fits is refused."""
    at: dict[str, object] = {"prompt_tokens": 300, "output_tokens": 20, "batch": 16, "requests": 300, "rate": 1e6}
    server = server_of(at)
    tight = replace(server, room_bytes=2.5 * 320 * server.token_bytes)
    assert simulation_of(tight).run(0).mean_batch == pytest.approx(2, rel=0.01)
    assert simulation_of(server).run(0).mean_batch > 12
    with pytest.raises(InputError, match="a request of 320 tokens does not fit"):
        simulation_of(replace(server, room_bytes=319 * server.token_bytes)).run(0)
