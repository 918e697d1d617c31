"""Machines and workloads that stand in no file: the same objects as those of files, and errors with their places."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.to_json import to_json
from simcodesign.report.descriptions.to_json import machine_json, workload_json
from tests import ROOT


def content_of(path: Path) -> Any:
    """What stands in a file, as texts: PyYAML's own rules for numbers are those of YAML 1.1."""
    return yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)


def with_numbers(content: Any) -> Any:
    """Numbers for the texts that are numbers, since a text stays a text."""
    if isinstance(content, dict):
        return {key: with_numbers(value) for key, value in content.items()}
    if isinstance(content, list):
        return [with_numbers(value) for value in content]
    try:
        return int(content) if content.isdecimal() else float(content)
    except ValueError:
        return content


@pytest.mark.parametrize("name", sc.bundled()["machines"])
def test_shipped_machines_can_be_built_in_python(name: str) -> None:
    path = ROOT / "topologies" / f"{name}.yaml"
    content = with_numbers(content_of(path))
    if "file" in str(content):
        pytest.skip("names another file")
    built, read = to_json(machine_json(sc.Machine.load(content))), to_json(machine_json(sc.Machine.load(name)))
    built.pop("file")
    read.pop("file")
    assert built == read


@pytest.mark.parametrize("name", sc.bundled()["workloads"])
def test_shipped_workloads_can_be_built_in_python(name: str) -> None:
    path = ROOT / "workloads" / f"{name}.yaml"
    content = with_numbers(content_of(path))
    if ".csv" in str(content) or ".yaml" in str(content):
        pytest.skip("names another file")
    built, read = to_json(workload_json(sc.Workload.load(content))), to_json(workload_json(sc.Workload.load(name)))
    built.pop("file")
    read.pop("file")
    assert built == read


def test_arrays_and_dotted_paths() -> None:
    machine = sc.Machine.load({"extends": "mesh-256", "nodes": np.int64(6), "network.topology.shape": np.array([2, 3])})
    assert machine.nodes == 6
    assert machine.network.message_model.per_byte_s == sc.Machine.load("mesh-256").network.message_model.per_byte_s


def test_changes_of_a_dictionary() -> None:
    """They win over its keys, as over those of a file, and the machine lists them."""
    small = {"extends": "mesh-256", "nodes": 6, "network": {"topology": {"kind": "mesh", "shape": [2, 3]}}}
    changes = {"nodes": 4, "network.topology.shape": [2, 2], "network.startup": "3 us"}
    machine = sc.Machine.load(small, changes)
    assert (machine.nodes, machine.network.message_model.startup_s) == (4, 3e-6)
    assert machine.changes == sc.Machine.load("mesh-256", changes).changes


@pytest.mark.parametrize(
    ("make", "content", "where"),
    [
        (
            sc.Machine.load,
            {"name": "x", "nodes": 2, "processor": {"rat": 1}, "network": {}},
            r"processor\.rat: unknown key",
        ),
        (sc.Machine.load, {"name": "x", "nodes": 2, "processor": {"rate": "1 GB"}, "network": {}}, r"processor\.rate"),
        (sc.Machine.load, {"extends": "no-such"}, "extends: no such machine"),
        (sc.Machine.load, [("name", "x")], "a dictionary"),
        (sc.Machine.load, {"name": {1, 2}}, "name: not possible in a file"),
        (
            sc.Workload.load,
            {"name": "x", "program": [{"compute": {"flops": "8*"}}]},
            r"program\[0\]\.compute\.flops: syntax",
        ),
        (sc.Workload.load, {"name": "x", "program": [{"compute": {"flops": "8*m"}}]}, "unknown"),
        (sc.Workload.load, {"simcodesign": 2, "name": "x", "program": []}, "unknown format version"),
    ],
)
def test_errors_name_the_place(make: Any, content: Any, where: str) -> None:
    def forecast() -> None:
        sc.forecast(make(content), "crossbar-16", {"P": 2})

    with pytest.raises(InputError, match=where):
        forecast()


def test_a_text_is_a_text() -> None:
    """Also one that YAML would read as something else."""
    workload = sc.Workload.load({"name": "yes", "about": "a: b # c", "program": [{"compute": {"seconds": "1e-3"}}]})
    assert (workload.name, workload.about) == ("yes", "a: b # c")
    assert sc.forecast(workload, "crossbar-16", {"P": 1}).makespan_s == 1e-3


@pytest.mark.parametrize("page", ["notebooks-and-editors.md", "timelines.md"])
def test_the_examples_of_the_documentation_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M | re.S)
    assert examples
    for example in examples:
        exec(compile(example, page, "exec"), {})
