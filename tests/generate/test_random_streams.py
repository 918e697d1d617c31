"""Randomness: the factors have the mean and variation asked for, and each stream stands on its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.operation_kinds import COMPUTE
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.design_point import bind
from simcodesign.describe.effects import effect_names
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.program import Block, Step
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from simcodesign.generate.plan import Plan
from simcodesign.generate.randomness.random_streams import lognormal_factors, stream
from tests import builders
from tests.builders import network, workload_of_steps

COUNT = 400_000


@pytest.mark.parametrize("variation", [0.01, 0.1, 0.5, 1.0])
def test_factors_have_mean_one_and_the_variation_asked_for(variation: float) -> None:
    sampled = lognormal_factors(stream(11, "test"), variation, COUNT)
    # The mean is normal with standard error variation / sqrt(n); the variance has standard error
    # sqrt((kurtosis - 1) / n) of itself, and a lognormal's kurtosis follows from w = 1 + variation^2.
    w = 1 + variation**2
    kurtosis = w**4 + 2 * w**3 + 3 * w**2 - 3
    assert abs(sampled.mean() - 1) < 5 * variation / np.sqrt(COUNT)
    assert abs(sampled.var() / variation**2 - 1) < 5 * np.sqrt((kurtosis - 1) / COUNT)
    assert sampled.min() > 0


def test_logarithms_of_factors_are_normal() -> None:
    logs = np.log(lognormal_factors(stream(12, "test"), 0.3, COUNT))
    scaled = (logs - logs.mean()) / logs.std()
    # Standard errors of skewness and kurtosis of a normal sample: sqrt(6 / n) and sqrt(24 / n).
    assert abs((scaled**3).mean()) < 5 * np.sqrt(6 / COUNT)
    assert abs((scaled**4).mean() - 3) < 5 * np.sqrt(24 / COUNT)


def test_no_variation_is_a_factor_of_exactly_one() -> None:
    assert set(lognormal_factors(stream(1, "test"), 0.0, 100)) == {1.0}


@given(st.integers(0, 2**63), st.text(max_size=20))
def test_a_stream_can_be_drawn_again(seed: int, name: str) -> None:
    assert stream(seed, name).random(5).tolist() == stream(seed, name).random(5).tolist()


@pytest.mark.parametrize(("seed", "name"), [(1, "noise"), (0, "imbalance")])
def test_streams_differ_and_do_not_correlate(seed: int, name: str) -> None:
    one, other = stream(0, "noise").standard_normal(COUNT), stream(seed, name).standard_normal(COUNT)
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(COUNT)


def test_what_one_stream_draws_does_not_move_another() -> None:
    alone = stream(3, "noise").random(10)
    greedy, noise = stream(3, "imbalance"), stream(3, "noise")
    greedy.random(12_345)
    assert noise.random(10).tolist() == alone.tolist()


# ---------------------------------------------------------------------------------------------------------------------
# In a Plan

STEPS = 8


def compute(seconds: object) -> Compute:
    return Compute(None, Place(), "seconds", parse(seconds))


def workload(*program: Step, imbalance: float = 0.2) -> Workload:
    return workload_of_steps(*program, imbalance=imbalance)


def machine(ranks: int, noise: float = 0.1) -> Machine:
    return builders.machine(network(ranks, startup_s=1e-6, per_byte_s=1e-9), noise=noise)


LOOP = Block(parse(STEPS), (compute(1), Collective(None, Place(), "allreduce", "recursive_doubling", parse(8))))


def planned(effects: tuple[str, ...], seed: int = 0, ranks: int = 16, program: Step = LOOP) -> Plan:
    return make_plan(bind(workload(program), machine(ranks)), effects, seed)


def computed(plan: Plan) -> NDArray[np.float64]:
    """Durations of the computations, shape (ranks, steps)."""
    return plan.duration_s[plan.kind == COMPUTE].reshape(plan.ranks, -1)


def test_without_effects_nothing_varies() -> None:
    assert set(computed(planned(())).ravel()) == {1.0}


def test_imbalance_is_one_factor_for_each_rank() -> None:
    durations = computed(planned(("imbalance",)))
    assert (durations == durations[:, :1]).all()
    assert len(set(durations[:, 0])) == 16


def test_noise_is_a_factor_for_each_computation() -> None:
    assert len(set(computed(planned(("noise",))).ravel())) == 16 * STEPS


def test_only_computation_varies() -> None:
    varied, plain = planned(("imbalance", "noise")), planned(())
    others = plain.kind != COMPUTE
    assert (varied.duration_s[others] == plain.duration_s[others]).all()


@given(st.sets(st.sampled_from(effect_names())), st.integers(0, 1000))
def test_effects_do_not_change_each_others_draws(effects: set[str], seed: int) -> None:
    """Common random numbers: the same seed gives each effect the same factors, whatever else is switched on."""
    expected = computed(planned((), seed))
    for name in sorted(effects & {"imbalance", "noise"}):
        expected = expected * computed(planned((name,), seed))
    assert computed(planned(tuple(effects), seed)) == pytest.approx(expected, rel=1e-15)


def test_a_seed_can_be_used_again_and_another_one_differs() -> None:
    effects = ("imbalance", "noise")
    assert computed(planned(effects, 5)).tolist() == computed(planned(effects, 5)).tolist()
    assert not (computed(planned(effects, 5)) == computed(planned(effects, 6))).any()


def test_more_ranks_leave_the_shares_of_the_first_as_they_are() -> None:
    few, many = (computed(planned(("imbalance",), ranks=ranks))[:, 0] for ranks in (4, 16))
    assert many[:4].tolist() == few.tolist()


@pytest.mark.parametrize(("effect", "variation"), [("imbalance", 0.2), ("noise", 0.1)])
def test_variation_in_a_plan(effect: str, variation: float) -> None:
    durations = computed(planned((effect,), ranks=20_000, program=compute(2.0)))[:, 0]
    count = len(durations)
    w = 1 + variation**2
    kurtosis = w**4 + 2 * w**3 + 3 * w**2 - 3
    assert abs(durations.mean() / 2 - 1) < 5 * variation / np.sqrt(count)
    assert abs((durations / 2).var() / variation**2 - 1) < 5 * np.sqrt((kurtosis - 1) / count)


def test_no_variation_given_means_none() -> None:
    quiet = replace(machine(4), noise=0.0)
    result = simulate(workload(LOOP, imbalance=0.0), quiet, effects=("imbalance", "noise"))
    assert result.makespan_s == simulate(workload(LOOP), machine(4), effects="none").makespan_s


def test_results_repeat_with_their_seed() -> None:
    one, again, other = (
        simulate(workload(LOOP), machine(16), effects="all", seed=seed).makespan_s for seed in (1, 1, 2)
    )
    assert one == again != other
