"""Imports every module and calls the main commands in the current folder; prints how each ended."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path

import simcodesign
from simcodesign import cli

RUNS = "p,value\n" + "".join(f"{p},{3 + 2 * p}\n" for p in (1, 2, 4, 8, 16, 32))
COMMANDS = (
    "list",
    "list --json",
    "show jacobi",
    "show crossbar-16",
    "show jacobi --json",
    "schema machine",
    "forecast jacobi crossbar-16 -P 4",
    "simulate jacobi crossbar-16 -P 4 --write run.json",
    "simulate jacobi crossbar-16 -P 4 --write counters:run.csv",
    "simulate jacobi crossbar-16 -P 4 --replications 3",
    "compare jacobi crossbar-16 -P 4 --write ladder.png",
    "sweep jacobi crossbar-16 --vary P=1:8:x2 --simulate --jobs 2",
    "sweep jacobi crossbar-16 --vary P=1:8:x2 --simulate --jobs 2 --write sweep.csv",
    "fit runs.csv",
    "compare kripke lulesh juqueen strawman-vector --requirements",
    "simulate jacobi crossbar-16 -P 4 --write jacobi.goal",
    "validate -k classics/collectives/crossbar/barrier-dissemination --jobs 2",
)


def main() -> None:
    """Import every module, then call every command."""
    for module in pkgutil.walk_packages(simcodesign.__path__, "simcodesign."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    Path("runs.csv").write_bytes(RUNS.replace("\n", "\r\n").encode())
    ended = {command: cli.main(command.split()) for command in COMMANDS}
    print("\n" + json.dumps(ended))
    sys.exit(any(ended.values()))


if __name__ == "__main__":  # processes that are spawned import this file too
    main()
