"""The lesson ``data-parallel``: its times are the work and a ring by hand, and its weights are counted matrix by matrix."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.lattice import formula_times, ladder_at
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons.test_shipped_by_hand import run_of, stop_of
from tests.lessons.test_shipped_numbers import formula_values_of

WEIGHTS, TOKENS, FLOPS_PER_S = 1.3e9, 2048, 0.5 * 312e12
GRADIENT_BYTES = 2 * WEIGHTS
#: Startup and bandwidth of a GPU inside a node, as the machine file states them, and bandwidth of an interface.
STARTUP_S, INSIDE, BETWEEN = 6.062279e-6, 231.748706e9, 25e9


def flops_s(flops_of_weight: float, sequences: float) -> float:
    return flops_of_weight * WEIGHTS * TOKENS * sequences / FLOPS_PER_S


def simulated_s(name: str, **values: float) -> float:
    run = run_of("data-parallel", name)
    return float(ladder_at(run, {slider: stop_of(run, slider, value) for slider, value in values.items()})[-1, 0])


def test_the_formula_is_six_flops_of_each_weight_and_token() -> None:
    for name, sequences in (("weak", lambda ranks: 2.0), ("strong", lambda ranks: 64 / ranks)):
        run = run_of("data-parallel", name)
        gpus = [stop.value for stop in run.sliders[0].stops]
        expected = np.array([[flops_s(6, sequences(ranks))] * 4 for ranks in gpus])
        assert formula_times(run) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("ranks", [2, 8])
def test_a_ring_inside_a_node_is_by_hand(ranks: int) -> None:
    """2 (P - 1) rounds of startup and a P-th of the gradients (Patarasuk and Yuan 2009): no link is slower than a GPU sends."""
    ring_s = 2 * (ranks - 1) * (STARTUP_S + GRADIENT_BYTES / ranks / INSIDE)
    assert simulated_s("weak", gpus=ranks, interfaces=1) == pytest.approx(flops_s(6, 2) + ring_s, rel=1e-3)


@pytest.mark.parametrize("ranks", [16, 64])
def test_one_interface_carries_all_gradients_twice(ranks: int) -> None:
    """A lower bound by counting bytes, which the simulation reaches to 1 %: the interface is never idle."""
    bound_s = 2 * (ranks - 1) / ranks * GRADIENT_BYTES / BETWEEN
    added_s = simulated_s("weak", gpus=ranks, interfaces=1) - flops_s(6, 2)
    assert bound_s <= added_s <= 1.01 * bound_s


@pytest.mark.parametrize("buckets", [1, 8, 32])
def test_buckets_follow_the_pace_of_the_slower_part(buckets: int) -> None:
    """T = forward + b + (B - 1) max(b, r) + r, with the all-reduce r of a bucket through one interface."""
    one_s, sum_s = flops_s(4, 2) / buckets, 2 * 15 / 16 * GRADIENT_BYTES / BETWEEN / buckets
    expected_s = flops_s(2, 2) + one_s + (buckets - 1) * max(one_s, sum_s) + sum_s
    assert simulated_s("buckets", buckets=buckets, interfaces=1) == pytest.approx(expected_s, rel=2e-3)


def test_hidden_all_reduces_leave_the_last_bucket() -> None:
    """With eight interfaces the backward pass is longer, so that the step is the work and one bucket."""
    whole_s = simulated_s("weak", gpus=16, interfaces=8) - flops_s(6, 2)
    assert whole_s < flops_s(4, 2)
    hidden_s = simulated_s("buckets", buckets=8, interfaces=8)
    assert hidden_s == pytest.approx(flops_s(6, 2) + whole_s / 8, rel=2e-3)


def test_four_gpus_on_two_nodes_are_by_hand() -> None:
    """Both rings leave a node through its interface: 3/2 of the gradients."""
    sum_s = 2 * 3 / 4 * GRADIENT_BYTES / BETWEEN
    for name, buckets in (("four_whole", 1), ("four", 8)):
        one_s, part_s = flops_s(4, 2) / buckets, sum_s / buckets
        expected_s = flops_s(2, 2) + one_s + (buckets - 1) * max(one_s, part_s) + part_s
        assert simulated_s(name) == pytest.approx(expected_s, rel=5e-3)


def test_weights_are_counted_matrix_by_matrix() -> None:
    """Of each layer: queries, keys and values, projection, both products of the MLP, with biases, and two layer norms."""
    hidden, layer = 4096, 0
    for rows, columns in ((hidden, 3 * hidden), (hidden, hidden), (hidden, 4 * hidden), (4 * hidden, hidden)):
        layer += rows * columns + columns
    layer += 2 * 2 * hidden
    lesson = read_lesson(lesson_folder("data-parallel"))
    known, place = formula_values_of(lesson), lesson.runs["gpt"].place
    assert known.named("large", place) == 40 * layer + (51200 + 2048) * hidden
    assert 16 * known.named("large", place) > 80e9 > 4.75 * known.named("large", place)
