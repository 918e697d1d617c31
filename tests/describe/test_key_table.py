"""What the table of keys says of defaults and ranges is what the readers do; the schema takes every form of a key."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from simcodesign.core.errors import InputError
from simcodesign.describe.schema.json_schema import json_schema
from simcodesign.describe.schema.key_table import KeyRow, key_table
from simcodesign.describe.yaml.files import make_machine, make_workload
from simcodesign.studies.sweep.content_digest import digest

pytestmark = pytest.mark.thorough
#: A machine with every part, and in each no more than there must be.
MACHINE: dict[str, Any] = {
    "name": "whole",
    "nodes": 16,
    "processor": {"rate": "1 GFLOP/s"},
    "network": {
        "startup": "1 us",
        "bandwidth": "1 GB/s",
        "topology": {"kind": "mesh", "shape": [4, 4]},
        "interfaces": {},
        "routing": {"ugal": {}},
    },
    "caches": {"L1": {"size": "32 KiB", "latency": "1 ns"}},
    "memory": {
        "latency": "100 ns",
        "bandwidth": "10 GB/s",
        "controllers": 1,
        "prefetch": {"streams": 2, "depth": 2},
    },
    "disk": {"read_startup": "1 ms", "write_startup": "1 ms", "bandwidth": "100 MB/s"},
    "accelerator": {
        "count": 1,
        "rate": "1 TFLOP/s",
        "memory": {"bandwidth": "1 TB/s"},
        "link": {"bandwidth": "10 GB/s"},
    },
    "storage": {"servers": 2, "stripe": "1 MiB", "bandwidth": "1 GB/s", "metadata_rate": "1 kop/s"},
    "failures": {"mtbf": "1 year"},
    "background": {"load": 0.1},
    "mapping": {"kind": "random"},
    "noise": {"bursts": {"period": "10 ms", "length": "1 us"}},
    "parameters": {"clock": {"default": 1}},
    "components": {"rack": {}},
    "resources": {"units": {"time": "amount"}},
}
WORKLOAD: dict[str, Any] = {"name": "x", "program": [{"compute": {"flops": 1}}]}
#: A default that is a value, which a file may have as it stands.
LITERAL = re.compile(r"-?[\d.e-]+( ?[\w%/]+)?|[a-z_]+")
#: Values just outside of what a range says.
OUTSIDE = {
    "above 0": "0",
    "0 or above": "-1",
    "1 or above": "0",
    "0 to 1": "2",
    "1 B or more": "0",
    "a power of two": "3",
}
#: Keys that another key must be beside, or whose number has a unit that zero and -1 lack.
ALONE = (
    "network.G",
    "network.L",
    "network.O",
    "network.g",
    "network.o",
    "network.sharing",
    "network.socket",
    "network.node",
    "network.topology",
)
#: Keys whose values are expressions, which are kept as they are written.
EXPRESSIONS = ("components", "resources")


def of_machine() -> list[KeyRow]:
    return [key for key in key_table("machine") if not re.search(r"\[\]|\*", key.path)]


def parent(content: dict[str, Any], path: str) -> tuple[dict[str, Any], str] | None:
    """The mapping in which a key would stand; None where this machine has none."""
    names = {"caches": "L1", "parameters": "clock", "components": "rack", "resources": "units"}
    *outer, last = path.split(".")
    for name in outer:
        name = names[outer[0]] if name == "NAME" else name
        if not isinstance(content, dict) or name not in content:
            return None
        content = content[name]
    return (content, last) if isinstance(content, dict) and last != "NAME" else None


def with_key(path: str, value: object) -> dict[str, Any] | None:
    """The machine with one key more; None where it has this key, or has no part for it."""
    changed = copy.deepcopy(MACHINE)
    found = parent(changed, path)
    if found is None or found[1] in found[0]:
        return None
    found[0][found[1]] = value
    return changed


def test_defaults_change_nothing_when_they_are_written() -> None:
    plain, tried = digest(make_machine(MACHINE)), []
    wrong = []
    words = {"not stated", "none", "required", "no limit"}
    for key in of_machine():
        if (
            LITERAL.fullmatch(key.default)
            and key.default not in words
            and not key.path.startswith((*ALONE, *EXPRESSIONS))
        ):
            value: object = key.default == "true" if key.default in ("true", "false") else key.default
            value = float(key.default) if re.fullmatch(r"[\d.]+", key.default) else value
            changed = with_key(key.path, value)
            if changed is not None:
                tried.append(key.path)
                if digest(make_machine(changed)) != plain:
                    wrong.append((key.path, key.default))
    assert wrong == []
    assert len(tried) > 40


def test_values_outside_of_a_range_are_refused() -> None:
    tried, taken = [], []
    for key in of_machine():
        if key.range in OUTSIDE and not key.path.startswith(ALONE):
            changed = with_key(key.path, OUTSIDE[key.range]) or copy.deepcopy(MACHINE)
            found = parent(changed, key.path)
            if found is not None and not isinstance(found[0].get(found[1]), dict):
                found[0][found[1]] = OUTSIDE[key.range]
                tried.append(key.path)
                try:
                    make_machine(changed)
                except InputError:
                    continue
                taken.append((key.path, key.range))
    assert taken == []
    assert len(tried) > 50


FORMS = [
    (
        "machine",
        "noise",
        {"compute": {"distribution": "gamma", "variation": "10 %"}, "slow_nodes": {"count": 9, "factor": 2}},
    ),
    ("machine", "mapping", {"kind": "grid", "shape": [4, 4]}),
    ("machine", "mapping", [0, 1, 2, 3]),
    ("machine", "failures", {"mtbf": "1 year", "distribution": {"distribution": "weibull", "shape": 0.7}}),
    ("workload", "imbalance", {"distribution": "gamma", "variation": "10 %", "of": "nodes"}),
    ("workload", "formulas", {"short": "P*t_s"}),
    ("workload", "measured", {"phases": {"a": {"value": "1 s", "low": "0.5 s", "high": "2 s"}}}),
    ("workload", "program", [{"read": {"from": "storage", "bytes": 1, "file": "shared", "stripe_count": 2}}]),
    ("workload", "program", [{"compute": {"flops": 1, "varies": {"distribution": "gamma", "variation": "10 %"}}}]),
    ("workload", "program", [{"wavefront": {"grid": [2, 2], "planes": 2, "bytes": 8, "corners": 2}}]),
]


@pytest.mark.parametrize(
    ("kind", "key", "value"), FORMS, ids=[f"{key}-{number}" for number, (_, key, _) in enumerate(FORMS)]
)
def test_the_schema_takes_every_form_of_a_key(kind: str, key: str, value: object) -> None:
    """A number or a mapping, a word or a list: also where no shipped file has it."""
    jsonschema = pytest.importorskip("jsonschema")
    content = (MACHINE if kind == "machine" else WORKLOAD) | {"simcodesign": 1, key: value}
    complaints = [*jsonschema.Draft202012Validator(json_schema(kind)).iter_errors(content)]
    assert complaints == []
    if key != "measured":  # its phases are those of a program
        (make_machine if kind == "machine" else make_workload)(content)
