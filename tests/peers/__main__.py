"""Run the other simulators anew, and say whether they still answer what is recorded.

    python -m tests.peers [--write] [FOLDER]

FOLDER (.peers) takes what is unpacked and compiled. ``--write`` records what they say now, and what ours says. Exit status 1
when one of them answers something else than what is recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from tests.peers import ciw_runs, simgrid_runs
from validation.peers import ciw, simgrid
from validation.peers.record import FOLDER, table

#: What cannot be run here, and why: their answers are recorded.
RECORDED = ("loggopsim", "booksim")


def rerun_simgrid(folder: Path) -> pd.DataFrame:
    """SimGrid's record as it would be written now, with a column that says whether that is the one there is."""
    theirs = simgrid_runs.all_flows(folder)
    ours = {name: simgrid.simulated_us(name) for name in simgrid.FLOWS}
    rows = [(name, settings, round(time, 6), round(ours[name], 3)) for (name, settings), time in theirs.items()]
    return pd.DataFrame(rows, columns=["flows", "settings", "theirs", "ours"])


def rerun_ciw(_: Path) -> pd.DataFrame:
    """The same of Ciw."""
    try:
        theirs = ciw_runs.all_models()
    except ImportError as error:
        raise simgrid_runs.NotThereError(f"needs Ciw from PyPI: {error}") from error
    ours = ciw.forecast()
    rows = [
        (model, quantity, float(f"{mean:.6g}"), float(f"{error:.2g}"), float(f"{ours[f'{model}, {quantity}']:.6g}"))
        for (model, quantity), (mean, error) in theirs.items()
    ]
    return pd.DataFrame(rows, columns=["model", "quantity", "theirs", "error", "ours"])


def same(now: pd.DataFrame, before: pd.DataFrame) -> pd.Series:
    """Whether each row of theirs is what it was: to four standard errors of the difference, where it has one."""
    keys = [name for name in now if name not in ("theirs", "error", "ours")]
    old = now[keys].merge(before, on=keys, how="left")
    allowed = 4 * np.hypot(now.error, old.error) if "error" in now else 1e-6 * now.theirs
    return ((now.theirs - old.theirs).abs() <= allowed).rename("as recorded")


PEERS: dict[str, Callable[[Path], pd.DataFrame]] = {"simgrid": rerun_simgrid, "ciw": rerun_ciw}


def main(arguments: list[str]) -> int:
    """Exit status."""
    write = "--write" in arguments
    folder = Path(next((one for one in arguments if one != "--write"), ".peers"))
    status = 0
    for peer, rerun in PEERS.items():
        print(f"\n{peer}")
        try:
            now = rerun(folder)
        except simgrid_runs.NotThereError as reason:
            print(f"skipped: {reason}")
            continue
        if write:
            _write(peer, now)
        verdicts = same(now, table(peer)) if not write else pd.Series(True, now.index, name="as recorded")
        print(now.assign(**{"as recorded": verdicts.map({True: "yes", False: "NO"})}).to_string(index=False))
        status = max(status, int(not verdicts.all()))
    for peer in RECORDED:
        print(f"\n{peer}\nskipped: neither PyPI nor Debian has it; its answers are recorded, and ours are:")
        print(table(peer).to_string(index=False))
    return status


def _write(peer: str, now: pd.DataFrame) -> None:
    """The table with its header as it was."""
    file = FOLDER / f"{peer}.csv"
    head = [line for line in file.read_text(encoding="utf-8").splitlines(keepends=True) if line.startswith("#")]
    file.write_text("".join(head) + now.to_csv(index=False, lineterminator="\n"), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
