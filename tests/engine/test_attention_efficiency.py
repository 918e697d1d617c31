"""The efficiency of kernels of attention: forms, defaults and errors in both readings, and whole steps by hand."""

from __future__ import annotations

from math import inf, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from tests.builders import read_machine, workload
from tests.command_line import command

#: A flop takes 1/8 s in bf16 and 1/2 s in fp64 at the efficiency 1.
HEAD = (
    "simcodesign: 1\nname: m\nnodes: 2\nprocessor: {rate: 1 FLOP/s}\n"
    "network: {topology: {kind: crossbar}, startup: 0 s, bandwidth: 1 B/s}\n"
)
KERNELS = "count: 1, rates: {bf16: 8 FLOP/s, fp64: 2 FLOP/s}, memory: {bandwidth: 1e30 B/s}"
SHAPE = "attention: {batch: 2, heads: 3, sequence: 4, head_dimension: 5}"
#: Two products of 4 x 5 by 5 x 4 and of 4 x 4 by 4 x 5 numbers, of each of six heads.
SHAPE_FLOPS = 6 * (2 * 4 * 5 * 4 + 2 * 4 * 4 * 5)


def machine(keys: str, partitions: str = "") -> Machine:
    return read_machine(f"{HEAD}{partitions}accelerator: {{{KERNELS}{keys}}}\n")


def time_s(demand: str, on: Machine) -> float:
    """The forecast, which both engines give to the last bit."""
    load = workload(f"- kernel: {{{demand}}}\n")
    found = float(forecast(load, on, {"P": 1}).makespan_s)
    for engine in ("simpy", "compiled"):
        assert simulate(load, on, {"P": 1}, effects="none", engine=engine).makespan_s == pytest.approx(found, rel=1e-14)
    return found


BOTH = ", efficiency: 0.5, attention_efficiency: 0.25"
TIMES = [
    (", efficiency: 0.5", "flops: 32, type: bf16, efficiency: attention", 32 / 8 / 0.5),
    (", efficiency: 0.5", f"{SHAPE}, type: bf16", SHAPE_FLOPS / 8 / 0.5),
    (BOTH, "flops: 32, type: bf16", 32 / 8 / 0.5),
    (BOTH, "gemm: [2, 3, 5], type: bf16", 60 / 8 / 0.5),
    (BOTH, "flops: 32, type: bf16, efficiency: attention", 32 / 8 / 0.25),
    (BOTH, "flops: 32, type: fp64, efficiency: attention", 32 / 2 / 0.25),
    (BOTH, "gemm: [2, 3, 5], type: bf16, efficiency: attention", 60 / 8 / 0.25),
    (BOTH, f"{SHAPE}, type: bf16", SHAPE_FLOPS / 8 / 0.25),
    (BOTH, f"{SHAPE}, type: fp64", SHAPE_FLOPS / 2 / 0.25),
    (", attention_efficiency: 0.25", "flops: 32, type: bf16", 32 / 8),
    (", attention_efficiency: 0.25", "flops: 32, type: bf16, efficiency: attention", 32 / 8 / 0.25),
    (", attention_efficiency: {formula: 1/sequence}", f"{SHAPE}, type: bf16", SHAPE_FLOPS / 8 * 4),
    (
        ", efficiency: 0.5, attention_efficiency: {formula: flops, points: [[10, 0.2], [1000, 0.6]]}",
        "flops: 100, type: bf16, efficiency: attention",
        100 / 8 / 0.4,
    ),
    (
        ", efficiency: {formula: flops, points: [[10, 0.2], [1000, 0.6]]}, attention_efficiency: 0.25",
        "flops: 100, type: bf16, efficiency: attention",
        100 / 8 / 0.25,
    ),
]


@pytest.mark.parametrize(("keys", "demand", "expected_s"), TIMES, ids=[f"{keys[2:]} {it}" for keys, it, _ in TIMES])
def test_times_by_hand(keys: str, demand: str, expected_s: float) -> None:
    assert time_s(demand, machine(keys)) == pytest.approx(expected_s, rel=1e-12)


