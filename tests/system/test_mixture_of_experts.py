"""The workload ``mixture-of-experts``: flops and bytes counted by hand, published memory, and both readings alike."""

from __future__ import annotations

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine

#: A small model on 8 GPUs, of which four share eight experts.
SMALL: dict[str, object] = {
    "P": 8,
    "layers": 3,
    "hidden": 256,
    "heads": 8,
    "feed_forward": 1024,
    "sequence": 256,
    "vocabulary": 1024,
    "experts": 8,
    "expert_parallel": 4,
    "global_batch": 16,
}


def values_of(at: dict[str, object]) -> dict[str, float]:
    """Equations and parameters."""
    result = sc.forecast("mixture-of-experts", "selene", at, longest_path=False)
    return {name: float(value) for name, value in result.values.items()}


def counted_flops(at: dict[str, object], top_k: int = 2, capacity: float = 1.25) -> float:
    """Sum 2 m n k over every product of every GPU, micro-batch and layer, one after another."""
    v = {name: int(str(value)) for name, value in at.items()}
    ranks, ring, hidden, heads = v["P"], v.get("ring", 1), v["hidden"], v["heads"]
    here, block = v["sequence"] // ring, v["sequence"] // ring
    head, flops = hidden // heads, 0.0
    routed = here * top_k * capacity if v["experts"] > 1 else here

    def product(m: float, n: float, k: float) -> float:
        return 2.0 * m * n * k

    for _ in range(ranks * v["global_batch"] * ring // ranks):  # a GPU and a micro-batch of one sequence
        for _ in range(v["layers"]):
            weights = product(here, 3 * hidden, hidden) + product(here, hidden, hidden)
            if v["experts"] > 1:
                weights += product(here, v["experts"], hidden)
            for _ in range(v["experts"] // v["expert_parallel"]):
                rows = routed / (v["experts"] // v["expert_parallel"])
                weights += product(rows, v["feed_forward"], hidden) + product(rows, hidden, v["feed_forward"])
            flops += 3 * weights
            for _ in range(ring):  # blocks of keys and values that come by
                for _ in range(heads):
                    flops += 2 * product(block, block, head) + 5 * product(block, block, head)
        flops += 3 * product(here, v["vocabulary"], hidden)
    return flops


@pytest.mark.parametrize(
    "other", [{}, {"ring": 4}, {"ring": 8, "zero": 0}, {"expert_parallel": 8}, {"experts": 1, "expert_parallel": 1}]
)
def test_flops_are_those_of_all_products(other: dict[str, object]) -> None:
    at = {**SMALL, **other}
    result = sc.forecast("mixture-of-experts", "selene", at, longest_path=False)
    assert float(result.flops) == pytest.approx(counted_flops(at), rel=1e-12)
    assert float(result.values["flops"]) == pytest.approx(counted_flops(at), rel=1e-12)


def closed_bytes(at: dict[str, object]) -> float:
    """Bytes that all GPUs send in a step: Rajbhandari et al., Sec. 7 (2 weights, with ZeRO 3 three times the half for each
    micro-batch); Liu et al., Sec. 3 (ring - 1 blocks of keys and values, and backward ring times blocks and their
    gradients); Lepikhin et al., Sec. 3.2 (two all-to-alls, and two backward)."""
    v = values_of(at)
    ranks, ring, layers, zero, batches = v["P"], v["ring"], v["layers"], v["zero"], v["micro_batches"]
    shared = 2 * (layers * v["dense"] + v["outside"])
    divided = 2 * layers * v["local_experts"] * v["expert"]
    passes = 3 * batches if zero == 3 else 2
    once = 2 * batches * 2 * v["outside"]  # weights outside the layers are gathered once, and their gradients divided
    weights = 3 * batches * 2 * layers * v["dense"] + once if zero == 3 else passes * shared
    sent = weights * (ranks - 1) + ranks * passes * divided * (1 - 1 / v["copies"])
    sent += batches * layers * ranks * (ring - 1 + (2 * ring if ring > 1 else 0)) * v["keys_values"]
    if v["experts"] > 1:
        sent += batches * layers * ranks * 4 * (v["expert_parallel"] - 1) * v["dispatch"]
    return sent


SPLITS = [
    *({"zero": zero, "prefetch": prefetch} for zero, prefetch in ((0, 1), (1, 1), (2, 1), (3, 0), (3, 1))),
    *({"ring": ring, "zero": zero} for ring in (2, 8) for zero in (0, 3)),
    {"experts": 1, "expert_parallel": 1},
    {"expert_parallel": 8},
    {"experts": 1, "expert_parallel": 1, "ring": 4},
]


@pytest.mark.parametrize("other", SPLITS)
def test_bytes_and_both_readings(other: dict[str, object]) -> None:
    """Messages of both readings are the closed form, and both take the same time if nothing is shared."""
    at = {**SMALL, **other}
    forecast = sc.forecast("mixture-of-experts", "selene", at)
    simulation = sc.simulate("mixture-of-experts", "selene", at, effects="none")
    assert float(forecast.message_bytes) == pytest.approx(closed_bytes(at), rel=1e-12)
    assert float(simulation.message_bytes) == pytest.approx(closed_bytes(at), rel=1e-12)
    assert simulation.makespan_s == pytest.approx(float(forecast.makespan_s), rel=1e-12)


@pytest.mark.parametrize(("zero", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_memory_of_the_stages_of_zero(zero: int, gigabytes: float) -> None:
    """Rajbhandari et al., Figure 1: 7.5 billion parameters, 64 replicas."""
    dense = {"P": 64, "experts": 1, "expert_parallel": 1, "zero": zero, "global_batch": 64}
    v = values_of({**dense, "layers": 36, "feed_forward": 16384, "sequence": 2048})
    assert 7.5e9 * v["state_bytes"] / v["parameters"] == pytest.approx(1e9 * gigabytes, abs=0.05e9)


@pytest.mark.parametrize("name", ["3.6", "7.5"])
def test_a_dense_model_has_the_parameters_of_gpt(name: str) -> None:
    """Narayanan et al., SC 2021, equation 2."""
    hidden, layers, heads = {"3.6": (3072, 30, 32), "7.5": (4096, 36, 32)}[name]
    model = {"hidden": hidden, "layers": layers, "heads": heads, "sequence": 2048}
    dense = {"experts": 1, "expert_parallel": 1, "feed_forward": 4 * hidden, "P": 8, "global_batch": 8}
    equation = 12 * layers * hidden**2 * (1 + 13 / (12 * hidden) + (51200 + 2048) / (12 * layers * hidden))
    assert values_of({**model, **dense})["parameters"] == pytest.approx(equation, rel=1e-12)


def test_parameters_of_gshard() -> None:
    """Lepikhin et al., Table 1: 600 billion with 2,048 experts in every other of 36 layers, 1,024 and 8,192 numbers."""
    sizes = {"layers": 18, "hidden": 1024, "heads": 16, "feed_forward": 8192, "experts": 2048, "sequence": 1024}
    v = values_of({**sizes, "P": 8, "expert_parallel": 8, "global_batch": 8})
    assert 18 * 2048 * v["expert"] == pytest.approx(600e9, rel=0.04)


@pytest.mark.parametrize(("slower", "shown"), [(1e-9, 0.0), (0.99, 0.0), (2.0, 1.0), (5.0, 4.0)])
def test_blocks_hide_the_messages_of_a_ring(slower: float, shown: float) -> None:
    """Liu et al., Sec. 3: blocks of c tokens hide their messages if c is at least F/B, for F flops and B bytes in a second.
    Otherwise each of the three messages shows what it takes longer than a block."""
    tokens, flops_per_s = 2048, 312e12
    at = {**SMALL, "P": 4, "ring": 4, "sequence": 4 * tokens, "experts": 1, "expert_parallel": 1, "zero": 0}
    block_s = 4 * tokens**2 * 256 / flops_per_s

    def forward_s(bandwidth: float) -> float:
        others = {"accelerator.memory.bandwidth": 1e30, "node.network.startup": 0}
        machine = load_machine("a100-cluster", {**others, "node.network.bandwidth": bandwidth})
        return sc.simulate("mixture-of-experts", machine, at, effects="none", phases=["forward"]).makespan_s

    longer_s = forward_s(flops_per_s / tokens / slower) - forward_s(1e30)
    assert longer_s == pytest.approx(16 * 3 * 3 * shown * block_s, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("own", [{}, {"experts": 1, "expert_parallel": 1}, {"ring": 4}])
def test_recomputation_does_the_forward_pass_again(own: dict[str, object]) -> None:
    """As many flops as a second forward pass: a third of the products with weights, 2/7 of attention."""
    at = SMALL | own
    none, full = (
        float(sc.forecast("mixture-of-experts", "selene", at | {"recomputation": one}).flops)
        for one in ("none", "full")
    )
    without_output = counted_flops(at) - 16 * 3 * 2 * 256 * 1024 * 256
    attention = 16 * 3 * 14 * 256**2 * 256
    assert full - none == pytest.approx((without_output - attention) / 3 + attention * 2 / 7, rel=1e-9)


def test_a_causal_mask_halves_attention() -> None:
    full, half = (
        float(sc.forecast("mixture-of-experts", "selene", SMALL | {"attention": one}).flops)
        for one in ("flash", "causal_flash")
    )
    assert full - half == pytest.approx(16 * 3 * 14 * 256**2 * 256 / 2, rel=1e-9)
    with pytest.raises(InputError, match="ring is 1 with causal_flash"):
        sc.forecast("mixture-of-experts", "selene", SMALL | {"attention": "causal_flash", "ring": 4})


def test_recomputation_keeps_the_inputs_of_layers() -> None:
    v = values_of(SMALL | {"recomputation": "full"})
    assert v["activation_bytes"] == 3 * 2 * 256 * 256 + v["layer_bytes"]
