"""A sharing rule, a routing and a message model of installed packages, found by their entry points and used together.

One entry point each suffices, in the group of the description, of a module that registers all of it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.extension import by_size, last_first, pinned
from tests.extension.installation import install, run

MACHINE = """
simcodesign: 1
name: rows
nodes: 6
processor: {rate: 1 GFLOP/s}
network:
  topology: {kind: mesh, shape: [2, 3]}
  model: pinned
  sharing: by_size
  routing: last_first
  sends: blocking
  startup: 10 us
  bandwidth: 1 GB/s
  pin: 50 us
  pinned_above: 8 kB
"""
#: From 0 by 1 and 2 to 5, and from 1 to 2: both over the link from 1 to 2.
WORKLOAD = """
simcodesign: 1
name: messages
parameters: {P: {default: 6}}
program:
  - send: {to: 5, bytes: 1 MB, when: rank == 0}
  - send: {to: 2, bytes: 4 MB, when: rank == 1}
  - receive: {from: 0, when: rank == 5}
  - receive: {from: 1, when: rank == 2}
"""


@pytest.mark.thorough
def test_entry_points_of_installed_packages_are_found(tmp_path: Path) -> None:
    groups = {by_size: "sharing_rules", last_first: "routings", pinned: "message_models"}
    for module, group in groups.items():
        name = module.__name__.rpartition(".")[2]
        assert module.__file__ is not None
        shutil.copy(module.__file__, tmp_path / f"{name}.py")
        (tmp_path / f"register_{name}.py").write_text(f"import {name}\n\n{name}.register()\n")
        install(tmp_path, name, f"[simcodesign.{group}]\n{name} = register_{name}\n")
    (tmp_path / "machine.yaml").write_text(MACHINE)
    (tmp_path / "workload.yaml").write_text(WORKLOAD)
    shown = run(tmp_path, "show", "machine.yaml")
    assert (shown.returncode, shown.stderr) == (0, "")
    sheet = " ".join(shown.stdout.split())
    for words in ("Hockney's model with pinned memory", "in proportion to their bytes", "the last dimension first"):
        assert words in sheet
    for row in ("pin 50 us", "sends blocking", "hops_hold_sender true"):
        assert row in sheet
    simulated = run(tmp_path, "simulate", "workload.yaml", "machine.yaml", "--effects", "hops,links", "--json")
    assert (simulated.returncode, simulated.stderr) == (0, "")
    # 10 us and 50 us before the bytes; 1 MB and 4 MB then have a fifth and four fifths of the link.
    assert json.loads(simulated.stdout)["makespan_s"] == pytest.approx(60e-6 + 5e-3, rel=1e-6)