@pytest.mark.parametrize("stated", ["", ", attention_efficiency: 0.125"])
def test_it_is_a_constant_whether_or_not_the_file_states_it(stated: str) -> None:
    """Arrays of design points, options of a run and constants of a phase."""
    load = workload("- kernel: {flops: 32, type: bf16, efficiency: attention}\n- kernel: {flops: 32, type: bf16}\n")
    on = machine(f", efficiency: 0.5{stated}")
    many = np.array([0.25, 0.5, 1.0])
    found = forecast(load, on, {"P": 1, "accelerator.attention_efficiency": many}).makespan_s
    np.testing.assert_allclose(found, 8 + 4 / many, rtol=1e-12)
    at = {"P": 1, "accelerator.attention_efficiency": 0.25}
    assert simulate(load, on, at, effects="none").makespan_s == 8 + 16
    body = "[{kernel: {flops: 32, type: bf16, efficiency: attention}}]"
    phase = workload(f"- {{phase: a, constants: {{accelerator.attention_efficiency: 0.25}}, do: {body}}}\n")
    assert forecast(phase, on, {"P": 1}).makespan_s == simulate(phase, on, {"P": 1}).makespan_s == 16


@pytest.mark.parametrize("stated", ["", ", attention_efficiency: 0.125"])
def test_searches_vary_it(stated: str) -> None:
    load = workload("- kernel: {flops: 32, type: bf16, efficiency: attention}\n")
    vary = {"accelerator.attention_efficiency": [0.25, 0.5, 0.375]}
    found = sc.explore(load, machine(f", efficiency: 0.5{stated}"), {"P": 1}, vary=vary, minimize="time")
    assert found.point.values == {"accelerator.attention_efficiency": 0.5}
    assert found.point.metrics["time"] == 32 / 8 / 0.5


