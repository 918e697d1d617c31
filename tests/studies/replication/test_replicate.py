"""Replications: the plain simulation again and again, whoever works on it, and machines under the same chance."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simcodesign.core import memory_limit
from simcodesign.core.errors import CapacityError, InputError
from simcodesign.core.processes import ordered_map
from simcodesign.core.to_json import to_json
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.engine.simulate import simulate
from simcodesign.generate.randomness.random_streams import stream
from simcodesign.studies.candidates.several import compare_several, differences
from simcodesign.studies.replication.output_analysis import ROUND, PairedIntervals
from simcodesign.studies.replication.replicate import (
    Replicated,
    random_sources_of,
    replicate,
    replication_seed,
)
from tests.builders import network_with

MACHINE = """\
simcodesign: 1
name: small
about: A machine of tests
nodes: 4
processor: {rate: 100 MFLOP/s}
network:
  topology: {kind: mesh, shape: [2, 2]}
  sends: blocking
  startup: 100 us
  bandwidth: 10 MB/s
disk: {read_startup: 10 ms, write_startup: 10 ms, bandwidth: 20 MB/s}
noise: 5 %
"""
LOOP = """\
simcodesign: 1
name: loop
about: A workload of tests
imbalance: 20 %
program:
  - phase: work
    repeat: 3
    do:
      - compute: {flops: 1e6}
      - allreduce: {bytes: 8}
"""
QUEUE = """\
simcodesign: 1
name: queue
about: M/M/1 with a mean service of 10 ms
parameters:
  rate: {default: 50}
  requests: {default: 800}
program:
  - arrivals: {to: disk, rate: rate, requests: requests, bytes: 0, varies: exponential}
"""
#: One replication and its processes are cheap; without this everything would be done at home.
AT_ONCE = pytest.mark.usefixtures("at_once")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are started however little they save."""
    monkeypatch.setattr(ordered_map, "MIN_SAVING_S", 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def read(folder: Path, name: str, text: str, load: Any) -> Any:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path)


@pytest.fixture(scope="module")
def machine(folder: Path) -> Machine:
    result: Machine = read(folder, "machine", MACHINE, load_machine)
    return result


@pytest.fixture(scope="module")
def loop(folder: Path) -> Workload:
    result: Workload = read(folder, "loop", LOOP, load_workload)
    return result


@pytest.fixture(scope="module")
def queue(folder: Path) -> Workload:
    result: Workload = read(folder, "queue", QUEUE, load_workload)
    return result


@pytest.fixture(scope="module")
def twelve(loop: Workload, machine: Machine) -> Replicated:
    return replicate(loop, machine, replications=12, seed=5)


def text(result: Any) -> str:
    return json.dumps(to_json(result.to_dict()))


# --- Seeds ---------------------------------------------------------------------------------------------------


def test_every_replication_is_a_plain_simulation(twelve: Replicated, loop: Workload, machine: Machine) -> None:
    assert twelve.count == 12
    for number, seed in enumerate(twelve.seeds):
        assert seed == replication_seed(5, number)
        alone = simulate(loop, machine, seed=seed)
        assert twelve.column(("makespan_s",))[number] == alone.makespan_s
        assert twelve.column(("components_s", "computation"))[number] == alone.components["computation"]
    mean = twelve.interval("makespan_s")
    known = stats.t.interval(0.95, 11, *(f(twelve.column(("makespan_s",))) for f in (np.mean, stats.sem)))
    assert (mean.low, mean.high) == pytest.approx(known)


def test_seeds_are_whole_distinct_and_of_63_bits() -> None:
    seeds = [replication_seed(seed, number) for seed in (0, 1, 2**64) for number in range(2000)]
    assert len(set(seeds)) == len(seeds)
    assert all(type(seed) is int and 0 <= seed < 2**63 for seed in seeds)
    assert np.mean([seed >> 62 for seed in seeds]) == pytest.approx(0.5, abs=0.03)


