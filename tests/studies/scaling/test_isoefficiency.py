"""Isoefficiency against its closed forms.

Oracle: Grama, Gupta, Karypis and Kumar (2003), sections 5.4.2, 8.2 and 13.2: with K = E/(1 - E), the work W at which
W = K T_o(W, P). Where only the terms in t_w are left, W is explicit.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import pytest

from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.studies.scaling.isoefficiency import PRECISION, Isoefficiency, isoefficiency

#: The book's constants for the FFT: 2 us for a point in a step (5 flops), 4 us for a word, 25 us for a message.
POINT_S, WORD_S, MESSAGE_S = 2e-6, 4e-6, 25e-6
FFT = {"processor.rate": 5 / POINT_S, "network.per_byte": WORD_S / 16, "network.startup": MESSAGE_S}
#: hypercube-256: seconds for a multiply-add, a word of 8 bytes, a message.
MULTIPLY_ADD_S, REAL_S, STARTUP_S = 2e-8, 8e-8, 2e-5


@cache
def hypercube(ranks: int) -> Machine:
    return load_machine("hypercube-256", {"nodes": ranks, "network.hop_latency": 0})


def sizes(result: Isoefficiency, reading: str) -> list[float]:
    return [point.size for point in result.curve(reading).points]


@pytest.mark.parametrize("efficiency", [0.1, 0.5, 0.9])
def test_cannon_without_startup_grows_as_the_book_says(efficiency: float) -> None:
    """n^3 t_c = K 2 t_w n^2 sqrt(P): n = 2 K (t_w/t_c) sqrt(P), so that W = n^3 is in Theta(P^1.5)."""
    k, ranks = efficiency / (1 - efficiency), [4, 16, 64, 1024]
    result = isoefficiency(
        "cannon", hypercube, ranks, {"network.startup": 0.0}, efficiency=efficiency, readings=["textbook"]
    )
    expected = [2 * k * REAL_S / MULTIPLY_ADD_S * p**0.5 for p in ranks]
    assert sizes(result, "textbook") == pytest.approx(expected, rel=2 * PRECISION)
    assert result.curves[0].exponents == pytest.approx([1.5] * 3, abs=1e-5)


@pytest.mark.thorough
def test_both_readings_without_effects_are_the_formula() -> None:
    """Cannon's program has every step of its formula."""
    ranks = [4, 16, 64]
    result = isoefficiency("cannon", hypercube, ranks, efficiency=0.4, effects="none")
    for reading in ("forecast", "simulation"):
        assert sizes(result, reading) == pytest.approx(sizes(result, "textbook"), rel=2 * PRECISION)
    for point in result.curve("simulation").points:
        assert point.work_flops == pytest.approx(2 * point.size**3, rel=1e-12)
        assert point.efficiency == pytest.approx(0.4, rel=1e-5)


def test_a_startup_alone_makes_cubes_of_processes_need_less() -> None:
    """n^3 t_c = K t_s P log2 P by the DNS algorithm, K 2 t_s P^1.5 by Cannon's."""
    given = {"network.per_byte": 0.0}
    dns = isoefficiency("dns-matmul", hypercube, [64, 512], given, readings=["textbook"])
    assert sizes(dns, "textbook") == pytest.approx(
        [math.cbrt(STARTUP_S / MULTIPLY_ADD_S * p * math.log2(p)) for p in (64, 512)], rel=2 * PRECISION
    )
    cannon = isoefficiency("cannon", hypercube, [64], given, readings=["textbook"])
    assert sizes(cannon, "textbook") == pytest.approx(
        [math.cbrt(2 * STARTUP_S / MULTIPLY_ADD_S * 64**1.5)], rel=2 * PRECISION
    )


