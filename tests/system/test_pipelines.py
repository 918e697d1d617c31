"""The shipped schedules of pipelines against schedules written out pass by pass, and against closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.analytic import headline
from simcodesign.analytic.given_formulas.bubbles import bubble_of
from simcodesign.cli.app import main
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.report.results.comparison_tables import comparison_tables
from tests.builders import read_machine
from tests.oracles import pipeline_schedules as oracle

SCHEDULES = ("gpipe", "one_f_one_b", "interleaved", "zero_bubble")
NUMBERS = {name: number for number, name in enumerate(SCHEDULES)}
FORWARD_S, BACKWARD_S, WEIGHTS_S = 0.01, 0.02, 0.01
ROUNDING = 1e-12
PIPELINE = sc.Workload.load("pipeline")


def cluster(
    nodes: int = 64, startup_s: float = 0.0, sends: str = "blocking", more: str = "", cost: str = "bandwidth: 1 GB/s"
) -> Machine:
    text = "simcodesign: 1\nname: cluster\nprocessor: {rate: 1 GFLOP/s}\n"
    network = f"topology: {{kind: crossbar}}, startup: {startup_s} s, {cost}, sends: {sends}{more}"
    return read_machine(f"{text}nodes: {nodes}\nnetwork: {{{network}}}\n")


Size = tuple[int, int, int, int]


def sizes(schedule: str) -> Iterator[Size]:
    """Stages, micro-batches, chunks, micro-batches of a group (0: as many as stages)."""
    for stages in range(1, 6):
        if schedule != "interleaved":
            yield from ((stages, micro_batches, 1, 0) for micro_batches in range(1, 9))
            continue
        for chunks in range(1, 4):
            yield from ((stages, stages * groups, chunks, 0) for groups in range(1, 4))
            yield from ((stages, micro_batches, chunks, group) for micro_batches, group in GROUPS[stages])


#: Micro-batches and larger groups of them, by stages: all groups alike, the last one smaller, one group of all.
GROUPS = {
    1: ((5, 2),),
    2: ((8, 4), (5, 3), (7, 7)),
    3: ((8, 4), (8, 5), (7, 4)),
    4: ((10, 5), (9, 5), (14, 5), (6, 6)),
    5: ((11, 6), (18, 6), (13, 7)),
}


def order_of(schedule: str, stages: int, micro_batches: int, chunks: int, group: int) -> oracle.Order:
    if schedule == "interleaved":
        return oracle.interleaved(stages, micro_batches, chunks, group or stages)
    of: Any = getattr(oracle, schedule)
    order: oracle.Order = of(stages, micro_batches)
    return order


def expected_s(schedule: str, size: Size, times: tuple[float, float, float], more_s: float = 0) -> float:
    """By the list scheduler; ``more_s`` lengthens every pass that has a message."""
    forward_s, backward_s, weights_s = times
    chunks = size[2]
    is_cut = schedule == "zero_bubble"
    time_of = {
        "F": forward_s / chunks + more_s,
        "B": (backward_s - is_cut * weights_s) / chunks + more_s,
        "W": weights_s / chunks,
    }
    return oracle.makespan(order_of(schedule, *size), chunks, time_of)


def point(schedule: str, size: Size, times: tuple[float, float, float], size_bytes: float) -> Any:
    stages, micro_batches, chunks, group = size
    number = dict(zip(("forward", "backward", "weights"), times, strict=True))
    own = {"micro_batches": micro_batches, "chunks": chunks, "group": group, "activation": size_bytes}
    return {"P": stages, "schedule": schedule, **own, **number}


TIMES = ((FORWARD_S, BACKWARD_S, WEIGHTS_S), (0.007, 0.025, 0.011), (0.03, 0.02, 0.001))


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_both_readings_take_the_time_of_the_schedule_written_out(schedule: str, times: tuple[float, ...]) -> None:
    on, checked = cluster(), 0
    for size in sizes(schedule):
        at = point(schedule, size, times, 0)  # type: ignore[arg-type]
        exact_s = expected_s(schedule, size, times)  # type: ignore[arg-type]
        simulated = sc.simulate(PIPELINE, on, at, effects=())
        assert simulated.makespan_s == pytest.approx(exact_s, rel=ROUNDING), size
        assert sum(one.time_s for one in simulated.demands) == pytest.approx(exact_s, rel=ROUNDING), size
        predicted = sc.forecast(PIPELINE, on, at)
        assert predicted.longest_path is None or not predicted.longest_path.left_out
        assert predicted.makespan_s == pytest.approx(exact_s, rel=ROUNDING), size
        checked += 1
    assert checked >= 40


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_with_rendezvous_and_free_messages_no_pass_is_later(schedule: str) -> None:
    on, checked = cluster(6, more=", S: 1 KiB", cost="per_byte: 0 s/B"), 0
    for size in sizes(schedule):
        at = point(schedule, size, TIMES[1], 1e6)
        exact_s = expected_s(schedule, size, TIMES[1])
        assert sc.simulate(PIPELINE, on, at, effects=()).makespan_s == pytest.approx(exact_s, rel=ROUNDING), size
        checked += 1
    assert checked >= 40


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ((4, 6, 2, 0), "micro_batches % group is 0 or at least P"),  # groups of 4 and of 2
        ((4, 11, 2, 8), "micro_batches % group is 0 or at least P"),
        ((4, 3, 2, 0), "group is at least P and at most micro_batches"),
        ((4, 8, 2, 3), "group is at least P and at most micro_batches"),
        ((4, 8, 2, 9), "group is at least P and at most micro_batches"),
    ],
)
def test_what_megatron_refuses_is_refused(size: Size, words: str) -> None:
    """As ``forward_backward_pipelining_with_interleaving`` of Megatron-LM does (commit 00611e6)."""
    with pytest.raises(sc.InputError, match=f"allowed: {words}"):
        sc.forecast(PIPELINE, cluster(), point("interleaved", size, TIMES[0], 0))


def test_chunks_without_interleaving_are_refused() -> None:
    with pytest.raises(sc.InputError, match="chunks is 1 unless schedule is interleaved"):
        sc.simulate(PIPELINE, cluster(), point("gpipe", (4, 8, 2, 0), TIMES[0], 0))


@pytest.mark.parametrize("sends", ["blocking", "nonblocking", "rendezvous"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_messages_delay_no_pass_by_more_than_one_and_never_deadlock(schedule: str, sends: str) -> None:
    startup_s, size_bytes = 1e-4, 1e6
    rendezvous = sends == "rendezvous"
    on = cluster(6, startup_s, "blocking" if rendezvous else sends, ", S: 1 KiB" if rendezvous else "")
    most_s = startup_s + size_bytes / 1e9
    for size in sizes(schedule):
        at = point(schedule, size, TIMES[0], size_bytes)
        simulated_s = sc.simulate(PIPELINE, on, at, effects=()).makespan_s
        predicted = sc.forecast(PIPELINE, on, at)
        if predicted.longest_path is None or not predicted.longest_path.left_out:
            assert predicted.makespan_s == pytest.approx(simulated_s, rel=ROUNDING), size
        least_s = expected_s(schedule, size, TIMES[0])
        assert least_s * (1 - ROUNDING) <= simulated_s, size
        if not rendezvous and sends == "blocking":
            assert simulated_s <= expected_s(schedule, size, TIMES[0], most_s) * (1 + ROUNDING), size


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_bubble_is_exact_where_it_holds_and_messages_cost_nothing(schedule: str, times: Any) -> None:
    on, held = cluster(), 0
    for size in sizes(schedule):
        if (bubble := bubble_of(bind(PIPELINE, on, point(schedule, size, times, 0)), {})) is None:
            assert schedule == "zero_bubble"
            continue
        held += 1
        own_s = size[1] * (times[0] + times[1])
        assert own_s + bubble.time_s == pytest.approx(expected_s(schedule, size, times), rel=ROUNDING), size
    assert held >= 20 or times == TIMES[1]  # there, gradients of weights take longer than the pass forward


def test_a_zero_bubble_without_a_closed_form_has_none() -> None:
    few = point("zero_bubble", (4, 3, 1, 0), TIMES[0], 0)
    assert bubble_of(bind(PIPELINE, cluster(), few), {}) is None
    assert expected_s("zero_bubble", (4, 3, 1, 0), TIMES[0]) > 3 * 0.03 + 3 * 0.01 + ROUNDING


def test_the_bubble_is_a_step_of_the_ladder() -> None:
    """Of 8 stages and 16 micro-batches of 30 ms: 7 times 30 ms. Then comes what messages add: 1 MB in 1.1 ms."""
    at = point("one_f_one_b", (8, 16, 1, 0), TIMES[0], 1e6)
    comparison = sc.compare("pipeline", cluster(8, 1e-4), at, effects=())
    bubble, waiting = comparison.path_ladder
    assert bubble.step == "bubble (p-1)/m"
    assert bubble.change_s == pytest.approx(0.21)
    assert bubble.time_s + waiting.change_s == pytest.approx(float(comparison.simulation.makespan_s), rel=ROUNDING)
    free = sc.compare("pipeline", cluster(8), at | {"activation": 0}, effects=())
    assert [step.change_s for step in free.path_ladder] == [pytest.approx(0.21), pytest.approx(0, abs=1e-12)]


def test_a_bubble_that_is_added_to_the_sum_is_a_phase_of_the_forecast_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in programs of more operations than a longest path may have, here 100; 512 + 7 passes of 30 ms."""
    monkeypatch.setattr(headline, "MOST_OPERATIONS", 100)
    monkeypatch.setattr(headline, "path_of_program", partial(headline.path_of_program, max_operations=100))
    comparison = sc.compare("pipeline", cluster(8), point("one_f_one_b", (8, 512, 1, 0), TIMES[0], 0), effects=())
    row = comparison.phase_rows()["bubble"]
    assert row["forecast_s"] == pytest.approx(7 * 0.03)
    assert row["simulated_s"] == 0
    assert comparison.forecast.makespan_s == pytest.approx(519 * 0.03) == comparison.simulation.makespan_s
    assert list(comparison_tables(comparison))  # are made


