"""``codesign upgrade --simulate`` and ``codesign strawman --simulate``: what they run, and what they print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.report.common.terminal import print_all, write_json

VARY_FORMS = "name=factor,..., e.g. --vary network.bandwidth=0.5,2"


def simulated_upgrade(
    workloads: Sequence[Any],
    machine: Any,
    upgrades: Sequence[Any],
    given: Mapping[str, float],
    options: dict[str, Any],
    ranks: int | None,
    vary: Sequence[str] | None,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Simulate every workload with every upgrade; ``vary``: what is simulated again with other numbers."""
    asked = factors_of(vary or [])
    module = import_module("simcodesign.studies.requirements.simulated_upgrade")
    numbers = import_module("simcodesign.studies.requirements.sensitivity")
    numbers.check_varied(asked, workloads, options["size"])
    report = import_module("simcodesign.report.requirements.simulated_tables")
    with import_module("simcodesign.report.common.progress").system_progress() as (
        on_progress,
        on_simulation_progress,
    ):
        cells = module.simulated_upgrades(
            workloads,
            machine,
            upgrades,
            given,
            **options,
            ranks=ranks,
            on_progress=on_progress,
            on_simulation_progress=on_simulation_progress,
        )
        reading = "simulation" if asked else "forecast"
        varied = numbers.sensitivity(cells, asked, given, **options, reading=reading, on_progress=on_progress)
    if as_json:
        found = import_module("simcodesign.studies.requirements.upgrade_ranking").rankings(cells)
        write_json(
            {
                "cells": [report.simulated_cell_dict(cell) for cell in cells],
                "rankings": [report.ranking_dict(ranking) for ranking in found],
                "varied": {"reading": reading, "numbers": [report.varied_dict(one) for one in varied]},
            }
        )
    else:
        print_all(report.simulated_upgrade_tables(cells, varied, simulated=bool(asked)))
    if plot:
        import_module("simcodesign.report.requirements.simulated_plot").ratio_against_time(cells, plot)


def simulated_straw_men(
    workloads: Sequence[Any],
    machines: Sequence[Any],
    given: Mapping[str, float],
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Simulate every workload on all systems made smaller."""
    module, report = (
        import_module("simcodesign.studies.requirements.simulated_strawman"),
        import_module("simcodesign.report.requirements.simulated_tables"),
    )
    with import_module("simcodesign.report.common.progress").system_progress() as (
        on_progress,
        on_simulation_progress,
    ):
        studies = module.simulated_straw_men(
            workloads,
            machines,
            given,
            **options,
            on_progress=on_progress,
            on_simulation_progress=on_simulation_progress,
        )
    if as_json:
        write_json({"studies": [report.simulated_straw_man_dict(study) for study in studies]})
    else:
        print_all(report.simulated_straw_man_tables(studies))


def factors_of(items: Sequence[str]) -> dict[str, list[float]]:
    """Factors by name. InputError for what is none, and for a name given twice."""
    found: dict[str, list[float]] = {}
    for item in items:
        name, _, text = (part.strip() for part in item.partition("="))
        if not name or not text:
            raise InputError("not something to vary", Place("--vary"), value=item, allowed=VARY_FORMS)
        if name in found:
            raise InputError("varied twice", Place("--vary"), value=name, allowed="all factors at once")
        try:
            found[name] = [float(part) for part in text.split(",")]
        except ValueError:
            raise InputError(f"factors of {name}", Place("--vary"), value=text, allowed="e.g. 0.5,1,2") from None
    return found
