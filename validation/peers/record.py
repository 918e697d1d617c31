"""The tables of what other simulators answered, and how what they were given is written for ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from textwrap import indent

import pandas as pd

from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.machine import machine_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from

FOLDER = Path(__file__).resolve().parent


@cache
def table(peer: str) -> pd.DataFrame:
    """The record of a peer, a row for each run: what it was given, ``theirs``, and ``ours`` to the digits that are
    printed."""
    return pd.read_csv(FOLDER / f"{peer}.csv", comment="#")


@cache
def workload(program: str) -> Workload:
    """The workload of a program in YAML, one step a line."""
    return workload_from(parse_yaml(f"simcodesign: 1\nname: peer\nprogram:\n{indent(program, '  ')}\n", "program"))


@cache
def machine(nodes: int, network: str, more: str = "") -> Machine:
    """A machine of so many nodes with a network in YAML, and further lines of the file."""
    text = f"simcodesign: 1\nname: peer\nnodes: {nodes}\nprocessor: {{rate: 1 GFLOP/s}}\nnetwork: {{{network}}}\n{more}"
    return machine_from(parse_yaml(text, "machine"), Path())