def test_64_stages_and_512_micro_batches() -> None:
    simulated = sc.simulate(PIPELINE, cluster(), point("one_f_one_b", (64, 512, 1, 0), TIMES[0], 0), effects=())
    assert simulated.makespan_s == pytest.approx((512 + 63) * 0.03, rel=1e-9)


def test_sums_of_many_points_have_the_bubble_of_each() -> None:
    """Messages cost nothing; a zero bubble of fewer micro-batches than stages has no closed form, and is the sum."""
    chosen = [
        (schedule, (4, many, 1, 0)) for schedule in ("gpipe", "one_f_one_b", "zero_bubble") for many in (3, 8, 16)
    ]
    each = [point(schedule, size, TIMES[0], 0) | {"schedule": NUMBERS[schedule]} for schedule, size in chosen]
    arrays = {name: np.array([one[name] for one in each], dtype=float) for name in each[0]} | {"P": 4}
    found = sc.forecast(PIPELINE, cluster(4), arrays, longest_path=False, bubbles=True)
    for (schedule, size), time_s, sum_s in zip(chosen, found.makespan_s, found.sum_s, strict=True):
        assert sum_s == pytest.approx(size[1] * 0.03, rel=ROUNDING)
        has_form = schedule != "zero_bubble" or size[1] >= 4
        assert time_s == pytest.approx(expected_s(schedule, size, TIMES[0]) if has_form else sum_s, rel=ROUNDING)