def test_dns_without_startup_grows_as_the_book_says() -> None:
    """n^3 t_c = K t_w n^2 P^(1/3) log2 P, so that W = n^3 is in Theta(P (log P)^3)."""
    ranks = [8, 64, 512, 4096, 32768]
    result = isoefficiency("dns-matmul", hypercube, ranks, {"network.startup": 0.0}, readings=["textbook"])
    expected = [REAL_S / MULTIPLY_ADD_S * math.cbrt(p) * math.log2(p) for p in ranks]
    assert sizes(result, "textbook") == pytest.approx(expected, rel=2 * PRECISION)


@pytest.mark.thorough
@pytest.mark.parametrize("efficiency", [0.2, 0.4, 0.5])
def test_binary_exchange_has_a_threshold(efficiency: float) -> None:
    """Without startup n log2 n t_c = K t_w n log2 P on a hypercube, n = P^(K t_w/t_c), but at least P; on a mesh
    n = 2^(2 K (t_w/t_c) sqrt(P)), at least P as well."""
    k, ranks = efficiency / (1 - efficiency), [4, 16, 64, 256]
    result = isoefficiency(
        "fft-binary-exchange",
        hypercube,
        ranks,
        {**FFT, "network.startup": 0.0},
        efficiency=efficiency,
        readings=["hypercube", "mesh"],
    )
    expected = [max(p ** (k * WORD_S / POINT_S), p) for p in ranks]
    assert sizes(result, "hypercube") == pytest.approx(expected, rel=1e-5)
    expected = [max(2 ** (2 * k * WORD_S / POINT_S * p**0.5), p) for p in ranks]
    assert sizes(result, "mesh") == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("workload", ["simple-matmul", "dns-matmul", "fft-binary-exchange", "fft-transpose"])
def test_work_is_what_the_overhead_asks_for(workload: str) -> None:
    """At every point W = K T_o, T_o = P T_P - W, whatever the formula."""
    given: dict[str, object] = {} if "matmul" in workload else {**FFT}
    formulas = load_workload(workload).formulas
    result = isoefficiency(workload, hypercube, [64, 4096], given, efficiency=0.2, readings=formulas)
    assert len(result.curves) == len(formulas) == 2
    for curve in result.curves:
        for point in curve.points:
            overhead_s = point.ranks * point.parallel_s - point.serial_s
            if point.size > 1.01 * point.ranks**2 or workload != "fft-transpose":
                assert point.serial_s == pytest.approx(0.25 * overhead_s, rel=1e-4)


@pytest.mark.thorough
def test_asymptotic_growth() -> None:
    """Theta(P^1.5) by the simple algorithm, Theta(P (log P)^3) by DNS, Theta(P log P) and Theta(P^2 log P) by the FFT with
    binary exchange, below its threshold, and with a transpose: ratios to these change little, and less and less."""
    growth = {
        "simple-matmul": ([4**k for k in range(5, 10)], lambda p: p**1.5),
        "dns-matmul": ([8**k for k in range(3, 7)], lambda p: p * math.log2(p) ** 3),
        "fft-binary-exchange": ([4**k for k in range(5, 10)], lambda p: p * math.log2(p)),
        "fft-transpose": ([4**k for k in range(4, 9)], lambda p: p**2 * math.log2(p)),
    }
    for workload, (ranks, function) in growth.items():
        given = {} if "matmul" in workload else FFT
        name = "hypercube" if workload == "fft-binary-exchange" else "textbook"
        curve = isoefficiency(workload, hypercube, ranks, given, efficiency=0.2, readings=[name]).curves[0]
        ratios = [point.serial_s / function(point.ranks) for point in curve.points]
        changes = [abs(math.log(after / before)) for before, after in pairwise(ratios)]
        assert changes[-1] < changes[0] or max(changes) < 1e-4, workload
        assert changes[-1] < 0.35 * math.log(ranks[-1] / ranks[-2]), workload


AMDAHL = "serial-fraction"


