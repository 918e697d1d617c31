"""Operations for which the rows of a calibration are no evidence: sentences for its machine file."""

from __future__ import annotations

from collections.abc import Collection

from simcodesign.calibration.benchmarks.nodes.full_node import COPIES
from simcodesign.calibration.benchmarks.nodes.loaded_interfaces import PATH as LOADED
from simcodesign.describe.machine import Machine

_ALONE = "messages alone show nothing of ranks that send at the same time"


def evidence_notes(machine: Machine, paths: Collection[str]) -> list[str]:
    """Return what does not follow from the rows that determined the constants of ``paths``.

    Messages of lone pairs determine a startup and a bandwidth; what several ranks of a node share at the same time is
    in no row of theirs.
    """
    if not any(path.endswith((".startup", ".L")) for path in paths):
        return []
    stated = machine.constants()
    inside = COPIES in paths or COPIES in stated
    outside = any(path.startswith("network.interfaces.") for path in (*paths, *stated) if path in (*paths, LOADED))
    see = "'simcodesign calibrate' and the machine alone print what to measure"
    if machine.processors_per_node < 2:
        return [] if outside else [f"No collective operation follows from these rows: {_ALONE}."]
    if inside and LOADED in (*paths, *stated):
        return []
    if not inside and LOADED not in (*paths, *stated):
        return [f"No collective operation follows from these rows: {_ALONE}; {see}."]
    if not inside:
        return [f"No collective operation within full nodes follows from these rows: {_ALONE}; {see}."]
    return [f"No collective operation between full nodes follows from these rows: none is of two full nodes; {see}."]
