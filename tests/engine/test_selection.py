"""Which engine runs a Plan, and what is said when it cannot."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from simcodesign.core import memory_limit
from simcodesign.core.errors import CapacityError, InputError
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.core.stations.uses import StationUses
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine import memory_estimate, selection
from simcodesign.engine.reference import engine as simpy_engine
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan

CASE = ("jacobi", "torus-cluster", {"P": 8})


@pytest.fixture(autouse=True)
def _nothing_warned_yet() -> Iterator[None]:
    selection._warn_that_numba_is_missing.cache_clear()
    yield
    selection._warn_that_numba_is_missing.cache_clear()


def test_small_runs_take_simpy() -> None:
    assert simulate(*CASE).engine == "simpy"


@pytest.mark.thorough
def test_large_runs_take_the_compiled_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(selection, "SIMPY_UP_TO", 100)
    assert simulate(*CASE).engine == "compiled"
    assert simulate(*CASE, engine="simpy").engine == "simpy"
    assert simulate("jacobi", "torus-cluster", {"P": 1, "sweeps": 1}).engine == "simpy"


def test_hops_count_as_operations_do(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    operations = len(simulate(*CASE, timeline=True).timeline.rank)
    monkeypatch.setattr(selection, "SIMPY_UP_TO", operations)
    assert simulate(*CASE, effects="hops").engine == "simpy"
    assert simulate(*CASE, effects="links").engine == "compiled"


@pytest.mark.parametrize(("ranks", "engine"), [(16, "simpy"), (48, "compiled")])
def test_few_messages_with_fair_shares_take_the_compiled_engine(ranks: int, engine: str) -> None:
    """240 and 2,256 messages: the latter took SimPy 3.3 s and the compiled engine 0.04 s."""
    pytest.importorskip("numba")
    point = Scenario.of("burst", load_machine("mesh-256", {"network.sharing": "max_min"}), {"P": ranks}).bind()
    assert selection.chosen_engine(make_plan(point, ("hops", "links"), 0), "auto") == engine


@pytest.mark.parametrize("engine", ["SimPy", "numba", "", None, 3])
def test_unknown_engines(engine: object) -> None:
    with pytest.raises(InputError, match=r"allowed: auto, simpy, compiled"):
        simulate(*CASE, engine=engine)


def test_the_compiled_engine_needs_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "HAVE_NUMBA", False)
    with pytest.raises(InputError, match=r"needs Numba.*pip install simcodesign\[fast\]"):
        simulate(*CASE, engine="compiled")


def test_without_numba_large_runs_say_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "HAVE_NUMBA", False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert simulate(*CASE).engine == "simpy"
        assert caught == []
        monkeypatch.setattr(selection, "SIMPY_UP_TO", 100)
        assert [simulate(*CASE).engine for _ in range(2)] == ["simpy", "simpy"]
        assert simulate(*CASE, engine="simpy").engine == "simpy"
    (result,) = caught
    assert "Numba is not installed" in str(result.message)
    assert result.filename == __file__


def test_simpy_says_when_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    point = Scenario.of(*CASE).bind()
    enough = memory_estimate.run_bytes(make_plan(point, ()), "simpy")
    monkeypatch.setattr(memory_limit, "memory_bytes", lambda: enough)
    assert simulate(*CASE, effects="none", engine="simpy").makespan_s > 0
    with pytest.raises(CapacityError, match=r"on the SimPy engine.*allowed: the compiled engine"):
        simulate(*CASE, effects="links", engine="simpy")  # routes take more


# ---------------------------------------------------------------------------------------------------------------------
# Both engines


def same(one: object, other: object) -> bool:
    """To the last bit, field by field."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, StationUses):
        return list(one) == list(other)
    if isinstance(one, Timeline):
        rows = range(len(one.rank))
        if [one.stations_of(row) for row in rows] != [other.stations_of(row) for row in rows]:
            return False
        one, other = (replace(each, stations_of=None, services=None) for each in (one, other))  # only SimPy's records
    if is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, item.name), getattr(other, item.name)) for item in fields(one)
        )
    return one == other


@pytest.mark.parametrize("effects", ["none", "all", "links,disks"])
@pytest.mark.parametrize("name", ["jacobi", "cg-iteration", "collectives", "transpose", "burst"])
def test_both_engines_give_the_same_result(name: str, effects: str) -> None:
    pytest.importorskip("numba")
    one, other = (
        simulate(name, "torus-cluster", {"P": 8}, effects=effects, engine=engine, timeline=True)
        for engine in ("simpy", "compiled")
    )
    assert (one.engine, other.engine) == ("simpy", "compiled")
    for item in fields(Result):
        if item.name != "engine":
            assert same(getattr(one, item.name), getattr(other, item.name)), item.name


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_progress(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated time and events never go back, nor beyond what the Result says."""
    if engine == "compiled":
        pytest.importorskip("numba")
    module = simpy_engine if engine == "simpy" else pytest.importorskip("simcodesign.engine.compiled.engine")
    monkeypatch.setattr(module, "REPORT_EVERY", 50)
    calls: list[tuple[float, int]] = []
    result = simulate(*CASE, engine=engine, on_progress=lambda time, events: calls.append((time, events)))
    assert len(calls) > 3
    assert calls == sorted(calls)
    assert all(a[1] < b[1] for a, b in pairwise(calls))
    assert calls[-1][0] <= result.makespan_s
    assert calls[-1][1] <= result.events
