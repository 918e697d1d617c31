"""The examples of docs/levels.md and of groups in docs/describe-workloads.md: the times on these pages, by hand."""

from __future__ import annotations

import re

import pytest

import simcodesign as sc
from simcodesign.describe.yaml.files import machine_of_text, workload_of_text
from tests import ROOT

TEXT = (ROOT / "docs" / "levels.md").read_text(encoding="utf-8")
MACHINE = machine_of_text(re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)[0], "levels.md")


def workload(*steps: object) -> sc.Workload:
    return sc.Workload.load({"name": "example", "groups": {"data": "rank % 8"}, "program": [*steps]})


def test_gpus_of_a_node_do_not_share_a_link() -> None:
    """In a ring of 2 nodes every GPU sends 500 MB to its peer twice, 2 (5 us + 10 ms), on a rail of its own; with one
    rail eight messages at a time queue for the link of their node, 80 ms (and the next eight begin as each ends)."""
    ring = workload({"allreduce": {"bytes": "1 GB", "group": "data", "algorithm": "ring"}})
    assert sc.forecast(ring, MACHINE, {"P": 16}).makespan_s == pytest.approx(2 * 10.005e-3)
    assert sc.simulate(ring, MACHINE, {"P": 16}).makespan_s == pytest.approx(2 * 10.005e-3)
    one_rail = sc.Machine.load(
        {
            "name": "one-rail",
            "nodes": 16,
            "processors_per_node": 8,
            "processor": {"rate": "34 TFLOP/s"},
            "network": {
                "topology": {"kind": "fat_tree", "arity": 4},
                "startup": "5 us",
                "bandwidth": "50 GB/s",
                "interfaces": {"count": 8},
            },
        }
    )
    assert sc.simulate(ring, one_rail, {"P": 16}).makespan_s == pytest.approx(160e-3, rel=1e-3)
    assert "a ring `allreduce` of 1 GB among GPUs with the same number takes 300 ms instead of 38 ms" in TEXT
    assert (round(1e3 * 30 * (5e-6 + 1e9 / 16 / 50e9)), round(1e3 * 8 * 30 * 1e9 / 16 / 50e9)) == (38, 300)


def test_all_to_all_of_a_node() -> None:
    exchange = workload({"all_to_all": {"bytes": "100 MB", "algorithm": "linear"}})
    alone_s, shared_s = 7 * 2e-6 + 100e6 / 450e9, 2e-6 + 7 * 100e6 / 450e9
    assert sc.forecast(exchange, MACHINE, {"P": 8}).makespan_s == pytest.approx(alone_s)
    assert sc.simulate(exchange, MACHINE, {"P": 8}).makespan_s == pytest.approx(shared_s)
    assert f"{1e3 * alone_s:.2f} ms" in TEXT
    assert f"{1e3 * shared_s:.2f} ms" in TEXT


def test_the_example_of_groups() -> None:
    """14 messages of 8 MB in a ring of a node, and among N nodes 2 (N - 1) of 1 GB / N."""
    text = (ROOT / "docs" / "describe-workloads.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (example,) = (workload_of_text(one, "groups.yaml") for one in blocks if "name: training-step" in one)
    inside_s = 14 * (2e-6 + 8e6 / 450e9)
    for nodes in (2, 16):
        wanted_s = inside_s + 2 * (nodes - 1) * (5e-6 + 1e9 / nodes / 50e9)
        assert sc.forecast(example, MACHINE, {"P": 8 * nodes}).makespan_s == pytest.approx(wanted_s)
    assert f"{1e3 * wanted_s:.2f} ms" in text
    simulated = sc.simulate(example, MACHINE, {"P": 16})
    assert simulated.makespan_s == pytest.approx(inside_s + 2 * (5e-6 + 10e-3))