def test_a_serial_share_has_no_isoefficiency() -> None:
    """E = 1/(s P + 1 - s) whatever the size: reached by any work, or by none."""
    result = isoefficiency(
        AMDAHL, hypercube, [2, 64], {"s": 0.1}, parameter="flops", efficiency=0.5, readings=["amdahl"]
    )
    reached, missed = result.curve("amdahl").points
    assert reached.size == 1
    assert math.isnan(missed.size)
    assert "0.137" in missed.reason  # 1/(6.4 + 0.9)
    assert math.isnan(result.curves[0].exponents[0])


def test_serial_time_of_one_rank_is_that_of_the_reading() -> None:
    """What one process computes in 2 s takes 1 s on two and a message of 1 s besides: E = n/(n + 1 s) of n seconds."""
    text = """
        simcodesign: 1
        name: seconds
        parameters: {n: {default: 1, range: [1e-3, 1e3]}}
        program:
          - compute: {seconds: n/P}
          - compute: {seconds: (P - 1)/P}
    """
    workload = workload_from(parse_yaml(text, "seconds.yaml"))
    result = isoefficiency(workload, "crossbar-16", [1, 2, 4], efficiency=0.75, serial="one_rank")
    for reading in ("forecast", "simulation"):
        assert sizes(result, reading) == pytest.approx([1e-3, 3, 9], rel=2 * PRECISION)  # n = 3 (P - 1) s
    assert [point.work_flops for point in result.curves[0].points] == [None] * 3
    with pytest.raises(InputError, match="useful_flops"):
        isoefficiency(workload, "crossbar-16", [2])


@pytest.mark.parametrize(("high", "expected"), [(30.0, None), (5.0, 3.0)])
def test_efficiency_that_falls_again_is_told(high: float, expected: float | None) -> None:
    """E = 1/2 from n = 3 on and above 17, and 1/4 elsewhere: 3 is the least size where there are none beyond 5."""
    text = f"""
        simcodesign: 1
        name: falling
        parameters: {{n: {{default: 1, range: [1, {high}]}}}}
        program:
          - useful_flops: n*1e9
            do: [compute: {{seconds: "n*where((n >= 3)*((n <= 5) + (n > 17)), 1, 2)"}}]
    """
    workload = workload_from(parse_yaml(text, "falling.yaml"))
    point = isoefficiency(workload, "crossbar-16", [2], efficiency=0.4, readings=["forecast"]).curves[0].points[0]
    assert point.size == pytest.approx(expected if expected else math.nan, rel=2 * PRECISION, nan_ok=True)
    assert bool(point.reason) == (expected is None)


def test_given_formulas_stand_beside_those_of_the_workload() -> None:
    result = isoefficiency("cannon", hypercube, [16], formulas="mine = 2*n**3*t_c/P + 1 ms", readings=["mine"])
    assert sizes(result, "mine") == pytest.approx([math.cbrt(16 * 1e-3 / MULTIPLY_ADD_S)], rel=2 * PRECISION)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"efficiency": 1.0}, "above 0 and below 1"),
        ({"efficiency": math.nan}, "above 0 and below 1"),
        ({"parameter": "rows"}, "rows"),
        ({"serial": "best"}, "useful_flops, one_rank"),
        ({"readings": ["textbok"]}, "textbook"),
        ({"ranks": []}, "at least one"),
        ({"ranks": [18]}, "process grid"),
        ({"formulas": "n*seconds_each"}, "seconds_each"),
    ],
)
def test_what_cannot_be_used_is_told(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        isoefficiency(**{"workload": "cannon", "machine": "hypercube-256", "ranks": [16], **given})  # type: ignore[arg-type]


def test_table_and_json() -> None:
    result = isoefficiency("cannon", "hypercube-256", [4, 16], readings=["textbook", "forecast"])
    assert list(result.table()["ranks"]) == [4, 16, 4, 16]
    data = result.to_dict()
    assert [curve["reading"] for curve in data["curves"]] == ["textbook", "forecast"]
    assert data["curves"][0]["points"][1]["efficiency"] == pytest.approx(0.5, rel=1e-5)
    with pytest.raises(InputError, match="forecast"):
        result.curve("forecasts")
