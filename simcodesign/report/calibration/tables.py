"""Constants determined from measured times: tables and sentences, a dictionary for JSON, and text for YAML files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.calibration.calibrate import Calibration, Unknown
from simcodesign.calibration.common_direction import common_direction
from simcodesign.calibration.design_matrix import COMPUTATION
from simcodesign.calibration.estimates import Combination, Estimate, Group
from simcodesign.calibration.linear_constants import ConstantsFit
from simcodesign.core.errors import InputError
from simcodesign.core.to_json import attributes_of
from simcodesign.core.units import DIMENSIONS, format_quantity
from simcodesign.describe.constants import dimension_at
from simcodesign.report.common.numbers import with_ends
from simcodesign.report.common.tables import new_table, paragraph

#: Residuals shown, the largest first.
MAX_RESIDUALS = 5
#: Larger numbers of standard deviations are not printed.
MAX_DEVIATIONS = 1000
#: Further measurements named for a set of constants.
MAX_ADVICE = 4
#: Constants of several phases are reported as one vector times a factor when they are so within this fraction.
COMMON = 0.02
#: Printed for an interval whose ends are equal in the digits shown.
NARROW = "to the digits shown"
#: Relative residuals below this are rounding.
DUST = 1e-10


def calibration_tables(calibration: Calibration) -> Iterator[RenderableType]:
    """Estimates, what cannot be determined separately, and the largest residuals."""
    yield paragraph(
        f"{calibration.workload.name} on {calibration.machine.label}: constants from measured times", bold=True
    )
    yield estimate_table(calibration)
    yield from (paragraph(sentence) for sentence in sentences(calibration))
    yield residual_table(calibration)


def estimate_table(calibration: Calibration) -> Table:
    """One row a constant."""
    level = f"{calibration.fit.level:.0%} interval".replace("%", " %")
    table = new_table("Constants", "constant", "phase", "estimate", level, "rows used")
    table.columns[1].justify = "left"
    for unknown, estimate in zip(calibration.unknowns, calibration.fit.estimates, strict=True):
        value = shown(unknown, estimate.value) if estimate.determined else "not determined"
        table.add_row(unknown.path, unknown.phase or "all", value, _interval(unknown, estimate), str(estimate.rows))
    return table


def _interval(unknown: Unknown, estimate: Estimate) -> str:
    """Return the interval; without one, the values that fit equally well; a dash if nothing is known."""
    low, high = estimate.low, estimate.high
    if math.isnan(low):
        low, high = (estimate.least, estimate.most) if not estimate.determined else (math.nan, math.nan)
    return "-" if math.isnan(low) else _range(unknown, low, high)


def _range(unknown: Unknown, low: float, high: float) -> str:
    if math.isinf(high):
        return f"{shown(unknown, low)} or more"
    ends = shown(unknown, low), shown(unknown, high)
    return f"{ends[0]} to {ends[1]}" if ends[0] != ends[1] else NARROW


def shown(unknown: Unknown, value: float) -> str:
    """Return a value of an unknown with its unit; factors have none."""
    if math.isnan(value):
        return "-"
    dimension = dimension_at(unknown.path)
    return format_quantity(value, dimension) if dimension else f"{value:.4g}"


def sentences(calibration: Calibration) -> Iterator[str]:
    """How rows were weighted, their scatter, what is not determined and why, what was not used."""
    yield _weights(calibration)
    if any(group.missing for group in calibration.fit.groups):
        yield "The interval of a constant that is not determined holds every value that fits about equally well."
    by_name = dict(zip(calibration.fit.problem.names, calibration.unknowns, strict=True))
    for group, advice in zip(calibration.fit.groups, calibration.advice, strict=True):
        if group.missing:
            yield _degenerate(calibration, group, advice, by_name)
        for hidden in group.hidden:
            yield (
                f"{_and([str(by_name[name]) for name in hidden])} can hardly be separated: the scatter of the times "
                f"({_scatter(calibration, group)}) is larger than their difference."
            )
    yield from outlier_sentences(calibration)
    blind = [group for group in calibration.fit.groups if math.isnan(group.error) and len(group.rows)]
    if blind:
        sets = "; ".join(_and(list(group.names)) for group in blind)
        yield (
            f"There is no interval for {sets}: no time is left over to tell the error of the times. "
            "Give more times, or their error (--error)."
        )
    bound = [estimate.name for estimate in calibration.fit.estimates if estimate.at_bound]
    if bound:
        yield (
            f"{_and(bound)}: held at 0; without this bound the times would fit better with a negative value. "
            "Standard errors of the others take them as known; intervals do not."
        )
    yield from common_sentences(calibration)
    over = int(np.sum(calibration.fit.problem.known_s > calibration.fit.problem.times_s))
    if over:
        yield f"In {over} times, the part that no unknown has is more than the whole measured time."
    if calibration.unused:
        named = ", ".join(str(timing) for timing in calibration.unused[:3]) + (
            ", ..." if len(calibration.unused) > 3 else ""
        )
        yield f"{len(calibration.unused)} times were not used, because no unknown has a part in them: {named}."


def _weights(calibration: Calibration) -> str:
    problem = calibration.fit.problem
    what = "the relative error" if problem.weighting == "relative" else "the error in seconds"
    known = "" if problem.error is None else f", given as {_amount(calibration, problem.error)}"
    every = {_scatter(calibration, group) for group in calibration.fit.groups if not math.isnan(group.error)}
    scatter = f"; standard error of a time by what is left: {', '.join(sorted(every))}" if every and not known else ""
    same = "all" if known else "all times that have constants in common"
    return f"{len(calibration.timings)} times; {what} is taken to be the same for {same}{known}{scatter}."


def _scatter(calibration: Calibration, group: Group) -> str:
    return _amount(calibration, group.error)


def _amount(calibration: Calibration, error: float) -> str:
    if calibration.fit.problem.weighting == "absolute":
        return format_quantity(error, "time")
    return "0 (rounding)" if error < DUST else f"{100 * error:.2g} %"


def _degenerate(calibration: Calibration, group: Group, advice: tuple[str, ...], names: Mapping[str, Unknown]) -> str:
    """Constants that cannot be determined separately, the combinations of them that can, and which times would help."""
    loose = [names[name] for name in group.undetermined]
    if not len(group.rows):
        return f"{_and(list(map(str, loose)))}: no time has a part of it."
    where = f"In {loose[0].phase}, " if loose[0].phase else ""
    text = f"{where}{_and([one.path if where else str(one) for one in loose])} cannot be separated"
    combinations = [_combination(one, names, calibration.fit.level) for one in group.combinations]
    text += f": of {len(loose)} constants only {_count(len(loose) - group.missing, 'combination')} "
    text += f"{'is' if len(combinations) == 1 else 'are'} determined: {'; '.join(combinations)}."
    return f"{text} {_what_would_separate(loose, group, advice)}"


def outlier_sentences(calibration: Calibration) -> Iterator[str]:
    """Yield the times that the others do not explain, and whether they were used."""
    fit = calibration.fit
    for one in sorted(fit.outliers, key=lambda one: -abs(one.deviations)):
        timing = calibration.timings[one.row]
        measured, expected = (format_quantity(seconds, "time") for seconds in (one.measured_s, one.expected_s))
        yield f"{outlier_text(f'{timing} ({timing.place})', measured, expected, one.deviations)}; {outlier_use(fit)}"


def outlier_text(what: str, measured: str, expected: str, deviations: float) -> str:
    """Return an outlier in words; ``what`` was measured."""
    far = abs(deviations)
    how = f"{far:.3g} standard deviations" if far < MAX_DEVIATIONS else "the others hardly differ from the fit"
    return f"An outlier: {what}: measured {measured}, the other times give {expected} ({how})"


def outlier_use(fit: ConstantsFit) -> str:
    """Whether the outliers of a fit were used, as the end of a sentence."""
    return "it was left out (--robust)." if fit.robust else "it was used; --robust leaves it out."


def _combination(one: Combination, names: Mapping[str, Unknown], level: float) -> str:
    first = names[next(iter(one.weights))]
    parts: list[str] = []
    for name, weight in one.weights.items():
        factor = "" if weight == 1 and not parts else f"{abs(weight):.4g}{_weight_unit(first, names[name])} x "
        parts.append(f"{'- ' if weight < 0 else '+ ' if parts else ''}{factor}{names[name].path}")
    value, low, high = (_signed(first, value) for value in (one.value, one.low, one.high))
    known = not math.isnan(one.low)
    return f"{' '.join(parts)} = {with_ends(value, low, high, f'{level * 100:g} %: ') if known else value}"


def _signed(unknown: Unknown, value: float) -> str:
    return f"-{shown(unknown, -value)}" if value < 0 else shown(unknown, value)


def _weight_unit(first: Unknown, other: Unknown) -> str:
    kinds = dimension_at(first.path) or "", dimension_at(other.path) or ""
    return {("time", "per_byte"): " B", ("per_byte", "time"): "/B"}.get(kinds, "")


def _what_would_separate(loose: list[Unknown], group: Group, advice: tuple[str, ...]) -> str:
    paths = [one.path for one in loose]
    ways = list(advice[:MAX_ADVICE])
    if {"disk.read_startup", "disk.write_startup"} <= {*paths}:
        ways.append("reads and writes timed apart")
    need = f"At least {_count(group.missing, 'further time')} of another kind would tell them apart"
    return f"{need}: {', or '.join(ways)}." if ways else f"{need}; no single parameter of the workload does."


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def common_sentences(calibration: Calibration) -> Iterator[str]:
    """Where the constants of a part are, in every phase, the same vector times a factor."""
    values = {
        (unknown.path, unknown.phase): estimate.value
        for unknown, estimate in zip(calibration.unknowns, calibration.fit.estimates, strict=True)
        if estimate.determined and estimate.value > 0 and unknown.phase and not unknown.ratio
    }
    for part, group in groupby(
        sorted({path for path, _ in values if dimension_at(path)}), lambda path: path.split(".")[0]
    ):
        # A constant that is alone in its phase has no direction.
        paths = [path for path in group if sum(path == other for other, _ in values) > 1]
        phases = [phase for phase in calibration.workload.phases() if all((path, phase) in values for path in paths)]
        if len(paths) < 2 or len(phases) < 2:
            continue
        try:
            common = common_direction([[values[path, phase] for phase in phases] for path in paths])
        except InputError:
            continue
        if common.relative_misfit <= COMMON:
            ratio = " : ".join(f"{part_:.4g}" for part_ in common.vector / common.vector[0])
            factors = ", ".join(f"{factor:.4g}" for factor in common.factors)
            yield (
                f"The {part} constants of {_and(phases)} are one vector ({', '.join(paths)} as {ratio} in SI units) "
                f"times one factor for each phase ({factors}) to {100 * common.relative_misfit:.2g} %: "
                "one number for each phase would do (--ratio)."
            )


def residual_table(calibration: Calibration) -> Table:
    """Return the times that fit worst."""
    fit = calibration.fit
    measured = fit.problem.times_s
    share = np.divide(fit.residuals_s, measured, out=np.zeros_like(measured), where=measured > 0)
    order = np.argsort(-np.abs(share), kind="stable")[:MAX_RESIDUALS]
    title = (
        "Times" if len(measured) <= MAX_RESIDUALS else f"The {MAX_RESIDUALS} times that fit worst, of {len(measured)}"
    )
    table = new_table(f"{title} (residual: fitted over measured, less 1)", "time", "measured", "fitted", "residual")
    for row in order.tolist():
        off = "0 %" if abs(share[row]) < DUST else f"{100 * share[row]:+.2g} %"
        seconds = (format_quantity(float(value), "time") for value in (measured[row], fit.fitted_s[row]))
        table.add_row(str(calibration.timings[row]), *seconds, off)
    return table


def calibration_dict(calibration: Calibration) -> dict[str, Any]:
    """Plain numbers in SI units, as for JSON."""
    fit = calibration.fit
    return attributes_of(
        calibration,
        *("workload", "machine", "unused"),
        level="fit.level",
        weighting="fit.problem.weighting",
        error="fit.problem.error",
    ) | {
        "constants": [
            {
                **attributes_of(unknown, constant="path"),
                "phase": unknown.phase or None,
                "unit": _unit(unknown),
                **attributes_of(
                    estimate, *("determined", "standard_error", "rows", "at_bound", "interval"), estimate="value"
                ),
                "fits_equally": [estimate.least, estimate.most],
                "ratio": dict(unknown.ratio) or None,
            }
            for unknown, estimate in zip(calibration.unknowns, fit.estimates, strict=True)
        ],
        "groups": [
            {
                **attributes_of(group, "error", "undetermined", "missing", "combinations", constants="names"),
                **attributes_of(group, degrees_of_freedom="freedom", hidden_by_noise="hidden"),
                "rows": len(group.rows),
                "separated_by": advice,
            }
            for group, advice in zip(fit.groups, calibration.advice, strict=True)
        ],
        "robust": fit.robust,
        "outliers": [
            {
                "time": str(calibration.timings[one.row]),
                "location": str(calibration.timings[one.row].place),
                **attributes_of(one, "measured_s", "expected_s", "deviations"),
            }
            for one in fit.outliers
        ],
        "times": [
            {"time": str(timing), "measured_s": measured, "fitted_s": fitted}
            for timing, measured, fitted in zip(
                calibration.timings, fit.problem.times_s.tolist(), fit.fitted_s.tolist(), strict=True
            )
        ],
        "sentences": list(sentences(calibration)),
    }


def _unit(unknown: Unknown) -> str:
    return DIMENSIONS.get(dimension_at(unknown.path) or "", "")


def yaml_text(calibration: Calibration) -> str:
    """``constants:`` of phases for a workload file, or parts of a machine file where phases share them."""
    of = dict(zip(calibration.unknowns, calibration.fit.estimates, strict=True))
    blocks = [
        f"# {calibration.workload.name} on {calibration.machine.name}, "
        f"from {len(calibration.timings)} measured times (calibrated)"
    ]
    for phase in dict.fromkeys(unknown.phase for unknown in of):
        here = [(unknown, estimate) for unknown, estimate in of.items() if unknown.phase == phase]
        if phase:
            blocks += [f"# phase {phase}", "constants:", *(line for one in here for line in _yaml_lines(*one))]
        else:
            blocks += _machine_lines(here)
    return "\n".join(blocks) + "\n"


def _machine_lines(here: list[tuple[Unknown, Estimate]]) -> list[str]:
    lines = [line for one in here for line in _yaml_lines(*one)]
    notes = [line.strip() for line in lines if line.strip().startswith("#")]
    parts: dict[str, list[str]] = {}
    for line in lines:
        if not line.strip().startswith("#"):
            part, _, rest = line.strip().partition(".")
            parts.setdefault(part, []).append(f"  {rest}")
    return [*notes, *(text for part, rows in parts.items() for text in (f"{part}:", *rows))]


def _yaml_lines(unknown: Unknown, estimate: Estimate) -> Iterator[str]:
    """Yield determined constants as keys, the others as comments."""
    interval = _interval(unknown, estimate)
    if not estimate.determined:
        yield (
            f"  # {unknown.path}: not determined; {interval} fit as well"
            if estimate.rows
            else f"  # {unknown.path}: no time"
        )
    elif unknown.path == COMPUTATION:
        yield f"  # computation takes {estimate.value:.6g} times as long as in the workload"
    else:
        for path, part in unknown.ratio or ((unknown.path, 1.0),):
            value = f"{estimate.value * part:.6g} {DIMENSIONS[dimension_at(path) or 'count']}"
            note = f"  # {interval}" if interval not in ("-", NARROW) and not unknown.ratio else ""
            yield f"  {path}: {value}{note}"
