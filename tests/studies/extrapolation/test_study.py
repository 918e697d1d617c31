"""Studies of predictions from small runs, on workloads whose times are known: errors, intervals, the guard, ladders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simcodesign.core.errors import InputError
from simcodesign.counters.prediction import ANALYTIC, EMPIRICAL
from simcodesign.describe.effects import chosen_effects, effect_names
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.workload import Workload
from simcodesign.report.counters.extrapolation_tables import profile_dict
from simcodesign.studies.extrapolation.ladder import MODELS, ladders
from simcodesign.studies.extrapolation.study import (
    CLOCK,
    PROFILE,
    TRUTH,
    Extrapolation,
    ExtrapolationStudy,
    communication_of,
    run_extrapolation,
    run_seed,
)
from simcodesign.studies.extrapolation.trials import (
    METHODS,
    PARTS,
    PLAIN,
    REFINED,
    ApplicationRun,
    SeedOutcome,
    Trial,
    summary,
)
from simcodesign.studies.extrapolation.virtual_profiler import profiled
from tests.builders import read_machine, read_workload

HZ, CPI, STARTUP, PER_BYTE = 2.0**31, 0.75, 1e-6, 1e-9
N = 2.0**32
#: Sums of some tens of doubles, through a least-squares fit of three points.
ROUNDING = 1e-9


def machine(network: str = "topology: {kind: crossbar}", more: str = "") -> Machine:
    text = (
        f"simcodesign: 1\nname: toy\nnodes: 64\nprocessor: {{rate: 1 GFLOP/s, cpi: {CPI}, clock: {HZ}}}\n"
        f"network: {{{network}, sends: blocking, startup: {STARTUP}, per_byte: {PER_BYTE}}}\n"
        "caches: {L1: {size: 4 KiB, latency: 4 cycles}, L2: {size: 64 KiB, latency: 16 cycles}}\n"
        f"memory: {{latency: 1 us, per_byte: 0}}\n{more}\n"
    )
    return read_machine(text)


def workload(*steps: str, more: str = "", n: float = N) -> Workload:
    program = "".join(f"  - phase: {name}\n    do: [{each}]\n" for name, each in zip("abcdefg", steps, strict=False))
    text = (
        f"simcodesign: 1\nname: w\nparameters: {{P: {{default: 2, whole: true}}, n: {{default: {n}}}}}\n{more}\n"
        f"program:\n{program}presets:\n  double: {{n: {2 * n}}}\n"
    )
    return read_workload(text)


COMPUTE = "compute: {instructions: n/P}"
ALLREDUCE = "allreduce: {bytes: 8}"
SIZED = "size: n"


def extrapolated(
    work: Workload, on: Machine | None = None, targets: tuple[ApplicationRun, ...] = (ApplicationRun(32),), **more: Any
) -> ExtrapolationStudy:
    options: dict[str, Any] = {"profile": (2, 4, 8), "effects": "none", "seeds": (0,)} | more
    effects, seeds = chosen_effects(options.pop("effects")), options.pop("seeds")
    scenario = Scenario.of(work, on or machine())
    return run_extrapolation(Extrapolation(scenario, targets=targets, effects=effects, **options), seeds)


# Exact answers.


def test_models_of_what_they_can_say_are_exact() -> None:
    """N CPI/(P f) + log2(P) (startup + 8 per_byte): instructions over P, and a collective a log P + b s + c."""
    (trial,) = extrapolated(workload(COMPUTE, ALLREDUCE)).trials
    expected = N * CPI / (32 * HZ) + 5 * (STARTUP + 8 * PER_BYTE)
    (one,) = trial.outcomes
    assert one.truth_s == pytest.approx(expected, rel=ROUNDING)
    assert one.seconds[PLAIN] == pytest.approx(expected, rel=ROUNDING)
    assert abs(one.error(PLAIN)) <= ROUNDING
    assert REFINED not in trial.methods
    assert trial.pipeline == PLAIN


@pytest.mark.parametrize("method", [PLAIN, ANALYTIC, EMPIRICAL])
def test_all_models_say_work_over_processes(method: str) -> None:
    (trial,) = extrapolated(workload(COMPUTE)).trials
    assert abs(trial.error(method).mean) <= ROUNDING


def test_a_larger_size_of_the_same_work_is_exact() -> None:
    """Twice the size on 16 processes is the profiled work of a process on 8; the third model knows no size and is not
    asked."""
    target = ApplicationRun(16, "double")
    (trial,) = extrapolated(workload(COMPUTE, more=SIZED), targets=(target,)).trials
    assert trial.outcomes[0].truth_s == pytest.approx(2 * N * CPI / (16 * HZ), rel=ROUNDING)
    assert abs(trial.error(PLAIN).mean) <= ROUNDING
    assert abs(trial.error(ANALYTIC).mean) <= ROUNDING
    assert EMPIRICAL not in trial.methods
    assert target.text == "P = 16, preset double"


def test_a_model_without_a_size_is_left_out() -> None:
    """At 16 processes of the profiled size it counts, at twice the size it has no value."""
    result = extrapolated(
        workload(COMPUTE, more=SIZED),
        targets=(ApplicationRun(16), ApplicationRun(16, "double"), ApplicationRun(16, None, {"n": N})),
    )
    same, larger, by_name = result.trials
    assert EMPIRICAL in same.methods
    assert EMPIRICAL in by_name.methods  # a parameter that leaves the size as it is
    answer = profile_dict(result)["targets"][1]
    assert not any(EMPIRICAL in answer[part] for part in ("seconds", "errors", "gains"))
    assert EMPIRICAL not in larger.methods
    assert ANALYTIC in larger.methods


def test_forms_below_zero_at_a_target_are_noted() -> None:
    """Instructions that fall on a line of the work, which is below zero on 32 processes and not on 16."""
    work = workload('compute: {instructions: "where(P > 16, 1, n/P - n/20)"}', more=SIZED)
    notes = extrapolated(work, targets=(ApplicationRun(16), ApplicationRun(32))).notes
    assert [note.partition(":")[0] for note in notes if "which cannot be; used is" in note] == ["P = 32"]


def test_size_by_parameter_is_the_same_as_by_preset() -> None:
    work = workload(COMPUTE, more=SIZED)
    by_name, by_value = extrapolated(
        work, targets=(ApplicationRun(16, "double"), ApplicationRun(16, None, {"n": 2 * N}))
    ).trials
    assert by_name.outcomes == by_value.outcomes


def test_refinement_of_exact_runs_is_exact() -> None:
    """Half of the accesses go to memory, whose seconds stay when the clock falls: equation 5 holds to rounding."""
    accesses = (
        "memory: {accesses: n/P/64, element: 64 B, stack_distance: [{fraction: 0.5, distance: 4}, "
        "{fraction: 0.5, distance: 1e6}], blocking: 0.25}"
    )
    work = workload(f"{COMPUTE}, {accesses}", ALLREDUCE)
    (trial,) = extrapolated(work, further=(16, 64), second_clock_hz=HZ / 2).trials
    count = N / 64 / 32
    stalls = 0.25 * count * (0.5 * 4 / HZ + 0.5 * 1e-6)
    assert trial.pipeline == REFINED
    assert trial.outcomes[0].parts[REFINED]["memory stalls"] == pytest.approx(stalls, rel=1e-6)
    assert abs(trial.error(REFINED).mean) <= 1e-7  # CPI_core is what is left of CPI
    assert trial.methods == METHODS


def test_parts_add_up() -> None:
    result = extrapolated(workload(COMPUTE, ALLREDUCE), effects="noise", seeds=(1, 2), on=machine(more="noise: 5 %"))
    for one in result.trials[0].outcomes:
        assert math.fsum(one.parts[PLAIN].values()) == pytest.approx(one.seconds[PLAIN], rel=ROUNDING)
        assert math.fsum(one.truth_parts.values()) == pytest.approx(one.truth_s, rel=ROUNDING)
    (trial,) = result.trials
    assert sum(trial.excess().values()) == pytest.approx(trial.error(PLAIN).mean, rel=1e-6)


# Seeds and intervals.


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20))
def test_interval_is_that_of_student(values: list[float]) -> None:
    spread = float(np.std(values, ddof=1))
    result = summary(values)
    assert result.mean == pytest.approx(float(np.mean(values)), rel=1e-12, abs=1e-12)
    if spread > 1e-9:
        low, high = stats.t.interval(0.95, len(values) - 1, float(np.mean(values)), stats.sem(values))
        assert result.half == pytest.approx((high - low) / 2, rel=1e-9)


def test_interval_of_two_is_that_of_the_tables() -> None:
    """t = 12.706 for one degree of freedom (any table); s/sqrt(2) of 1 and 3 is 1."""
    assert summary([1.0, 3.0]).half == pytest.approx(12.7062, abs=5e-5)
    assert math.isnan(summary([1.0]).half)


def test_noise_spreads_errors_and_seeds_give_them_again() -> None:
    work, on = workload(COMPUTE, ALLREDUCE), machine(more="noise: 5 %")
    first, again = (extrapolated(work, on, effects="noise", seeds=(3, 4, 5)) for _ in range(2))
    assert first.trials == again.trials
    errors = [one.error(PLAIN) for one in first.trials[0].outcomes]
    assert len(set(errors)) == 3
    assert first.trials[0].error(PLAIN).half > 0
    alone = extrapolated(work, on, effects="noise", seeds=(4,))
    assert alone.trials[0].outcomes[0] == first.trials[0].outcomes[1]


def test_runs_draw_independently_and_alike_at_every_effect() -> None:
    seeds = {run_seed(seed, purpose, P) for seed in range(3) for purpose in (PROFILE, CLOCK, TRUTH) for P in (2, 4)}
    assert len(seeds) == 18
    assert run_seed(1, TRUTH, 4) == run_seed(1, TRUTH, 4)


def test_gain_is_of_pairs() -> None:
    """Errors of +10 % and -10 %, of the baseline +30 % and -20 %: 20 and 10 points less."""
    outcomes = tuple(
        SeedOutcome(seed, 1.0, {PLAIN: result, ANALYTIC: other}, {}, {})
        for seed, (result, other) in enumerate([(1.1, 1.3), (0.9, 0.8)])
    )
    trial = Trial(ApplicationRun(8), outcomes)
    assert trial.error(PLAIN).mean == pytest.approx(0.0, abs=1e-12)
    assert trial.absolute(PLAIN) == pytest.approx(0.1)
    assert trial.gain(ANALYTIC).mean == pytest.approx(0.15)
    assert trial.gain(ANALYTIC).half == pytest.approx(12.7062 * 0.05, rel=1e-5)


# The guard.


def memory_at(distance: str) -> Workload:
    accesses = f"memory: {{accesses: n/P, element: 64 B, stack_distance: {distance}, blocking: 0.5}}"
    return workload(f"{COMPUTE}, {accesses}", more=SIZED)


def test_guard_refuses_what_misses_the_last_level() -> None:
    target = (ApplicationRun(32), ApplicationRun(32, "double"))
    here, larger = extrapolated(memory_at("1e6"), targets=target).trials
    assert here.refusal == ""
    assert "missed E = 1 of its accesses" in larger.refusal
    assert abs(larger.error(PLAIN).mean) <= ROUNDING  # said all the same
    (free,) = extrapolated(memory_at("1e6"), targets=target[1:], guard=None).trials
    assert free.refusal == ""
    assert free.outcomes[0].seconds == larger.outcomes[0].seconds


def test_guard_lets_pass_what_hits() -> None:
    (trial,) = extrapolated(memory_at("8"), targets=(ApplicationRun(32, "double"),)).trials
    assert trial.refusal == ""


# Ladders.

#: Every rank sends to the other half of a line: links are shared by more and more messages, of which small runs know little.
SHIFT = "send: {to: (rank + P/2) % P, bytes: 1e6}, receive: {from: (rank + P/2) % P}"


def test_ladder_finds_the_links() -> None:
    on = machine("topology: {kind: mesh, shape: [64]}, hop_latency: 0, distance: mean, link_bandwidth: 1 GB/s")
    result = extrapolated(workload(COMPUTE, SHIFT), on, effects="all", seeds=(0, 1))
    (ladder,) = ladders(result)
    assert [rung.effect for rung in ladder.rungs] == [MODELS, *effect_names()]
    assert ladder.breaks == "links"
    assert ladder.largest.effect == "links"
    assert abs(ladder.rungs[0].error) <= ROUNDING
    assert sum(rung.change for rung in ladder.rungs) == pytest.approx(ladder.rungs[-1].error)
    assert ladder.rungs[-1].error == result.trials[0].error(PLAIN).mean


def test_ladder_finds_imbalance() -> None:
    result = extrapolated(workload(COMPUTE, ALLREDUCE, more="imbalance: 60 %"), effects="all", seeds=range(3))
    (ladder,) = ladders(result, 0.05)
    assert ladder.breaks == "imbalance"
    assert ladder.largest.effect == "imbalance"


def test_ladder_finds_what_the_models_cannot_say() -> None:
    """A step between 8 and 32 processes, which no run shows."""
    step = 'compute: {instructions: "n/P*where(P > 16, 3, 1)"}'
    (ladder,) = ladders(extrapolated(workload(step), effects=("noise",)))
    assert ladder.breaks == MODELS
    assert ladder.rungs[0].error == pytest.approx(-2 / 3)


def test_no_ladder_for_small_errors() -> None:
    assert ladders(extrapolated(workload(COMPUTE, ALLREDUCE), effects="all")) == ()


# What cannot be.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": (2, 4)}, "numbers of processes to profile"),
        ({"profile": (2, 4, 4)}, "numbers of processes to profile"),
        ({"seeds": ()}, "seeds"),
        ({"seeds": (1, 1)}, "seeds"),
        ({"further": (8, 16)}, "further runs that are profiled already"),
        ({"further": (16, 16)}, "numbers of processes of further runs"),
        ({"second_clock_hz": HZ}, "second clock"),
        ({"second_clock_hz": -1.0}, "second clock"),
        ({"targets": ()}, "no target"),
        ({"targets": (ApplicationRun(8),)}, "a target that is profiled"),
        ({"targets": (ApplicationRun(8, "double"),)}, "does not say its size"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        extrapolated(workload(COMPUTE), **options)


def test_second_clock_needs_a_clock() -> None:
    text = "simcodesign: 1\nname: toy\nnodes: 8\nprocessor: {rate: 1 GFLOP/s}\nnetwork: {topology: {kind: crossbar}, sends: blocking, startup: 0, per_byte: 0}\n"
    with pytest.raises(InputError, match="which has none"):
        extrapolated(workload(COMPUTE), read_machine(text), second_clock_hz=1e9)


def test_communication_of_keeps_waits_and_times() -> None:
    table = profiled(workload(COMPUTE, ALLREDUCE), machine(), [2], effects="none")
    bare = communication_of(table)
    assert np.isnan(bare.column("instructions")).all()
    assert np.isnan(bare.column("cycles")).all()
    for name in ("time_s", "collective_wait_s", "collective_bytes", "processes"):
        assert np.array_equal(bare.column(name), table.column(name), equal_nan=True)


def test_parts_have_names_of_equation_2() -> None:
    assert PARTS == ("computation", "memory stalls", "point-to-point", "collective", "others")
