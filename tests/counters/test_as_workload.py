"""Models of hardware counters as workload files: both readings say what equation 2 says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.counters.as_workload import counter_workload_text, form_text, law_text, write_counter_workload
from simcodesign.counters.communication import Collective, PointToPoint
from simcodesign.counters.forms import AXES, FORMS, BestForm, Form
from simcodesign.counters.frequency_refinement import Refined
from simcodesign.counters.models import ApplicationModel, fit_application
from simcodesign.counters.prediction import predict
from simcodesign.counters.table import CounterTable, counter_table
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.studies.extrapolation.virtual_profiler import profiled
from tests.builders import read_machine, read_workload
from tests.oracles import counter_runs as made

EXACT = 1e-12
MACHINE = """
simcodesign: 1
name: profiled
nodes: 256
processor: {rate: 1 GFLOP/s, clock: 2 GHz}
network: {topology: {kind: crossbar}, sends: blocking, startup: 1 us, bandwidth: 1 GB/s, hop_latency: 1 us, receive_overhead: 1 us, link_bandwidth: 1.5 GB/s}
caches:
  L1: {size: 32 KiB, ways: 8, latency: 4 cycles}
  L2: {size: 256 KiB, ways: 8, latency: 12 cycles}
  L3: {size: 2 MiB, ways: 16, latency: 40 cycles}