def test_streams_of_replications_are_independent() -> None:
    """Draws of neighbouring replications: uniform, and uncorrelated by number and by name of the stream."""
    every = np.array(
        [
            [stream(replication_seed(0, number), name).random(4) for name in ("imbalance", "noise in main")]
            for number in range(3000)
        ]
    )
    assert stats.kstest(every.ravel(), "uniform").pvalue > 1e-3
    bound = 4 / np.sqrt(every[1:].size / 2)
    for one, other in ((every[1:], every[:-1]), (every[:, 0], every[:, 1]), (every[..., 1:], every[..., :-1])):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < bound


def test_the_stored_first_result_holds_no_arrays(twelve: Replicated) -> None:
    assert twelve.first.ranks is None
    assert len(twelve.first.stations) == 0
    assert twelve.first.seed == twelve.seeds[0]


# --- Processes -----------------------------------------------------------------------------------------------


@AT_ONCE
@pytest.mark.thorough
def test_the_number_of_processes_changes_no_byte(twelve: Replicated, loop: Workload, machine: Machine) -> None:
    for jobs in (2, 3):
        assert text(replicate(loop, machine, replications=12, seed=5, jobs=jobs)) == text(twelve)


@AT_ONCE
@pytest.mark.thorough
def test_nor_with_sequential_stopping(queue: Workload, machine: Machine) -> None:
    values = [
        text(replicate(queue, machine, {"P": 1, "requests": 200}, precision=0.15, seed=3, jobs=jobs)) for jobs in (1, 2)
    ]
    assert len(set(values)) == 1


@AT_ONCE
@pytest.mark.thorough
def test_nor_with_two_machines(loop: Workload, machine: Machine) -> None:
    other = replace(machine, name="other", noise=0.1)
    values = [text(compare_several(loop, [machine, other], replications=5, jobs=jobs)) for jobs in (1, 2)]
    assert values[0] == values[1]


def test_little_work_starts_no_process(loop: Workload, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_map, "ProcessExecutor", None)
    assert replicate(loop, machine, replications=3, jobs=2).count == 3


# --- Stopping ------------------------------------------------------------------------------------------------


def test_stops_when_the_makespan_is_known(loop: Workload, machine: Machine) -> None:
    calls: list[tuple[int, int, float]] = []
    replicated = replicate(loop, machine, precision=0.05, on_progress=lambda *now: calls.append(now))
    assert replicated.stopping.reached
    assert replicated.interval("makespan_s").relative <= 0.05
    assert replicated.count % ROUND == 0
    earlier = replicated.column(("makespan_s",))[:-ROUND]  # the look before found the same, the one before that did not
    assert stats.sem(earlier) * stats.t.ppf(0.975, len(earlier) - 1) <= 0.05 * earlier.mean()
    assert [done for done, _, _ in calls] == list(range(2, replicated.count + 1))
    assert calls[-1][1] == 1000
    assert calls[-1][2] == pytest.approx(replicated.interval("makespan_s").relative)


def test_stops_at_most_where_it_must(loop: Workload, machine: Machine) -> None:
    replicated = replicate(loop, machine, precision=1e-6, at_most=25)
    assert replicated.count == 30  # whole rounds
    assert not replicated.stopping.reached


def test_a_precision_of_something_else(loop: Workload, machine: Machine) -> None:
    replicated = replicate(loop, machine, precision=0.9, precision_of="components_s.computation")
    assert replicated.stopping.of == ("components_s", "computation")
    assert replicate(loop, machine, precision=0.9, precision_of="makespan").stopping.of == ("makespan_s",)
    with pytest.raises(InputError, match=r"did you mean 'components_s\.computation'"):
        replicate(loop, machine, precision=0.9, precision_of="components_s.computatio")


