"""Aspen pairs simulated: against the closed form where it is exact, times by hand, and a simulator of single items."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.aspen.application import Application, load_application
from simcodesign.aspen.machine import AspenMachine, load_machine
from simcodesign.aspen.run.comparison import (
    SHARING,
    AspenComparison,
    aspen_effects,
    aspen_schedule,
    compare_aspen,
    simulate_aspen,
)
from simcodesign.aspen.timing import run_time
from simcodesign.core.errors import InputError
from tests import examples

ENGINES = ["simpy", "compiled"]
# 4 cores of 1 flop/s; a memory that either loads or stores; a disk; wires that nothing else waits for.
# On the socket Star loads exclude flops and stores, and these two not each other.
MACHINE = """
machine Small { node [1] Node }
node Node { socket [1] Plain  socket [1] Star }
socket Plain { core [4] Core  memory [1] Ram  memory [3] Disk }
core Core { resource flops(n) [n] with half [base / 2] }
memory Ram { resource loads(n) [n]  resource stores(n) [n]  conflict loads, stores }
memory Disk { resource reads(n) [n] }
socket Star { core [4] Lane  memory [1] Bus }
core Lane { resource flops(n) [n] }
memory Bus { resource loads(n) [n]  resource stores(n) [n]  conflict loads, stores  conflict loads, flops }
"""


Compared = Callable[..., AspenComparison]


def application(folder: Path, body: str) -> Application:
    path = folder / "application.aspen"
    kernel = body if "kernel" in body else f"kernel main {{ {body} }}"
    path.write_text(f"model m {{ {kernel} }}", encoding="utf-8")
    return load_application(path)


@pytest.fixture(scope="module")
def compared(machine: AspenMachine, folder: Path) -> Compared:
    def compare(body: str, socket: str = "Plain", **options: Any) -> AspenComparison:
        return compare_aspen(application(folder, body), machine, socket, **options)

    return compare


# --- where the closed form is exact ------------------------------------------------------------------------------

_amounts = st.integers(1, 50)
_uses = st.lists(
    st.tuples(st.sampled_from(["flops", "loads", "stores", "reads"]), _amounts).map(lambda use: f"{use[0]} [{use[1]}]"),
    min_size=1,
    max_size=4,
)
_blocks = st.tuples(st.integers(0, 20), _uses).map(lambda one: f"execute [{one[0]}] {{ {' '.join(one[1])} }}")


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(inner, min_size=1, max_size=3).map(" ".join)
    return st.one_of(
        several.map(lambda body: f"seq {{ {body} }}"),
        st.tuples(st.integers(0, 9), several).map(lambda one: f"iterate [{one[0]}] {{ {one[1]} }}"),
        st.tuples(st.integers(0, 4), several).map(
            lambda one: f"iterate i [{one[0]}] {{ {one[1]} execute [i] {{ flops [i + 1] }} }}"
        ),
        st.tuples(st.integers(0, 1), several, inner).map(
            lambda one: f"if ({one[0]} == 1) {{ {one[1]} }} else {{ {one[2]} }}"
        ),
    )


@settings(max_examples=examples(60))
@given(body=st.recursive(_blocks, _nested, max_leaves=6))
def test_what_comes_one_after_another_takes_as_long_as_the_formula_says(
    machine: AspenMachine, folder: Path, body: str
) -> None:
    read = application(folder, body)
    value = float(run_time(read, machine, "Plain").seconds)
    for engine in ENGINES:
        result = simulate_aspen(read, machine, "Plain", effects="all", engine=engine)
        assert float(result.makespan_s) == pytest.approx(value, rel=1e-12, abs=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_map_in_step_takes_whole_rounds(compared: Compared, engine: str) -> None:
    comparison = compared("map [10] { execute [3] { flops [2] } execute { reads [5] } }", engine=engine, effects="none")
    assert comparison.simulated_s == math.ceil(30 / 4) * 2 + math.ceil(10 / 3) * 5
    assert comparison.difference_s == 0


def test_a_block_of_many_items_is_few_operations(machine: AspenMachine, folder: Path) -> None:
    read = application(folder, "iterate [1e6] { map [1e8] { execute [1e8] { flops [1] loads [2] } } }")
    assert len(aspen_schedule(read, machine, "Plain", effects="all")) < 10
    together = application(folder, "par { execute [1e8] { flops [1] } execute [123456789] { flops [2] } }")
    assert len(aspen_schedule(together, machine, "Plain", effects="all")) < 20


def test_a_kernel_of_an_import(machine: AspenMachine, tmp_path: Path) -> None:
    (tmp_path / "inner.aspen").write_text("model inner { param k = 2  kernel work { execute [k] { flops [k] } } }")
    text = (
        'model outer { import inner from "inner.aspen" with k = j * 3  param j = 2  kernel main { call inner.work } }'
    )
    (tmp_path / "outer.aspen").write_text(text)
    read = load_application(tmp_path / "outer.aspen")
    for kernel in ("main", "inner.work"):
        assert simulate_aspen(read, machine, "Plain", {"j": 4}, kernel=kernel).makespan_s == 3 * 12


# --- conflicts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("uses", "seconds"),
    [
        ("flops [5] stores [3]", 5),
        ("flops [5] loads [3]", 8),
        ("flops [5] loads [3] stores [4]", 5 + 3 + 4),  # in this order nothing overlaps
        ("flops [5] stores [4] loads [3]", 5 + 3),
        ("loads [3] flops [5] stores [4]", 3 + 5),
        ("loads [3] flops [5] stores [4] loads [2]", 3 + 5 + 2),
        ("flops [5] loads [3] flops [1]", 5 + 3 + 1),
    ],
)
def test_only_what_excludes_each_other_takes_turns(compared: Compared, engine: str, uses: str, seconds: int) -> None:
    comparison = compared(f"execute {{ {uses} }}", "Star", engine=engine)
    by_effect = dict(zip(comparison.ladder().effect, comparison.ladder().simulated_s, strict=True))
    assert by_effect[SHARING] == comparison.forecast_s
    assert by_effect["conflicts"] == comparison.simulated_s == seconds


# --- par ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ("execute [4] { flops [5] } execute [4] { flops [7] }", 12),  # both take all cores
        ("execute [2] { flops [5] } execute [2] { flops [7] }", 7),  # two cores each
        ("execute [3] { flops [5] } execute [3] { flops [7] }", 12),  # two cores have both
        ("execute [6] { flops [1] } execute [2] { flops [1] }", 2),  # what the first leaves idle
        ("execute [4] { flops [5] } execute { reads [7] }", 7),
        ("execute { loads [5] } execute { stores [7] }", 12),
        ("iterate [3] { execute [2] { flops [2] } } iterate [2] { execute [2] { flops [3] } }", 6),
    ],
)
def test_branches_share_the_instances(compared: Compared, engine: str, body: str, seconds: int) -> None:
    assert compared(f"par {{ {body} }}", engine=engine, effects="none").simulated_s == pytest.approx(seconds, rel=1e-12)


def single_items(branches: list[list[tuple[int, list[tuple[str, float]]]]], instances: dict[str, int]) -> float:
    """Every item by itself: dealt to the instances in turn, each of which serves first what is ready first."""
    offset, tasks = dict.fromkeys(instances, 0), []
    for branch, blocks in enumerate(branches):
        for stage, (items, uses) in enumerate(blocks):
            moved = dict.fromkeys(instances, 0)
            for resource, seconds in uses:
                dealt = [(offset[resource] + item) % instances[resource] for item in range(items)]
                tasks += [(branch, stage, resource, instance, seconds) for instance in dealt]
                moved[resource] = (items - 1) % instances[resource] + 1
            offset = {name: (offset[name] + moved[name]) % instances[name] for name in offset}
    ready = [0.0] * len(branches)  # of the present block of each branch
    stages, free = [0] * len(branches), dict[tuple[str, int], float]()
    end = [0.0] * len(branches)
    done = 0.0
    while any(stage < len(blocks) for stage, blocks in zip(stages, branches, strict=True)):
        # The block that is ready first takes its places: of equal ones the first branch.
        branch = min(
            (at for at in range(len(branches)) if stages[at] < len(branches[at])), key=lambda at: (ready[at], at)
        )
        end[branch] = ready[branch]
        for of, stage, resource, instance, seconds in tasks:
            if (of, stage) == (branch, stages[branch]):
                start = max(free.get((resource, instance), 0.0), ready[branch])
                free[resource, instance] = start + seconds
                end[branch] = max(end[branch], start + seconds)
        stages[branch] += 1
        ready[branch] = end[branch]
        done = max(done, end[branch])
    return done


_item_uses = st.lists(st.tuples(st.sampled_from(["flops", "reads"]), st.floats(0.5, 9.0)), min_size=1, max_size=3)
_item_blocks = st.lists(st.tuples(st.integers(1, 11), _item_uses), min_size=1, max_size=3)


@settings(max_examples=examples(60))
@given(branches=st.lists(_item_blocks, min_size=2, max_size=4))
def test_shares_of_instances_stand_for_single_items(
    machine: AspenMachine, folder: Path, branches: list[list[tuple[int, list[tuple[str, float]]]]]
) -> None:
    def text(block: tuple[int, list[tuple[str, float]]]) -> str:
        return f"execute [{block[0]}] {{ {' '.join(f'{name} [{seconds!r}]' for name, seconds in block[1])} }}"

    body = " ".join(f"seq {{ {' '.join(map(text, blocks))} }}" for blocks in branches)
    read = application(folder, f"par {{ {body} }}")
    expected = single_items(branches, {"flops": 4, "reads": 3})
    times = [float(simulate_aspen(read, machine, "Plain", effects="none", engine=one).makespan_s) for one in ENGINES]
    assert times[0] == times[1]
    assert times[0] == pytest.approx(expected, rel=1e-12)
    value = float(run_time(read, machine, "Plain").seconds)
    together = float(run_time(read, machine, "Plain", compatible=True).seconds)
    assert times[0] <= together * (1 + 1e-12)
    longest = max(sum(max(_seconds(block)) for block in blocks) for blocks in branches)
    assert times[0] >= longest * (1 - 1e-12)
    assert value <= times[0] * (1 + 1e-12)  # the closed form is a bound of every order


def _seconds(block: tuple[int, list[tuple[str, float]]]) -> list[float]:
    times: dict[str, float] = {}
    for name, seconds in block[1]:
        times[name] = times.get(name, 0.0) + math.ceil(block[0] / {"flops": 4, "reads": 3}[name]) * seconds
    return list(times.values())


# --- map ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("body", "in_step", "flowing"),
    [
        # 5 iterations, one after another in each of the two: 3 s and then 2 s, of which 4 overlap.
        ("map [5] { execute { loads [3] } execute [3] { reads [2] } }", 5 * 3 + 5 * 2, 5 * 3 + 2),
        # One round in each: nothing can go on sooner.
        ("map [3] { execute { flops [3] } execute { reads [2] } }", 3 + 2, 3 + 2),
        # The same resource throughout: nothing overlaps.
        ("map [8] { execute { flops [3] } execute { flops [2] } }", 2 * 3 + 2 * 2, 2 * 3 + 2 * 2),
    ],
)
def test_iterations_of_a_map_go_on_by_themselves(
    compared: Compared, engine: str, body: str, in_step: int, flowing: int
) -> None:
    comparison = compared(body, engine=engine)
    by_effect = dict(zip(comparison.ladder().effect, comparison.ladder().simulated_s, strict=True))
    assert comparison.forecast_s == by_effect["conflicts"] == in_step
    assert by_effect["maps"] == pytest.approx(flowing, rel=1e-12)


def test_a_map_stays_in_step_where_conflicts_are_no_clique(compared: Compared) -> None:
    body = "map [50] { execute { flops [3] stores [1] loads [2] } execute { flops [2] } }"
    ladder = compared(body, "Star").ladder().set_index("effect")
    assert ladder.change_s["maps"] == 0
    assert ladder.change_s["conflicts"] < 0


def test_many_iterations_are_taken_in_batches(compared: Compared) -> None:
    comparison = compared("map [1e7] { execute { loads [3] } execute { reads [3] } }")
    assert comparison.rungs[-1].operations < 2000
    assert (
        3e7 <= comparison.simulated_s <= 3e7 * (1 + 1.1 / 16)
    )  # the disks are three, and the last batch is not hidden


def test_more_items_than_a_number_can_count_are_refused_at_their_place(compared: Compared) -> None:
    with pytest.raises(InputError, match=r"application\.aspen:1: column \d+: each instance of flops .*'inf'"):
        compared("map [1e200] { map [1e200] { execute { flops [1] } } }")


# --- chance -------------------------------------------------------------------------------------------------------


def test_cases_are_drawn(compared: Compared) -> None:
    body = "iterate [40] { probability { [0.25] { execute { flops [1] } } [0.5] { execute { flops [100] } } } }"
    first = compared(body, seed=1)
    times = [compared(body, seed=seed).simulated_s for seed in range(1, 6)]
    assert first.forecast_s == pytest.approx(40 * (0.25 + 50), rel=1e-12)
    assert first.rungs[0].simulated_s == pytest.approx(first.forecast_s, rel=1e-12)
    assert times[0] == first.simulated_s
    assert len(set(times)) > 1
    for time in times:
        cheap, dear = time % 100, time // 100
        assert 0 <= cheap <= 25
        assert cheap + dear <= 40
        assert cheap == round(cheap)


def test_samples_are_drawn_in_every_iteration(compared: Compared) -> None:
    body = "iterate [30] { sample x from uniform(1, 3)  execute { flops [x] } }"
    comparison = compared(body, seed=2)
    assert comparison.rungs[0].simulated_s == pytest.approx(60, rel=1e-12)
    assert 30 < comparison.simulated_s < 90
    assert comparison.simulated_s != pytest.approx(60, rel=1e-9)
    again = np.random.default_rng(2).random(30)
    assert comparison.simulated_s == pytest.approx(float(np.sum(1 + 2 * again)), rel=1e-12)


# --- the ladder ---------------------------------------------------------------------------------------------------


def test_changes_add_up_to_the_gap(compared: Compared) -> None:
    body = """
      par { execute [3] { flops [5] stores [2] } execute [3] { flops [7] } }
      execute { flops [5] stores [3] loads [2] }
      map [9] { execute { loads [1] } execute { stores [2] flops [1] } }
    """
    comparison = compared(body, "Star")
    ladder = comparison.ladder()
    assert ladder.effect.tolist() == [SHARING, "conflicts", "maps", "chance"]
    assert ladder.change_s.sum() == pytest.approx(comparison.difference_s, rel=1e-12)
    assert comparison.to_dict()["error"] == (comparison.forecast_s - comparison.simulated_s) / comparison.simulated_s


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("iterate i [30000] { execute { flops [i] } }", "the simulation has too many iterations that differ"),
        ("iterate [150] { iterate i [150] { execute [i] { flops [i * i] } } }", None),
        (
            "iterate i [300] { iterate k [300] { execute [i + k] { flops [k] } } }",
            "for a simulation",
        ),
        ("execute { flops [1 / 0] }", "seconds of flops"),
        ("execute { flops [0 - 1] }", "seconds of flops"),
        ("execute [1 / 0] { flops [1] }", "parallelism"),
        ("iterate [0 - 2] { execute { flops [1] } }", "the number of iterations is negative"),
        ("execute { nothing [1] }", "no resource 'nothing'"),
    ],
)
def test_what_cannot_be_simulated_is_said_with_its_place(
    machine: AspenMachine, folder: Path, body: str, message: str | None
) -> None:
    text = f"kernel a {{ iterate j [9] {{ execute [j + 1] {{ flops [j] }} }} }} kernel main {{ {body} }}"
    if message is None:
        assert len(aspen_schedule(application(folder, text), machine, "Plain")) > 100
        return
    with pytest.raises(InputError, match=message) as error:
        compare_aspen(application(folder, text), machine, "Plain")
    assert "application.aspen" in str(error.value)


def test_arrays_and_unknown_effects_are_refused(machine: AspenMachine, folder: Path) -> None:
    read = application(folder, "param n = 2 kernel main { execute { flops [n] } }")
    with pytest.raises(InputError, match="one point, not arrays"):
        compare_aspen(read, machine, "Plain", {"n": np.array([1.0, 2.0])})
    with pytest.raises(InputError, match="one point, not arrays"):
        simulate_aspen(read, machine, "Plain", {"n": np.array([1.0, 2.0])})
    with pytest.raises(InputError, match="no such effect"):
        aspen_effects("conflicts, links")
    assert aspen_effects("maps conflicts") == ("conflicts", "maps")
    assert aspen_effects("none") == ()


# --- the public models --------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_every_public_pair(cases: Path) -> None:
    folder = cases / "aspen"
    applications, machines = cache(load_application), cache(load_machine)
    with (folder / "expected_runtime.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 160
    for row in rows:
        *kernel, _ = row["runtime_s"].split()
        read = applications(folder / "models" / row["app"])
        on = machines(folder / "models" / row["machine"])
        named = kernel[1] if kernel else "main"
        comparison = compare_aspen(read, on, row["socket"], kernel=named, effects="conflicts,maps")
        assert comparison.rungs[0].simulated_s == pytest.approx(comparison.forecast_s, rel=1e-12)
        assert comparison.simulated_s <= comparison.forecast_s * (1 + 1e-12), row
        assert comparison.rungs[-1].operations < 20_000
