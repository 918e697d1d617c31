"""Sentences about the evidence of a machine's file for what was predicted."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from simcodesign.comparison.measured.evidence import EvidenceOverPoints, OperationEvidence
from simcodesign.core.units import shortest_quantity
from simcodesign.describe.machine_parts.evidence import Evidence
from simcodesign.report.common.tables import paragraph

#: Most operations without evidence that are listed.
MOST_NAMED = 6


def evidence_lines(every: Sequence[OperationEvidence]) -> list[RenderableType]:
    """Return a paragraph with one sentence for each operation of a design point; nothing without operations."""
    known = [_sentence(one, one.evidence) for one in every if one.evidence is not None]
    unknown = [_what(one) for one in every if one.evidence is None]
    more = f" and {len(unknown) - MOST_NAMED:,} more" if len(unknown) > MOST_NAMED else ""
    none = [f"The machine file has no evidence on {', '.join(unknown[:MOST_NAMED])}{more}."] if unknown else []
    return [paragraph(" ".join([*known, *none]))] if every else []


def _what(one: OperationEvidence) -> str:
    size = "" if one.size_bytes is None else f" of {shortest_quantity(one.size_bytes, 'size', 4)}"
    return f"{one.operation.replace('_', ' ')}{size} on {one.ranks:,.12g} ranks"


def _sentence(one: OperationEvidence, evidence: Evidence) -> str:
    ends = " to ".join(shortest_quantity(size, "size", 4) for size in evidence.bytes)
    rows = f"{evidence.rows:,} measured time{'s' * (evidence.rows > 1)}{' of ' * bool(ends)}{ends}"
    error = f"median error of the {evidence.reading} {100 * evidence.median_error:.2g} %"
    return f"The machine file's evidence on {_what(one)}: {rows}, {error}."


def evidence_over_text(every: Sequence[EvidenceOverPoints]) -> list[str]:
    """Return a line for each operation over many design points."""
    return [_line(one) for one in every]


def _line(one: EvidenceOverPoints) -> str:
    name = one.operation.replace("_", " ")
    if not one.covered:
        return f"{name}: no evidence"
    ends = dict.fromkeys(f"{100 * error:.2g}" for error in one.median_errors)
    where = "at all points" if one.covered == one.points else f"at {one.covered:,} of {one.points:,} points"
    beyond = "" if one.covered == one.points else "; no evidence elsewhere"
    return f"{name}: {where}, median error {' to '.join(ends)} %{beyond}"
