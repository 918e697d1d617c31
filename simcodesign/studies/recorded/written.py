"""The fitted requirements as a workload file: each phase computes, sends to its neighbours, and calls its collectives.

The number of messages of a phase is divided among the neighbours of a halo exchange, as many times as that takes;
collective operations are repeated as often as they are called, each with the mean payload.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from simcodesign.describe.demands.collective import SIGNALS
from simcodesign.describe.yaml.tree import MAX_NAME
from simcodesign.fitting.as_workload.messages import has_negative
from simcodesign.fitting.as_workload.names import MeasuredParameters, measured_parameters, one_line, quoted
from simcodesign.fitting.fits import Fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.studies.recorded.counts import (
    BYTES,
    CALLS,
    FLOPS,
    MEMBERS,
    MEMORY,
    MESSAGES,
    PAYLOAD,
    PROGRAM,
    SECONDS,
    Counts,
)
from simcodesign.studies.recorded.models import model_of
from simcodesign.studies.recorded.plan import Plan

#: Dimensions of the largest halo exchange.
_MOST_DIMENSIONS = 4


@dataclass
class _Writer:
    """The parts of the file."""

    counts: Counts
    parameters: MeasuredParameters
    equations: list[str] = field(default_factory=list)
    groups: dict[int, str] = field(default_factory=dict)

    def equation(self, fit: Fit, metric: str) -> str:
        """Add the model of a fit as an equation; return its name."""
        model = self.parameters.renamed(model_of(fit))
        name = self.parameters.names.new(fit.region, metric)
        text = f"max(0, {model.expression})" if has_negative(model) else model.expression
        self.equations += [f"  # SMAPE {fit.smape:.3g} %", f"  {name}: {text}"]
        return name

    def phase(self, region: str, fits: Mapping[str, Fit]) -> Iterator[str]:
        """Yield the lines of a phase."""
        yield f"  - phase: {quoted(one_line(region)[:MAX_NAME])}"
        yield "    do:"
        for metric in (FLOPS, SECONDS):
            if metric in fits:
                yield f"      - compute: {{{metric}: {self.equation(fits[metric], metric)}}}"
        if MESSAGES in fits:
            yield from self._exchange(region, fits)
        for metric in fits:
            if metric.startswith(CALLS):
                yield from self._collective(metric.removeprefix(CALLS), fits)

    def _exchange(self, region: str, fits: Mapping[str, Fit]) -> Iterator[str]:
        fewest, most = self.counts.partners.get(region, (2, 2))
        dims = min(max(1, (most + 1) // 2), _MOST_DIMENSIONS)
        messages = self.equation(fits[MESSAGES], MESSAGES)
        size = self.equation(fits[BYTES], BYTES) if BYTES in fits else "0"
        rounds = self.parameters.names.new(region, "rounds")
        self.equations.append(f"  {rounds}: max(1, round({messages}/{2 * dims}))")
        yield f"      - repeat: {rounds}"
        yield "        do:"
        keys = f"pattern: halo{dims}d, periodic: {str(fewest == most).lower()}"
        yield f'          - exchange: {{{keys}, bytes: "{size}/({2 * dims}*{rounds})"}}'

    def _collective(self, name: str, fits: Mapping[str, Fit]) -> Iterator[str]:
        operation, _, family = name.partition("@")
        plain = name.replace("@", "_")
        calls = self.equation(fits[CALLS + name], f"calls_{plain}")
        keys = []
        if operation not in SIGNALS:
            payload = self.equation(fits[PAYLOAD + name], f"bytes_{plain}") if PAYLOAD + name in fits else "0"
            keys.append(f'bytes: "{payload}/max(1, round({calls}))"')
        if family:
            keys.append(f"group: {self._group(int(family), fits[MEMBERS + name])}")
        yield f"      - repeat: round({calls})"
        yield "        do:"
        yield f"          - {operation}: {{{', '.join(keys)}}}"

    def _group(self, family: int, size: Fit) -> str:
        """Return the name of a family of groups."""
        name = f"group_{family}"
        if family not in self.groups:
            members = f"max(1, round({self.equation(size, f'ranks_{family}')}))"
            apart = self.counts.strided.get(family, False)
            self.groups[family] = f"rank % max(1, P // {members})" if apart else f"rank // {members}"
        return name


def workload_text(name: str, plan: Plan, fits: Mapping[tuple[str, str], Fit], counts: Counts) -> str:
    """Return the text of the workload of these fits. ``counts``: of the recording with the most ranks.

    Messages between two ranks become halo exchanges in as many dimensions as half of the most partners of a rank,
    periodic if all ranks have as many partners; families of communicators become ranks that follow each other or are
    equally far apart.
    """
    every = Measurements(plan.parameters, plan.points, (PROGRAM,), ("x",), np.ones((1, len(plan.points), 1)))
    writer = _Writer(counts, measured_parameters(every, "P"))
    by_region: dict[str, dict[str, Fit]] = {}
    for (region, metric), fit in fits.items():
        if metric != MEMORY:
            by_region.setdefault(region, {})[metric] = fit
    phases = [line for region, own in by_region.items() for line in writer.phase(region, own)]
    footprint = [f"footprint: {writer.equation(fit, key[1])}" for key, fit in fits.items() if key[1] == MEMORY]
    groups = [f"  group_{family}: {text}" for family, text in writer.groups.items()]
    lines = [
        "simcodesign: 1",
        f"name: {quoted(one_line(name)[:MAX_NAME])}",
        f"about: {quoted('Models fitted to recordings of a program, every rank with the maximum over all')}",
        "parameters:",
        *(parameter.line for parameter in writer.parameters.every),
        "equations:",
        *writer.equations,
        *(["groups:", *groups] if groups else []),
        *footprint,
        "program:",
        *(phases or ["  - compute: {flops: 0}"]),
    ]
    return "\n".join(lines) + "\n"
