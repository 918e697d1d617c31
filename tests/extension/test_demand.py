"""A kind of demand of another package: a reader, a closed form and a lowering, and both readings know it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from simcodesign import Machine, Workload, forecast, simulate
from simcodesign.analytic.bounds import bounds_of
from simcodesign.analytic.demands.base import CLOSED_FORMS
from simcodesign.analytic.formulas.formula import formula
from simcodesign.analytic.formulas.model_text import model_texts
from simcodesign.analytic.requirements_per_process import requirements
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.yaml.demands.base import READERS
from simcodesign.generate.demands.base import LOWERINGS
from tests.extension import sleep
from tests.extension.installation import install, run

WORKLOAD = """
simcodesign: 1
name: nap
parameters: {P: {default: 4}, t: {default: 0.25, unit: s}, n: {default: 3}}
program:
  - phase: rest
    repeat: n
    do:
      - sleep: {seconds: t}
      - compute: {seconds: 0.125}
  - sleep: {seconds: 2*t}
  - barrier: {}
"""
UNEVEN = """
simcodesign: 1
name: shifts
parameters: {P: {default: 4}, n: {default: 3}}
program:
  - repeat: n
    do:
      - sleep: {seconds: 0.1*(rank + 1), when: rank != 2}
      - compute: {flops: 1e6*(8 - rank)}
"""
RECORDS = READERS["sleep"], CLOSED_FORMS[sleep.Sleep], LOWERINGS[sleep.Sleep]


def withdraw() -> None:
    READERS.remove("sleep")
    CLOSED_FORMS.remove(sleep.Sleep)
    LOWERINGS.remove(sleep.Sleep)


@pytest.fixture
def registered() -> Iterator[None]:
    """The demand, registered for one test only."""
    READERS.add("sleep", RECORDS[0])
    CLOSED_FORMS.add(sleep.Sleep, RECORDS[1])
    LOWERINGS.add(sleep.Sleep, RECORDS[2])
    yield
    withdraw()


# Importing the module registered it; other tests see the shipped demands alone.
withdraw()


def file(folder: Path, text: str = WORKLOAD) -> Path:
    path = folder / "nap.yaml"
    path.write_text(text)
    return path


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("text", [WORKLOAD, UNEVEN], ids=["alike", "by rank"])
@pytest.mark.parametrize("ranks", [1, 2, 4, 7])
def test_both_readings_agree(tmp_path: Path, text: str, ranks: int) -> None:
    workload, machine = Workload.load(file(tmp_path, text)), Machine.load("crossbar-16")
    foreseen, simulated = (read(workload, machine, {"P": ranks}) for read in (forecast, simulate))
    assert simulated.makespan_s == pytest.approx(foreseen.makespan_s, rel=1e-12)
    limits = bounds_of(bind(workload, machine, {"P": ranks}))
    assert limits is not None
    assert limits.least_s(()) <= simulated.makespan_s * (1 + 1e-12) <= limits.upper_s * (1 + 1e-9)


@pytest.mark.usefixtures("registered")
def test_it_is_booked_in_its_phase_as_often_as_it_is_done(tmp_path: Path) -> None:
    times = np.array([0.25, 0.5, 1.0])
    result = forecast(Workload.load(file(tmp_path)), Machine.load("crossbar-16"), {"t": times})
    assert result.phases["rest"]["computation"] == pytest.approx(3 * (times + 0.125), rel=1e-15)
    assert result.phases["main"]["computation"] == pytest.approx(2 * times, rel=1e-15)


@pytest.mark.usefixtures("registered")
def test_it_has_no_requirements_and_no_formula(tmp_path: Path) -> None:
    workload = Workload.load(file(tmp_path))
    assert requirements(workload, {"P": 8}).flops == 0
    assert "flops" not in model_texts(workload, {"P": 8.0, "t": 1.0, "n": 3.0})
    pytest.importorskip("sympy")
    with pytest.raises(InputError, match="no formula"):
        formula(workload)


def test_unregistered_it_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown step, got 'sleep'"):
        Workload.load(file(tmp_path))


@pytest.mark.usefixtures("registered")
def test_a_reading_that_does_not_know_it_says_so(tmp_path: Path) -> None:
    workload, machine = Workload.load(file(tmp_path)), Machine.load("crossbar-16")
    for registry, read in ((CLOSED_FORMS, forecast), (LOWERINGS, simulate)):
        record = registry[sleep.Sleep]
        registry.remove(sleep.Sleep)
        with pytest.raises(InputError, match="got 'Sleep'"):
            read(workload, machine)
        registry.add(sleep.Sleep, record)


@pytest.mark.thorough
def test_an_entry_point_of_an_installed_package_is_found(tmp_path: Path) -> None:
    shutil.copy(sleep.__file__, tmp_path / "sleep_demand.py")
    install(tmp_path, "sleep_demand", "[simcodesign.demands]\nsleep = sleep_demand\n")
    path = str(file(tmp_path))
    shown = run(tmp_path, "show", path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "sleep 2*t" in shown.stdout
    compared = run(tmp_path, "compare", path, "crossbar-16", "-P", "8")
    assert (compared.returncode, compared.stderr) == (0, "")
