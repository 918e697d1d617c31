"""Simulated servers of the workload ``inference`` against closed forms, with the times of its own steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.evaluated.server import Server
from simcodesign.describe.programs.serving import SAME, Length
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.serving.simulate import ServerSimulation
from simcodesign.engine.serving.step_times import RATIO, StepTimes, lengths_simulated

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


def test_one_at_a_time_of_exponential_lengths() -> None:
    """M/M/1: the response is exponential. 20 tokens on average make whole lengths nearly exponential; a prefill of one
    token takes as long as a step, and the cache of one head hardly prolongs steps. Means of 80,000 requests vary by 1.3 %
    (Whitt, Management Science 35, 1989)."""
    at: dict[str, object] = {"prompt_tokens": 1, "output_tokens": 20, "batch": 1, "requests": 20000, "kv_heads": 1}
    service_s, load = alone_s(at), 0.6
    simulation = simulation_of(server_of(at | {"rate": load / service_s}, Distribution("exponential")))
    runs = [simulation.run(seed) for seed in range(4)]
    mean_s = service_s / (1 - load)
    assert np.mean([run.latency.mean_s for run in runs]) == pytest.approx(mean_s, rel=0.03)
    assert np.mean([run.latency.p50_s for run in runs]) == pytest.approx(np.log(2) * mean_s, rel=0.03)
    assert np.mean([run.latency.p99_s for run in runs]) == pytest.approx(np.log(100) * mean_s, rel=0.06)
    for run in runs:
        assert run.in_system == pytest.approx(run.requests_per_s * run.latency.mean_s, rel=0.03)
        assert run.utilisation == pytest.approx(load, abs=0.03)


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
