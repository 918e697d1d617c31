"""Metrics of a server in searches, compared with ``sc.serve`` at each point, and what is refused."""

from __future__ import annotations

import itertools

import pytest

import simcodesign as sc
from simcodesign.cli.app import main
from simcodesign.core.errors import InputError
from simcodesign.core.serving_result import TIMES
from simcodesign.studies.explore.models.serving_metrics import SERVING_METRICS, simulated_serving

MODEL = {"layers": 2, "hidden": 1024, "heads": 16, "vocabulary": 8192, "prompt_tokens": 300, "output_tokens": 20}
P99 = "serving.first_token_p99"


def test_the_fewest_gpus_that_keep_the_99th_percentile_are_found_by_trying_all() -> None:
    bound_s, total = 4e-3, 1500.0
    feasible, saturated = [], 0
    for ranks, tensor in itertools.product((1, 2, 4, 8), (1, 2)):
        if ranks % tensor:
            continue
        served = sc.serve(
            "inference",
            "selene",
            {**MODEL, "P": ranks, "tensor": tensor, "rate": total * tensor / ranks, "requests": 20},
            replications=1,
        )
        saturated += served.forecast is None
        if served.forecast is not None and served.forecast.first_token.p99_s <= bound_s:
            feasible.append((ranks, tensor, served.forecast.first_token.p99_s))
    assert saturated
    assert min(feasible)[0] > 1
    found = sc.explore(
        "inference",
        "selene",
        {**MODEL, "total_rate": total},
        vary={"P": [1, 2, 4, 8], "tensor": [1, 2]},
        subject_to=f"{P99} <= {bound_s}",
        minimize="P",
    )
    assert found.point is not None
    at = found.point.values["P"], found.point.values["tensor"]
    assert at[0] == min(feasible)[0]
    assert found.point.metrics[P99] == {(p, t): time_s for p, t, time_s in feasible}[at]
    (refusal,) = [one for one in found.refusals if "saturates" in one.why]
    assert refusal.count == saturated


def test_every_quantity_of_serve_is_a_metric() -> None:
    at = {**MODEL, "rate": 200}
    found = sc.explore("inference", "selene", at, vary={"P": [1]}, minimize=P99)
    expected = sc.serve("inference", "selene", {**at, "P": 1}, replications=1).forecasts
    assert found.point is not None
    assert {name: value for name, value in found.point.metrics.items() if name in SERVING_METRICS} == {
        f"serving.{name.removesuffix('_s') if name in TIMES else name}": value for name, value in expected.items()
    }


def test_searches_without_them_do_not_evaluate_them() -> None:
    found = sc.explore("inference", "selene", {**MODEL, "rate": 1e9}, vary={"P": [1, 2]}, minimize="time")
    assert found.point is not None
    assert not SERVING_METRICS.keys() & found.point.metrics.keys()


def test_all_servers_share_the_total_rate() -> None:
    shared = sc.serve("inference", "selene", {**MODEL, "total_rate": 800, "P": 8, "tensor": 2}, replications=1)
    own = sc.serve("inference", "selene", {**MODEL, "rate": 200, "P": 2, "tensor": 2}, replications=1)
    assert shared.forecasts == own.forecasts
    assert shared.runs == own.runs


def test_simulated_metrics_are_those_of_a_simulated_server() -> None:
    at = {**MODEL, "rate": 200, "requests": 300, "P": 1}
    served = sc.serve("inference", "selene", at, replications=1, effects="none")
    metrics = simulated_serving(sc.Scenario.of("inference", "selene", at), effects="none", seed=served.seeds[0])
    assert metrics[P99] == served.runs[0].first_token.p99_s
    assert metrics["serving.tokens_per_s"] == served.runs[0].tokens_per_s


def test_a_name_that_is_none_is_an_error_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"serving\.first_token_p99"):
        sc.explore("inference", "selene", MODEL, vary={"P": [1]}, subject_to="serving.first_tokn_p99 <= 1 s")
    with pytest.raises(InputError, match="serving"):
        sc.explore("jacobi", "torus-cluster", {"n": 64}, vary={"P": [1, 4]}, subject_to=f"{P99} <= 1 s")


def test_metrics_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "inference", "selene", "--metrics"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in SERVING_METRICS)
    assert main(["explore", "gpt", "selene", "--metrics"]) == 0
    assert "serving" not in capsys.readouterr().out


def test_the_best_points_are_simulated_as_servers(capsys: pytest.CaptureFixture[str]) -> None:
    small = [word for name, value in MODEL.items() for word in ("--set", f"{name}={value}")]
    line = ["explore", "inference", "selene", *small, "--set", "rate=200", "--set", "requests=200", "-P", "2"]
    assert main([*line, "--vary", "tensor=1,2", "--minimize", P99, "--simulate-best", "2"]) == 0
    text = capsys.readouterr().out
    assert "Confirmed" in text or "another point is better" in text
    assert "nan" not in text
