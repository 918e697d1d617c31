"""A collective algorithm of another package: three registrations, and every reading of a workload knows it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from simcodesign import Machine, Workload, forecast, simulate
from simcodesign.analytic.bounds import bounds_of
from simcodesign.analytic.collectives.algorithm_form import ALGORITHM_FORMS
from simcodesign.analytic.formulas.formula import formula
from simcodesign.analytic.formulas.model_text import model_texts
from simcodesign.analytic.requirements_per_process import requirements
from simcodesign.core.errors import InputError
from simcodesign.describe.demands.collective import ALGORITHMS, register_algorithm
from simcodesign.describe.design_point import bind
from simcodesign.generate.messages.collectives.algorithm_messages import MESSAGES
from tests import ROOT
from tests.extension import chain
from tests.extension.installation import install, run
from tests.system.documentation import csv_rows

KEY = ("broadcast", "backwards")
WORKLOAD = """
simcodesign: 1
name: pipeline
parameters: {P: {default: 8}, n: {default: 1000}}
program:
  - broadcast: {bytes: 8*n, algorithm: backwards}
"""
MACHINES = {
    "hockney": {},
    "receive overhead": {"network.receive_overhead": 3e-6, "network.hop_latency": 1e-6},
    "loggop": {"network.L": 2e-6, "network.o": 1e-6, "network.g": 2e-6, "network.G": 6e-9},
}
RECORDS = (MESSAGES[KEY], ALGORITHM_FORMS[KEY])


def withdraw() -> None:
    ALGORITHMS["broadcast"].remove("backwards")
    MESSAGES.remove(KEY)
    ALGORITHM_FORMS.remove(KEY)


@pytest.fixture
def registered() -> Iterator[None]:
    """The algorithm, registered for one test only."""
    register_algorithm(*KEY)
    MESSAGES.add(KEY, RECORDS[0])
    ALGORITHM_FORMS.add(KEY, RECORDS[1])
    yield
    withdraw()


# Importing the module registered it; other tests see the shipped algorithms alone.
withdraw()


def file(folder: Path) -> Path:
    path = folder / "pipeline.yaml"
    path.write_text(WORKLOAD)
    return path


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("changes", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 13])
def test_both_readings_agree(tmp_path: Path, ranks: int, changes: dict[str, float]) -> None:
    workload, machine = Workload.load(file(tmp_path)), Machine.load("crossbar-16").with_constants(changes)
    foreseen, simulated = (read(workload, machine, {"P": ranks}) for read in (forecast, simulate))
    assert simulated.makespan_s == pytest.approx(foreseen.makespan_s, rel=1e-12)
    assert (simulated.messages, simulated.message_bytes) == (foreseen.messages, foreseen.message_bytes)
    assert foreseen.message_bytes == 8000 * (ranks - 1)
    limits = bounds_of(bind(workload, machine, {"P": ranks}))
    assert limits is not None
    assert limits.least_s(()) <= simulated.makespan_s * (1 + 1e-12) <= limits.upper_s * (1 + 1e-9)


@pytest.mark.usefixtures("registered")
def test_the_time_is_that_of_whole_messages_in_a_row(tmp_path: Path) -> None:
    machine = Machine.load("crossbar-16")
    network, ranks = machine.network, np.arange(1.0, 16.0)
    message_s = (
        network.message_model.startup_s
        + network.hop_latency_s
        + network.message_model.receive_overhead_s
        + 8000 * network.message_model.per_byte_s
    )
    times = forecast(Workload.load(file(tmp_path)), machine, {"P": ranks}).makespan_s
    assert times == pytest.approx((ranks - 1) * message_s, rel=1e-12)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_several_in_a_row_are_pipelined(tmp_path: Path, ranks: int) -> None:
    path = file(tmp_path)
    path.write_text(WORKLOAD.replace("- broadcast: {", "- repeat: 5\n    do:\n    - broadcast: {"))
    workload, machine = Workload.load(path), Machine.load("crossbar-16").with_constants(MACHINES["receive overhead"])
    foreseen, simulated = (
        forecast(workload, machine, {"P": ranks}),
        simulate(workload, machine, {"P": ranks}, effects="none"),
    )
    assert foreseen.pipelined is not None
    assert foreseen.pipelined.makespan_s == pytest.approx(simulated.makespan_s, rel=1e-12)


@pytest.mark.usefixtures("registered")
def test_requirements_and_formulas_know_it(tmp_path: Path) -> None:
    workload = Workload.load(file(tmp_path))
    for counting in ("cost_functions", "messages"):
        sent = requirements(workload, {"P": 8}, counting=counting).sent_bytes
        assert sent == pytest.approx(8000 * 7 / 8, rel=1e-12)
    assert model_texts(workload, {"P": 8.0, "n": 1000.0})["sent_bytes"] == "8 n Bcast_backwards(p)"
    sympy = pytest.importorskip("sympy")
    P, n, t_s, t_B = sympy.symbols("P n t_s t_B")
    assert sympy.simplify(formula(workload)["main"] - (P - 1) * (t_s + 8 * n * t_B)) == 0


def test_unregistered_it_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"algorithm: not one of the choices, got 'backwards'.*binary_tree, bine, binomial, chain, four_chains, in_switch, interleaved_binary_tree, linear, scatter_allgather",
    ):
        Workload.load(file(tmp_path))


@pytest.mark.usefixtures("registered")
def test_a_reading_that_does_not_know_it_says_so(tmp_path: Path) -> None:
    workload, machine = Workload.load(file(tmp_path)), Machine.load("crossbar-16")
    MESSAGES.remove(KEY)
    with pytest.raises(InputError, match=r"cannot be simulated, got 'broadcast: backwards'"):
        simulate(workload, machine)
    MESSAGES.add(KEY, RECORDS[0])
    ALGORITHM_FORMS.remove(KEY)
    with pytest.raises(InputError, match=r"cannot be forecast, got 'broadcast: backwards'"):
        forecast(workload, machine)
    ALGORITHM_FORMS.add(KEY, RECORDS[1])


def test_an_operation_may_be_new(tmp_path: Path) -> None:
    """Its first algorithm is the default."""
    register_algorithm("pipeline", "backwards")
    key = ("pipeline", "backwards")
    MESSAGES.add(key, RECORDS[0])
    ALGORITHM_FORMS.add(key, RECORDS[1])
    path = tmp_path / "new.yaml"
    path.write_text(WORKLOAD.replace("broadcast: {bytes: 8*n, algorithm: backwards}", "pipeline: {bytes: 8*n}"))
    workload, machine = Workload.load(path), Machine.load("crossbar-16")
    assert simulate(workload, machine).message_bytes == forecast(workload, machine).message_bytes == 56_000
    for registry in (MESSAGES, ALGORITHM_FORMS):
        registry.remove(key)
    ALGORITHMS.remove("pipeline")


def test_the_documentation_names_every_shipped_algorithm() -> None:
    page = (ROOT / "docs" / "what-is-modelled.md").read_text(encoding="utf-8")
    rows = csv_rows("collective-rounds")
    for operation, algorithms in ALGORITHMS.items():
        described = [row["algorithm"].strip("`") for row in rows if row["operation"] == f"`{operation}`"]
        assert described == [name for name in algorithms if name in described]
        assert all(f"`{name}`" in page for name in algorithms if name not in described)


@pytest.mark.usefixtures("registered")
def test_a_second_algorithm_of_the_name_is_refused() -> None:
    with pytest.raises(InputError, match="registered already"):
        ALGORITHM_FORMS.add(KEY, ALGORITHM_FORMS["broadcast", "linear"])


@pytest.mark.thorough
def test_an_entry_point_of_an_installed_package_is_found(tmp_path: Path) -> None:
    shutil.copy(chain.__file__, tmp_path / "chain_broadcast.py")
    install(tmp_path, "chain_broadcast", "[simcodesign.collectives]\nbackwards = chain_broadcast\n")
    path = str(file(tmp_path))
    shown = run(tmp_path, "show", path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "broadcast (backwards), 8*n bytes" in shown.stdout
    compared = run(tmp_path, "compare", path, "crossbar-16", "-P", "8")
    assert (compared.returncode, compared.stderr) == (0, "")