def test_explore_chooses_a_schedule_by_its_bubble() -> None:
    """The sums of all schedules are equal; ZB-H1 waits least, with 3 (forward + backward - 2 weights)."""
    size = (4, 16, 1, 0)
    at = {name: value for name, value in point("gpipe", size, TIMES[0], 0).items() if name != "schedule"}
    best = sc.explore(PIPELINE, cluster(4), at, vary={"schedule": [0, 1, 3]}, minimize="time").point
    assert best is not None
    assert best.values["schedule"] == 3
    assert best.metrics["time"] == pytest.approx(expected_s("zero_bubble", size, TIMES[0]), rel=ROUNDING)


def test_explore_does_not_call_a_forecast_without_waits_exact() -> None:
    """The sum of closed forms and the bubble leave out what messages add."""
    on = cluster(4)
    for vary in ({"schedule": [0, 1, 2, 3]}, {"forward": "0.001:0.01"}):
        best = sc.explore(PIPELINE, on, {"P": 4}, vary=vary, minimize="time")
        assert not best.exact, vary
        assert "Solved exactly" not in str(best)
    infeasible = sc.explore(PIPELINE, on, {"P": 4}, vary={"forward": "0.001:0.01"}, subject_to="time <= 1e-6 s")
    assert not infeasible.feasible
    assert not infeasible.exact


def test_a_forecast_of_too_many_operations_for_a_path_takes_the_bubble() -> None:
    """1,023 stages fill and drain; a stage computes 1,100 times 30 ms."""
    at = point("one_f_one_b", (1024, 1100, 1, 0), TIMES[0], 0)
    predicted = sc.forecast(PIPELINE, cluster(1024), at)
    assert predicted.longest_path is not None
    assert predicted.longest_path.time_s is None
    assert predicted.makespan_s == pytest.approx((1100 + 1023) * 0.03, rel=1e-9)
    assert predicted.sum_s == pytest.approx(1100 * 0.03, rel=1e-9)
    assert predicted.phases["bubble"]["communication"] == pytest.approx(1023 * 0.03, rel=1e-9)
    assert predicted.basis[-1].startswith("sum of closed forms and the bubble (p-1)/m: no longest path")


