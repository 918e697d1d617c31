"""Upgrade studies, straw-man systems and memory fits as tables, sentences and JSON.

The tables are laid out as in Calotoiu et al., CLUSTER 2018: Table IV for one application, Table V and Table VII for
several. Numbers are rounded here and nowhere before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table

from simcodesign.analytic.formulas.model_text import short
from simcodesign.core.units import told_apart
from simcodesign.report.common.numbers import quantity
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.studies.requirements.memory_capacity import ALWAYS, SIZE, MemoryFit
from simcodesign.studies.requirements.strawman import StrawManStudy, System
from simcodesign.studies.requirements.upgrade import Filled, UpgradeStudy

#: Quantities that ratios compare, in words.
RATIO_WORDS = {
    "size": "problem size per process",
    "overall": "overall problem size",
    "computation": "computation",
    "communication": "communication",
    "memory_access": "memory access",
    "io": "I/O",
}
MODEL_WORDS = {
    "flops": "flop",
    "sent_bytes": "bytes sent",
    "loads_stores": "loads and stores",
    "stack_distance": "stack distance",
    "disk_bytes": "bytes read and written",
    "footprint_bytes": "bytes used",
}
#: Step V: what ratios compare, and what it is called.
NEEDS = {
    "computation": "flop",
    "communication": "bytes sent",
    "loads_stores": "loads and stores",
    "memory_access": "loads and stores x stack distance",
    "io": "bytes read and written",
}


def shown_ratios(words: Mapping[str, str], studies: Sequence[UpgradeStudy]) -> dict[str, str]:
    """Return the words by ratio, without I/O where no workload reads or writes anything."""
    disks = any(study.uses_disks for study in studies)
    return {ratio: word for ratio, word in words.items() if disks or ratio != "io"}


def number(value: float | None) -> str:
    """Four significant digits, whole numbers below ten millions in full; a dash for what is no number."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == int(value) and abs(value) < 1e7:
        return short(value) if abs(value) >= 1e4 and len(short(value)) < 6 else f"{value:.0f}"
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


# Upgrades.


def upgrade_tables(studies: Sequence[UpgradeStudy]) -> Iterator[RenderableType]:
    """Yield the five steps for every workload with all its upgrades.

    For several workloads their ratios side by side.
    """
    names = list(dict.fromkeys(study.workload.name for study in studies))
    for name in names:
        mine = [study for study in studies if study.workload.name == name]
        yield _model_table(mine[0])
        yield from (_step_table([study]) for study in mine)  # side by side, numbers would be broken over lines
        yield from (paragraph(text) for text in _step_words(mine))
    if len(names) > 1:
        yield _ratio_table(studies)
        yield paragraph(
            "Ratios are new over old. The baseline needs of a process what its problem size is. Memory access is loads "
            "and stores times their stack distance"
        )


def _model_table(study: UpgradeStudy | StrawManStudy) -> Table:
    where = f" on {study.machine.name}" if isinstance(study, UpgradeStudy) else ""
    table = new_table(f"{study.workload.name}{where}", "I  requirements of a process", "model")
    table.columns[1].justify = "left"
    for metric, text in study.models.items():
        table.add_row(MODEL_WORDS[metric], text)
    return table


def _step_table(studies: Sequence[UpgradeStudy]) -> Table:
    """Return steps II to V: the machine as it is, and new values and ratios of every upgrade."""
    heads = [head for study in studies for head in (study.upgrade.name, "ratio")]
    table = new_table("", "step", "", "old", *heads)
    table.title = None
    table.columns[1].justify = "left"
    old = studies[0].old
    needs = shown_ratios(NEEDS, studies)
    rows = [
        ("II", "processes p", "processes", ""),
        ("", "memory of a process m", "memory", "B"),
        ("III", "footprint at the old size", "footprint", "B"),
        ("IV", "problem size of a process n", "size", ""),
        ("", "overall problem size N = p n", "overall", ""),
        *(("V" if not place else "", words, metric, "") for place, (metric, words) in enumerate(needs.items())),
    ]
    for step, words, metric, unit in rows:
        if step:
            table.add_section()
        before = _value(metric, old, old)
        cells = [text for study in studies for text in _cells(metric, study, before, unit)]
        table.add_row(step, words, _shown(before, unit), *cells)
    return table


def _cells(metric: str, study: UpgradeStudy, before: float, unit: str) -> tuple[str, str]:
    after = _footprint(study) if metric == "footprint" else _value(metric, study.new, study.old)
    return _shown(after, unit), number(after / before if before else math.nan)


def _footprint(study: UpgradeStudy) -> float:
    """Footprint of the new system at the size that filled the old one."""
    return study.inflated_bytes


def _value(metric: str, filled: Filled, old: Filled) -> float:
    match metric:
        case "processes":
            return filled.processes
        case "memory":
            return filled.memory_bytes
        case "footprint":
            return float(old.needs.footprint_bytes or 0.0) if old.needs else math.nan
    return filled.metric(metric)


