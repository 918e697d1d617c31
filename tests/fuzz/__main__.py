"""``python -m tests.fuzz NUMBER ...`` shows cases, ``python -m tests.fuzz FIRST:LAST`` runs many and lists what fails."""

from __future__ import annotations

import resource
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.fuzz.cases import Case, Outcome, case, fault, limits, run
from tests.fuzz.seeds import files


def numbers_of(text: str) -> range:
    """``3:7`` is 3 to 6, ``3`` is 3 alone."""
    first, colon, last = text.partition(":")
    return range(int(first), int(last) if colon else int(first) + 1)


def shown(one: Case, outcome: Outcome) -> str:
    """A case in full: what is called, the files that were changed, and what came of it."""
    changed = [f"--- {name}\n{one.files[name].decode(errors='backslashreplace')}" for name in one.changed]
    call = f"simcodesign {shlex.join(one.words)}"
    return "\n".join([call, *changed, f"=== exit status {outcome.status}", outcome.out, outcome.err])


def outcome_of(one: Case, folder: Path) -> Outcome:
    """Run a case in a folder of its own."""
    folder.mkdir()
    try:
        return run(one, folder)
    finally:
        shutil.rmtree(folder)


def run_range(numbers: range, inputs: Mapping[str, bytes], folder: Path) -> int:
    """Run cases and print the faults; how many there are."""
    faults = 0
    for number in numbers:
        one = case(number, inputs)
        print(f"{number}", file=sys.stderr, flush=True)  # the last one is what killed the process
        result = fault(one, outcome_of(one, folder))
        if result:
            faults += 1
            print(f"python -m tests.fuzz {number}\n    {shlex.join(one.words)}\n    {result}", flush=True)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{len(numbers)} cases, {faults} faults, {used.ru_utime + used.ru_stime:.1f} CPU s, {used.ru_maxrss >> 10} MiB"
    )
    return faults


def main(arguments: list[str]) -> int:
    """1 if any case fails."""
    faults = 0
    with tempfile.TemporaryDirectory() as folder, limits():
        inputs = files(Path(folder) / "made")
        for numbers in map(numbers_of, arguments):
            if len(numbers) > 1:
                faults += run_range(numbers, inputs, Path(folder) / "case")
                continue
            one = case(numbers[0], inputs)
            outcome = outcome_of(one, Path(folder) / "case")
            result = fault(one, outcome)
            print(shown(one, outcome), f"\n=== {result or 'fine'}")
            faults += bool(result)
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
