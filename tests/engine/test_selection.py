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
from simcodesign.engine.native import engine as native_engine
from simcodesign.engine.reference import engine as simpy_engine
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan

CASE = ("jacobi", "torus-cluster", {"P": 8})


#: With fair sharing and so many ranks a burst is 240 and 2,256 messages; the latter took SimPy 3.3 s.
FEW, MANY = 16, 48


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without the compiled engine, about which nothing has been said yet."""
    monkeypatch.setattr(selection, "library", lambda: None)
    selection._warn_that_it_takes_long.cache_clear()
    yield
    selection._warn_that_it_takes_long.cache_clear()


def test_runs_take_the_compiled_engine() -> None:
    assert simulate(*CASE).engine == "compiled"
    assert simulate(*CASE, engine="simpy").engine == "simpy"


def test_small_timelines_take_simpy_which_records_services(monkeypatch: pytest.MonkeyPatch) -> None:
    result = simulate(*CASE, timeline=True)
    assert result.engine == "simpy"
    assert result.timeline.services is not None
    monkeypatch.setattr(selection, "SIMPY_UP_TO", len(result.timeline.rank))
    assert simulate(*CASE, effects="hops", timeline=True).engine == "simpy"
    assert simulate(*CASE, effects="links", timeline=True).engine == "compiled"  # hops count as operations do


@pytest.mark.parametrize(("ranks", "engine"), [(FEW, "simpy"), (MANY, "compiled")])
def test_messages_with_fair_shares_count_several_times(ranks: int, engine: str) -> None:
    point = Scenario.of("burst", load_machine("mesh-256", {"network.sharing": "max_min"}), {"P": ranks}).bind()
    assert selection.chosen_engine(make_plan(point, ("hops", "links"), 0), "auto", records_services=True) == engine


@pytest.mark.parametrize("engine", ["SimPy", "numba", "", None, 3])
def test_unknown_engines(engine: object) -> None:
    with pytest.raises(InputError, match=r"allowed: auto, simpy, compiled"):
        simulate(*CASE, engine=engine)


@pytest.mark.usefixtures("no_library")
def test_the_compiled_engine_may_not_be_installed() -> None:
    with pytest.raises(InputError, match=r"not installed.*allowed: simpy; or install a C compiler"):
        simulate(*CASE, engine="compiled")


@pytest.mark.usefixtures("no_library")
def test_without_the_compiled_engine_large_runs_say_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert simulate(*CASE).engine == "simpy"
        assert caught == []
        monkeypatch.setattr(selection, "SIMPY_UP_TO", 100)
        assert [simulate(*CASE).engine for _ in range(2)] == ["simpy", "simpy"]
        assert simulate(*CASE, engine="simpy").engine == "simpy"
    (result,) = caught
    assert "the compiled engine is not installed" in str(result.message)
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
    module = simpy_engine if engine == "simpy" else native_engine
    monkeypatch.setattr(module, "REPORT_EVERY", 50)
    calls: list[tuple[float, int]] = []
    result = simulate(*CASE, engine=engine, on_progress=lambda time, events: calls.append((time, events)))
    assert len(calls) > 3
    assert calls == sorted(calls)
    assert all(a[1] < b[1] for a, b in pairwise(calls))
    assert calls[-1][0] <= result.makespan_s
    assert calls[-1][1] <= result.events
