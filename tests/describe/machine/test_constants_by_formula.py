"""Constants of a machine that its file states as formulas of its parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml.files import load_machine
from tests import examples

TEXT = """
simcodesign: 1
name: by-formula
nodes: 4
processors_per_node: 2
parameters:
  clock: {default: 2 GHz, unit: Hz, range: [1e8, 1e10]}
  lanes: 4
properties: {link: 1e9*lanes}
processor: {rate: 8*clock, clock: clock, dynamic_power: 200*(clock/2e9)**3}
network:
  topology: {kind: crossbar}
  startup: 1e-6*nodes
  bandwidth: link
  dynamic_power: 0.5 + link/1e9
memory: {latency: 100 ns, bandwidth: 5*link}
components: {cable: {count: nodes, price: 10 + link/1e8}}
"""


def machine(folder: Path, *changes: tuple[str, str]) -> Machine:
    text = TEXT
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = folder / "machine.yaml"
    path.write_text(text)
    return load_machine(path)


def test_defaults(tmp_path: Path) -> None:
    read = machine(tmp_path)
    constants, powers = read.constants(), read.powers()
    assert constants["processor.rate"] == 16e9
    assert constants["processor.clock"] == 2e9
    assert constants["network.startup"] == 4e-6
    assert constants["network.per_byte"] == 1 / 4e9
    assert constants["memory.per_byte"] == 1 / 20e9
    assert powers == {"processor.dynamic_power": 200.0, "network.dynamic_power": 4.5}
    assert read.totals().price == 4 * 50


@settings(max_examples=examples(20), deadline=None)
@given(st.floats(1e8, 1e10), st.floats(0.5, 64))
def test_parameters_change_what_depends_on_them(clock: float, lanes: float) -> None:
    read = machine_once().with_constants({"machine.clock": clock, "machine.lanes": lanes})
    assert read.constants()["processor.rate"] == pytest.approx(8 * clock, rel=1e-12)
    assert read.powers()["processor.dynamic_power"] == pytest.approx(200 * (clock / 2e9) ** 3, rel=1e-12)
    assert read.constants()["network.per_byte"] == pytest.approx(1 / (1e9 * lanes), rel=1e-12)
    assert read.powers()["network.dynamic_power"] == pytest.approx(0.5 + lanes, rel=1e-12)


def machine_once() -> Machine:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return machine(Path(folder))


def test_arrays_and_one_after_another(tmp_path: Path) -> None:
    clocks = np.array([1e9, 4e9])
    read = machine(tmp_path).with_constants({"machine.clock": clocks})
    assert np.asarray(read.constants()["processor.rate"]).tolist() == [8e9, 32e9]
    again = read.with_constants({"machine.lanes": 8.0})
    assert np.asarray(again.constants()["processor.rate"]).tolist() == [8e9, 32e9]
    assert again.constants()["network.per_byte"] == 1 / 8e9


def test_a_value_of_its_own_replaces_the_formula(tmp_path: Path) -> None:
    read = machine(tmp_path).with_constants({"processor.rate": 5e9})
    assert read.with_constants({"machine.clock": 3e9}).constants()["processor.rate"] == 5e9
    together = machine(tmp_path).with_constants({"processor.rate": 5e9, "machine.clock": 4e9})
    assert together.constants()["processor.rate"] == 5e9
    assert together.powers()["processor.dynamic_power"] == 1600.0
    set_in_file = load_machine(tmp_path / "machine.yaml", {"processor.rate": "7 GFLOP/s"})
    assert set_in_file.with_constants({"machine.clock": 4e9}).constants()["processor.rate"] == 7e9


def test_a_formula_may_be_set(tmp_path: Path) -> None:
    machine(tmp_path)
    read = load_machine(tmp_path / "machine.yaml", {"processor.rate": "16*clock"})
    assert read.with_constants({"machine.clock": 1e9}).constants()["processor.rate"] == 16e9


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("8*clock", "8*clok", "clok"),
        ("8*clock", "clok", "rate"),
        ("8*clock", "clock - 2e9", "out of range"),
        ("8*clock", "clock/(lanes - 4)", "not finite"),
        ("bandwidth: link\n", "bandwidth: link - 4e9\n", "bandwidth"),
    ],
)
def test_bad_formulas_name_their_place(tmp_path: Path, before: str, after: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        machine(tmp_path, (before, after))
    assert words in str(caught.value)
    assert "machine.yaml" in str(caught.value)
