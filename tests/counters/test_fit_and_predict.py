"""Which runs are fitted, which refine and which are held back; truths are made up from equation 2."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from simcodesign.core.errors import InputError
from simcodesign.counters.fit_and_predict import fit_and_predict
from simcodesign.counters.partition import Target, default_target
from simcodesign.counters.prediction import ANALYTIC
from simcodesign.counters.table import OTHERS, CounterTable, Latencies, counter_table, joined
from tests.oracles import counter_runs as made_up

L = made_up.LATENCIES
#: BF_mem of the kernels at two clocks; the stall counter says twice what memory costs.
BLOCKING = {"solve": 0.02, "exchange_ghosts": 0.05, "assemble": 0.03, "small_a": 0.0, "small_b": 0.0}
HIGH, LOW = 2.5e9, 1.6e9


def clocked(processes: float, hz: float, size: float = made_up.SIZE) -> list[dict[str, object]]:
    """A run that follows equation 5: CPI = CPI_core + BF_mem T_mem, T_mem in cycles an instruction."""
    result = made_up.rows(processes, size)
    for row in result:
        row["frequency_hz"] = hz
        if row["kernel"] == OTHERS:
            continue
        truth = made_up.KERNELS[str(row["kernel"])]
        row["memory_accesses"] = 1e-5 * row["l1_hits"]  # type: ignore[operator]
        stall = BLOCKING[str(row["kernel"])] * access_s(row) * hz
        row["cycles"] = truth.cpi * row["instructions"] + stall  # type: ignore[operator]
        row["stall_cycles"] = 2 * stall
        waits = sum(float(row.get(name, 0.0)) for name in ("p2p_wait_s", "collective_wait_s"))  # type: ignore[arg-type]
        row["time_s"] = row["cycles"] / hz + waits  # type: ignore[operator]
    return result


def access_s(row: dict[str, object]) -> float:
    l1, l2, llc, memory = (float(row[name]) for name in ("l1_hits", "l2_hits", "llc_hits", "memory_accesses"))  # type: ignore[arg-type]
    cycles = l1 * L.l1_cycles + l2 * L.l2_cycles + llc * L.llc_cycles
    return cycles / float(row["frequency_hz"]) + memory * L.memory_s  # type: ignore[arg-type]


def clocked_s(processes: float) -> float:
    """Time of such a run at the high clock."""
    return sum(float(row["time_s"]) for row in clocked(processes, HIGH))  # type: ignore[arg-type]


def two_clocks(low: Sequence[float] = (8,)) -> CounterTable:
    return counter_table(
        [row for P in (4, 8, 16, 32) for row in clocked(P, HIGH)] + [row for P in low for row in clocked(P, LOW)]
    )


def communication_only(counts: Sequence[float], exposed: float = 1.0) -> CounterTable:
    """Further runs of a profiler that sees times and messages only."""
    values = (
        "processes",
        "size",
        "kernel",
        "time_s",
        "p2p_wait_s",
        "collective_wait_s",
        "message_bytes",
        "collective_bytes",
    )
    rows = [{k: row[k] for k in values if k in row} for P in counts for row in made_up.rows(P, exposed=exposed)]
    return counter_table(rows)


# --- Plain ----------------------------------------------------------------------------------------------------


def test_targets_without_anything_else() -> None:
    prediction = fit_and_predict(made_up.runs(), [Target(128), Target(64, made_up.SIZE)])
    assert [one.prediction.seconds for one in prediction.forecasts] == pytest.approx(
        [made_up.seconds(128), made_up.seconds(64)], rel=1e-9
    )
    assert prediction.clocks is None
    assert prediction.communication is None
    assert all(one.measured is None for one in prediction.forecasts)


def test_far_and_fitted_targets_are_told() -> None:
    near, far, inside = (fit_and_predict(made_up.runs(), [Target(P)]).notes for P in (128, 256, 8))
    assert not any("times the largest" in note for note in near)
    assert any("256 is 16 times the largest" in note for note in far)
    assert any("P = 8 was used in the fit" in note for note in inside)


def test_a_cpi_that_spreads_is_told() -> None:
    rows = [
        row | {"cycles": row["cycles"] * (1 + 0.3 * (P == 4))} if row["kernel"] == "solve" else row  # type: ignore[operator]
        for P in (2, 4, 8)
        for row in made_up.rows(P)
    ]
    # three CPIs in the ratio 1 : 1.3 : 1 without the stalls, which stay as they are
    cpi = np.array([0.8, 0.9 * 1.3 - 0.1, 0.8])
    share = round(100 * cpi.std(ddof=1) / cpi.mean())
    notes = fit_and_predict(counter_table(rows), [Target(16)]).notes
    assert [note for note in notes if "'solve'" in note and f"{share} % of the mean" in note]


def test_waits_that_bytes_do_not_explain_are_told() -> None:
    """Waits that grow while bytes shrink: no line over bytes with a slope of 0 or above meets them."""
    rows = [
        row | ({"p2p_wait_s": 0.01 * P} if "p2p_wait_s" in row else {}) for P in (2, 4, 8) for row in made_up.rows(P)
    ]
    notes = fit_and_predict(counter_table(rows), [Target(16)]).notes
    assert any(note.startswith("Point-to-point time of a process goes from 0.02 to 0.08 s") for note in notes)
    assert not any("goes from" in note for note in fit_and_predict(made_up.runs(), [Target(128)]).notes)


def test_default_target() -> None:
    assert default_target(made_up.runs((2, 4, 12))) == Target(48.0)


def test_nothing_to_predict() -> None:
    with pytest.raises(InputError, match="there is nothing to predict"):
        fit_and_predict(made_up.runs(), [])


# --- Runs held back ---------------------------------------------------------------------------------------------


def test_a_run_held_back_is_not_fitted_and_compared_part_by_part() -> None:
    prediction = fit_and_predict(made_up.runs(), [Target(128)], evidence=made_up.runs((64, 128)))
    (one,) = prediction.forecasts
    assert one.measured is not None
    assert one.measured.total_s == pytest.approx(made_up.seconds(128), rel=1e-12)
    assert one.measured.others_s == pytest.approx(made_up.others_s(128))
    assert one.measured.p2p_s + one.measured.collective_s == pytest.approx(made_up.communication_s(128), rel=1e-9)
    for kernel in one.prediction.breakdown.kernels:
        assert one.measured.kernels[kernel.name] == pytest.approx(kernel.seconds, rel=1e-8)


def test_without_targets_all_runs_held_back_are_predicted() -> None:
    prediction = fit_and_predict(made_up.runs(), [], evidence=made_up.runs((64, 128)))
    assert [one.target for one in prediction.forecasts] == [Target(64, made_up.SIZE), Target(128, made_up.SIZE)]
    assert all(one.measured for one in prediction.forecasts)


def test_a_run_in_both_tables_is_not_fitted() -> None:
    """The run at the target is wrong by a factor of ten: if it were fitted, it would show."""
    wrong = [row | {"cycles": 10 * float(row["cycles"])} if "cycles" in row else row for row in made_up.rows(128)]  # type: ignore[arg-type]
    both = joined([made_up.runs(), counter_table(wrong)])
    (one,) = fit_and_predict(both, [Target(128)], evidence=both).forecasts
    assert one.prediction.seconds == pytest.approx(made_up.seconds(128), rel=1e-9)
    with pytest.raises(InputError, match="no run is left to be fitted"):
        fit_and_predict(both, [], evidence=both)


def test_no_run_at_the_target() -> None:
    with pytest.raises(InputError, match=r"no run to compare.*'P = 256'.*P = 64"):
        fit_and_predict(made_up.runs(), [Target(256)], evidence=made_up.runs((64,)))


def test_a_total_alone_is_enough_to_compare() -> None:
    whole = counter_table([{"kernel": "(application)", "processes": 128, "time_s": 3.5}])
    (one,) = fit_and_predict(made_up.runs(), [Target(128)], evidence=whole).forecasts
    assert one.measured is not None
    assert one.measured.total_s == 3.5
    assert one.measured.kernels == {}
    assert np.isnan(one.measured.others_s)


def test_overlapped_waits_show_as_they_do_in_the_time() -> None:
    (one,) = fit_and_predict(
        made_up.runs(exposed=0.25), [Target(128)], evidence=made_up.runs((128,), exposed=0.25)
    ).forecasts
    assert one.measured is not None
    assert one.measured.p2p_s + one.measured.collective_s == pytest.approx(
        0.25 * made_up.communication_s(128), rel=1e-6
    )


def test_another_clock_of_the_held_back_run_is_told() -> None:
    held = counter_table(clocked(64, 1.2 * HIGH))
    table = counter_table([row for P in (4, 8, 16) for row in clocked(P, HIGH)])
    assert any("3 GHz" in note and "2.5 GHz" in note for note in fit_and_predict(table, [], evidence=held).notes)


# --- Refinement -------------------------------------------------------------------------------------------------


def test_two_frequencies_give_core_cpi_and_blocking_factor() -> None:
    """The stall counter doubles the stalls: refined, the prediction is right, unrefined it only is where both add up."""
    prediction = fit_and_predict(two_clocks(), [Target(128)], latencies=L)
    assert prediction.clocks is not None
    assert (prediction.clocks.high_hz, prediction.clocks.low_hz, prediction.clocks.processes) == (HIGH, LOW, (8.0,))
    for one in prediction.clocks.kernels:
        if one.kernel in BLOCKING:
            assert one.after.blocking_factor == pytest.approx(BLOCKING[one.kernel], rel=1e-6)
            assert one.after.cpi_core == pytest.approx(made_up.KERNELS[one.kernel].cpi, rel=1e-9)
            assert one.blocking_before == pytest.approx(2 * BLOCKING[one.kernel], rel=1e-6)
    assert prediction.forecasts[0].prediction.seconds == pytest.approx(clocked_s(128), rel=1e-7)


def test_several_pairs_of_frequencies_give_the_mean() -> None:
    one, three = (fit_and_predict(two_clocks(low), [Target(128)], latencies=L) for low in ((8,), (4, 8, 32)))
    assert three.clocks is not None
    assert three.clocks.processes == (4.0, 8.0, 32.0)
    assert three.forecasts[0].prediction.seconds == pytest.approx(one.forecasts[0].prediction.seconds, rel=1e-9)


def test_without_refinement_the_other_frequency_is_left_out() -> None:
    alone = counter_table([row for P in (4, 8, 16, 32) for row in clocked(P, HIGH)])
    left, plain = (
        fit_and_predict(table, [Target(128)], refined=refined)
        for table, refined in ((two_clocks(), False), (alone, True))
    )
    assert left.forecasts[0].prediction.seconds == plain.forecasts[0].prediction.seconds
    assert any("1.6 GHz were left out" in note for note in left.notes)


def test_another_frequency_on_other_processes_refines_nothing() -> None:
    prediction = fit_and_predict(two_clocks((64,)), [Target(128)])
    assert prediction.clocks is None
    assert any("P = 64 at 1.6 GHz; fitted are P = 4, 8, 16, 32 at 2.5 GHz" in note for note in prediction.notes)
    assert any("not refined" in note for note in prediction.notes)


def test_runs_set_aside_for_their_frequency_explain_too_few_runs() -> None:
    rows = [row for P, hz in ((4, HIGH), (8, LOW), (16, HIGH)) for row in clocked(P, hz)]
    with pytest.raises(InputError, match=r"set aside for their frequency: P = 8 at 1\.6 GHz, got '2: P = 4, 16'"):
        fit_and_predict(counter_table(rows), [Target(128)])


def test_what_cannot_be_is_not_taken() -> None:
    """A kernel that takes fewer cycles where memory is farther away: BF_mem would be negative."""
    rows = [
        row | {"cycles": 1.5 * float(row["cycles"])}
        if row.get("frequency_hz") == LOW and row["kernel"] == "solve"
        else row  # type: ignore[arg-type]
        for table in ((4, 8, 16), (8,))
        for P in table
        for row in clocked(P, HIGH if len(table) > 1 else LOW)
    ]
    prediction = fit_and_predict(counter_table(rows), [Target(128)], latencies=L)
    assert prediction.clocks is not None
    assert "solve" not in [one.kernel for one in prediction.clocks.kernels]
    assert any("'solve'" in note and "cannot be" in note for note in prediction.notes)


def test_one_further_run_of_communication_is_fitted() -> None:
    """Collective time grows with a logarithm that three runs with an even volume cannot tell from bytes: here it is
    that the truth is met with the run more, and further runs leave the kernels as they are."""
    table = joined([made_up.runs((2, 4, 8)), communication_only((64,))])
    prediction = fit_and_predict(table, [Target(128)])
    assert prediction.communication is not None
    assert (prediction.communication.fitted, prediction.communication.kept) == ((64.0,), None)
    assert prediction.forecasts[0].prediction.breakdown.communication_s == pytest.approx(
        made_up.communication_s(128), rel=1e-8
    )
    assert prediction.model.identified.processes == (2.0, 4.0, 8.0)


def test_two_further_runs_fit_and_validate() -> None:
    table = joined([made_up.runs((2, 4, 8)), communication_only((64, 128))])
    prediction = fit_and_predict(table, [Target(256)])
    assert prediction.communication is not None
    assert (prediction.communication.fitted, prediction.communication.kept) == ((64.0,), 128.0)
    verdict = prediction.communication.verdict
    assert verdict is not None
    assert verdict.measured_s == pytest.approx(made_up.communication_s(128), rel=1e-9)
    assert verdict.after_s == pytest.approx(verdict.measured_s, rel=1e-8)
    left = fit_and_predict(table, [Target(256)], refined=False)
    assert left.communication is None
    assert any("were left out" in note for note in left.notes)


def test_totals_of_communication_alone() -> None:
    """A further run that only has the application: its waits count, its computation is not known."""
    P = 64.0
    waits = {
        "p2p_wait_s": made_up.P2P[0] * made_up.p2p_bytes(P) + made_up.P2P[1],
        "message_bytes": made_up.p2p_bytes(P),
    }
    a, b, c = made_up.COLLECTIVE
    waits |= {
        "collective_wait_s": a * 6 + b * made_up.collective_bytes(P) + c,
        "collective_bytes": made_up.collective_bytes(P),
    }
    run = counter_table([{"kernel": "(application)", "processes": P, "size": made_up.SIZE, "time_s": 9.0, **waits}])
    prediction = fit_and_predict(joined([made_up.runs(), run]), [Target(128)])
    assert prediction.forecasts[0].prediction.breakdown.communication_s == pytest.approx(
        made_up.communication_s(128), rel=1e-8
    )


def test_times_alone_are_no_runs_of_communication() -> None:
    """Where no run has counters, all are fitted by their times."""
    rows = [{"kernel": "main", "processes": P, "size": 8.0, "time_s": 8 / P + 1, "p2p_wait_s": 1.0} for P in (2, 4, 8)]
    prediction = fit_and_predict(counter_table(rows), [Target(16)])
    assert prediction.communication is None
    assert prediction.forecasts[0].prediction.baselines[ANALYTIC] == pytest.approx(1.5)


def test_beyond_the_guard_the_target_is_named() -> None:
    with pytest.raises(InputError, match=r"P = 64, size = 8000000: another size cannot be predicted"):
        fit_and_predict(made_up.runs(), [Target(64, 8 * made_up.SIZE)], guard=1e-9)
    assert fit_and_predict(made_up.runs(), [Target(64, 8 * made_up.SIZE)], guard=None, dimensions=2).forecasts[
        0
    ].prediction.volume_ratio == pytest.approx(8**0.5)


def test_latencies_are_those_given() -> None:
    made = fit_and_predict(made_up.runs(), [Target(32)], latencies=Latencies(1.0, 2.0, 3.0, 1e-7))
    rows = made_up.rows(32)
    solve = next(row for row in rows if row["kernel"] == "solve")
    counts = [float(solve[name]) for name in ("l1_hits", "l2_hits", "llc_hits", "memory_accesses")]  # type: ignore[arg-type]
    expected = (counts[0] + 2 * counts[1] + 3 * counts[2]) / made_up.HZ + counts[3] * 1e-7
    assert made.forecasts[0].prediction.breakdown.kernels[0].access_s == pytest.approx(expected, rel=1e-9)
