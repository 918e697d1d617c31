"""A key of a file is one declaration: its reader, its checks, the schema and the reference come from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.keys.forms import Choice, Constant, Expr, OneOf, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section
from simcodesign.describe.machine_parts.disk import DISK, Disk
from simcodesign.describe.schema.json_schema import json_schema
from simcodesign.describe.schema.key_table import KeyRow, key_table
from simcodesign.describe.yaml import machine
from simcodesign.describe.yaml.demands.base import READERS, demand
from simcodesign.describe.yaml.files import make_machine
from simcodesign.describe.yaml.tree import Entry

MACHINE: dict[str, Any] = {
    "name": "queues",
    "nodes": 2,
    "processor": {"rate": "1 GFLOP/s"},
    "network": {"startup": "1 us", "bandwidth": "1 GB/s", "topology": {"kind": "crossbar"}},
}
DISK_KEYS = {"read_startup": "1 ms", "write_startup": "1 ms", "bandwidth": "100 MB/s"}


@dataclass(frozen=True)
class QueuedDisk(Disk):
    """A disk with two properties that the package does not know."""

    queue: int = 16
    settle_s: float = 0.0


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both keys, declared for one test."""
    queue = Key("queue", Whole(1, 64), "requests that wait at a disk", "16")
    settle = Key("settle", Constant("time"), "time of the arm to settle", "0 s", field="settle_s")
    monkeypatch.setattr(machine, "DISK", Section(*DISK.keys, queue, settle))
    monkeypatch.setattr(machine, "Disk", QueuedDisk)


def disk(**keys: object) -> Disk | None:
    return make_machine({**MACHINE, "disk": {**DISK_KEYS, **keys}}).disk


@pytest.mark.usefixtures("declared")
def test_the_reader_knows_it() -> None:
    assert disk(queue=8, settle="2 ms") == QueuedDisk(1e-3, 1e-3, 1e-8, queue=8, settle_s=2e-3)
    assert disk() == QueuedDisk(1e-3, 1e-3, 1e-8)


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("queue", 65, r"disk\.queue: whole number out of range, got '65' \(allowed: 1 to 64\)"),
        ("queue", "many", r"disk\.queue: must be a number"),
        ("settle", "-1 ms", r"disk\.settle: out of range, got '-1 ms' \(allowed: a number of 0 or above"),
        ("settle", "1 GB", r"disk\.settle: .*'GB'"),
        ("setle", "1 ms", r"disk\.setle: unknown key.*did you mean 'settle'"),
    ],
)
def test_values_are_checked(key: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        disk(**{key: value})


def test_it_is_unknown_without_its_declaration() -> None:
    with pytest.raises(InputError, match=r"disk\.queue: unknown key"):
        disk(queue=8)


@pytest.mark.parametrize(("content", "value"), [("all", None), ("3", 3), ({}, "must be a number"), ("some", "number")])
def test_a_word_may_stand_in_place_of_a_number(content: Any, value: object) -> None:
    form, entry = OneOf(Choice({"all": None}), Whole(1)), Entry(content, Place("a.yaml", 1, "key"))
    if isinstance(value, str):
        with pytest.raises(InputError, match=f"a.yaml:1: key: .*{value}"):
            form.read(entry)
    else:
        assert form.read(entry) == value


@pytest.mark.usefixtures("declared")
def test_schema_and_reference_have_it() -> None:
    keys = json_schema("machine")["properties"]["disk"]["properties"]
    limits = {"type": "integer", "minimum": 1, "maximum": 64}
    assert keys["queue"] == {**limits, "description": "requests that wait at a disk", "default": 16}
    assert keys["settle"]["description"] == "time of the arm to settle; time: a number in s, or with a unit"
    rows = key_table("machine")
    assert KeyRow("disk.queue", "requests that wait at a disk", "whole number", "16", "1 to 64") in rows
    assert KeyRow("disk.settle", "time of the arm to settle", "time (s)", "0 s", "0 or above") in rows


def test_keys_of_a_demand_are_declared_with_it() -> None:
    declare = demand("nap", "ranks that do nothing", Key("minutes", Expr(), "for how long", required=True))
    declare(_no_demand)
    try:
        step = json_schema("workload")["$defs"]["step"]["properties"]["nap"]
        rows = [row for row in key_table("workload") if row.path.startswith("STEP.nap")]
    finally:
        READERS.remove("nap")
    assert step["properties"]["minutes"]["description"] == "for how long; an expression"
    assert (step["required"], step["additionalProperties"]) == (["minutes"], False)
    assert rows == [
        KeyRow("STEP.nap", "ranks that do nothing", "mapping", "", ""),
        KeyRow("STEP.nap.minutes", "for how long", "expression", "required", ""),
    ]


def _no_demand(name: str, entry: object, values: object) -> Any:
    raise NotImplementedError
