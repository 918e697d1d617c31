"""The workload ``gpt``: published formulas of parameters, memory and bubbles, and sums by hand of its own kernels."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine
from tests.builders import workload
from validation.measured import gpt

#: A small model, and a step of 16 sequences.
SMALL = {
    "layers": 8,
    "hidden": 1024,
    "heads": 16,
    "sequence": 512,
    "vocabulary": 8192,
    "global_batch": 16,
    "micro_batch": 1,
}


def values_of(at: dict[str, object]) -> dict[str, float]:
    """Equations and parameters."""
    return {name: float(value) for name, value in sc.forecast("gpt", "selene", at, longest_path=False).values.items()}


@pytest.mark.parametrize(
    ("hidden", "layers", "billions"),
    [
        *((2304, 24, 1.7), (3072, 30, 3.6), (4096, 36, 7.5), (6144, 40, 18.4), (8192, 48, 39.1)),
        *((10240, 60, 76.1), (12288, 80, 145.6), (16384, 96, 310.1), (20480, 105, 529.6), (25600, 128, 1008.0)),
    ],
)
def test_parameters_of_published_models(hidden: int, layers: int, billions: float) -> None:
    """Narayanan et al., SC 2021, Table 1."""
    at = {"P": 8, "hidden": hidden, "layers": layers, "heads": 16}
    assert values_of(at)["parameters"] / 1e9 == pytest.approx(billions, abs=0.06)


@pytest.mark.parametrize(("zero", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6)])
def test_memory_of_the_stages_of_zero(zero: int, gigabytes: float) -> None:
    """Rajbhandari et al., Figure 1: 7.5 billion parameters, 64 replicas."""
    at = {"P": 64, "tensor": 1, "global_batch": 64, "micro_batch": 1, "zero": zero}
    result = sc.forecast("gpt", "selene", at)
    states = float(result.accelerator_footprint_bytes or 0) - float(result.values["activation_bytes"])
    assert 7.5 * states / float(result.values["weights"]) == pytest.approx(gigabytes, abs=0.05)


@pytest.mark.parametrize(
    ("setting", "zero", "size"),
    [
        *(("zero", 0, 16), ("zero", 1, 4 + 12 / 8), ("zero", 2, 2 + 14 / 8)),
        *(("fp16_gradients", 0, 20), ("fp16_gradients", 1, 4 + 16 / 8)),
        *(("fp32_gradients", 0, 18), ("fp32_gradients", 1, 6 + 12 / 8)),
    ],
)
def test_bytes_of_a_weight(setting: str, zero: int, size: float) -> None:
    """Rajbhandari et al., Sec. 3.1 and 5; table of the Megatron Core User Guide, Distributed Optimizer. 8 replicas. Gradients
    of 4 bytes take messages twice as long, but for the half that gathers weights of 2 bytes."""
    at = {"P": 8, **SMALL, "tensor": 1, "zero": zero}
    result, plain = (sc.forecast("gpt", "selene", at | {"weight_memory": one}) for one in (setting, "zero"))
    states = float(result.accelerator_footprint_bytes or 0) - float(result.values["activation_bytes"])
    assert states / float(result.values["weights"]) == pytest.approx(size)
    more = {"fp32_gradients": 1.5 if zero else 2.0}.get(setting, 1.0)
    added = float(result.values["weights"]) * 2 * 7 / 8 * 2 * (more - 1)  # bytes of a GPU in a ring
    assert float(result.message_bytes) - float(plain.message_bytes) == pytest.approx(8 * added)


@pytest.mark.parametrize(("hidden", "heads", "scores", "saved"), [(12288, 96, 80, 0.70), (20480, 128, 64, 0.65)])
def test_memory_of_selective_recomputation(hidden: int, heads: int, scores: int, saved: float) -> None:
    """Korthikanti et al., Sec. 5: 34 + 5 a s/h bytes of each number, of which 5 a s/h are 80 and 64."""
    at = {"P": 1, "tensor": 1, "hidden": hidden, "heads": heads, "micro_batch": 1, "global_batch": 1, "layers": 1}
    whole, selective = (values_of(at | {"recomputation": one})["layer_bytes"] for one in (0, 1))
    assert whole == pytest.approx(2048 * hidden * (34 + scores), rel=1e-12)
    assert 1 - selective / whole == pytest.approx(saved, abs=0.006)


@pytest.mark.parametrize(
    "split", [{}, {"tensor": 4}, {"tensor": 2, "pipeline": 4}, {"tensor": 2, "pipeline": 4, "virtual_stages": 2}]
)
@pytest.mark.parametrize(("recomputation", "name"), [("none", "flops"), ("full", "flops_recomputed")])
def test_flops_of_all_kernels(split: dict[str, int], recomputation: str, name: str) -> None:
    """The kernels of all ranks together are equation 3 of Narayanan et al., and what it is without recomputation."""
    at = {"P": 8, "tensor": 8, **SMALL, **split, "recomputation": recomputation}
    result = sc.forecast("gpt", "selene", at)
    assert float(result.flops) == pytest.approx(float(result.values[name]), rel=1e-12)


def test_selective_recomputation_repeats_attention() -> None:
    """4 b s^2 h flops of each layer."""
    none, selective = (
        float(sc.forecast("gpt", "selene", {"P": 8, **SMALL, "recomputation": one}).flops) for one in (0, 1)
    )
    assert selective - none == pytest.approx(4 * 16 * 512**2 * 1024 * 8, rel=1e-9)


@pytest.mark.parametrize(("mask", "part"), [("flash", 1.0), ("causal_flash", 0.5)])
@pytest.mark.parametrize(("recomputation", "forward"), [("none", 1), ("selective", 1), ("full", 2)])
def test_flops_of_flash_attention(mask: str, part: float, recomputation: str, forward: int) -> None:
    """Dao, arXiv 2307.08691, Sec. 4.1: forward 4 s^2 h, half of it with a causal mask, backward 2.5 times as many."""
    at = {"P": 8, **SMALL, "recomputation": recomputation}
    standard, flash = (float(sc.forecast("gpt", "selene", at | {"attention": one}).flops) for one in ("standard", mask))
    again = 1 if recomputation == "selective" else 0  # standard attention is repeated, flash repeats itself
    each = 4 * 16 * 512**2 * 1024 * 8
    assert standard - flash == pytest.approx(each * (forward + again + 2 - part * (forward + 2.5)), rel=1e-9)


@pytest.mark.parametrize("recomputation", ["none", "selective"])
def test_flash_attention_keeps_no_scores(recomputation: str) -> None:
    """34 bytes of each number (Korthikanti et al., equation 2 without 5 a s/h), with and without selective recomputation."""
    at = {"P": 1, "tensor": 1, **SMALL, "recomputation": recomputation, "attention": "flash"}
    assert values_of(at)["layer_bytes"] == 34 * 512 * 1024


def test_flash_attention_by_hand() -> None:
    """One layer of one GPU without recomputation: 3.5 passes of 4 s^2 h flops, and 8 + 16 bytes of each number."""
    at = {**SMALL, "P": 1, "tensor": 1, "layers": 1, "global_batch": 1, "recomputation": "none"}
    machine = load_machine("selene", {"accelerator.efficiency": 1, "accelerator.memory.bandwidth": "1 GB/s"})
    standard, flash = (
        float(sc.forecast("gpt", machine, at | {"attention": one}).makespan_s) for one in ("standard", "flash")
    )
    tokens, heads, head = 512, 16, 64
    product = 2 * (tokens * heads * head + head * tokens + tokens * heads * tokens)  # bytes, as one tall product
    passed = 3 * (2 * product + 2 * 5 * heads * tokens**2) - 3 * 8 * tokens * 1024
    assert standard - flash == pytest.approx(passed / 1e9, rel=1e-9)


def test_fp8_is_for_products_with_weights() -> None:
    """They take half as long as in bf16 where the memory is free; products of attention and of the vocabulary do not."""
    at = {**SMALL, "P": 1, "tensor": 1, "micro_batch": 1, "recomputation": "none"}
    free = {
        "accelerator.memory.bandwidth": "1e30 B/s",
        "accelerator.rates.fp8": "2e15",
        "accelerator.rates.bf16": "1e15",
    }
    machine = load_machine("dgx-h100-cluster", free)
    bf16, fp8 = (float(sc.forecast("gpt", machine, at | {"number_type": one}).makespan_s) for one in ("bf16", "fp8"))
    with_weights = 3 * 2 * 16 * 512 * 12 * 1024**2 * 8
    assert bf16 - fp8 == pytest.approx(with_weights / 2e15, rel=1e-9)
    with pytest.raises(InputError, match=r"accelerator\.rates\.fp8, which selene does not state"):
        sc.forecast("gpt", "selene", at | {"number_type": "fp8"})


@pytest.mark.parametrize("machine", ["selene", "dgx-h100-cluster", "nvl72-cluster", "tpu-v4-torus"])
def test_the_default_batch_fits_the_whole_of_a_machine(machine: str) -> None:
    """The smallest multiple of micro-batches of 8 of all replicas from 1,024 on."""
    values = sc.forecast("gpt", machine).values
    batch, replicas = (float(values[name]) for name in ("batch", "replicas"))
    assert batch % (8 * replicas) == 0
    assert batch - 8 * replicas < 1024 <= batch


@pytest.mark.parametrize("parts", [1, 2])
def test_bubbles(parts: int) -> None:
    """Without the output layer, and with free messages, the stages wait for (p - 1)/(m v) of their work."""
    free = {"node.network.startup": 0, "node.network.bandwidth": 1e30}
    at = {**SMALL, "P": 4, "tensor": 1, "pipeline": 4, "virtual_stages": parts}
    machine = load_machine("selene", free)
    result = sc.simulate("gpt", machine, at, effects="none", phases=["forward", "recompute", "backward", "messages"])
    alone = sc.simulate(
        "gpt",
        machine,
        at | {"P": 1, "pipeline": 1, "virtual_stages": 1},
        effects="none",
        phases=["forward", "recompute", "backward", "messages"],
    )
    assert 4 * result.makespan_s / alone.makespan_s == pytest.approx(1 + 3 / (16 * parts), rel=1e-9)


def test_formula_of_one_stage() -> None:
    """The published formula, with rings and kernels, is the forecast where nobody waits."""
    step = next(one for one in gpt.evidence("korthikanti") if one.model == "22B")
    assert step.formula_s() == pytest.approx(step.forecast_s(), rel=2e-3)


def test_the_machine_is_calibrated_by_the_stated_rows() -> None:
    startup_s, bandwidth = gpt.calibrated()
    inside = load_machine("selene").levels[1].message_model
    assert (inside.startup_s, 1 / inside.per_byte_s) == pytest.approx((startup_s, bandwidth), rel=1e-6)


def table(shared_measured: Path, name: str) -> list[list[str]]:
    """Rows of a file of kernels of an A100."""
    path = shared_measured / "ai-clusters" / name
    if not path.is_file():
        pytest.skip("needs ai-clusters among the measurements")
    return [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_efficiency_is_from_ten_products(shared_measured: Path) -> None:
    """Products of 8192 x n x n: the fraction of 312 TFLOP/s over the flops."""
    rows = table(shared_measured, "llmcompass_matmul_A100.csv")
    products = [(*map(float, row[:3]), float(row[3].strip().removesuffix("ms")) / 1e3) for row in rows]
    expected = [(2 * m * n * k, 2 * m * n * k / seconds / 312e12) for m, n, k, seconds in products if n == k < 12288]
    expected += [(2 * m * n * k, 2 * m * n * k / seconds / 312e12) for m, n, k, seconds in products if k > 12288]
    accelerator = load_machine("selene").accelerator
    assert accelerator is not None
    assert accelerator.efficiency_by_shape is not None
    points = accelerator.efficiency_by_shape.points
    assert len(points) == len(expected) == 10
    for found, wanted in zip(points, expected, strict=True):
        assert found == pytest.approx(wanted, rel=5e-4, abs=5e-5)


#: Kernels of a layer of 12,288 numbers and 96 heads on one of four GPUs, 8 sequences of 2,048 tokens, in the order of the file.
TOKENS, HIDDEN, HEADS = 8 * 2048, 12288, 8 * 24


def test_the_memory_is_from_four_kernels(shared_measured: Path) -> None:
    """A softmax, two layer norms, a GELU: 2 bytes of each number are read, and 2 written."""
    seconds = [float(row[0]) for row in table(shared_measured, "llmcompass_transformer_A100.csv")]
    numbers = HEADS * 2048**2 + 2 * TOKENS * HIDDEN + TOKENS * HIDDEN
    accelerator = load_machine("selene").accelerator
    assert accelerator is not None
    assert accelerator.memory_per_byte_s is not None
    assert 1 / accelerator.memory_per_byte_s == pytest.approx(4 * numbers / sum(seconds[6:10]), rel=5e-4)


@pytest.mark.parametrize(
    ("row", "shape", "error"),
    [
        (0, (TOKENS, 3 * HIDDEN // 4, HIDDEN), 0.1),
        (3, (TOKENS, HIDDEN, HIDDEN // 4), 0.1),
        (4, (TOKENS, HIDDEN, HIDDEN), 0.1),
        (5, (TOKENS, HIDDEN, HIDDEN), 0.1),
        (1, (HEADS * 2048, 2048, 128), 0.25),
        (2, (HEADS * 2048, 128, 2048), 0.25),
    ],
)
def test_products_of_a_layer_alone(shared_measured: Path, row: int, shape: tuple[int, int, int], error: float) -> None:
    """Six kernels that no constant is from: four products with weights, of which the first is the worst (-7 %), and the
    two of attention, which wait for the memory (-24 and +20 %)."""
    measured = float(table(shared_measured, "llmcompass_transformer_A100.csv")[row][0])
    product = workload(f"- kernel: {{gemm: {list(shape)}, type: fp16}}\n")
    found = float(sc.forecast(product, "selene", {"P": 1}).makespan_s)
    assert found == pytest.approx(measured, rel=error)


def test_the_efficiency_of_attention_is_the_median_of_six_lengths() -> None:
    """TFLOP/s of FlashAttention in Triton, 512 to 16,384 tokens (Dao, arXiv 2307.08691, Figure 4 c), of 312."""
    accelerator = load_machine("selene").accelerator
    assert accelerator is not None
    assert accelerator.attention_efficiency == pytest.approx(median([59, 75, 79, 76, 79, 67]) / 312, abs=5e-4)


@pytest.mark.parametrize(
    ("tokens", "measured_ms"),
    [(2048, 7.64), (4096, 30.09), (8192, 118.50), (16384, 470.51), (32768, 1876.08), (65536, 7492.85)],
)
def test_flash_attention_alone(tokens: int, measured_ms: float) -> None:
    """Kernels that no constant is from: another implementation (CUDA), without a mask, 16 sequences, 8 heads of 64 numbers,
    forward and backward (Dao et al., NeurIPS 2022, Table 20). Forecasts are too short by 13 to 17 %."""
    flops, size = 4 * 16 * 8 * tokens**2 * 64, 2 * 4 * 16 * 8 * tokens * 64
    passes = (f"flops: {flops}, bytes: {size}", f"flops: {2.5 * flops}, bytes: {2 * size}")
    program = workload("".join(f"- kernel: {{{one}, type: fp16, efficiency: attention}}\n" for one in passes))
    found_ms = 1e3 * float(sc.forecast(program, "selene", {"P": 1}).makespan_s)
    assert 0.8 * measured_ms < found_ms < measured_ms


def test_measured_steps() -> None:
    assert len(gpt.steps()) == 106
    assert sum(len(case.expected) for case in gpt.CASES if case.unit == "s") == 106


def test_the_place_of_the_fastest() -> None:
    """Of six pairs of tensor and pipeline, (1, 1) was measured fastest, and (16, 1) slowest, with any micro-batch."""
    rows = [one for one in gpt.evidence("vtrain") if one.model == "3.6B"]
    assert gpt.place_of_the_fastest(rows, lambda one: one.seconds) == 1
    assert gpt.place_of_the_fastest(rows, lambda one: 1 / one.parameters["tensor"]) == 5
    assert gpt.place_of_the_fastest(rows, lambda one: one.parameters["pipeline"] + one.parameters["tensor"]) == 1