def _shown(value: float, unit: str) -> str:
    return quantity(value, unit) if unit and math.isfinite(value) else number(value)


def _step_words(studies: Sequence[UpgradeStudy]) -> Iterator[str]:
    """Sentences on upgrades after which nothing fits, or everything, and on changed rates."""
    for study in studies:
        if not study.new.fit.fits:
            yield f"{study.upgrade.name}: {no_fit_words(study.new.fit)}"
        elif study.new.fit.answer == ALWAYS:
            yield f"{study.upgrade.name}: {always_words(study.new.fit)}"
        if study.upgrade.rates:
            rates = ", ".join(f"{part} x {number(factor)}" for part, factor in study.upgrade.rates.items())
            yield f"{study.upgrade.name}: also changes rates ({rates}), on which requirements do not depend"


def no_fit_words(fit: MemoryFit, size: str = SIZE) -> str:
    """Why nothing fits: how much the smallest problem takes, and which term that is."""
    most = fit.terms[0] if fit.terms else None
    alone = ""
    if most is not None and most.value > fit.capacity_bytes:
        alone = f", {most.text} alone {quantity(most.value, 'B')}"
    takes, has = told_apart(fit.smallest_bytes, fit.capacity_bytes, "size")
    return (
        f"does not fit at any {size} with all of {number(fit.processes)} processes: {size} = "
        f"{number(fit.smallest_size)} takes {takes}{alone}, and a process has {has}"
    )


def always_words(fit: MemoryFit, size: str = SIZE) -> str:
    """Note that memory does not bound the size."""
    return f"every {size} fits, up to {number(fit.size)}, the most that the workload allows"


def _ratio_table(studies: Sequence[UpgradeStudy]) -> Table:
    """Table V: workloads side by side, upgrade by upgrade, with the baseline."""
    names = list(dict.fromkeys(study.workload.name for study in studies))
    upgrades = list(dict.fromkeys(study.upgrade.name for study in studies))
    table = new_table(f"Ratios after an upgrade of {studies[0].machine.name}", "upgrade", "", *names, "baseline")
    table.columns[1].justify = "left"
    for upgrade in upgrades:
        table.add_section()
        mine = {study.workload.name: study for study in studies if study.upgrade.name == upgrade}
        for place, (ratio, words) in enumerate(shown_ratios(RATIO_WORDS, studies).items()):
            cells = [number(mine[name].ratios[ratio]) for name in names]
            baseline = mine[names[0]].baseline[ratio]
            table.add_row("" if place else upgrade, words, *cells, number(baseline))
    return table


# Straw-man systems.


def straw_man_tables(studies: Sequence[StrawManStudy]) -> Iterator[RenderableType]:
    """Yield the systems, then of every workload the largest problem and the least time on each."""
    yield _system_table(studies[0].systems)
    yield _problem_table(studies)
    for study in studies:
        yield from (paragraph(text) for text in _study_words(study))


def _system_table(systems: Sequence[System]) -> Table:
    table = new_table("Systems", "", *(system.machine.name for system in systems))
    rows = {
        "nodes": [number(system.machine.nodes) for system in systems],
        "processors": [number(system.processes) for system in systems],
        "processors of a node": [number(system.machine.processors_per_node) for system in systems],
        "memory of a processor": [quantity(system.memory_bytes, "B") for system in systems],
        "rate of a processor": [quantity(system.rate_flop_per_s, "flop/s") for system in systems],
    }
    for words, cells in rows.items():
        table.add_row(words, *cells)
    return table


def _problem_table(studies: Sequence[StrawManStudy]) -> Table:
    names = [system.machine.name for system in studies[0].systems]
    title = "Largest overall problem N, and least time (flop over rate alone) for the benchmark problem"
    table = new_table(title, "workload", "", *names)
    table.columns[1].justify = "left"
    for study in studies:
        table.add_section()
        cells = [number(system.overall) if system.fit.fits else "nothing fits" for system in study.systems]
        table.add_row(study.workload.name, "largest problem", *cells)
        if study.benchmark is not None:
            times = [system.wall_time_s for system in study.systems]
            shown = ["-" if time is None else quantity(time, "s") for time in times]
            table.add_row("", f"time for {number(study.benchmark)}", *shown)
    return table


def _study_words(study: StrawManStudy) -> Iterator[str]:
    name = study.workload.name
    for system in study.excluded:
        yield f"{name} on {system.machine.name}: {no_fit_words(system.fit)}"
    if study.excluded:
        yield f"{name} is excluded: no problem is held by all systems"
    for system in study.systems:
        if study.benchmark is not None and system.fit.fits and system.wall_time_s is None:
            share = study.benchmark / system.processes
            yield f"{name} on {system.machine.name}: no time, {number(share)} of a process is no size that it allows"
