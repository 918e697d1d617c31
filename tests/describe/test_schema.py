"""JSON Schema of description files: it takes every file that the readers take, has every key, and refuses what they refuse."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import pytest

from simcodesign.core.errors import InputError
from simcodesign.describe.constants import CONSTANTS, POWERS
from simcodesign.describe.schema.json_schema import json_schema
from simcodesign.describe.topology.base import TOPOLOGIES
from simcodesign.describe.yaml.demands.accesses import MEMORY_KEYS
from simcodesign.describe.yaml.demands.collective import demand_keys
from simcodesign.describe.yaml.files import shipped
from simcodesign.describe.yaml.machine import MACHINE_KEYS
from simcodesign.describe.yaml.tree import _NUMBER, Entry, read_yaml
from simcodesign.describe.yaml.workload import WORKLOAD, step_section
from tests.command_line import command

jsonschema = pytest.importorskip("jsonschema")
FOLDERS = {"machine": "topologies", "workload": "workloads"}


@cache
def validator(kind: str) -> Any:
    jsonschema.Draft202012Validator.check_schema(json_schema(kind))
    return jsonschema.Draft202012Validator(json_schema(kind))


def plain(entry: Entry) -> Any:
    """What an editor sees in a YAML 1.2 file."""
    if isinstance(entry.content, dict):
        return {key: plain(item) for key, item in entry.content.items()}
    if isinstance(entry.content, list):
        return [plain(item) for item in entry.content]
    if entry.plain and _NUMBER.fullmatch(entry.content):
        number = float(entry.content)
        return int(number) if number.is_integer() else number
    return entry.content == "true" if entry.plain and entry.content in ("true", "false") else entry.content


def complaints(kind: str, content: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator(kind).iter_errors(content)]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", FOLDERS)
def test_every_shipped_file_is_valid(kind: str) -> None:
    found = {path.stem: complaints(kind, plain(read_yaml(path))) for path in shipped(FOLDERS[kind])}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert len(found) > 20


def inner(schema: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The properties of an object under these keys, whichever form it has."""
    for key in keys:
        forms = [schema, *schema.get("anyOf", [])]
        schema = next(form["properties"][key] for form in forms if key in form.get("properties", {}))
    return next(form["properties"] for form in [schema, *schema.get("anyOf", [])] if "properties" in form)


@pytest.mark.thorough
def test_every_key_of_the_readers_is_there() -> None:
    """The lists of keys in the readers, and the registries: constants, powers, demands, topologies."""
    of_machine, of_workload = json_schema("machine"), json_schema("workload")
    assert {*of_machine["properties"]} == {*MACHINE_KEYS, "extends"}
    assert {*of_workload["properties"]} == {*WORKLOAD.by_name}
    options = {option.name for topology in TOPOLOGIES.values() for option in topology.options}
    topology = inner(of_machine, "network", "topology")
    assert topology.keys() == options | {"kind"}
    assert {*topology["kind"]["enum"]} == {*TOPOLOGIES}
    for path in CONSTANTS | POWERS:
        keys = path.split(".")
        if keys[0] not in ("cache", "segments") and not path.startswith("memory.caches"):
            assert keys[-1] in inner(of_machine, *keys[:-1]), path
    steps = of_workload["$defs"]["step"]
    known = {key for form in [steps, *steps.get("anyOf", [])] for key in form.get("properties", {})}
    assert known == {*demand_keys(), *step_section().by_name}
    assert {*inner(steps, "memory")} == {key.name for key in MEMORY_KEYS}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "name", "path", "value", "where"),
    [
        ("machine", "crossbar-16", "processor.rat", 1, r"\$.processor"),
        ("machine", "crossbar-16", "nodes", "Q", r"\$.nodes"),
        ("machine", "crossbar-16", "network.topology.kind", "torrus", r"\$.network.topology.kind"),
        ("machine", "crossbar-16", "disk", 5, r"\$.disk"),
        ("workload", "jacobi", "programm", [], r"\$"),
        ("workload", "jacobi", "parameters.n.rang", [0, 1], r"\$.parameters.n"),
        ("workload", "jacobi", "program", [{"compute": {"flop": 1}}], r"\$.program\[0\]"),
        ("workload", "jacobi", "program", [{"do": [{"broadcst": {}}]}], r"\$.program\[0\]"),
    ],
)
def test_what_readers_refuse_is_refused(kind: str, name: str, path: str, value: Any, where: str) -> None:
    (file,) = (file for file in shipped(FOLDERS[kind]) if file.stem == name)
    content = copy.deepcopy(plain(read_yaml(file)))
    at, *keys = content, *path.split(".")
    for key in keys[:-1]:
        at = at[key]
    at[keys[-1]] = value
    wrong = complaints(kind, content)
    assert any(one.startswith(where.replace("\\", "")) for one in wrong), wrong


@pytest.mark.thorough
def test_the_command_prints_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert command(capfd, "schema")("machine").json == json.loads(json.dumps(json_schema("machine")))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="machine, workload"):
        json_schema("topology")
