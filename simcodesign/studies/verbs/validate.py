"""``sc.validate``: both readings against published and textbook numbers."""

from __future__ import annotations

from pathlib import Path

from simcodesign.studies.validation.outcome import CaseOutcome
from simcodesign.studies.validation.registry import load_cases
from simcodesign.studies.validation.run import OnProgress, run
from simcodesign.studies.validation.select import selected


def validate(
    keyword: str = "",
    *,
    quick: bool = False,
    full: bool = False,
    folder: str | Path | None = None,
    jobs: int = 1,
    on_progress: OnProgress | None = None,
) -> tuple[CaseOutcome, ...]:
    '''Compare both readings with published and textbook numbers, case by case.

    ``keyword``: only cases whose name, claim or source matches: ``"seismic"``, ``"cg and not (links or hops)"``.
    ``quick``: only the cases that take no time; ``full``: also those that take minutes. ``folder``: cases of this
    folder of Python modules, which are executed; by default the bundled ones. ``jobs``: maximum number of processes.
    ``on_progress``: called with each outcome.

    Raises InputError for a keyword that cannot be read or that no case matches, and for modules that cannot be loaded.

    >>> import simcodesign as sc
    >>> from pathlib import Path
    >>> folder = Path("cases")
    >>> folder.mkdir()
    >>> _ = (folder / "own.py").write_text("""
    ... from simcodesign.studies.validation.case import Case, Readings, Tolerance
    ... wanted, exact = {"sum": 4.0}, Tolerance("exact")
    ... answer = Readings(simulation={"sum": 2.0 + 2.0})
    ... CASES = [Case("own/sum", "2 + 2", "by hand", "s", wanted, exact, "simulation", lambda: answer)]
    ... """)
    >>> [outcome.verdict.value for outcome in sc.validate(folder=folder)]
    ['own consistency check']
    '''
    cases = None if folder is None else Path(folder)
    return run(
        selected(load_cases(cases), keyword, quick=quick, full=full), jobs=jobs, folder=cases, on_progress=on_progress
    )
