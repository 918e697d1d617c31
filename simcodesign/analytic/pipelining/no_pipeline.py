"""Programs whose successive operations have no closed form."""

from __future__ import annotations

from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.python_programs.recorded_program import RecordedProgram

#: Ranks of programs whose successive operations are looked at, rank by rank: a few bytes of each.
MOST_PIPELINED_RANKS = 10_000_000


def why_not_pipelined(evaluation: Evaluation) -> str:
    """Return for what no closed form of successive operations is given; nothing if it is."""
    program = evaluation.design_point.workload.program
    for step in program:
        if isinstance(step, RecordedProgram):
            return f"a {step.words}, whose ranks differ"
    if evaluation.design_point.shape:
        return "several design points"
    if evaluation.design_point.workload.has_overlap:
        return "concurrent parts"
    if evaluation.design_point.workload.has_index:
        return "iterations that differ"
    network = evaluation.machine.network
    if not network.message_model.ranks_work_in_order and evaluation.machine.paths_differ:
        return f"{network.message_model.title} if links differ, so that ranks do not continue at the same time"
    if evaluation.design_point.ranks > MOST_PIPELINED_RANKS:
        return f"more than {MOST_PIPELINED_RANKS:g} ranks"
    return "ranks that differ" if evaluation.by_rank else ""