def test_replications_before_a_precision(loop: Workload, machine: Machine) -> None:
    assert replicate(loop, machine, replications=33, precision=0.9).count == 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replications": 0}, "replications"),
        ({"replications": 2.0}, "replications"),
        ({"replications": 10**11}, "from 1 to 1000000"),
        ({"precision": 0.1, "at_most": 10**6 + 1}, "replications at most"),
        ({"replications": 1}, "one replication has no interval"),
        ({"precision": 0.0}, "precision"),
        ({"precision": 1.0}, "precision"),
        ({"precision": 0.1, "replications": 1}, "more than one replication"),
        ({"precision": 0.1, "replications": 50, "at_most": 40}, "before the precision"),
        ({"precision": 0.1, "at_most": 19}, "replications at most, got 19"),
        ({"level": 95}, "level"),
        ({"warm_up": -3}, "warm-up"),
        ({"jobs": 0}, "jobs"),
        ({"seed": -1}, "seed"),
        ({"effects": "nois"}, "no such effect"),
    ],
)
def test_bad_options_are_refused(loop: Workload, machine: Machine, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replicate(loop, machine, **options)


def test_replications_that_do_not_fit_in_memory_are_refused(
    loop: Workload, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    quantities = len(replicate(loop, machine, replications=2).keys)
    monkeypatch.setattr(memory_limit, "memory_bytes", lambda: 16.0 * 1000 * quantities)
    with pytest.raises(CapacityError, match="1001 replications"):
        replicate(loop, machine, replications=1001)
    assert replicate(loop, machine, replications=3).count == 3


def test_arrays_are_refused(loop: Workload, machine: Machine) -> None:
    with pytest.raises(InputError, match="one design point"):
        replicate(loop, machine, {"P": [1, 2]})


# --- Chance --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effects", "expected"),
    [("all", ("imbalance", "noise")), ("imbalance", ("imbalance",)), ("links", ()), ("none", ())],
)
def test_what_is_drawn(loop: Workload, machine: Machine, effects: str, expected: tuple[str, ...]) -> None:
    replicated = replicate(loop, machine, replications=4, effects=effects)
    assert replicated.random_sources == expected
    assert replicated.count == (4 if expected else 1)
    assert replicated.stopping.reached


def test_arrivals_are_drawn_whatever_the_effects(queue: Workload, machine: Machine) -> None:
    assert random_sources_of(bind(queue, machine), ()) == ("arrivals",)


def test_what_does_not_vary_says_so(twelve: Replicated) -> None:
    assert twelve.interval("messages").same
    assert not twelve.interval("makespan_s").same
    assert twelve.to_dict()["means"]["messages"] == {"mean": twelve.first.messages, "same": True}  # type: ignore[index]


# --- Open streams --------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_coverage_of_a_simulated_queue(machine: Machine, queue: Workload) -> None:
    """200 simulated experiments of 10 replications: the 95 % interval holds 1 / (mu - lambda) in 90 to 99 % of them.

    A load of 0.3 settles within a few requests, so that 200 of them are enough.
    """
    parameters = {"P": 1, "rate": 30, "requests": 200}
    hits = 0
    for seed in range(200):
        replicated = replicate(queue, machine, parameters, replications=10, seed=seed, engine="compiled")
        hits += replicated.interval("response_s").holds(1 / (100 - 30))
    assert 0.90 * 200 <= hits <= 0.99 * 200


def test_one_long_run_in_batches(machine: Machine, queue: Workload) -> None:
    replicated = replicate(queue, machine, {"P": 1, "requests": 20_000}, replications=1)
    assert replicated.count == 1
    assert replicated.batches is not None
    assert replicated.batches.batches >= 20
    assert replicated.interval("response_s") == replicated.batches.interval
    assert replicated.interval("response_s").holds(0.02)
    assert np.isnan(replicated.interval("makespan_s").low)


def test_a_stated_warm_up(machine: Machine, queue: Workload) -> None:
    replicated = replicate(queue, machine, {"P": 1}, replications=3, warm_up=100)
    for number, seed in enumerate(replicated.seeds):
        requests = simulate(queue, machine, {"P": 1}, seed=seed).requests
        assert requests is not None
        times = (requests.left_s - requests.arrived_s)[100:]
        assert replicated.column(("response_s",))[number] == pytest.approx(times.mean(), rel=1e-12)
    with pytest.raises(InputError, match="warm-up"):
        replicate(queue, machine, {"P": 1}, replications=3, warm_up=800)


def test_a_short_stream_has_no_batches(machine: Machine, queue: Workload) -> None:
    with pytest.raises(InputError, match="too short for batch means"):
        replicate(queue, machine, {"P": 1, "requests": 90}, replications=1)


def test_a_precision_is_of_the_response_time_of_a_stream(machine: Machine, queue: Workload) -> None:
    replicated = replicate(queue, machine, {"P": 1}, precision=0.5)
    assert replicated.stopping.of == ("response_s",)


# --- Two machines --------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_common_random_numbers_narrow_the_difference(loop: Workload, machine: Machine) -> None:
    """A processor that is slightly slower: the same shares of computation, so most of the spread cancels."""
    other = replace(machine, name="other", processor=replace(machine.processor, rate_flop_per_s=0.98e8))
    first, second = compare_several(loop, [machine, other], replications=15).comparisons
    pair = second.against
    assert first.replicated.seeds == second.replicated.seeds
    assert pair.correlation > 0.99
    assert pair.narrowing > 5
    assert pair.decided
    assert pair.difference.mean > 0
    times_s = [replicate(loop, one, replications=15).column(("makespan_s",)) for one in (machine, other)]
    assert [one.times_s.tolist() for one in (first, second)] == [side.tolist() for side in times_s]
    known = stats.ttest_rel(*reversed(times_s)).confidence_interval(0.95)
    assert (pair.difference.low, pair.difference.high) == pytest.approx((known.low, known.high))
    assert differences(first, second)["makespan_s",] == pair


def against_first(loop: Workload, machine: Machine, other: Machine, **options: Any) -> PairedIntervals:
    """Return the intervals of the second machine against the first one."""
    (_, second) = compare_several(loop, [machine, other], **options).comparisons
    assert second.against is not None
    return second.against


def load_machine_with(machine: Machine, **network: float) -> Machine:
    return replace(machine, name="other", network=network_with(machine.network, **network))


def test_a_difference_that_is_always_the_same(loop: Workload, machine: Machine) -> None:
    """A slower start of messages costs the same whatever the shares are: nothing of the spread is left."""
    pair = against_first(loop, machine, load_machine_with(machine, startup_s=120e-6), replications=5)
    assert pair.difference.same
    assert pair.decided
    assert pair.narrowing == np.inf


def test_a_machine_against_itself(loop: Workload, machine: Machine) -> None:
    pair = against_first(loop, machine, replace(machine, name="twin"), replications=5)
    assert pair.difference.same
    assert not pair.decided
    assert pair.ratio.mean == 1.0


def test_a_precision_of_the_difference(loop: Workload, machine: Machine) -> None:
    other = load_machine_with(machine, startup_s=120e-6)
    first, second = compare_several(loop, [machine, other], precision=0.01).comparisons
    assert first.replicated.stopping.reached
    assert first.replicated.count == 20  # the difference is known long before the makespan is
    assert second.against.difference.half_width <= 0.01 * first.simulated.mean
    assert first.simulated.relative > 0.01


@pytest.mark.thorough
def test_a_precision_is_of_the_difference_of_every_machine(loop: Workload, machine: Machine) -> None:
    """A slower start of messages differs by the same in every replication; another noise does not."""
    close, far = load_machine_with(machine, startup_s=120e-6), replace(machine, name="far", noise=0.5)
    for machines, reached in (([machine, close], True), ([machine, close, far], False)):
        candidates = compare_several(loop, machines, precision=1e-4, at_most=20).comparisons
        assert {one.replicated.count for one in candidates} == {20}
        assert {one.replicated.stopping.reached for one in candidates} == {reached}


def test_without_chance_one_run_of_each(loop: Workload, machine: Machine) -> None:
    slower = load_machine_with(machine, startup_s=1e-3)
    first, second = compare_several(loop, [machine, slower], effects="none").comparisons
    assert (first.replicated, second.replicated) == (None, None)
    assert second.against.difference.mean > 0