def test_data_sheets_show_it(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for keys, shown in (
        (BOTH, ["efficiency of kernels 0.5", "efficiency of attention 0.25"]),
        (
            ", attention_efficiency: {formula: flops, points: [[1, 0.5], [2, 1]]}",
            ["efficiency of attention by shape a table of 2 points over flops"],
        ),
    ):
        file = tmp_path / "m.yaml"
        file.write_text(f"{HEAD}accelerator: {{{KERNELS}{keys}}}\n", encoding="utf-8")
        lines = [" ".join(line.split()) for line in command(capfd, "show")(file).out.splitlines()]
        assert [line for line in lines if "efficiency" in line] == shown


def test_a_number_multiplies_a_table() -> None:
    """As ``accelerator.efficiency`` does, and only the table of attention."""
    load = workload("- kernel: {flops: 100, type: bf16, efficiency: attention}\n")
    on = machine(", efficiency: 0.5, attention_efficiency: {formula: flops, points: [[10, 0.2], [1000, 0.6]]}")
    at = {"P": 1, "accelerator.attention_efficiency": 0.5, "accelerator.efficiency": 0.75}
    for read in (forecast, simulate):
        assert read(load, on, at).makespan_s == pytest.approx(100 / 8 / 0.2, rel=1e-12)


def test_partitions_have_their_own() -> None:
    parts = "partitions: [{name: new, nodes: 1}, {name: old, nodes: 1, accelerator: {attention_efficiency: 0.125}}]\n"
    load = workload("- kernel: {flops: 32, type: bf16, efficiency: attention}\n")
    on = machine(BOTH, parts)
    ranks = simulate(load, on, {"P": 2}, effects="none").ranks
    assert ranks is not None
    assert ranks.end_s.tolist() == [16, 32]
    assert forecast(load, on, {"P": 2}).makespan_s == 32
    with pytest.raises(InputError, match=r"accelerator\.attention_efficiency, which the machine does not"):
        machine(", efficiency: 0.5", parts)


def test_programs_in_python_mark_kernels() -> None:
    @sc.program
    def program(rank, size):  # type: ignore[no-untyped-def]
        yield sc.rank.kernel(flops=32, type="bf16", efficiency="attention")

    for read in (sc.forecast, sc.simulate):
        assert read(program, machine(BOTH), {"P": 1}).makespan_s == 16


@pytest.mark.parametrize(
    ("keys", "demand", "message"),
    [
        (", attention_efficiency: 0", f"{SHAPE}, type: bf16", r"m\.yaml.*attention_efficiency.*above 0"),
        (", attention_efficiency: -0.5", f"{SHAPE}, type: bf16", r"m\.yaml.*attention_efficiency.*above 0"),
        (", attention_efficiency: quick", f"{SHAPE}, type: bf16", r"m\.yaml.*attention_efficiency"),
        (
            ", attention_efficiency: 1.5",
            f"{SHAPE}, type: bf16",
            r"accelerator\.attention_efficiency of m.*1\.5.*at most 1",
        ),
        (", attention_efficiency: {formula: 2*heads}", f"{SHAPE}, type: bf16", r"attention_efficiency of m.*6\.0"),
        (
            ", attention_efficiency: {formula: heads}",
            "flops: 1, type: bf16, efficiency: attention",
            r"w\.yaml.*accelerator\.attention_efficiency uses heads.*flops",
        ),
        (", attention_efficiency: {points: [[1, 1], [2, 1]]}", "flops: 1, type: bf16", r"m\.yaml.*no formula"),
        (", attention_efficiency: {formula: flops, points: [[2, 1], [1, 1]]}", "flops: 1, type: bf16", "increasing"),
        (", attention_efficency: 0.5", "flops: 1, type: bf16", "did you mean 'attention_efficiency'"),
        ("", "flops: 1, type: bf16, efficiency: products", r"w\.yaml.*efficiency.*'products'.*attention"),
        ("", "flops: 1, efficiency: attention", r"w\.yaml.*efficiency needs a type"),
    ],
)
def test_what_cannot_be_used(keys: str, demand: str, message: str) -> None:
    for read in (forecast, simulate):
        with pytest.raises(InputError, match=message):
            read(workload(f"- kernel: {{{demand}}}\n"), machine(keys), {"P": 1})


def interpolated(points: list[tuple[float, float]], at: float) -> float:
    """The efficiency at a value: linear in its logarithm between two points, constant beyond the ends."""
    below, above = (0.0, points[0][1]), (inf, points[-1][1])
    for point in points:
        below, above = (point, above) if point[0] <= at else (below, min(above, point))
    if below[0] == 0.0 or above[0] == inf:
        return above[1] if below[0] == 0.0 else below[1]
    part = (log(at) - log(below[0])) / (log(above[0]) - log(below[0]))
    return below[1] + part * (above[1] - below[1])


FRACTIONS = st.floats(1e-3, 1.0)
TABLES = st.lists(st.tuples(st.integers(1, 10**12), FRACTIONS), min_size=2, max_size=6, unique_by=lambda one: one[0])


@given(of_products=FRACTIONS, of_attention=st.one_of(FRACTIONS, TABLES.map(sorted)), flops=st.integers(1, 10**13))
def test_any_fraction_or_table(of_products: float, of_attention: float | list[tuple[int, float]], flops: int) -> None:
    is_number = isinstance(of_attention, float)
    key = repr(of_attention) if is_number else f"{{formula: flops, points: {[list(one) for one in of_attention]}}}"
    on = machine(f", efficiency: {of_products!r}, attention_efficiency: {key}")
    reached = of_attention if is_number else interpolated(of_attention, flops)
    load = workload(f"- kernel: {{flops: {flops}, type: bf16, efficiency: attention}}\n")
    for read in (forecast, simulate):
        assert read(load, on, {"P": 1}).makespan_s == pytest.approx(flops / 8 / reached, rel=1e-9)
    plain = workload(f"- kernel: {{flops: {flops}, type: bf16}}\n")
    assert forecast(plain, on, {"P": 1}).makespan_s == pytest.approx(flops / 8 / of_products, rel=1e-12)


#: Efficiencies of products and attention, fractions of 312 TFLOP/s, and the data sheet with a memory that takes no time.
E, A, RATE = 0.5, 0.125, 312e12
FREE = {"accelerator.efficiency": E, "accelerator.memory.bandwidth": "1e30 B/s"}
LAYERS, HIDDEN, HEADS, TOKENS, VOCABULARY, SEQUENCES = 3, 512, 8, 256, 1024, 4
MODEL: dict[str, object] = {
    "P": 1,
    "layers": LAYERS,
    "hidden": HIDDEN,
    "heads": HEADS,
    "sequence": TOKENS,
    "vocabulary": VOCABULARY,
    "global_batch": SEQUENCES,
    "micro_batch": 1,
}
#: Flops of a step: products with weights of a pass of all layers, the product with the vocabulary three times, and the two
#: products of attention, 2 s^2 d each, of all heads.
WEIGHTS = SEQUENCES * LAYERS * 2 * TOKENS * HIDDEN * (3 * HIDDEN + HIDDEN + 4 * HIDDEN + 4 * HIDDEN)
LOGITS = SEQUENCES * 3 * 2 * TOKENS * HIDDEN * VOCABULARY
SCORES = SEQUENCES * LAYERS * HEADS * 2 * (2 * TOKENS**2 * (HIDDEN // HEADS))


def check(load: str, at: dict[str, object], products: float, attention: float) -> None:
    """Both readings take these flops at the two efficiencies; on a machine that states one, at that one."""
    for name, keys, reached in (("selene", {"accelerator.attention_efficiency": A}, A), ("a100-cluster", {}, E)):
        machine = sc.Machine.load(name, FREE | keys)
        expected_s = (products / E + attention / reached) / RATE
        for read in (sc.forecast, sc.simulate):
            assert float(read(load, machine, at).makespan_s) == pytest.approx(expected_s, rel=1e-9)
        of_engines = [sc.simulate(load, machine, at, engine=one).makespan_s for one in ("simpy", "compiled")]
        assert of_engines[0] == of_engines[1]


@pytest.mark.parametrize(("recomputation", "forward"), [("none", 1), ("selective", 1), ("full", 2)])
@pytest.mark.parametrize(
    ("attention", "of_products", "of_attention"),
    [("standard", 1.0, 0.0), ("flash", 0.0, 1.0), ("causal_flash", 0.0, 0.5)],
)
def test_steps_of_gpt(
    recomputation: str, forward: int, attention: str, of_products: float, of_attention: float
) -> None:
    """Standard attention is products of matrices. A backward pass has twice the flops of products, and 2.5 times the flops
    of flash attention (Dao, arXiv 2307.08691, Sec. 4.1)."""
    again = recomputation == "selective"
    products = (forward + 2) * WEIGHTS + LOGITS + of_products * (forward + again + 2) * SCORES
    at = {**MODEL, "tensor": 1, "attention": attention, "recomputation": recomputation}
    check("gpt", at, products, of_attention * (forward + 2.5) * SCORES)


@pytest.mark.parametrize(("recomputation", "forward"), [("none", 1), ("full", 2)])
@pytest.mark.parametrize(("attention", "part"), [("flash", 1.0), ("causal_flash", 0.5)])
def test_steps_of_fsdp(recomputation: str, forward: int, attention: str, part: float) -> None:
    dense: dict[str, object] = {"feed_forward": 4 * HIDDEN, "experts": 1, "expert_parallel": 1}
    at = {**MODEL, **dense, "attention": attention, "recomputation": recomputation}
    check("mixture-of-experts", at, (forward + 2) * WEIGHTS + LOGITS, part * (forward + 2.5) * SCORES)


def test_inference() -> None:
    """A prefill of all tokens, and three steps whose new token sees all before it and itself."""
    at = {name: MODEL[name] for name in ("P", "layers", "hidden", "heads", "vocabulary")}
    at |= {"batch": SEQUENCES, "prompt_tokens": TOKENS, "output_tokens": 4}
    steps = range(TOKENS + 1, TOKENS + 4)
    products = WEIGHTS * (1 + 3 / TOKENS) + 4 * SEQUENCES * 2 * HIDDEN * VOCABULARY
    check("inference", at, products, SCORES * (1 + sum(steps) / TOKENS**2))
