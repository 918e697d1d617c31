"""Readers of counters: tidy tables with columns of counters or events, perf stat, LIKWID; what is refused, and where."""

from __future__ import annotations

import math
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.units import LEAST, MOST
from simcodesign.counters.events import EventCounts, Labels, counters_of, event_name, slips
from simcodesign.counters.readers.formats import read_counters
from simcodesign.counters.readers.tidy_table import write_counters
from simcodesign.counters.table import COUNTERS, NUMBERS, CounterTable, counter_table
from tests import examples
from tests.oracles import counter_runs as made_up

ONE_FOLDER = settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
RUN = Labels(processes=4, size=100.0)


def file(folder: Path, *texts: str, name: str = "counters.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def value(table: CounterTable, name: str, row: int = 0) -> float:
    return float(table.column(name)[row])


# Tidy tables.


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = made_up.runs()
    write_counters(tmp_path / "runs.csv", table)
    result = read_counters(tmp_path / "runs.csv")
    assert result.kernels == table.kernels
    assert np.array_equal(result.values, table.values, equal_nan=True)
    assert str(result.place(0)) == f"{tmp_path / 'runs.csv'}:2"


counts = st.one_of(st.just(math.nan), st.floats(LEAST, MOST), st.integers(0, 10**18).map(float))


@ONE_FOLDER
@given(
    st.lists(st.dictionaries(st.sampled_from(sorted(COUNTERS)), counts), min_size=1, max_size=4),
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1).filter(
        lambda text: text[0] != "#"
    ),
    st.sampled_from(["", "A", "class, with comma"]),
)
def test_what_is_written_is_read(tmp_path: Path, rows: list[dict[str, float]], kernel: str, label: str) -> None:
    table = counter_table(
        [{"kernel": kernel, "problem_class": label, "processes": 2.0**index} | row for index, row in enumerate(rows)]
    )
    write_counters(tmp_path / "runs.csv", table)
    result = read_counters(tmp_path / "runs.csv", format="csv")
    assert (result.kernels, result.classes) == (table.kernels, table.classes)
    assert np.array_equal(result.values, table.values, equal_nan=True)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_names_of_columns(tmp_path: Path, delimiter: str) -> None:
    lines = ["# size: 12", "P,function,seconds,class", "4,solve,1.5,A", "", "8,solve,,A", "# end"]
    table = read_counters(file(tmp_path, *(line.replace(",", delimiter) for line in lines)))
    assert table.kernels == ("solve", "solve")
    assert table.classes == ("A", "A")
    assert (value(table, "processes"), value(table, "time_s"), value(table, "size")) == (4, 1.5, 12)
    assert math.isnan(value(table, "time_s", 1))
    assert str(table.place(1)).endswith(":5")


def test_papi(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        "region,PAPI_TOT_CYC,PAPI_TOT_INS,PAPI_LST_INS,PAPI_L1_DCM,PAPI_L2_DCM,PAPI_L3_TCM,PAPI_RES_STL,PAPI_BR_MSP",
        "solve,200,100,40,10,4,1,30,7",
        "halo,20,10,4,9,,1,3,7",
    )
    table = read_counters(path, RUN)
    expected = {
        "processes": 4,
        "size": 100,
        "cycles": 200,
        "instructions": 100,
        "l1_hits": 30,
        "l2_hits": 6,
        "llc_hits": 3,
        "memory_accesses": 1,
        "loads_stores": 40,
        "stall_cycles": 30,
    }
    assert {name: value(table, name) for name in expected} == expected
    assert value(table, "l1_hits", 1) == 0  # more misses than loads: prefetches
    assert math.isnan(value(table, "l2_hits", 1))


