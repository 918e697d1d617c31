"""Two further runs: a volume that the first runs could not show is found, and the last run tells so."""

from __future__ import annotations

import pytest

from simcodesign.core.errors import InputError
from simcodesign.counters.communication_refinement import refine_communication
from simcodesign.counters.models import fit_application
from simcodesign.counters.table import CounterTable, counter_table, joined
from tests.oracles import counter_runs as made_up


def test_runs_that_were_met_stay_met() -> None:
    model = fit_application(made_up.runs())
    refined = refine_communication(model, made_up.runs([64]), made_up.runs([128]))
    expected = made_up.communication_s(128)
    assert (refined.measured_s, refined.before_s, refined.after_s) == pytest.approx([expected] * 3, rel=1e-7)
    assert refined.model.at(1024).seconds == pytest.approx(made_up.seconds(1024), rel=1e-7)


def late(processes: float) -> CounterTable:
    """Point to point whose volume hardly differs in the first runs, so that they tell nothing of its time a byte."""
    volume = 1000.0 + processes
    wait_s = 1.0 + 1e-3 * volume + (0.01 if processes == 4 else 0.0)
    return counter_table(
        [
            {
                "kernel": "main",
                "processes": processes,
                "size": 64.0,
                "time_s": 64 / processes + wait_s,
                "p2p_wait_s": wait_s,
                "message_bytes": volume,
            }
        ]
    )


def test_what_comes_late_is_found() -> None:
    model = fit_application(joined([late(P) for P in (2, 4, 8)]))
    refined = refine_communication(model, late(64), late(128))
    assert refined.measured_s == pytest.approx(1 + 1.128)
    assert abs(refined.after_s - refined.measured_s) < abs(refined.before_s - refined.measured_s)


def test_bad_runs() -> None:
    model = fit_application(made_up.runs())
    with pytest.raises(InputError, match="two rows"):
        refine_communication(model, made_up.runs([16]), made_up.runs([128]))
    with pytest.raises(InputError, match="several runs are held back for validation"):
        refine_communication(model, made_up.runs([64]), made_up.runs([128, 256]))
    with pytest.raises(InputError, match="scaling of the runs from strong to mixed"):
        refine_communication(model, made_up.runs([64], 5e6), made_up.runs([128]))
