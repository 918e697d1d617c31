"""The workload ``inference``: published sizes, and times summed by hand from the data sheet of the machine ``selene``."""

from __future__ import annotations

import pytest

import simcodesign as sc
from validation.measured import inference_layers

#: Products of one efficiency, attention of another, and the memory of the data sheet.
GPUS = sc.Machine.load(
    "selene",
    {
        "accelerator.efficiency": 0.6774,
        "accelerator.attention_efficiency": 0.242,
        "accelerator.memory.bandwidth": "2039 GB/s",
    },
)
#: Of these: operations of 16 bits and bytes of the memory per second, and a message between two GPUs of a node.
FLOPS_PER_S, ATTENTION_FLOPS_PER_S, MEMORY_PER_S = 0.6774 * 312e12, 0.242 * 312e12, 2039e9
STARTUP_S, LINK_PER_S = 6.062279e-6, 231.748706e9
#: A small model with 4 heads of keys and values for 16 heads.
SMALL = {"layers": 3, "hidden": 1024, "heads": 16, "kv_heads": 4, "vocabulary": 8192, "batch": 5, "prompt_tokens": 300}


def values_of(at: dict[str, object]) -> dict[str, float]:
    """Equations and parameters."""
    return {name: float(value) for name, value in sc.forecast("inference", GPUS, at).values.items()}


def test_parameters_and_cache_of_published_models() -> None:
    """175 billion parameters (Brown et al., arXiv 2005.14165); 800 KB of a token of OPT with 13 billion parameters (Kwon et
    al., SOSP 2023, Sec. 3); 1/8 of the keys and values with 8 of 64 heads (Ainslie et al., EMNLP 2023)."""
    gpt3 = values_of({"P": 1, "layers": 96, "hidden": 12288, "heads": 96, "vocabulary": 50257})
    assert gpt3["weights"] == pytest.approx(175e9, rel=0.005)
    opt = {"P": 1, "layers": 40, "hidden": 5120, "heads": 40}
    assert values_of(opt)["token_bytes"] == 800 * 1024
    grouped = {"P": 1, "layers": 80, "hidden": 8192, "heads": 64}
    assert values_of(grouped | {"kv_heads": 8})["token_bytes"] * 8 == values_of(grouped)["token_bytes"]


def kernel_s(flops: float, size: float, rate: float = FLOPS_PER_S) -> float:
    """The roofline."""
    return max(flops / rate, size / MEMORY_PER_S)


def product_s(m: float, n: float, k: float) -> float:
    """A product of matrices of 2 bytes."""
    return kernel_s(2 * m * n * k, 2 * (m * n + n * k + m * k))


def pass_s(requests: int, tokens: int, seen: int, tensor: int) -> float:
    """A pass of ``tokens`` new tokens of each of ``requests``, each of which attends to ``seen`` tokens."""
    hidden, heads, kv_heads = 1024, 16, 4
    new, width = requests * tokens, hidden // heads
    own, own_kv = heads // tensor, max(kv_heads // tensor, 1)
    layer = product_s(new, (own + 2 * own_kv) * width, hidden) + product_s(new, hidden, own * width)
    moved = 2 * requests * width * (2 * own * tokens + 2 * own_kv * seen)
    layer += kernel_s(4 * new * seen * own * width, moved, ATTENTION_FLOPS_PER_S)
    layer += product_s(new, 4 * hidden // tensor, hidden) + product_s(new, hidden, 4 * hidden // tensor)
    norms, sums, activation = 2 * 2 * hidden, 2 * 3 * hidden, 2 * 4 * hidden / tensor
    layer += 2 * new * (norms + sums + activation) / MEMORY_PER_S
    if tensor > 1:
        part = 2 * new * hidden / tensor
        layer += 2 * 2 * (tensor - 1) * (STARTUP_S + part / LINK_PER_S)
    return 3 * layer + product_s(requests, 8192 / tensor, hidden)


@pytest.mark.parametrize("tensor", [1, 2, 8])
def test_prefill_and_decode_are_the_sums_by_hand(tensor: int) -> None:
    """Both readings; ring all-reduces in Hockney's model (Thakur et al., IJHPCA 2005)."""
    at = {"P": tensor, "tensor": tensor, "output_tokens": 4, **SMALL}
    prefill = pass_s(5, 300, 300, tensor)
    decode = sum(pass_s(5, 1, 301 + step, tensor) for step in range(3))
    for result in (sc.forecast("inference", GPUS, at), sc.simulate("inference", GPUS, at, effects="none")):
        assert sum(result.phases["prefill"].values()) == pytest.approx(prefill, rel=1e-9)
        assert sum(result.phases["decode"].values()) == pytest.approx(decode, rel=1e-9)


def test_the_cache_fills_the_memory() -> None:
    """80 GB hold the weights of 13 billion parameters, and the cache of as many tokens as are left room for."""
    at = {"P": 1, "prompt_tokens": 2032, "output_tokens": 16}
    free = 80e9 - values_of(at | {"batch": 1})["weight_bytes"]
    most = int(free // (2048 * 800 * 1024))
    assert [sc.forecast("inference", GPUS, at | {"batch": n}).fits_accelerator for n in (most, most + 1)] == [
        True,
        False,
    ]


@pytest.mark.parametrize("step", inference_layers.MEASURED_MS)
def test_the_data_sheet_is_a_bound_of_measured_layers(step: str) -> None:
    """At full rates, without launches, and with each byte passing once, no GPU is faster: counting a flop or byte of the
    longest kernels twice would show (the errors with other constants are a case of ``validation``)."""
    for read in (sc.forecast, sc.simulate):
        assert inference_layers.time_ms(read, step, {}) <= inference_layers.MEASURED_MS[step]


def test_weights_of_8_bits_take_half_the_memory_and_time() -> None:
    """With one request, a decode step waits for the memory of its weights; attention and norms are the same."""
    machine = sc.Machine.load("dgx-h100-cluster")
    at = {"P": 1, "batch": 1, "prompt_tokens": 1, "output_tokens": 2}
    bf16, fp8 = (sc.forecast("inference", machine, at | {"number_type": one}) for one in ("bf16", "fp8"))
    assert float(fp8.values["weight_bytes"]) == float(bf16.values["weight_bytes"]) / 2
    values = bf16.values
    products = 4 * 5120 + 2 * 5120 + 5 * 5120 + 5 * 5120  # inputs and outputs of the products of a layer
    one_pass = float(values["weights"]) + 40 * products + 5120 + 51200
    assert float(bf16.makespan_s) - float(fp8.makespan_s) == pytest.approx(2 * one_pass / 3.35e12, rel=1e-6)
