"""Evidence in the machine's file for the operations of a design point, and the errors it states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcodesign.core.to_json import PlainResult, attributes_of
from simcodesign.describe.demands.collective import SIGNALS, Collective
from simcodesign.describe.demands.footprint import MessageDemand
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.evaluated.algorithms_taken import sizes_of_members
from simcodesign.describe.evaluation import EvaluatedStep, Evaluation
from simcodesign.describe.machine_parts.evidence import Evidence


@dataclass(frozen=True)
class OperationEvidence(PlainResult):
    """An ``operation`` at a design point, and the ``evidence`` of the machine's file; None: no evidence.

    ``ranks`` take part; ``size_bytes``: its bytes, None if they are not one size for all ranks, or it is a workload.

    >>> from simcodesign.comparison.measured.evidence import OperationEvidence
    >>> OperationEvidence("broadcast", 8.0, 1024.0).to_dict()["known"]
    False
    """

    operation: str
    ranks: float
    size_bytes: float | None = None
    evidence: Evidence | None = None

    @property
    def known(self) -> bool:
        """Whether there is evidence."""
        return self.evidence is not None

    def json_fields(self) -> dict[str, Any]:
        """Return the operation and what the file states about it."""
        shown = attributes_of(self, "operation", "ranks", "size_bytes", "known")
        if self.evidence is None:
            return shown
        return shown | attributes_of(self.evidence, "reading", "rows", "median_error", "source")


def evidence_at(point: DesignPoint) -> tuple[OperationEvidence, ...]:
    """Return the operations that a single design point has messages by, each once, with the evidence of its machine.

    If the file has evidence of the workload as a whole, the workload replaces its operations.
    """
    known = point.machine.evidence
    found: dict[tuple[str, float, float | None], OperationEvidence] = {}
    of_workload = [(point.workload.name, float(point.ranks), None)]
    whole = of_workload if any(one.operation == point.workload.name and not one.bytes for one in known) else []
    for key in whole or _operations(point):
        if key not in found:
            holding = [one for one in known if one.holds(*key)]
            here = max(holding, key=lambda one: one.low_bytes, default=None)  # a range may begin where another one ends
            found[key] = OperationEvidence(*key, here)
    return tuple(found.values())


def _operations(point: DesignPoint) -> Iterator[tuple[str, float, float | None]]:
    """Operations, ranks and bytes, in the order of the program."""
    for step in Evaluation.at_ranks(point).program.demands():
        demand = step.demand
        if not isinstance(demand, MessageDemand) or not np.any(np.asarray(step.repetitions) > 0):
            continue
        if isinstance(demand, Collective):
            if demand.name not in SIGNALS:
                yield from ((demand.name, ranks, size) for ranks, size in _sizes(step, demand))
        else:
            yield demand.label.partition(" (")[0], float(point.ranks), None


def _sizes(step: EvaluatedStep, demand: Collective) -> Iterator[tuple[float, float | None]]:
    """Return the ranks of its groups, and their bytes, the smallest and the largest of all iterations."""
    for ranks, _ in sizes_of_members(step):
        names = None if demand.group is None else {"group_size": ranks}
        sizes = None if demand.is_sized_by_rank else np.asarray(step.amount(demand.bytes, "bytes", names))
        ends = [None] if sizes is None else dict.fromkeys([float(sizes.min()), float(sizes.max())])
        for size in ends:
            yield float(np.max(ranks)), size


@dataclass(frozen=True)
class EvidenceOverPoints(PlainResult):
    """An ``operation`` at ``points`` design points, ``covered`` of which have evidence of all its sizes there.

    ``median_errors``: the smallest and the largest of what the machine's file states for these, if any.

    >>> from simcodesign.comparison.measured.evidence import EvidenceOverPoints
    >>> EvidenceOverPoints("broadcast", 12, 0).to_dict()["covered"]
    0
    """

    operation: str
    points: int
    covered: int
    median_errors: tuple[float, ...] = ()


def evidence_over(points: Iterable[DesignPoint]) -> tuple[EvidenceOverPoints, ...]:
    """Return the operations of single design points, each with the number of points of which there is evidence."""
    counts: dict[str, list[list[OperationEvidence]]] = {}
    for point in points:
        here: dict[str, list[OperationEvidence]] = {}
        for one in evidence_at(point):
            here.setdefault(one.operation, []).append(one)
        for operation, every in here.items():
            counts.setdefault(operation, []).append(every)
    answers = []
    for operation, several in counts.items():
        covered = [every for every in several if all(one.known for one in every)]
        errors = [one.evidence.median_error for every in covered for one in every if one.evidence is not None]
        ends = (min(errors), max(errors)) if errors else ()
        answers.append(EvidenceOverPoints(operation, len(several), len(covered), ends))
    return tuple(answers)