def test_labels_count_for_more_than_comments_and_rows_for_more_than_both(tmp_path: Path) -> None:
    path = file(tmp_path, "# kernel: here", "# size: 1", "processes,cycles", "2,5", name="a.csv")
    table = read_counters(path, Labels(processes=2, size=3))
    assert (table.kernels, value(table, "processes"), value(table, "size")) == (("here",), 2, 3)
    other = file(tmp_path, "kernel,processes,instructions:u", "solve,4,80", name="b.csv")
    assert value(read_counters(other, Labels(summed=True)), "instructions") == 20


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (Labels(size=5e6), ":2: column size: .* has 1000000, got 5000000.0"),
        (Labels(processes=8), ":2: column processes: .* has 4, got 8"),
        (Labels(kernel="other"), ":2: column kernel: .* has 'solve', got 'other'"),
        (Labels(problem_class="B"), ":2: column problem_class: .* has 'A', got 'B'"),
        (Labels(frequency_hz=1e9), ":2: column frequency_hz: .* has 2000000000, got 1000000000.0"),
    ],
)
def test_labels_that_contradict_a_column(tmp_path: Path, labels: Labels, words: str) -> None:
    path = file(tmp_path, "kernel,P,size,class,frequency_hz,cycles", "solve,4,1e6,A,2e9,7")
    with pytest.raises(InputError, match=words):
        read_counters(path, labels)
    same = Labels(processes=4, size=1e6, kernel="solve", problem_class="A", frequency_hz=2e9)
    assert value(read_counters(path, same), "cycles") == 7


TIMES = ("time_s", "p2p_wait_s", "collective_wait_s")


@ONE_FOLDER
@given(st.integers(1, 4096), st.integers(0, 2**52), st.booleans(), st.booleans())
def test_summed_divides_every_count_and_no_time(
    tmp_path: Path, P: int, count: int, labelled: bool, mixed: bool
) -> None:
    """Whatever columns are called, whether P is a column or a label, and whether it is said behind the name or inside."""
    own = [name for name in COUNTERS if not (mixed and name in ("cycles", "instructions"))]
    events = ["PAPI_TOT_CYC", "instructions:u"] if mixed else []
    heads = ["kernel", *([] if labelled else ["P"]), *own, *events]
    row = ["solve", *([] if labelled else [str(P)]), *[str(count)] * (len(own) + len(events))]
    labels = Labels(processes=P if labelled else None, summed=not mixed)
    comments = ["# summed: yes"] if mixed else []
    table = read_counters(file(tmp_path, *comments, ",".join(heads), ",".join(row)), labels)
    for name in COUNTERS:
        assert value(table, name) == (count if name in TIMES else count / P), name


def test_summed_counts_of_no_process(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="processes is not a whole number, got 0"):
        read_counters(file(tmp_path, "kernel,P,cycles", "solve,0,7"), Labels(summed=True))


@pytest.mark.parametrize(
    ("title", "near"),
    [
        ("PAPI_TOT_IN", "PAPI_TOT_INS"),
        ("papi_tot_cyl", "PAPI_TOT_CYC"),
        ("PAPI_QUITE_OTHER", ""),
        ("PAPI_FP_OPS", None),
    ],
)
def test_columns_of_events_that_nothing_knows(tmp_path: Path, title: str, near: str | None) -> None:
    notes = read_counters(file(tmp_path, f"kernel,P,cycles,{title}", "solve,4,7,8")).notes
    if near is None:
        assert notes == ()
    else:
        (note,) = notes
        assert f"counters.csv: the event {title!r} is unknown" in note
        assert (f"did you mean {near!r}?" in note) == bool(near)


@pytest.mark.parametrize(
    ("event", "near"),
    [
        ("cylces:u", "cycles"),
        ("instruction:u", "instructions"),
        ("LLC-load-miss", "llc_load_misses"),
        ("stalled-cycles-frontend", None),
        ("L1-icache-loads", None),
        ("ref-cycles", None),
        ("mem_load_retired.l1_miss", None),
        ("resource_stalls.sb", None),
        ("branches", None),
    ],
)
def test_events_of_perf_that_nothing_knows(tmp_path: Path, event: str, near: str | None) -> None:
    notes = read_counters(file(tmp_path, "5,,task-clock,1,100.00,,", f"7,,{event},1,100.00,,"), RUN).notes
    assert notes == (
        (f"counters.csv: the event {event!r} is unknown and passed over: did you mean {near!r}?",) if near else ()
    )


def test_a_misspelt_event_alone_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no event that a counter needs; the event 'cylces:u' is unknown .* 'cycles'"):
        read_counters(file(tmp_path, "7,,cylces:u,1,100.00,,"), RUN, "perf")


LETTERS = st.text("abc", max_size=6)