memory: {latency: 80 ns, bandwidth: 10 TB/s}
disk: {read_startup: 5 ms, write_startup: 5 ms, bandwidth: 1 GB/s}
"""


@pytest.fixture(scope="module")
def machine() -> Machine:
    """That of the made-up runs: their clock and latencies."""
    return read_machine(MACHINE)


def workload(model: ApplicationModel, dimensions: float = 3) -> Workload:
    return read_workload(counter_workload_text(model, "made", dimensions=dimensions))


def check(model: ApplicationModel, machine: Machine, P: int, size: float | None = None, **options: float) -> None:
    """Both readings are the prediction, kernel by kernel and as a whole."""
    predicted = predict(model, P, size, guard=None, **options).breakdown  # type: ignore[arg-type]
    values: Mapping[str, object] = {"P": P} | ({} if size is None else {"size": size})
    written = workload(model, **options)
    for result in (sc.forecast(written, machine, values), sc.simulate(written, machine, values, effects="none")):
        assert result.makespan_s == pytest.approx(predicted.seconds, rel=EXACT)
        for kernel in predicted.kernels:
            times = result.phases[kernel.name.strip("()")]
            assert times["computation"] + times["memory"] == pytest.approx(kernel.seconds, rel=EXACT)
        assert sum(times["communication"] for times in result.phases.values()) == pytest.approx(
            predicted.communication_s, rel=EXACT
        )


@pytest.mark.thorough
@pytest.mark.parametrize("normal_form", [False, True])
@pytest.mark.parametrize(("P", "size"), [(2, None), (64, None), (100, None), (64, 8e6), (96, 1e5)])
def test_both_readings_are_the_prediction(machine: Machine, P: int, size: float | None, normal_form: bool) -> None:
    model = fit_application(made.runs((2, 4, 8, 16, 32)), latencies=made.LATENCIES, normal_form=normal_form)
    check(model, machine, P, size)


@pytest.mark.parametrize("dimensions", [1, 2, 3.5])
def test_volumes_grow_with_the_size(machine: Machine, dimensions: float) -> None:
    check(fit_application(made.runs(), latencies=made.LATENCIES), machine, 32, 64e6, dimensions=dimensions)


def test_part_of_communication_is_hidden(machine: Machine) -> None:
    model = fit_application(made.runs(exposed=0.4), latencies=made.LATENCIES)
    assert model.communication.blocking_factor == pytest.approx(0.4)
    check(model, machine, 64)


def test_refined_models(machine: Machine) -> None:
    model = fit_application(made.runs(), latencies=made.LATENCIES)
    check(model.refined({"solve": Refined(0.7, 0.25)}), machine, 64)


@pytest.mark.parametrize(
    "constants",
    [
        (PointToPoint(2e-9, -5e-5, 1.0), Collective(1e-4, 3e-9, -2e-4, 1.0)),
        (PointToPoint(2e-9, -1.0, 1.0), Collective(1e-4, 3e-9, -1.0, 1.0)),
        (PointToPoint(0.0, 0.0, 1.0), Collective(0.0, 0.0, 0.0, 1.0)),
    ],
)
def test_constants_below_zero(machine: Machine, constants: tuple[PointToPoint, Collective]) -> None:
    model = fit_application(made.runs(), latencies=made.LATENCIES)
    communication = replace(model.communication, p2p=constants[0], collective=constants[1])
    check(replace(model, communication=communication), machine, 48)


def without(table: CounterTable, *columns: str) -> CounterTable:
    rows = [
        {name: value for name, value in row.items() if name not in columns and value == value}
        for row in table.frame().to_dict("records")
    ]
    return counter_table([{str(name): value for name, value in row.items()} for row in rows])


@pytest.mark.parametrize(
    "columns",
    [
        ("llc_hits",),
        ("stall_cycles",),
        ("instructions",),
        ("cycles",),
        ("l1_hits", "l2_hits", "llc_hits", "memory_accesses", "stall_cycles"),
    ],
)
def test_counters_that_are_missing(machine: Machine, columns: tuple[str, ...]) -> None:
    check(fit_application(without(made.runs(), *columns), latencies=made.LATENCIES), machine, 64)


def test_runs_that_do_not_say_their_size(machine: Machine) -> None:
    model = fit_application(without(made.runs(), "size"), latencies=made.LATENCIES)
    check(model, machine, 64)
    assert "size" not in workload(model).parameters


def test_weak_scaling(machine: Machine) -> None:
    rows = [row for P in (2, 4, 8, 16) for row in made.rows(P, 1e5 * P)]
    model = fit_application(counter_table(rows), latencies=made.LATENCIES)
    check(model, machine, 128)


def test_what_is_written_can_be_profiled_and_fitted_again(machine: Machine) -> None:
    first = fit_application(made.runs(), latencies=made.LATENCIES)
    table = profiled(workload(first), machine, [2, 4, 8, 16], effects="none")
    again = fit_application(table, latencies=made.LATENCIES, threshold=1e-9)
    for P in (2, 32, 128):
        assert predict(again, P).seconds == pytest.approx(predict(first, P).seconds, rel=1e-9)


def test_nothing_that_was_measured_is_waited_for_again(machine: Machine) -> None:
    """With every effect: processors that share a slow memory and an interface, behind slow links."""
    model = fit_application(made.runs(), latencies=made.LATENCIES)
    assert machine.memory is not None
    crowded = replace(machine, processors_per_node=16, memory=replace(machine.memory, per_byte_s=1e-9))
    for P in (16, 64):
        result = sc.simulate(workload(model), crowded, {"P": P}, effects="all")
        assert result.makespan_s == pytest.approx(predict(model, P).seconds, rel=EXACT)


def test_the_rest_of_the_machine_counts(machine: Machine) -> None:
    """Twice the clock halves what is computed and looked up in caches, not what waits for memory or messages."""
    model = fit_application(made.runs(), latencies=made.LATENCIES)
    slow = sc.forecast(workload(model), machine, {"P": 64})
    fast = sc.forecast(workload(model), machine, {"P": 64, "processor.clock": 4e9})
    assert fast.phases["assemble"]["computation"] == pytest.approx(slow.phases["assemble"]["computation"] / 2)
    assert slow.phases["solve"]["memory"] / 2 < fast.phases["solve"]["memory"] < slow.phases["solve"]["memory"]
    assert fast.components["communication"] == slow.components["communication"]


@given(
    form=st.builds(
        Form, st.sampled_from(FORMS), st.sampled_from(AXES), st.floats(-1e3, 1e3), st.floats(-3, 3), st.just(1.0)
    ),
    x=st.floats(0.5, 50),
)
def test_a_form_is_its_text(form: Form, x: float) -> None:
    value = parse(form_text(form, "x")).evaluate({"x": np.float64(x)})
    assert float(value) == pytest.approx(form.evaluate(x), rel=1e-12, abs=1e-300)


@given(
    forms=st.lists(
        st.builds(
            Form, st.sampled_from(FORMS[:4]), st.sampled_from(AXES), st.floats(-10, 10), st.floats(-2, 2), st.just(1.0)
        ),
        min_size=1,
        max_size=5,
    ),
    P=st.floats(1, 100),
    work=st.floats(0.1, 100),
)
def test_a_law_is_its_text(forms: list[Form], P: float, work: float) -> None:
    law = BestForm((*forms, Form("constant", "processes", 7.0, 0.0, 0.0)))
    value = parse(law_text(law, "P", "work")).evaluate({"P": np.float64(P), "work": np.float64(work)})
    assert float(value) == pytest.approx(law.at(P, work), rel=1e-12, abs=1e-300)


def test_a_law_that_is_always_below_zero_is_cut_off() -> None:
    law = BestForm((Form("constant", "processes", -1.0, 0.0, 1.0),))
    assert float(parse(law_text(law, "P", "work")).evaluate({})) == 0.0


def test_names_of_kernels(machine: Machine, tmp_path: Path) -> None:
    """Whatever a profiler calls them: no two alike, nothing that YAML could take for something else."""
    table = made.runs()
    names = {"solve": 'a "b": {c}\n', "exchange_ghosts": "log", "assemble": "x" * 300, "small_a": "P", "small_b": "P "}
    renamed = CounterTable(tuple(names.get(name, name) for name in table.kernels), table.classes, table.values)
    model = fit_application(renamed, latencies=made.LATENCIES, threshold=1e-9)
    path = tmp_path / "named.yaml"
    write_counter_workload(model, path, source='runs: "1"')
    result = sc.forecast(path, machine, {"P": 64})
    assert result.workload == "named"
    assert result.makespan_s == pytest.approx(predict(model, 64).seconds, rel=EXACT)


def test_bad_input() -> None:
    model = fit_application(made.runs())
    for dimensions in (0.5, float("nan"), -1):
        with pytest.raises(InputError, match=r"the problem must be divided in one dimension or more.*1 or above"):
            counter_workload_text(model, "made", dimensions=dimensions)
