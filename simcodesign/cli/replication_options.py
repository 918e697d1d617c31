"""What the options of replications say together, and how replications are run and printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from simcodesign.cli.options import CaseInput
from simcodesign.cli.validation import usable_cpus
from simcodesign.core.errors import InputError, Place
from simcodesign.report.common.terminal import print_all, write_json

NOT_REACHED = 1


@dataclass(frozen=True)
class Replicating:
    """The options, as they were typed; None where they were not."""

    replications: int | None
    precision: str | None
    precision_of: str | None
    at_most: int | None
    confidence: str | None
    warm_up: str | None
    jobs: int | None

    @property
    def wanted(self) -> bool:
        """Whether there is more than one plain run."""
        return self.replications is not None or self.precision is not None

    def check_unused(self) -> None:
        """InputError for an option that says how, without one that says how many."""
        for one in fields(self):
            if getattr(self, one.name) is not None:
                allowed = "with --replications, --precision or --against"
                raise InputError("says nothing of a single run", Place(_option(one.name)), allowed=allowed)

    def options(self) -> dict[str, Any]:
        """As ``replicate`` takes them."""
        if self.precision is None:
            for name in ("precision_of", "at_most"):
                if getattr(self, name) is not None:
                    raise InputError("goes with a precision", Place(_option(name)), allowed="with --precision")
        given: dict[str, Any] = {"most": self.at_most, "warm_up": self._warm_up()}
        shares = {"precision": self.precision, "confidence": self.confidence}
        given |= {name: None if text is None else share_of(text, _option(name)) for name, text in shares.items()}
        return {
            "replications": self.replications,
            "precision_of": self.precision_of,
            "workers": self.jobs or usable_cpus(),
        } | {name: value for name, value in given.items() if value is not None}

    def _warm_up(self) -> int | str | None:
        if self.warm_up is None or not self.warm_up.isdecimal():
            return self.warm_up
        return int(self.warm_up)


def replicated(
    cases: Sequence[CaseInput],
    asked: Replicating,
    options: Mapping[str, Any],
    stations: int,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Run and print replications of one case, or of two on different machines. Exit status 1 without the precision."""
    module = import_module("simcodesign.studies.replication.replicate")
    with import_module("simcodesign.report.common.progress").replication_progress() as on_progress:
        arguments = {**options, **asked.options(), "on_progress": on_progress}
        if len(cases) == 1:
            found = cases[0].call(module.replicate, **arguments)
        else:
            found = cases[0].call(module.replicate_against, against=cases[1].machine, **arguments)
    tables = import_module("simcodesign.report.replication.tables")
    if as_json:
        write_json(found.to_dict())
    elif len(cases) == 1:
        print_all(tables.replication_tables(found, stations))
    else:
        print_all(tables.against_tables(found))
    if plot:
        import_module("simcodesign.report.replication.plot").replications_plot(found, plot)
    if not (found if len(cases) == 1 else found.first).stopping.reached:
        raise typer.Exit(NOT_REACHED)


def compared(case: CaseInput, asked: Replicating, options: Mapping[str, Any], as_json: bool) -> float:
    """Run and print a comparison with replications; the error of the forecast. Exit status 1 without the precision."""
    module = import_module("simcodesign.studies.replication.comparison")
    with import_module("simcodesign.report.common.progress").replication_progress() as on_progress:
        found = case.call(module.replicate_comparison, **options, **asked.options(), on_progress=on_progress)
    if as_json:
        write_json(found.to_dict())
    else:
        print_all(import_module("simcodesign.report.replication.comparison").replicated_comparison_tables(found))
    if not found.stopping.reached:
        raise typer.Exit(NOT_REACHED)
    return float(found.error.mean)


def check_together(**files: Path | None) -> None:
    """InputError for what shows a single run."""
    for name, file in files.items():
        if file:
            allowed = "with a single run: --seed repeats one of the replications alone"
            raise InputError("shows one run", Place(_option(name)), value=str(file), allowed=allowed)


def share_of(text: str, option: str) -> float:
    """The share of ``5%`` or ``0.05``. InputError for anything else."""
    value: float = import_module("simcodesign.core.units").parse_quantity(text, "count", Place(option))
    if value < 0 or (value > 1 and "%" not in text):
        raise InputError("a share", Place(option), value=text, allowed="0 or above, e.g. 5% or 0.05")
    return value


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