@given(LETTERS, LETTERS)
def test_slips_are_those_of_the_recursion(one: str, other: str) -> None:
    """Optimal string alignment, as it is defined."""

    @cache
    def distance(i: int, j: int) -> int:
        if not (i and j):
            return i + j
        smallest = min(
            distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (one[i - 1] != other[j - 1])
        )
        swapped = i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]
        return min(smallest, distance(i - 2, j - 2) + 1) if swapped else smallest

    expected = distance(len(one), len(other))
    assert slips(one, other) == (abs(len(one) - len(other)) if abs(len(one) - len(other)) > 2 else expected)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            ["kernel,processes,cycels", "a,2,3"],
            r":1: the table has an unknown column, got 'cycels': did you mean 'cycles'",
        ),
        (["kernel,processes,cycles,cycles", "a,2,3,3"], ":1: two columns"),
        (["kernel,P,processes", "a,2,3"], ":1: two columns"),
        (["kernel,processes", "a,2,3"], r":2: a row of wrong length, got '3 entries'"),
        (["kernel,processes,cycles", "a,2,1_0"], ":2: column cycles: not a number"),
        (["kernel,processes,PAPI_TOT_CYC", "a,2,inf"], ":2: column PAPI_TOT_CYC: not a number"),
        (["kernel,cycles", "a,2"], ":2: a row has no processes"),
        (["processes,cycles", "4,2"], ":2: a row has no kernel"),
        (["kernel,processes", "a,2", "a,2"], r":3: .*two rows.* the other is at .*:2"),
        (["kernel,processes,cycles"], "has no rows"),
        (["# processes: x", "kernel,cycles", "a,2"], ":1: processes that is not a number"),
        (["kernel,processes", '"a,2'], ":2: not CSV"),
        ([""], "empty"),
    ],
)
def test_bad_tables(tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_counters(file(tmp_path, *lines))


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_counters(tmp_path / "none.csv")
    with pytest.raises(InputError, match="no such format"):
        read_counters(tmp_path / "none.csv", format="perv")
    (tmp_path / "bytes").write_bytes(b"kernel,processes\n\xff,2\n")
    with pytest.raises(InputError, match="UTF-8"):
        read_counters(tmp_path / "bytes")


# perf stat.

PLAIN = [
    "# started on Sat Nov 21 10:00:00 2026",
    "",
    "2000,,cycles:u,1000,100.00,1.9,GHz",
    "1000,,instructions:u,1000,80.00,0.5,insn per cycle",
    ",,,,,,0.25,stalled cycles per insn",
    "1.50,msec,task-clock:u,1500000,100.00,0.9,CPUs utilized",
    "3000000000,ns,duration_time,3000000000,100.00,,",
    "<not supported>,,LLC-load-misses:u,0,100.00,,",
    "<not counted>,,L1-dcache-loads,0,0.00,,",
    "7,,page-faults,1000,100.00,,",
]


def test_perf_stat(tmp_path: Path) -> None:
    table = read_counters(file(tmp_path, *PLAIN), RUN)
    assert table.kernels == ("main",)
    assert [value(table, name) for name in ("processes", "cycles", "instructions", "time_s")] == [4, 2000, 1000, 3]
    assert math.isnan(value(table, "memory_accesses"))
    summed = read_counters(file(tmp_path, "# processes: 4", "# summed: yes", *PLAIN))
    assert [value(summed, name) for name in ("cycles", "time_s")] == [500, 3]


VARIANTS = {
    "repeats": "{value},,cycles,0.35%,1000,100.00,,",
    "intervals": "     1.000123456,{value},,cycles,1000,100.00,,",
    "one CPU": "CPU0,{value},,cycles,1000,100.00,,",
    "sockets": "S0,4,{value},,cycles,1000,100.00,,",
    "dies": "S0-D0,4,{value},,cycles,1000,100.00,,",
    "intervals of sockets": "1.000123456,S0,4,{value},,cycles,1000,100.00,,",
    "hybrid": "{value},,cpu_core/cycles/u,1000,100.00,,",
    "other name": "{value},,cpu-cycles:ukhHG,1000,100.00,,",
    "precise": "{value},,cycles:ppp,1000,100.00,,",
    "Intel": "{value},,CPU_CLK_UNHALTED.THREAD_P,1000,100.00,,",
    "old": "{value},cycles",
}


@pytest.mark.parametrize("form", sorted(set(VARIANTS) - {"old"}))
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_forms_of_a_line(tmp_path: Path, form: str, separator: str) -> None:
    line = VARIANTS[form].format(value=123).replace(",", separator)
    assert value(read_counters(file(tmp_path, line), RUN, "perf"), "cycles") == 123


@pytest.mark.parametrize("prefix", ["", "     1.000123456,", "CPU1,", "S0,4,"])
@pytest.mark.parametrize("separator", [",", ";"])
@ONE_FOLDER
@given(milliseconds=st.decimals(0, 10**6, places=2))
def test_decimal_commas(tmp_path: Path, prefix: str, separator: str, milliseconds: object) -> None:
    number = f"{milliseconds:.2f}".replace(".", ",")
    spread = "0,19%"
    fields = [number, "msec", "task-clock", spread, "871466", "100,00", "0,128", "CPUs utilized"]
    line = prefix.replace(",", separator) + separator.join(fields)
    table = read_counters(file(tmp_path, line), RUN, "perf")
    assert value(table, "time_s") == pytest.approx(float(milliseconds) * 1e-3, rel=1e-12)  # type: ignore[arg-type]


@ONE_FOLDER
@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=6))
def test_lines_of_one_event_are_added_up(tmp_path: Path, values: list[int]) -> None:
    lines = [f"CPU{cpu},{count},,cycles,1000,100.00,," for cpu, count in enumerate(values)]
    assert value(read_counters(file(tmp_path, *lines), RUN), "cycles") == pytest.approx(sum(values), rel=1e-15)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["5,,cycles,1,100.00,,"], "the number of processes is missing"),
        (["# processes: 4", "5,,cycles,1,100.00,,", "Segmentation fault"], r":3: this is not a line of perf stat -x"),
        (["# processes: 4", "hello, world"], ":2: this is not a line of perf"),
        (["# processes: 4", "<not supported>,,cycles,0,100.00,,"], "no event was counted"),
        (["# processes: 4", "5,,page-faults,1,100.00,,"], "no event that a counter needs"),
        (["# processes: 4", "x5,,cycles,1,100.00,,"], ":2: "),
        (["# processes: 0", "5,,cycles,1,100.00,,"], "processes is not a whole number, got 0.0"),
    ],
)
def test_bad_perf_files(tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_counters(file(tmp_path, *lines), format="perf")


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
@pytest.mark.parametrize("options", [["-x,"], ["-x;", "-r", "2"]])
def test_a_recorded_run(tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "perf.csv"
    command = [
        "perf",
        "stat",
        *options,
        "-e",
        "task-clock,cycles:u,instructions:u,duration_time",
        "-o",
        str(path),
        "true",
    ]
    if subprocess.run(command, capture_output=True, timeout=60, check=False).returncode or not path.exists():
        pytest.skip("perf may not count on this machine")
    table = read_counters(path, Labels(processes=1))
    assert 0 < value(table, "time_s") < 60


# LIKWID.

HEAD = ["STRUCT,Info,3,,", "CPU name:,Some processor,,", "CPU type:,Some type,,", "CPU clock:,2.5 GHz,,"]
MARKED = [
    "output of the application, with a comma",
    *HEAD,
    "TABLE,Region solve,Group 1 Raw,MEM,4,",
    "Region Info,HWThread 0,HWThread 1,",
    "RDTSC Runtime [s],0.5,0.25,",
    "call count,3,3,",
    "Event,Counter,HWThread 0,HWThread 1",
    "INSTR_RETIRED_ANY,FIXC0,1.0e+02,200",
    "CPU_CLK_UNHALTED_CORE,FIXC1,300,400",
    "MEM_LOAD_UOPS_RETIRED_L1_HIT,PMC0,50,-",
    "MEM_UOPS_RETIRED_ALL_LOADS,PMC1,60,nan",
    "TEMP_CORE,TMP0,40,41",
    "TABLE,Region solve,Group 1 Raw STAT,MEM,4,,",
    "Event,Counter,Sum,Min,Max,Avg",
    "INSTR_RETIRED_ANY STAT,FIXC0,300,100,200,150",
    "TABLE,Region solve,Group 1 Metric,MEM,2,",
    "Metric,HWThread 0,HWThread 1,",
    "Runtime (RDTSC) [s],0.5,0.25,",
    "CPI,3,2,",
    *HEAD,
    "TABLE,Region solve,Group 2 Raw,L3,2,",
    "Event,Counter,HWThread 0,HWThread 1",
    "INSTR_RETIRED_ANY,FIXC0,999,999",
    "MEM_LOAD_UOPS_RETIRED_L3_MISS,PMC0,7,8",
    "TABLE,Region halo,Group 1 Raw,MEM,1,",
    "Event,Counter,HWThread 0,HWThread 1",
    "INSTR_RETIRED_ANY,FIXC0,1,2",
]


def test_likwid_with_markers(tmp_path: Path) -> None:
    table = read_counters(file(tmp_path, *MARKED))
    assert table.kernels == ("solve", "solve", "halo", "halo")
    names = ("processes", "rank", "frequency_hz", "time_s", "instructions", "cycles", "l1_hits", "memory_accesses")
    assert [value(table, name) for name in names] == [2, 0, 2.5e9, 0.5, 100, 300, 50, 7]
    assert [value(table, name, 1) for name in ("rank", "time_s", "cycles", "memory_accesses")] == [1, 0.25, 400, 8]
    assert math.isnan(value(table, "l1_hits", 1))
    assert value(table, "instructions", 3) == 2
    labelled = read_counters(file(tmp_path, *MARKED), Labels(processes=8, frequency_hz=2e9))
    assert [value(labelled, name) for name in ("processes", "frequency_hz")] == [8, 2e9]


def test_likwid_of_a_whole_run(tmp_path: Path) -> None:
    lines = [
        *HEAD,
        "TABLE,Group 1 Raw,CLOCK,2,",
        "Event,Counter,Core 0,",
        "Runtime (RDTSC) [s],TSC,1.5,",
        "INSTR_RETIRED_ANY,FIXC0,12,",
        "TABLE,Group 1 Metric,CLOCK,1,",
        "Metric,Core 0,,",
        "CPI,1,,",
    ]
    table = read_counters(file(tmp_path, *lines), Labels(kernel="all"))
    assert table.kernels == ("all",)
    assert [value(table, name) for name in ("time_s", "instructions", "processes")] == [1.5, 12, 1]


@ONE_FOLDER
@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), min_size=1, max_size=5))
def test_likwid_threads_are_ranks(tmp_path: Path, values: list[tuple[int, int]]) -> None:
    threads = ",".join(f"HWThread {index}" for index in range(len(values)))
    rows = [
        ",".join([name, *(str(pair[place]) for pair in values)])
        for place, name in enumerate(("INSTR_RETIRED_ANY,FIXC0", "CPU_CLK_UNHALTED_CORE,FIXC1"))
    ]
    table = read_counters(file(tmp_path, "TABLE,Group 1 Raw,X,2", f"Event,Counter,{threads}", *rows))
    assert list(zip(table.column("instructions"), table.column("cycles"), strict=True)) == values


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            ["TABLE,Group 1 Raw,X,2", "Event,Counter,Core 0", "INSTR_RETIRED_ANY,FIXC0,x"],
            ":3: a count that is not a number",
        ),
        (["TABLE,Group 1 Raw,X,2", "Event,Counter,Core 0,Core 1", "INSTR_RETIRED_ANY,FIXC0,1"], ":3: the row of"),
        (["TABLE,Region x", "Event,Counter"], ":1: this table has no group"),
        (["TABLE,Group 1 Raw STAT,X,2", "Event,Counter,Sum"], "the file has no table of events"),
    ],
)
def test_bad_likwid_files(tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_counters(file(tmp_path, *lines))


# Events.


def test_names_of_events() -> None:
    assert event_name("MEM_LOAD_UOPS_RETIRED.L1_HIT_PS") == ("mem_load_uops_retired_l1_hit", "")
    assert event_name("L1-dcache-loads:u") == ("l1_dcache_loads", "u")
    assert event_name("cpu/cycles/ppp") == ("cycles", "")


def test_the_whole_counts_for_more_than_its_parts() -> None:
    events = EventCounts.empty()
    assert not events.add("branches", 1)
    for name, count in (("cycles:u", 3), ("cycles:k", 4), ("instructions", 9), ("instructions:u", 5)):
        assert events.add(name, count)
    assert counters_of(events) == {"cycles": 7, "instructions": 9}


def test_loads_and_stores_are_added_up() -> None:
    events = EventCounts.empty()
    for name, count in (("mem_inst_retired.all_loads", 3), ("mem_inst_retired.all_stores", 4), ("LLC-load-misses", 1)):
        events.add(name, count)
    assert counters_of(events, 2) == {"loads_stores": 3.5, "memory_accesses": 0.5}
    assert set(counters_of(events)) <= set(NUMBERS)
