"""The rung between the roofline of kernels and the forecast."""

from __future__ import annotations

import pytest

from simcodesign.comparison.compare import compare
from simcodesign.describe.machine import Machine
from tests.builders import read_machine, workload

PROGRAM = "[{kernel: {flops: 32, type: bf16}}, {kernel: {flops: 32, bytes: 6, type: fp64}}, {compute: {seconds: 3}}]"


def machine(efficiency: str, partitions: str = "") -> Machine:
    """A flop takes 1/8 s in bf16, 1/2 s in fp64; a byte 1 s."""
    return read_machine(
        "simcodesign: 1\nname: m\nnodes: 2\nprocessor: {rate: 1 FLOP/s}\n"
        f"network: {{topology: {{kind: crossbar}}, startup: 1 s, bandwidth: 1 B/s}}\n{partitions}"
        f"accelerator: {{count: 1, rates: {{bf16: 8 FLOP/s, fp64: 2 FLOP/s}}, memory: {{bandwidth: 1 B/s}}{efficiency}}}\n"
    )


@pytest.mark.parametrize(
    ("efficiency", "forecast_s"),
    [
        (", efficiency: 0.5", 8 + 32 + 3),
        (", efficiency: {formula: 'where(bytes > 0, 0.25, 0.5)'}", None),
        (", efficiency: {formula: flops/64}", 8 + 32 + 3),
    ],
)
def test_what_the_efficiency_adds_to_the_roofline(efficiency: str, forecast_s: float | None) -> None:
    """At the full rates 4 s and the longer one of 16 s and 6 s, beside 3 s of the processor."""
    program = PROGRAM if forecast_s is not None else PROGRAM.replace("32, type: bf16", "32, bytes: 1, type: bf16")
    load, expected_s = workload(program), 16 + 64 + 3 if forecast_s is None else forecast_s
    (step,) = compare(load, machine(efficiency), {"P": 2}).roofline_ladder
    assert step.time_s == pytest.approx(expected_s, rel=1e-12)
    assert step.change_s == pytest.approx(expected_s - (4 + 16 + 3), rel=1e-12)


def test_what_the_efficiency_of_attention_adds() -> None:
    """Alone, and with an efficiency of products: the first kernel is attention."""
    load = workload(PROGRAM.replace("32, type: bf16", "32, type: bf16, efficiency: attention"))
    for keys, expected_s in (("", 16 + 16 + 3), (", efficiency: 0.5", 16 + 32 + 3)):
        for form in ("0.25", "{formula: 8/flops}"):
            (step,) = compare(load, machine(f"{keys}, attention_efficiency: {form}"), {"P": 2}).roofline_ladder
            assert (step.time_s, step.change_s) == (expected_s, expected_s - 4 - 16 - 3)


def test_it_is_of_each_partition() -> None:
    parts = "partitions: [{name: a, nodes: 1}, {name: b, nodes: 1, accelerator: {efficiency: 0.25}}]\n"
    (step,) = compare(workload(PROGRAM), machine(", efficiency: 0.5", parts), {"P": 2}).roofline_ladder
    assert (step.time_s, step.change_s) == (16 + 64 + 3, 16 + 64 - 4 - 16)


@pytest.mark.parametrize(
    ("program", "efficiency"),
    [
        (PROGRAM, ""),
        (PROGRAM, ", efficiency: 1"),
        ("[{compute: {seconds: 3}}]", ", efficiency: 0.5"),
        ("[{kernel: {flops: 8, bytes: 32, type: bf16}}]", ", efficiency: 0.5"),
    ],
)
def test_there_is_none_without_an_efficiency_that_acts(program: str, efficiency: str) -> None:
    assert compare(workload(program), machine(efficiency), {"P": 1}).roofline_ladder == ()
