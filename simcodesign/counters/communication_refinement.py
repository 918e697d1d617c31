"""Communication from two further runs: one to fit volumes and times again, one to tell what that was worth.

Source: Ding et al., APMT, section 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.counters.forms import fit_forms
from simcodesign.counters.kernels import grouped
from simcodesign.counters.models import ApplicationModel, FitLaw, communication_model
from simcodesign.counters.runs import run_times, scaling_of
from simcodesign.counters.table import CounterTable, joined, means


@dataclass(frozen=True)
class CommunicationRefinement:
    """Return the model with its communication fitted again, and BF_comm T_comm at the run kept for validation, in s.

    BF_comm T_comm as measured, as modelled before, and as modelled now.
    """

    model: ApplicationModel
    measured_s: float
    before_s: float
    after_s: float


def refine_communication(
    model: ApplicationModel, further: CounterTable, validation: CounterTable, law: FitLaw = fit_forms
) -> CommunicationRefinement:
    """Fit communication to the runs of a model and one more, and compare it with a last one.

    InputError where a further run is not on another number of processes (or work of a process), or changes how size and
    processes go together, and where ``validation`` holds more than one run.
    """
    added, kept = (means(grouped(table, model.identified)) for table in (further, validation))
    runs = joined([model.runs, added])
    scaling = scaling_of(runs)
    if scaling.kind != model.scaling.kind:
        what = f"a further run changes the scaling of the runs from {model.scaling.kind} to {scaling.kind}"
        raise InputError(what, added.place(0), allowed="runs with the scaling of the model's runs")
    measured = run_times(kept, scaling)
    if len(measured.processes) != 1:
        raise InputError(
            "several runs are held back for validation", kept.place(0), value=len(measured.processes), allowed="one"
        )
    fitted = replace(model, communication=communication_model(runs, scaling, law))
    factor = float(np.nan_to_num(measured.blocking_factor, nan=1.0)[0])
    processes = float(measured.processes[0])
    size = processes * float(measured.work[0]) if scaling.known else None
    return CommunicationRefinement(
        fitted,
        factor * float(measured.p2p_s[0] + measured.collective_s[0]),
        model.at(processes, size).communication_s,
        fitted.at(processes, size).communication_s,
    )
