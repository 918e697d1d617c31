"""Kernels in number formats, in both readings: times by hand, arrays of design points, errors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.formulas.formula import formula
from simcodesign.analytic.requirements_per_process import requirements
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.rates import FORMAT_BYTES, Rates
from simcodesign.engine.simulate import simulate
from tests.builders import read_machine, workload

#: A flop of each takes 1/8 s and 1/2 s at the efficiency 1, a byte of the memory 1/4 s, a launch 1 s.
LINK = "link: {latency: 3 s, bandwidth: 1 B/s}"
RATES = "rates: {bf16: 8 FLOP/s, fp64: 2 FLOP/s}"


def machine(accelerator: str = f"{RATES}, efficiency: 0.5", head: str = "") -> Machine:
    return read_machine(
        "simcodesign: 1\nname: m\nnodes: 2\nprocessors_per_node: 2\nprocessor: {rate: 1 FLOP/s}\n"
        f"network: {{topology: {{kind: crossbar}}, startup: 1 s, bandwidth: 1 B/s}}\n{head}"
        f"accelerator: {{count: 2, launch: 1 s, memory: {{latency: 0.5 s, bandwidth: 4 B/s}}, {accelerator}}}\n"
    )


#: Demand and seconds: the launch, and the longer one of flops / (rate x efficiency) and latency + bytes / bandwidth.
TIMES = [
    ("flops: 32, type: bf16", 1 + Fraction(32, 4)),
    ("flops: 32, type: fp64", 1 + Fraction(32, 1)),
    ("flops: 32, bytes: 8, type: bf16", 1 + max(Fraction(32, 4), Fraction(1, 2) + Fraction(8, 4))),
    ("flops: 32, bytes: 40, type: bf16", 1 + max(Fraction(32, 4), Fraction(1, 2) + Fraction(40, 4))),
    ("flops: 32, bytes: 40, type: bf16, times: 3", 3 * (1 + Fraction(21, 2))),
    ("bytes: 40", 1 + Fraction(21, 2)),
    ("flops: 0, type: bf16", Fraction(1)),
    # of matrices of 2 x 5, 5 x 3 and 2 x 3 numbers of 2 bytes
    (
        "gemm: [2, 3, 5], type: bf16",
        1 + max(Fraction(2 * 2 * 3 * 5, 4), Fraction(1, 2) + Fraction(2 * (10 + 15 + 6), 4)),
    ),
    ("gemm: [20, 30, 50], type: bf16", 1 + Fraction(2 * 20 * 30 * 50, 4)),
    ("gemm: [2, 3, 5], type: fp64", 1 + max(Fraction(2 * 2 * 3 * 5, 1), Fraction(1, 2) + Fraction(8 * 31, 4))),
    # of each of 6 heads a product of 7 x 5 by 5 x 7 and one of 7 x 7 by 7 x 5; 7 x 5 numbers of q, k, v and the result
    (
        "attention: {batch: 2, heads: 3, sequence: 7, head_dimension: 5}, type: fp64",
        1 + Fraction(6 * (2 * 7 * 5 * 7 + 2 * 7 * 7 * 5), 1),
    ),
    (
        "attention: {batch: 2, heads: 3, sequence: 1, head_dimension: 5}, type: bf16",
        1 + Fraction(1, 2) + Fraction(6 * 4 * 5 * 2, 4),
    ),
    (
        "normalisation: {elements: 10}, type: bf16",
        1 + max(Fraction(7 * 10, 4), Fraction(1, 2) + Fraction(10 * 2 * 2, 4)),
    ),
    (
        "normalisation: {elements: 10}, type: fp64",
        1 + max(Fraction(7 * 10, 1), Fraction(1, 2) + Fraction(10 * 2 * 8, 4)),
    ),
]


@pytest.mark.parametrize(("demand", "expected"), TIMES, ids=[demand for demand, _ in TIMES])
@pytest.mark.parametrize("effects", ["none", "all"])
def test_both_readings_give_the_time_by_hand(demand: str, expected: Fraction, effects: str) -> None:
    load = workload(f"- kernel: {{{demand}}}\n")
    foreseen = forecast(load, machine(), {"P": 4}).makespan_s
    assert foreseen == pytest.approx(float(expected), rel=1e-12)
    for engine in ("simpy", "compiled"):
        simulated = simulate(load, machine(), {"P": 4}, effects=effects, engine=engine)
        assert simulated.makespan_s == pytest.approx(float(expected), rel=1e-12)


def test_without_a_type_the_rate_of_the_machine_is_that_of_computations() -> None:
    on = machine(f"rate: 16 FLOP/s, {RATES}, efficiency: 0.5")
    for demand in ("kernel: {flops: 32}", "compute: {on: accelerator, flops: 32}"):
        assert forecast(workload(f"- {demand}\n"), on, {"P": 1}).makespan_s == 1 + 2


def test_ranks_that_share_an_accelerator_wait_for_each_other() -> None:
    """Three kernels of 8 s, two of which are of one accelerator."""
    on = read_machine(
        "simcodesign: 1\nname: m\nnodes: 1\nprocessors_per_node: 3\nprocessor: {rate: 1 FLOP/s}\n"
        "network: {topology: {kind: crossbar}, startup: 1 s, bandwidth: 1 B/s}\n"
        "accelerator: {count: 2, rates: {fp8: 4 FLOP/s}}\n"
    )
    load = workload("- kernel: {flops: 32, type: fp8}\n")
    assert simulate(load, on, {"P": 3}, effects="none").makespan_s == 8
    assert simulate(load, on, {"P": 3}, effects="accelerators").makespan_s == 16


def test_rates_and_efficiency_are_constants_of_a_million_points() -> None:
    flops = np.linspace(1.0, 1e6, 1000)[:, None]
    rate = np.linspace(1.0, 5.0, 1000)[None, :]
    load = workload("- kernel: {flops: n, bytes: n, type: bf16}\n", "parameters: {n: {default: 1}}\n")
    on = machine().with_constants({"accelerator.rates.bf16": rate, "accelerator.efficiency": 0.25})
    found = forecast(load, on, {"P": 1, "n": flops}).makespan_s
    np.testing.assert_allclose(found, 1 + np.maximum(flops / (rate / 4), 0.5 + flops / 4), rtol=1e-12)


#: Seconds of 2 x 3 x 5 products at 4 and 1 flops a second, or of their 31 numbers of 2 or 8 bytes at 4 bytes a second.
BY_NUMBER = {4.0: 1 + max(60 / 4, 0.5 + 62 / 4), 1.0: 1 + max(60 / 1, 0.5 + 248 / 4)}


@pytest.mark.parametrize(("number", "name"), [(4.0, "bf16"), (1.0, "fp64")])
def test_a_parameter_may_choose_the_format(number: float, name: str) -> None:
    load = workload(
        "- kernel: {gemm: [2, 3, 5], type: number_type}\n",
        "parameters: {number_type: {default: bf16, choices: {bf16: 4, fp64: 1}}}\n",
    )
    at = {"P": 1, "number_type": number}
    assert forecast(load, machine(), at).makespan_s == BY_NUMBER[number]
    assert simulate(load, machine(), at, effects="none").makespan_s == BY_NUMBER[number]
    fixed = workload(f"- kernel: {{gemm: [2, 3, 5], type: {name}}}\n")
    assert forecast(fixed, machine(), {"P": 1}).makespan_s == BY_NUMBER[number]


def test_formats_may_differ_between_points_and_between_ranks() -> None:
    load = workload(
        "- kernel: {gemm: [2, 3, 5], type: n}\n- kernel: {gemm: [2, 3, 5], type: 'where(rank, n, 4)'}\n",
        "parameters: {n: {default: 4}}\n",
    )
    found = forecast(load, machine(), {"P": 2, "n": np.array([4.0, 1.0])}).makespan_s
    np.testing.assert_array_equal(found, [2 * BY_NUMBER[4.0], 2 * BY_NUMBER[1.0]])
    assert simulate(load, machine(), {"P": 2, "n": 1}, effects="none").makespan_s == 2 * BY_NUMBER[1.0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2.5, r"no number of a number format, got 2\.5.*1 \(fp64\)"),
        (6.0, r"accelerator\.rates\.fp8, which m does not state"),
    ],
)
def test_a_number_of_no_format_or_without_a_rate_is_an_error_of_both(value: float, message: str) -> None:
    load = workload("- kernel: {flops: 1, type: n}\n", "parameters: {n: {default: 4}}\n")
    for read in (forecast, simulate):
        with pytest.raises(InputError, match=message):
            read(load, machine(), {"P": 1, "n": value})


def test_a_format_that_there_is_not() -> None:
    with pytest.raises(InputError, match="bf61"):
        forecast(workload("- kernel: {flops: 1, type: bf61}\n"), machine(), {"P": 1})


def test_constants_of_a_phase_replace_a_rate() -> None:
    body = "[{kernel: {flops: 32, type: bf16}}]"
    load = workload(f"- {{phase: a, constants: {{accelerator.rates.bf16: 16}}, do: {body}}}\n")
    assert forecast(load, machine(), {"P": 1}).makespan_s == 1 + 4
    assert simulate(load, machine(), {"P": 1}, effects="none").makespan_s == 1 + 4


def test_partitions_have_rates_of_their_own() -> None:
    head = (
        "partitions:\n- {name: new, nodes: 1, accelerator: {rates: {bf16: 16 FLOP/s}}}\n"
        "- {name: old, nodes: 1, accelerator: {efficiency: 0.25}}\n"
    )
    on, load = machine(head=head), workload("- kernel: {flops: 32, type: bf16}\n")
    ends = simulate(load, on, {"P": 4}, effects="none").ranks
    assert ends is not None
    assert ends.end_s.tolist() == [1 + 4, 1 + 4, 1 + 16, 1 + 16]
    assert forecast(load, on, {"P": 4}).makespan_s == 1 + 16


def test_its_flops_are_counted() -> None:
    load = workload("- kernel: {flops: 32, type: bf16, times: 3}\n")
    assert requirements(load, {"P": 4}).flops == 96
    assert forecast(load, machine(), {"P": 4}).flops == simulate(load, machine(), {"P": 4}).flops == 4 * 96


@pytest.mark.parametrize("number", FORMAT_BYTES)
def test_bytes_of_a_gemm_are_those_of_its_format(number: str) -> None:
    """Three matrices of 4 x 4 numbers, of as many bits as the name of the format says; TF32 takes those of FP32."""
    bits = 32 if number == "tf32" else int("".join(filter(str.isdigit, number))) if number != "bf16" else 16
    on = machine(f"rates: {{{number}: 1 EFLOP/s}}")
    load = workload(f"- kernel: {{gemm: [4, 4, 4], type: {number}}}\n")
    expected_s = 1 + 0.5 + 3 * 16 * bits / 8 / 4
    assert forecast(load, on, {"P": 1}).makespan_s == simulate(load, on, {"P": 1}).makespan_s == expected_s


def test_shapes_are_arrays_of_a_million_points() -> None:
    m, n = np.linspace(1.0, 100.0, 1000)[:, None], np.linspace(1.0, 100.0, 1000)[None, :]
    load = workload("- kernel: {gemm: [m, n, 3], type: bf16}\n", "parameters: {m: {default: 1}, n: {default: 1}}\n")
    found = forecast(load, machine(), {"P": 1, "m": m, "n": n})
    expected_s = 1 + np.maximum(6 * m * n / 4, 0.5 + 2 * (3 * m + 3 * n + m * n) / 4)
    np.testing.assert_allclose(found.makespan_s, expected_s, rtol=1e-12)
    np.testing.assert_allclose(found.flops, 6 * m * n, rtol=1e-12)


def test_shapes_may_differ_by_rank() -> None:
    load = workload("- kernel: {gemm: [10*(rank + 1), 20, 30], type: bf16}\n")
    expected = [1 + 2 * 10 * (rank + 1) * 20 * 30 / 4 for rank in range(4)]
    ends = simulate(load, machine(), {"P": 4}, effects="none").ranks
    assert ends is not None
    assert ends.end_s.tolist() == expected
    assert forecast(load, machine(), {"P": 4}).makespan_s == expected[-1]


#: Efficiency, kernel and the efficiency by hand.
BY_SHAPE = [
    ("{formula: m/(m + 30)}", "gemm: [10, 64, 64]", 10 / 40),
    ("{formula: 'min(1, flops/1e6)'}", "flops: 5e5", 0.5),
    ("{formula: 1 - 1/heads}", "attention: {batch: 1, heads: 4, sequence: 64, head_dimension: 9}", 0.75),
    ("{formula: 'where(bytes < 100, 0.5, 1)'}", "flops: 5e5, bytes: 99", 0.5),
    ("{formula: k, points: [[10, 0.2], [1000, 0.6], [10000, 1]]}", "gemm: [64, 64, 1]", 0.2),
    ("{formula: k, points: [[10, 0.2], [1000, 0.6], [10000, 1]]}", "gemm: [64, 64, 100]", 0.4),
    ("{formula: k, points: [[10, 0.2], [1000, 0.6], [10000, 1]]}", "gemm: [64, 64, 1e5]", 1.0),
    ("{formula: elements, points: [[1, 0.1], [10, 0.2]]}", "normalisation: {elements: 0}", 0.1),
]


@pytest.mark.parametrize(("efficiency", "demand", "expected"), BY_SHAPE, ids=[" ".join(case[:2]) for case in BY_SHAPE])
def test_efficiency_by_shape(efficiency: str, demand: str, expected: float) -> None:
    load = workload(f"- kernel: {{{demand}, type: bf16}}\n")
    on = machine(f"{RATES}, efficiency: {efficiency}")
    flops = float(np.asarray(forecast(load, on, {"P": 1}).flops).item())
    slow = max(1 + flops / 8 / expected, 1.5 if flops == 0 else 0)
    for read in (forecast, simulate):
        assert read(load, on, {"P": 1}).makespan_s == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize(
    ("efficiency", "demand", "message"),
    [
        ("{formula: m}", "flops: 1", r"w\.yaml.*uses m.*flops"),
        ("{formula: bytes}", "flops: 1", "uses bytes"),
        ("{formula: 2*m}", "gemm: [1, 1, 1]", r"efficiency.*2\.0.*at most 1"),
        ("{formula: m - 1}", "gemm: [1, 1, 1]", r"efficiency.*0\.0.*above 0"),
        ("{formula: 0/(m - 1)}", "gemm: [1, 1, 1]", "efficiency.*nan"),
        ("{points: [[1, 1], [2, 1]]}", "flops: 1", r"m\.yaml.*no formula"),
        ("{formula: m, points: [[1, 1]]}", "flops: 1", "two or more"),
        ("{formula: m, points: [[2, 1], [1, 1]]}", "flops: 1", "increasing"),
        ("{formula: m, points: [[1, 1, 1], [2, 1]]}", "flops: 1", "value, efficiency"),
        ("{formula: m, points: [[0, 1], [2, 1]]}", "flops: 1", "above 0"),
    ],
)
def test_efficiencies_that_cannot_be_used(efficiency: str, demand: str, message: str) -> None:
    for read in (forecast, simulate):
        with pytest.raises(InputError, match=message):
            read(
                workload(f"- kernel: {{{demand}, type: bf16}}\n"),
                machine(f"{RATES}, efficiency: {efficiency}"),
                {"P": 1},
            )


def test_a_table_over_a_million_shapes_times_a_constant() -> None:
    k = np.geomspace(1.0, 1e6, 10**6)
    load = workload("- kernel: {gemm: [8, 8, k], type: bf16}\n", "parameters: {k: {default: 1}}\n")
    on = machine(f"{RATES}, efficiency: {{formula: k, points: [[1, 0.25], [1e6, 1]]}}")
    found = forecast(load, on.with_constants({"accelerator.efficiency": 0.5}), {"P": 1, "k": k}).makespan_s
    efficiency = (0.25 + 0.75 * np.arange(10**6) / (10**6 - 1)) / 2
    np.testing.assert_allclose(found, 1 + 128 * k / 8 / efficiency, rtol=1e-9)


#: Step and the seconds of each limit of one rank; a byte of the link takes 1 s.
LIMITS = [
    ("kernel: {flops: 32, bytes: 8, type: bf16, times: 3}", "flops", {"flops": 3 * 8, "memory": 0, "launch": 3}),
    ("kernel: {flops: 32, bytes: 40, type: bf16}", "memory", {"flops": 0, "memory": 10.5, "launch": 1}),
    ("kernel: {flops: 2, type: bf16}", "launch", {"flops": 0.5, "memory": 0, "launch": 1}),
    ("copy: {to: host, bytes: 5, times: 2}", "link", {"link": 2 * (3 + 5)}),
    ("compute: {on: accelerator, seconds: 2}", None, {}),
]


@pytest.mark.parametrize(("step", "limited_by", "each_s"), LIMITS, ids=[case[0] for case in LIMITS])
def test_what_limits_a_kernel(step: str, limited_by: str | None, each_s: dict[str, float]) -> None:
    load, on = workload(f"- {{repeat: 2, do: [{step}]}}\n"), machine(f"{RATES}, efficiency: 0.5, {LINK}")
    for read in (forecast, simulate):
        result = read(load, on, {"P": 3})
        assert dict(result.limits_s) == pytest.approx({name: 3 * 2 * time_s for name, time_s in each_s.items()})
        assert result.limited_by == limited_by


def test_what_limits_at_every_design_point() -> None:
    """4 flops and 4 bytes a second, and a launch of 1 s."""
    load = workload("- kernel: {flops: n, bytes: b, type: bf16}\n", "parameters: {n: {default: 1}, b: {default: 1}}\n")
    points = {"n": np.array([1.0, 64.0, 64.0]), "b": np.array([1.0, 40.0, 80.0])}
    limited_by = forecast(load, machine(), {"P": 2, **points}).limited_by
    assert limited_by is not None
    assert [*limited_by] == ["launch", "flops", "memory"]


def test_each_format_has_a_rate_and_a_size() -> None:
    assert {*vars(Rates())} == {*FORMAT_BYTES}
    assert machine().constants()["accelerator.rates.fp64"] == 2
    assert "accelerator.rates.fp8" not in machine().constants()


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ("flops: 1, type: fp8", r"accelerator\.rates\.fp8, which m does not state.*type: fp64, type: bf16"),
        ("flops: 1", r"accelerator\.rate, which m does not state"),
    ],
)
def test_a_rate_that_is_not_stated_is_an_error_of_both(demand: str, message: str) -> None:
    load = workload(f"- kernel: {{{demand}}}\n")
    for read in (forecast, simulate):
        with pytest.raises(InputError, match=message):
            read(load, machine(), {"P": 1})


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ("type: bf16", "flops, bytes"),
        ("seconds: 1", "seconds"),
        ("gemm: [1, 2], type: bf16", r"gemm.*m, n, k"),
        ("gemm: [1, 2, 3]", "needs a type"),
        ("gemm: [1, 2, 3], flops: 1, type: bf16", "one of gemm"),
        ("attention: {batch: 1}, type: bf16", "heads"),
    ],
)
def test_what_cannot_be_read(demand: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        workload(f"- kernel: {{{demand}}}\n")


def test_an_efficiency_above_one_cannot_be_used() -> None:
    load = workload("- kernel: {flops: 1, type: bf16}\n")
    for read in (forecast, simulate):
        with pytest.raises(InputError, match=r"accelerator\.efficiency.*67\.0.*at most 1"):
            read(load, machine(f"{RATES}, efficiency: 67"), {"P": 1})


def test_it_has_no_formula_in_symbols() -> None:
    pytest.importorskip("sympy")
    with pytest.raises(InputError, match="number format"):
        formula(workload("- kernel: {flops: 1, type: bf16}\n"))
