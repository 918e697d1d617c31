"""``sc.serve``: the forecast of a server against its simulation, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.analytic.serving.forecast import forecast_server
from simcodesign.core.errors import InputError
from simcodesign.describe.evaluated.server import Server
from simcodesign.describe.programs.serving import SAME, Length
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.workload import Workload

#: GPUs whose products all have one efficiency, so that times of steps are nearly linear in the batch.
GPUS = sc.Machine.load("selene", {"accelerator.efficiency": 0.6774, "accelerator.memory.bandwidth": "2039 GB/s"})
#: A small model.
MODEL = {"layers": 2, "hidden": 1024, "heads": 16, "vocabulary": 8192, "prompt_tokens": 300, "output_tokens": 20}
#: Constant prompts, and outputs.
ALIKE = {"prompt": Length("prompt_tokens"), "output": Length("output_tokens")}


def served_workload(**changes: Any) -> Workload:
    """``inference`` with another section ``serving``."""
    workload = sc.Workload.load("inference")
    assert workload.serving is not None
    return replace(workload, serving=replace(workload.serving, **changes))


def saturation_per_s(workload: Workload, at: dict[str, object]) -> float:
    """The rate at which the server saturates, by its forecast."""
    forecast = sc.serve(workload, GPUS, {**at, "rate": 1e-3, "requests": 1}, replications=1).forecast
    assert forecast is not None
    assert forecast.saturation_per_s is not None
    return forecast.saturation_per_s


@pytest.mark.parametrize("load", [0.4, 0.8])
def test_static_batches_of_constant_lengths_are_exact(load: float) -> None:
    """Means and percentiles of the bulk queue lie in intervals of 99.9 % of 10 simulations."""
    workload, at = served_workload(**ALIKE), {**MODEL, "batch": 6, "policy": "static"}
    rate = load * saturation_per_s(workload, at)
    served = sc.serve(
        workload, GPUS, {**at, "rate": rate, "requests": 5000}, replications=10, level=0.999, effects="none"
    )
    for name in ("waiting_s", "first_token_s", "latency_s", "utilisation", "mean_batch", "in_system"):
        assert served.means[name].holds(served.forecasts[name]), name
        assert served.means[name].relative < 0.1
    for name in ("first_token_p50_s", "first_token_p99_s", "latency_p50_s", "latency_p99_s"):
        assert served.means[name].holds(served.forecasts[name]), name


def test_one_at_a_time_is_the_formula_of_pollaczek_and_khinchine() -> None:
    """M/G/1: the wait is rate E[S^2] / (2 (1 - load)), with moments of a million requests drawn here, each priced
    by the forecast of the program."""
    workload = served_workload(
        prompt=Length("prompt_tokens"), output=Length("output_tokens", Distribution("exponential"))
    )
    lengths = np.arange(1, 600)
    alone = {**MODEL, "P": 1, "batch": 1}
    times_s = np.asarray(sc.forecast("inference", GPUS, {**alone, "output_tokens": lengths}).makespan_s)
    drawn = np.maximum(np.rint(20 * np.random.default_rng(1).exponential(size=1_000_000)), 1).astype(int)
    services_s = times_s[np.minimum(drawn, 599) - 1]
    rate = 0.7 / services_s.mean()
    wait_s = rate * np.mean(services_s**2) / (2 * (1 - rate * services_s.mean()))
    forecast = sc.serve(workload, GPUS, {**alone, "rate": rate, "requests": 2}, replications=1).forecast
    assert forecast is not None
    assert forecast.waiting_s == pytest.approx(wait_s, rel=0.01)
    assert forecast.utilisation == pytest.approx(0.7, rel=0.005)


STEP_S, MEAN_TOKENS, PLACES = 0.1, 50, 8


def erlang_s(load: float) -> tuple[float, float]:
    """Mean service and mean time in the system M/M/8 (Kleinrock I, Sec. 3.5), for outputs of ``MEAN_TOKENS`` on average,
    rounded, at least 1, of which the prefill computes the first in no time."""
    service_s = STEP_S * math.exp(-1.5 / MEAN_TOKENS) / (1 - math.exp(-1 / MEAN_TOKENS))
    busy = load * PLACES
    full = busy**PLACES / math.factorial(PLACES) / (1 - load)
    delayed = full / (sum(busy**k / math.factorial(k) for k in range(PLACES)) + full)
    return service_s, service_s + delayed * service_s / (PLACES * (1 - load))


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_continuous_batches_of_constant_steps_are_the_queue_of_erlang(load: float) -> None:
    """A step takes as long with any batch: 8 servers of exponential services. Requests join at the next step, so that all
    end at most one step later, and none sooner; the simulation has its interval of 99.9 % in addition."""
    service_s, exact_s = erlang_s(load)
    rate = load * PLACES / service_s
    serving = {"rate": rate, "requests": 2000, "batch": "b", "prefill": "first", "decode": "next", "continuous": 1}
    lengths = {"prompt": {"parameter": "n"}, "output": {"parameter": "m", "varies": "exponential"}, "ranks": 1}
    step = [{"compute": {"seconds": STEP_S}}]
    program = [
        {"phase": "first", "do": [{"compute": {"seconds": 1e-12}}]},
        {"phase": "next", "repeat": "m - 1", "index": "k", "do": step},
    ]
    parameters = {"b": PLACES, "n": 1, "m": MEAN_TOKENS}
    own = sc.Workload.load({"name": "own", "parameters": parameters, "program": program, "serving": serving | lengths})
    served = sc.serve(own, "crossbar-16", replications=10, level=0.999)
    found = served.means["latency_s"]
    assert found.low <= exact_s + STEP_S
    assert found.high >= exact_s
    assert exact_s - 1e-9 <= served.forecasts["latency_s"] <= exact_s + STEP_S
    assert found.relative < 0.15


@pytest.mark.parametrize("policy", ["static", "continuous"])
def test_a_server_that_is_hardly_used(policy: str) -> None:
    """Without queues both readings are the program by itself."""
    workload, at = served_workload(**ALIKE), {**MODEL, "policy": policy, "rate": 1e-6, "requests": 20}
    served = sc.serve(workload, GPUS, at, replications=1)
    alone = sc.forecast("inference", GPUS, {**MODEL, "P": 1, "batch": 1})
    for latency in (served.forecasts["latency_s"], served.means["latency_s"].mean):
        assert latency == pytest.approx(alone.makespan_s, rel=1e-5)
    prefill_s = sum(alone.phases["prefill"].values())
    assert served.forecasts["first_token_s"] == pytest.approx(prefill_s, rel=1e-5)
    assert served.forecasts["between_tokens_s"] == pytest.approx((alone.makespan_s - prefill_s) / 19, rel=1e-5)


def test_saturation() -> None:
    """Above it there is no forecast; the simulation completes what the server can."""
    workload, at = served_workload(**ALIKE), {**MODEL, "batch": 6, "policy": "static"}
    most = saturation_per_s(workload, at)
    served = sc.serve(workload, GPUS, {**at, "rate": 3 * most, "requests": 3000}, replications=1)
    assert served.forecast is None
    assert "saturates at" in str(served.saturated)
    assert served.means["requests_per_s"].mean == pytest.approx(most, rel=0.01)


def test_the_memory_limits_the_forecast() -> None:
    """As many requests of mean lengths as there is room for."""
    server = Server.of(Scenario.of(served_workload(**ALIKE), GPUS, {**MODEL, "batch": 16, "rate": 1.0}))
    tight = replace(server, room_bytes=3.5 * 320 * server.token_bytes)
    forecast = forecast_server(tight)
    assert (forecast_server(server).largest_batch, forecast.largest_batch) == (16, 3)
    assert any("room for 3 requests" in one for one in forecast.basis)
    with pytest.raises(InputError, match="mean lengths does not fit"):
        forecast_server(replace(server, room_bytes=100.0))


def test_other_arrivals_are_named() -> None:
    served = sc.serve(served_workload(between=SAME), GPUS, {**MODEL, "requests": 5}, replications=1)
    assert served.forecast is not None
    assert any("taken for Poisson; described: deterministic" in one for one in served.forecast.basis)


def test_the_same_seed_gives_the_same_answer() -> None:
    at = {**MODEL, "requests": 30, "rate": 100}
    one, same, other = (sc.serve("inference", GPUS, at, replications=2, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one.runs != other.runs


def test_a_program_of_ones_own() -> None:
    """No accelerator, and times that are stated: a request of 3 prompt tokens and 4 output tokens alone takes 3 s and
    3 steps of 0.1 s, with 3, 4 and 5 tokens in its cache."""
    own = sc.Workload.load(
        {
            "name": "own",
            "parameters": {"b": 2, "n": 3, "m": 4},
            "program": [
                {"phase": "first", "do": [{"compute": {"seconds": "n*b"}}]},
                {
                    "phase": "next",
                    "repeat": "m - 1",
                    "index": "k",
                    "do": [{"compute": {"seconds": "0.02*b*(n + k + 1)"}}],
                },
            ],
            "serving": {
                "rate": 0.01,
                "requests": 400,
                "batch": "b",
                "prefill": "first",
                "decode": "next",
                "continuous": 0,
                "prompt": {"parameter": "n"},
                "output": {"parameter": "m"},
                "ranks": 1,
            },
        }
    )
    served = sc.serve(own, "crossbar-16", {"b": 1}, replications=6, level=0.999)
    service_s = 3 + 0.02 * (4 + 5 + 6)
    load = 0.01 * service_s
    assert served.forecasts["waiting_s"] == pytest.approx(load * service_s / (2 * (1 - load)), rel=1e-5)
    assert served.means["waiting_s"].holds(served.forecasts["waiting_s"])
    assert served.forecasts["between_tokens_s"] == pytest.approx(0.1, rel=1e-9)
    assert served.means["between_tokens_s"].mean == pytest.approx(0.1, rel=1e-9)


def test_tensor_groups_have_their_own_ranks() -> None:
    """A server of 8 GPUs, whose messages are slower than those of one."""
    one, eight = (
        sc.serve("inference", GPUS, {**MODEL, "tensor": tensor, "requests": 5, "rate": 1e-3}, replications=1)
        for tensor in (1, 8)
    )
    alone = sc.simulate("inference", GPUS, {**MODEL, "P": 8, "tensor": 8, "batch": 1}, phases=["prefill"])
    constant = sc.serve(
        served_workload(**ALIKE), GPUS, {**MODEL, "tensor": 8, "requests": 5, "rate": 1e-3}, replications=1
    )
    assert constant.means["first_token_s"].mean == pytest.approx(alone.makespan_s, rel=1e-9)
    assert one.means["latency_s"].mean != eight.means["latency_s"].mean


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ({"batch": 2000}, "batch of serving.*1 to 1024"),
        ({"rate": [1.0, 2.0]}, "takes one design point"),
        ({"layers": 96, "hidden": 12288, "heads": 96}, "has no room for requests"),
    ],
)
def test_what_cannot_be_served(at: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sc.serve("inference", GPUS, at, replications=1)


def test_other_errors() -> None:
    with pytest.raises(InputError, match="gpt has no section 'serving'"):
        sc.serve("gpt", GPUS)
    with pytest.raises(InputError, match="replications"):
        sc.serve("inference", GPUS, replications=0)
    with pytest.raises(InputError, match="no such phase, got 'prefil'"):
        served_workload(prefill="prefil")
    with pytest.raises(InputError, match="no such parameter, got 'tokens'"):
        served_workload(output=Length("tokens"))
