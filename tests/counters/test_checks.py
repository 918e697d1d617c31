"""Counters that cannot be, or hardly, are told with run and numbers; those that are as they should be, never."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.counters.checks import check_counters, in_words, kernel_notes, plausibility_notes
from simcodesign.counters.fit_and_predict import fit_and_predict
from simcodesign.counters.partition import Target
from simcodesign.counters.table import APPLICATION, OTHERS, CounterTable, counter_table, joined
from tests.counters.test_fit_and_predict import communication_only, two_clocks
from tests.oracles import counter_runs as made_up

HZ = 2e9
Row = dict[str, object]


def run(P: int, **more: object) -> Row:
    """8e9 instructions and 16e9 cycles, divided evenly: 8 s over P."""
    return {
        "kernel": "solve",
        "processes": P,
        "size": 1e6,
        "frequency_hz": HZ,
        "time_s": 8 / P,
        "instructions": 8e9 / P,
        "cycles": 16e9 / P,
    } | more


def table(*rows: Row) -> CounterTable:
    return counter_table(rows, [Place("runs.csv", line) for line in range(2, 2 + len(rows))])


@pytest.mark.parametrize(
    "expected",
    [
        made_up.runs(),
        made_up.runs(exposed=0.25),
        joined([two_clocks(), communication_only((64, 128))]),
        made_up.runs((1, 2, 4)),
        table(run(2), run(4), run(8)),
    ],
)
def test_runs_that_are_as_they_should_be(expected: CounterTable) -> None:
    check_counters(expected)
    assert [note for note in plausibility_notes(expected) if "waits" not in note or "cycles" in note] == []


@given(st.floats(1e-3, 1e3), st.just(0.0) | st.floats(1e-9, 1))
def test_cycles_and_times_that_do_not_meet(factor: float, waits: float) -> None:
    """One run whose clock is wrong by a factor; waits may be overlapped, so that cycles may fill them."""
    wrong = run(4, frequency_hz=HZ / factor, p2p_wait_s=waits, time_s=2 + waits)
    notes = [note for note in plausibility_notes(table(run(2), wrong, run(8))) if "over the clock" in note]
    busy_s, least_s = 2 * factor, 2.0
    if busy_s > 1.21 * (2 + waits) or busy_s < 0.79 * least_s:
        (note,) = notes
        assert f"on P = 4 (runs.csv:3): its cycles over the clock are {busy_s:.4g} s, but" in note
        assert "time without waits is 2 s" in note
    elif 0.81 * least_s < busy_s < 1.19 * (2 + waits):
        assert notes == []


def test_seconds_that_are_milliseconds_where_the_clock_is_not_said() -> None:
    rows = [run(P, frequency_hz=float("nan"), time_s=8000 / P) for P in (2, 4, 8)]
    (note,) = plausibility_notes(table(*rows))
    assert "on P = 2 (runs.csv:2): 8e+09 cycles in 4000 s are a clock of 2e+06 Hz" in note


def test_time_on_disks_is_no_doubt() -> None:
    """It stands in the kernel and in the others, and no cycle sees it."""
    rows = [
        one
        for P in (2, 4, 8)
        for one in (
            run(P, time_s=8 / P + 50),
            {"kernel": OTHERS, "processes": P, "size": 1e6, "frequency_hz": HZ, "time_s": 50.0},
        )
    ]
    assert plausibility_notes(table(*rows)) == []


@given(st.just(0.0) | st.floats(1e-9, 10), st.floats(0.1, 10))
def test_stalls_above_cycles_are_refused(stalls: float, cycles: float) -> None:
    wrong = table(run(2), run(4, stall_cycles=stalls, cycles=cycles))
    if stalls <= cycles:
        check_counters(wrong)
        return
    with pytest.raises(
        InputError,
        match=r"runs.csv:3: kernel 'solve' has more stall_cycles than cycles on P = 4, got .* up to its cycles",
    ):
        check_counters(wrong)
    with pytest.raises(InputError, match="stall_cycles"):
        fit_and_predict(made_up.runs(), [Target(128)], evidence=wrong)


def test_waits_longer_than_their_time() -> None:
    (note,) = [
        note
        for note in plausibility_notes(table(run(2), run(4, p2p_wait_s=30.0, collective_wait_s=1.0)))
        if "waits" in note
    ]
    assert "on P = 4 (runs.csv:3): it waits 31 s, longer than the 2 s of its time" in note
    whole = {"kernel": APPLICATION, "processes": 4, "size": 1e6, "frequency_hz": HZ, "time_s": 3.0}
    alone = {"kernel": "solve", "processes": 4, "size": 1e6, "frequency_hz": HZ, "collective_wait_s": 5.0}
    assert any("it waits 5 s, longer than the 3 s" in note for note in plausibility_notes(table(alone, whole)))
    assert plausibility_notes(table(run(2), run(4, p2p_wait_s=0.5, time_s=2.5))) == []


@pytest.mark.parametrize("summed", [(8,), (2,), (4, 16), (2, 4, 8)])
@pytest.mark.parametrize("weak", [False, True])
def test_some_runs_summed_and_others_not(summed: tuple[int, ...], weak: bool) -> None:
    """Times are left out, so that only the instructions of a unit of work tell it."""
    rows = []
    for P in (2, 4, 8, 16):
        own = 8e9 if weak else 8e9 / P
        size = 1e6 * P if weak else 1e6
        rows.append(run(P, size=size, instructions=own * (P if P in summed else 1), time_s=1.0, cycles=HZ))
    (note,) = [note for note in plausibility_notes(table(*rows)) if "seem to be the sum over all processes" in note]
    first = summed[0]
    other = next(P for P in (2, 4, 8, 16) if P not in summed)
    unit = 8e9 / 1e6
    assert f"P = {first} (runs.csv:" in note
    assert f"{unit * first:.4g} for a unit of size on P = {first}, {unit:.4g} on P = {other}" in note


@given(st.lists(st.sampled_from([1, 2, 4, 8, 16]), min_size=2, unique=True), st.floats(0.0, 1.0))
def test_work_that_every_process_repeats_is_not_taken_for_sums(counts: list[int], divided: float) -> None:
    rows = [run(P, instructions=8e9 * (1 - divided + divided / P), time_s=1.0, cycles=HZ) for P in counts]
    notes = plausibility_notes(table(*rows))
    if divided in (0.0, 1.0):
        assert not notes


def test_ranks_that_are_not_listed() -> None:
    rows = [run(4, rank=0), run(4, rank=1), *(run(2, rank=rank) for rank in (0, 1)), run(8)]
    (note,) = plausibility_notes(table(*rows))
    assert note.startswith("There are rows for 2 of 4 ranks on P = 4 (runs.csv:2):")


def test_kernels_of_some_runs_only() -> None:
    rows = table(run(2), run(4), run(8, kernel="slove"), run(16))
    named = [*kernel_notes(rows)]
    assert named == ["Kernel 'slove' is only in the run on P = 8; did you mean 'solve'?"]
    both = table(*(run(P, kernel=name) for P in (2, 4) for name in ("solve", "solve2")), run(8))
    assert [*kernel_notes(both)] == []
    assert [*kernel_notes(both, ["solve2"])] == ["Kernel 'solve2' is only in the runs on P = 2, 4."]


def test_a_misspelt_kernel_explains_the_error() -> None:
    rows = table(run(2), run(4), run(8, kernel="slove"), run(16))
    with pytest.raises(InputError, match=r"kernel 'slove' is only in the run on P = 8; did you mean 'solve'\?"):
        fit_and_predict(rows, [Target(64)])


def test_a_misspelt_kernel_that_is_small_is_told() -> None:
    small = [
        run(P, kernel="assemble" if P != 8 else "asemble", instructions=1e7 / P, cycles=2e7 / P, time_s=0.01 / P)
        for P in (2, 4, 8, 16)
    ]
    tiny = [run(P, kernel="tiny", instructions=1e6 / P, cycles=2e6 / P, time_s=1e-3 / P) for P in (2, 4, 8, 16)]
    prediction = fit_and_predict(table(*(run(P) for P in (2, 4, 8, 16)), *small, *tiny), [Target(64)])
    assert "Kernel 'asemble' is only in the run on P = 8; did you mean 'assemble'?" in prediction.notes


def test_notes_of_readers_are_passed_on() -> None:
    noted = [counter_table([run(P)], notes=["said while reading"]) for P in (2, 4, 8)]
    assert fit_and_predict(joined(noted), [Target(64)]).notes.count("said while reading") == 1


@given(st.lists(st.text("xyz", min_size=1), max_size=9))
def test_lists_name_all_or_say_how_many_more(names: list[str]) -> None:
    text = in_words(names)
    if len(names) <= 4:
        assert text == ", ".join(names)
    else:
        assert text == f"{', '.join(names[:4])} and {len(names) - 4} more"
