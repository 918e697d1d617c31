"""The public functions that combine several parts: each gives what its parts give."""

from __future__ import annotations

from inspect import Parameter, signature
from pathlib import Path

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.fitting.readers.formats import read_measurements

PING_PONG = "# OSU MPI Latency Test v7.0\n# Size  Latency (us)\n1000  2\n2000  3\n9000  10\n"
#: Verbs, each with the parameters that come before its options.
VERBS = [sc.forecast, sc.simulate, sc.compare, sc.sweep, sc.explore, sc.calibrate, sc.validate, sc.read_table]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_few_parameters_come_before_the_options(verb) -> None:
    assert verb.__code__.co_argcount + verb.__code__.co_kwonlyargcount <= 8
    assert all(one.kind is not Parameter.VAR_KEYWORD for one in signature(verb).parameters.values())


def test_the_optimum_is_that_of_all_forecasts() -> None:
    ranks = [1, 2, 4, 8, 16, 32, 64, 128, 256]
    times_s = sc.forecast("jacobi", "torus-cluster", {"n": 512, "P": ranks}).makespan_s
    best = sc.explore("jacobi", "torus-cluster", {"n": 512}, vary={"P": ranks})
    assert best.point.values == {"P": ranks[int(np.argmin(times_s))]}
    assert best.objective == np.min(times_s)


def test_a_constraint_and_what_is_maximized() -> None:
    """Of 2, 4, 8 and 16, 8 is the largest that is at most 9."""
    found = sc.explore("jacobi", "torus-cluster", vary={"P": "2,4,8,16"}, maximize="P", subject_to="P <= 9")
    assert found.point.values == {"P": 8.0}


def test_a_scenario_is_explored() -> None:
    scenario = sc.Scenario.of("jacobi", "torus-cluster", {"n": 512})
    alone = sc.explore(scenario, vary=["P=4,64"])
    assert alone.objective == sc.explore("jacobi", "torus-cluster", {"n": 512}, vary=["P=4,64"]).objective


def test_a_sweep_takes_parameters_and_scenarios() -> None:
    """Numbers in SI units, texts, and those of a scenario give the same table."""
    swept = sc.sweep("jacobi", "torus-cluster", {"n": 512, "network.startup": 2e-6}, vary={"P": [4, 16]})
    texts = sc.sweep("jacobi", "torus-cluster", {"n": "512", "network.startup": "2 us"}, vary=["P=4,16"])
    scenario = sc.Scenario.of("jacobi", "torus-cluster", {"n": 512, "network.startup": 2e-6})
    times_s = [sc.forecast(scenario.at({"P": ranks})).makespan_s for ranks in (4, 16)]
    for one in (swept, texts, sc.sweep(scenario, vary={"P": [4, 16]})):
        assert one.table["forecast_makespan_s"].tolist() == pytest.approx(times_s, rel=1e-12)


def test_what_is_varied_is_not_set() -> None:
    with pytest.raises(InputError, match="set and varied"):
        sc.explore("jacobi", "torus-cluster", {"P": 4}, vary={"P": [4, 8]})


def test_a_table_is_read_by_its_content(tmp_path: Path) -> None:
    """Of benchmarks the rows, else measurements; both are fitted, as their file is."""
    latency, runs = tmp_path / "latency.txt", tmp_path / "runs.csv"
    latency.write_text(PING_PONG, encoding="utf-8")
    runs.write_text("p,value\n2,6\n4,12\n8,24\n16,48\n32,96\n", encoding="utf-8")
    assert [row.parameters["bytes"] for row in sc.read_table(latency).rows] == [1000, 2000, 9000]
    assert sc.read_table(runs).parameters == ("p",)
    for path in (latency, runs):
        known = sc.fit(read_measurements(path))
        assert [one.model.text for one in sc.fit(path)] == [one.model.text for one in known]
        assert [one.model.text for one in sc.fit(sc.read_table(path))] == [one.model.text for one in known]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unknown": ["network.startup"]}, "unknown without a workload"),
        ({"parameters": {"P": 2}}, "parameters without a workload"),
        ({"workload": "ping-pong", "segments": 2}, "segments with a workload"),
    ],
)
def test_options_of_the_other_calibration(options: dict[str, object], words: str, tmp_path: Path) -> None:
    file = tmp_path / "latency.txt"
    file.write_text(PING_PONG, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        sc.calibrate("crossbar-16", file, **options)


def test_a_machine_without_a_file_has_no_benchmarks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="constants of a machine in a file"):
        sc.calibrate(sc.Machine.load("crossbar-16"), tmp_path / "latency.txt")  # type: ignore[call-overload]
