"""What a machine file defines of its own: read, checked, evaluated."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import Custom, Totals
from simcodesign.describe.workload import Workload
from tests.builders import read_machine, read_workload

HEAD = """simcodesign: 1
name: own
nodes: 4
processors_per_node: 2
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s, sends: blocking}
"""
FULL = """parameters:
  clock: {default: 2 GHz, unit: Hz, range: [1 GHz, 4 GHz]}
  width: 4
properties:
  peak: width*doubled*processors
  doubled: 2*clock
resources:
  flops: {argument: n, instances: width, time: n/clock, traits: {dp: base*2, "many(k)": k*base + n/peak}, dynamic_power: 3 W}
  loads: {time: 1e-9 + amount/1e9, energy: 1e-9*amount}
  idle: 1e-3
conflicts: [[flops, loads]]
components:
  board: {count: nodes, static_power: 100 W, rack_units: 2, price: 1000}
  chip: {count: processors, static_power: clock*1e-9, die_area: 500 mm2}
"""
WORKLOAD = """simcodesign: 1
name: w
program: [{execute: {uses: [USES]}}]
"""


def machine(text: str = FULL) -> Machine:
    return read_machine(HEAD + text)


def using(uses: str, rest: str = "") -> Workload:
    return read_workload(WORKLOAD.replace("USES", uses) + rest)


def seconds(uses: str, given: dict[str, object] | None = None) -> object:
    return forecast(using(uses), machine(), given).makespan_s


def test_properties_and_totals() -> None:
    own = machine()
    assert own.properties() == {"peak": 4 * 4e9 * 8, "doubled": 4e9}
    assert own.totals() == Totals(8.0, 8 * 500e-6, 4000.0, 4 * 100 + 8 * 2.0)
    faster = own.with_constants({"machine.clock": np.array([1e9, 3e9])})
    assert faster.totals().static_power_w == pytest.approx([408, 424])
    assert faster.properties()["doubled"] == pytest.approx([2e9, 6e9])
    assert machine("").totals() == Totals(None, None, None, None)
    assert not machine("").has_power
    assert own.has_power


def test_time_and_traits_in_order() -> None:
    # 2e9 flops at 2 GHz: 1 s; dp doubles; many(3) triples and adds 2e9 flops / 1.28e11.
    assert seconds("{flops: 2e9}") == 1.0
    assert seconds("{flops: 2e9, traits: [dp]}") == 2.0
    assert seconds("{flops: 2e9, traits: [dp, {many: 3}]}") == pytest.approx(6 + 2e9 / 1.28e11)
    assert seconds("{flops: 2e9, traits: [{many: 3}, dp]}") == pytest.approx(2 * (3 + 2e9 / 1.28e11))
    assert seconds("{loads: 1e9}") == pytest.approx(1 + 1e-9)
    assert seconds("{idle: 5}") == 1e-3


def test_parameters_are_set_and_varied() -> None:
    assert seconds("{flops: 2e9}", {"machine.clock": "1 GHz"}) == 2.0
    assert seconds("{flops: 2e9}", {"machine.clock": [1e9, 4e9]}) == pytest.approx([2.0, 0.5])
    # By rank, too: rank 7 works longest.
    described = using("{flops: 2e9*(1 + rank)}")
    varied = forecast(described, machine(), {"machine.clock": [1e9, 4e9]})
    assert varied.makespan_s == pytest.approx([16.0, 4.0])
    assert varied.energy_j == pytest.approx([408 * 16 + 3 * 72, 432 * 4 + 3 * 18])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("properties: {a: b, b: a}", r"m\.yaml:8?.*a -> b -> a"),
        ("properties: {a: clok}\nparameters: {clock: 1}", "clok.*did you mean 'clock'"),
        ("properties: {nodes: 1}", "nodes is a reserved name"),
        ("properties: {a: 1}\nparameters: {a: 1}", "m.yaml:7.*name of a parameter"),
        ("resources: {f: {time: amount/clok}}", "unknown name, got 'clok'"),
        ("resources: {f: {time: n/2, argument: m}}", "unknown name, got 'n'"),
        ("resources: {f: {time: amount, instances: amount}}", "unknown name, got 'amount'"),
        ("resources: {f: {time: base}}", "unknown name, got 'base'"),
        ("resources: {f: {time: 1, argument: nodes}}", "name of something else"),
        ("resources: {f: {time: 1, traits: {'t(amount)': base}}}", "name of something else"),
        ("resources: {f: {time: 1, traits: {'t(': base}}}", "not a trait"),
        ("resources: {f: {instances: 1}}", "'time' is missing"),
        ("resources: {from: 1}", "a reserved name"),
        ("resources: {f: 1}\nconflicts: [[f, g]]", r"m\.yaml:8.*unknown resource, got 'g'"),
        ("resources: {f: 1}\nconflicts: [[f]]", "two resources or more"),
        ("components: {c: {count: n}}", "unknown name, got 'n'"),
        ("components: {c: {static_power: 3 V}}", "W"),
        ("components: {c: {area: 3}}", "unknown key, got 'area'"),
        ("parameters: {a: {range: [2, 1]}}", "lowest value is above the highest, got '\\[2, 1\\]'"),
        ("parameters: {a: {default: 3, range: [1, 2]}}", "at most 2"),
    ],
)
def test_errors_of_a_machine(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        machine(text + "\n")


@pytest.mark.parametrize(
    ("uses", "message"),
    [
        ("{flop: 1}", r"w\.yaml:3.*no such resource, got 'flop': did you mean 'flops'"),
        ("{flops: 1, traits: [dpp]}", "no such trait, got 'dpp'.*did you mean 'dp'"),
        ("{flops: 1, traits: [many]}", "'many' needs an argument"),
        ("{flops: 1, traits: [{dp: 2}]}", "'dp' has no argument"),
        ("{flops: 1, loads: 1}", "a use names one resource"),
        ("{traits: [dp]}", "a use names one resource"),
        ("{loads: 1, from: a, to: a}", "a use names one resource"),
        ("{loads: 1, from: a}", "unknown data, got 'a'"),
        ("{loads: n}", "unknown name, got 'n'"),
        ("{loads: -1}", "negative"),
        ("", "nothing is used"),
    ],
)
def test_errors_of_a_use(uses: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        seconds(uses)


def test_errors_of_values() -> None:
    own = machine()
    for changed, message in (
        ({"machine.clock": 5e9}, "got .5 GHz.*at most 4 GHz"),
        ({"machine.clok": 1e9}, "did you mean 'machine.clock'"),
        ({"machine.width": 0}, "instances of flops = width is 0"),
        ({"machine.width": -1}, "negative"),
    ):
        with pytest.raises(InputError, match=message):
            forecast(using("{flops: 1}"), own, changed)
    with pytest.raises(InputError, match="no default"):
        machine("parameters: {a: {unit: s}}\nproperties: {b: a}\n").properties()
    with pytest.raises(InputError, match="not finite"):
        machine("parameters: {a: 0}\nproperties: {b: 1/a}\n").properties()
    with pytest.raises(InputError, match="negative or not finite"):
        forecast(using("{f: 1}"), machine("resources: {f: {time: 1 - 2*amount}}\n"))


def test_data_is_the_footprint() -> None:
    both = using("{loads: 1, from: a}", "data: {a: 8*P, b: 100}\n")
    assert forecast(both, machine(), {"P": 4}).footprint_bytes == 132
    result = using("{loads: 1, to: b}", "data: {a: 8*P, b: 100}\nfootprint: 7\n")
    assert forecast(result, machine()).footprint_bytes == 7


def test_nothing_of_its_own() -> None:
    assert not Custom()
    assert machine("").custom == Custom()