def test_forecast_prints_the_bubble(capsys: pytest.CaptureFixture[str]) -> None:
    """3 times 30 ms, of which the whole takes 19."""
    free = ["--set", "activation=0", "--set", "network.startup=0"]
    assert main(["forecast", "pipeline", "crossbar-16", "-P", "4", *free]) == 0
    text = "Bubble (p-1)/m of the pipeline, in closed form: 90 ms, 15.8% of the forecast."
    assert text in " ".join(capsys.readouterr().out.split())


def test_a_part_of_a_program_has_no_bubble() -> None:
    at = point("one_f_one_b", (4, 8, 1, 0), TIMES[0], 0)
    assert sc.forecast(PIPELINE, cluster(), at).bubble is not None
    assert sc.forecast(PIPELINE, cluster(), at, phases=["pipeline"]).bubble is None


@pytest.mark.parametrize("parts", [1, 2])
def test_the_bubble_of_gpt_is_its_longest_path_without_messages(parts: int) -> None:
    """Four stages of one GPU each; a vocabulary of one token, so that the last stage has hardly more work."""
    model = {"layers": 8, "hidden": 1024, "heads": 16, "vocabulary": 1, "global_batch": 16, "micro_batch": 1}
    free = {"network.startup": 0, "network.per_byte": 0, "node.network.startup": 0, "node.network.per_byte": 0}
    at = {"P": 4, "tensor": 1, "pipeline": 4, "data": 1, "virtual_stages": parts} | model | free
    predicted = sc.forecast("gpt", "selene", at)
    assert predicted.bubble is not None
    assert predicted.makespan_s == pytest.approx(predicted.sum_s + predicted.bubble.time_s, rel=2e-3)
    assert predicted.bubble.time_s > 0.05 * predicted.makespan_s


PASSES = ("forward", "recompute", "backward", "messages")
SMALL = {"hidden": 1024, "heads": 16, "sequence": 512, "vocabulary": 1, "micro_batch": 1, "tensor": 1}
OFTEN_IN_GPT = ((4, 2, 1, 0), (4, 9, 1, 0), (4, 4, 2, 0), (4, 8, 2, 0), (4, 9, 2, 5), (4, 14, 2, 5), (3, 8, 3, 4))


@pytest.mark.parametrize("size", OFTEN_IN_GPT)
@pytest.mark.parametrize("eager", ["", "1 KiB"])
def test_gpt_takes_the_time_of_the_schedule_written_out(size: Size, eager: str) -> None:
    """Messages are free; those above S wait for their receiver. Passes of one layer are those of a single GPU."""
    stages, micro_batches, chunks, group = size
    free = {f"{where}network.{key}": 0 for where in ("", "node.") for key in ("startup", "per_byte")}
    on = sc.Machine.load("selene", free | ({"network.S": eager, "node.network.S": eager} if eager else {}))
    alone = sc.simulate("gpt", on, SMALL | {"P": 1, "layers": 1, "global_batch": 1}, effects=(), phases=PASSES)
    of = {name: sum(times.values()) for name, times in alone.phases.items()}
    time_of = {"F": of["forward"], "B": of["recompute"] + of["backward"]}
    order = order_of("interleaved" if chunks > 1 else "one_f_one_b", *size)
    own = {"P": stages, "pipeline": stages, "layers": stages * chunks, "virtual_stages": chunks, "group": group}
    at = SMALL | own | {"global_batch": micro_batches}
    exact_s = oracle.makespan(order, chunks, time_of)
    for read in (sc.simulate, sc.forecast):
        effects = {"effects": ()} if read is sc.simulate else {}
        assert read("gpt", on, at, phases=PASSES, **effects).makespan_s == pytest.approx(exact_s, rel=1e-9)


@pytest.mark.parametrize("size", OFTEN_IN_GPT)
def test_gpt_with_rendezvous_is_within_one_message_of_each_pass(size: Size) -> None:
    """Two tensor-parallel GPUs in each stage; nothing deadlocks, and the forecast is the longest path."""
    stages, micro_batches, chunks, group = size
    on = sc.Machine.load("selene", {"network.S": "1 KiB", "node.network.S": "1 KiB"})
    own = {"P": 2 * stages, "pipeline": stages, "layers": stages * chunks, "virtual_stages": chunks, "group": group}
    at = SMALL | own | {"tensor": 2, "global_batch": micro_batches}
    simulated = sc.simulate("gpt", on, at, effects=())
    predicted = sc.forecast("gpt", on, at)
    assert predicted.makespan_s >= predicted.sum_s
    if predicted.longest_path is not None and not predicted.longest_path.left_out:
        assert simulated.makespan_s == pytest.approx(predicted.makespan_s, rel=1e-9)
