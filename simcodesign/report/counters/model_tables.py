"""The models of hardware counters, law by law, as tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from rich.table import Table

from simcodesign.counters.forms import LINEAR, PROCESSES, WORK, BestForm, Law, NormalForm
from simcodesign.counters.models import ApplicationModel, KernelModel
from simcodesign.counters.runs import works
from simcodesign.report.common.tables import new_table

#: Kernels whose counters have rows in the table of models; JSON has all.
MOST_KERNELS = 8


#: Below this fraction of the largest value an intercept is rounding.
ROUNDING = 1e-12


COUNTER_WORDS = {
    "instructions": "instructions",
    "stall_cycles": "stall cycles",
    "l1_hits": "L1 hits",
    "l2_hits": "L2 hits",
    "llc_hits": "LLC hits",
    "memory_accesses": "memory accesses",
}


def model_table(model: ApplicationModel) -> Table:
    """Return a row for each law: counters of the kernels, volumes and times of communication, the rest of the time."""
    table = new_table("Models, of one process", "kernel", "counter", "model", "R2")
    table.columns[1].justify = table.columns[2].justify = "left"
    table.columns[3].no_wrap = True
    reach = reach_of(model)
    for kernel in model.kernels[:MOST_KERNELS]:
        for place, (counter, law) in enumerate(_shown_laws(kernel)):
            table.add_row("" if place else kernel.name, counter, law_text(law, reach), r2_text(law))
        table.add_section()
    if (left := len(model.kernels) - MOST_KERNELS) > 0:
        table.add_row(f"and {left} more", "", "(--json has all)", "")
        table.add_section()
    for place, (what, text, r2) in enumerate(_communication_rows(model)):
        table.add_row("" if place else "communication", what, text, r2)
    if model.others is not None:
        table.add_row("others", "time (s)", law_text(model.others, reach), r2_text(model.others))
    return table


def laws_of(kernel: KernelModel) -> Iterator[tuple[str, Law]]:
    """Yield the law of the time of a kernel, if there is one, and the laws of its counters, with their names."""
    if kernel.time is not None:
        yield "time (s)", kernel.time
    for counter, law in kernel.counters.items():
        yield COUNTER_WORDS.get(counter, counter), law


def _shown_laws(kernel: KernelModel) -> list[tuple[str, Law]]:
    """Without counters that are always 0, unless all are."""
    every = [*laws_of(kernel)]
    return [(counter, law) for counter, law in every if law.text != "0"] or every[:1]


def _communication_rows(model: ApplicationModel) -> Iterator[tuple[str, str, str]]:
    """Rows for the available models: volumes as laws of P, times over them."""
    communication, waits, reach = model.communication, model.runs, reach_of(model)
    if np.nansum(waits.column("p2p_wait_s")) > 0:
        a, b = communication.p2p.a_s_per_byte, communication.p2p.b_s
        if a:
            yield "p2p bytes", law_text(communication.p2p_bytes, reach), r2_text(communication.p2p_bytes)
        yield "p2p time (s)", _sum([(a, "bytes"), (b, "")]), _share(communication.p2p.r2) if a else "-"
    if np.nansum(waits.column("collective_wait_s")) > 0:
        one = communication.collective
        if one.b_s_per_byte:
            yield (
                "coll. bytes",
                law_text(communication.collective_bytes, reach),
                r2_text(communication.collective_bytes),
            )
        text = _sum([(one.a_s, "log2 P"), (one.b_s_per_byte, "bytes"), (one.c_s, "")])
        yield "coll. time (s)", text, _share(one.r2) if one.a_s or one.b_s_per_byte else "-"


def _sum(terms: Iterable[tuple[float, str]]) -> str:
    """``2e-09 bytes + 0.001``, without what is 0."""
    texts = [f"{factor:.4g} {name}".strip() for factor, name in terms if factor]
    return " + ".join(texts).replace("+ -", "- ") or "0"


def law_text(law: Law, reach: Mapping[str, float]) -> str:
    """Return the law in words, without an intercept that is rounding. ``reach``: the largest value of each axis."""
    if isinstance(law, NormalForm):
        return law.text.replace("work", "(size/P)").replace("processes", "P")
    form = law.forms[0] if isinstance(law, BestForm) else None
    if form and form.kind == LINEAR and abs(form.b) <= ROUNDING * abs(form.a) * reach[form.axis]:
        return replace(form, b=0.0).text.removesuffix(" + 0")
    return law.text


def reach_of(model: ApplicationModel) -> dict[str, float]:
    """Return the largest number of processes and work of a process of the runs."""
    processes, work = works(model.runs, model.scaling)
    return {PROCESSES: float(processes.max()), WORK: float(work.max())}


def r2_text(law: Law) -> str:
    """R squared; none for a constant that represents values without a law."""
    constant = isinstance(law, BestForm) and law.forms[0].kind == "constant"
    return "-" if constant and law.r2 < 1 else _share(law.r2)


def _share(r2: float) -> str:
    if not math.isfinite(r2):
        return "-"
    return ">0.9999" if 0.99995 <= r2 < 1 - 1e-12 else f"{r2:.4f}"


def model_words(model: ApplicationModel) -> str:
    """Return what a model of an application assumes, as sentences; empty if there is nothing to state."""
    counted = any(kernel.time is None for kernel in model.kernels)
    parts = ["Time of a kernel = instructions x CPI / clock + memory stalls."] if counted else []
    if np.nansum(model.runs.communication_s) > 0:
        factor = model.communication.blocking_factor
        parts.append(f"BF_comm = {factor:.4g}: what of the time of communication is not overlapped.")
    return " ".join(parts)
