"""The outputs of ``perf stat``: fields, JSON and text say the same; hybrid processors, intervals, signs of locales."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.counters.events import Labels
from simcodesign.counters.readers.formats import read_counters
from simcodesign.counters.table import CounterTable
from tests import examples

RUN = Labels(processes=4)
ONE_FOLDER = settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
#: Value, unit, event, fraction of the time in %.
Row = tuple[float | None, str, str, float]


def fields(rows: list[Row], stamp: str = "") -> list[str]:
    """As ``perf stat -x,`` prints them."""
    start = [f"     {stamp}"] if stamp else []
    return [
        ",".join(
            [
                *start,
                "<not counted>" if value is None else f"{value:.12g}",
                unit,
                event,
                "871466",
                f"{share:.2f}",
                "",
                "",
            ]
        )
        for value, unit, event, share in rows
    ]


def objects(rows: list[Row], stamp: str = "") -> list[str]:
    """As ``perf stat -j`` prints them."""
    start = {"interval": float(stamp)} if stamp else {}
    return [
        json.dumps(
            {
                **start,
                "counter-value": "<not counted>" if value is None else f"{value:f}",
                "unit": unit,
                "event": event,
                "event-runtime": 871466,
                "pcnt-running": share,
                "metric-value": 0.25,
                "metric-unit": "CPUs utilized",
            }
        )
        for value, unit, event, share in rows
    ]


def text(rows: list[Row], stamp: str = "") -> list[str]:
    """As ``perf stat`` prints them, with thousands separators and a metric in some lines."""
    start = f"     {stamp} " if stamp else ""
    title = (
        ["#           time             counts unit events"]
        if stamp
        else ["", " Performance counter stats for './a 4':", ""]
    )
    lines = []
    for place, (value, unit, event, share) in enumerate(rows):
        shown = "<not counted>" if value is None else f"{value:,.2f}" if unit == "msec" else f"{value:,.0f}"
        metric = "#    0.011 CPUs utilized" if place % 2 else " " * 24
        counted = f"     ({share:.2f}%)" if share < 100 else ""
        lines.append(f"{start}{shown:>18} {unit or '    ':4} {event:24} {metric}  {counted}")
    return [*title, *lines]


OUTPUTS = [fields, objects, text]


def read(folder: Path, lines: list[str], labels: Labels = RUN) -> CounterTable:
    path = folder / "perf.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_counters(path, labels)


def value(table: CounterTable, name: str) -> float:
    return float(table.column(name)[0])


@pytest.mark.parametrize("output", OUTPUTS)
def test_the_three_outputs_say_the_same(tmp_path: Path, output: Callable[[list[Row]], list[str]]) -> None:
    rows: list[Row] = [
        (208494.25, "msec", "task-clock", 100.0),
        (5109360888, "", "cycles:u", 38.46),
        (1234, "", "instructions:u", 46.15),
        (None, "", "LLC-load-misses", 0.0),
        (1047, "", "page-faults", 100.0),
        (3000000123, "ns", "duration_time", 100.0),
    ]
    table = read(tmp_path, output(rows))
    assert [value(table, name) for name in ("cycles", "instructions")] == [5109360888, 1234]
    assert value(table, "time_s") == pytest.approx(3.000000123, rel=1e-15)


@pytest.mark.parametrize("output", OUTPUTS)
@ONE_FOLDER
@given(
    on_core=st.integers(1, 99),
    counts=st.tuples(st.integers(10**6, 10**10), st.integers(10**6, 10**10)),
    pmus=st.sampled_from([("cpu_core", "cpu_atom"), ("apple_firestorm_pmu", "apple_icestorm_pmu")]),
    multiplexed=st.sampled_from([1.0, 0.5]),
)
def test_kinds_of_cores_share_the_time(
    tmp_path: Path,
    output: Callable[[list[Row]], list[str]],
    on_core: int,
    counts: tuple[int, int],
    pmus: tuple[str, str],
    multiplexed: float,
) -> None:
    """A process on one kind of core for a part f of the time: perf prints count / f, and f. If other events take turns
    on the same counters, both fractions are smaller by the same factor."""
    times = (on_core / 100, 1 - on_core / 100)
    rows: list[Row] = [
        (round(count / time), "", f"{pmu}/cycles/u", 100 * time * multiplexed)
        for pmu, count, time in zip(pmus, counts, times, strict=True)
    ]
    assert value(read(tmp_path, output(rows)), "cycles") == pytest.approx(sum(counts), rel=1e-6)


#: Counts of a public report, and one of a system as a whole.
HYBRID: list[tuple[list[Row], float]] = [
    (
        [(6720143357, "", "cpu_atom/instructions/", 2.0), (20875198260, "", "cpu_core/instructions/", 97.0)],
        6720143357 * 0.02 + 20875198260 * 0.97,
    ),
    ([(None, "", "cpu_atom/instructions/", 0.0), (20508456507, "", "cpu_core/instructions/", 100.0)], 20508456507),
    ([(38020470, "", "cpu_atom/instructions/", 63.36), (17019732, "", "cpu_core/instructions/", 100.0)], 55040202),
    ([(6279887, "", "cpu_atom/instructions/", 100.0), (12811040, "", "cpu_core/instructions/", 100.0)], 19090927),
    ([(978399, "", "cpu_core/instructions/", 60.0)], 978399),
]


@pytest.mark.parametrize(("rows", "expected"), HYBRID)
@pytest.mark.parametrize("output", OUTPUTS)
def test_hybrid_processors(
    tmp_path: Path, output: Callable[[list[Row]], list[str]], rows: list[Row], expected: float
) -> None:
    assert value(read(tmp_path, output(rows)), "instructions") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("output", OUTPUTS)
def test_intervals_add_up_kind_by_kind(tmp_path: Path, output: Callable[[list[Row], str], list[str]]) -> None:
    """In the first interval the process is on one kind of core, in the second half of the time on each."""
    first: list[Row] = [(1000, "", "cpu_core/cycles/", 100.0), (None, "", "cpu_atom/cycles/", 0.0)]
    second: list[Row] = [(400, "", "cpu_core/cycles/", 50.0), (200, "", "cpu_atom/cycles/", 50.0)]
    lines = [*output(first, "1.000100123"), *output(second, "2.000200456")]
    assert value(read(tmp_path, lines), "cycles") == 1000 + 200 + 100


@pytest.mark.parametrize("stamp", ["1.000123456", "1.0", "12.5", "summary"])
@pytest.mark.parametrize("where", ["", "CPU0,", "S0-D0,4,"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_stamps(tmp_path: Path, stamp: str, where: str, separator: str) -> None:
    lines = [
        f"   {stamp},{where}{count},{unit},{event},1000,100.00,,"
        for count, unit, event in (
            ("123", "", "cycles"),
            ("2.50", "msec", "task-clock"),
            ("<not counted>", "", "instructions"),
        )
    ]
    table = read(tmp_path, [line.replace(",", separator) for line in lines])
    assert value(table, "cycles") == 123
    assert value(table, "time_s") == pytest.approx(2.5e-3, rel=1e-15)


@pytest.mark.parametrize("separator", [",", ";"])
def test_whole_stamps(tmp_path: Path, separator: str) -> None:
    lines = ["1000,123,,cycles,1000,100.00,,", "2000,7,,cycles,1000,100.00,,"]
    assert value(read(tmp_path, [line.replace(",", separator) for line in lines]), "cycles") == 130


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_total_counts_for_more_than_its_intervals(tmp_path: Path, output: Callable[..., list[str]]) -> None:
    stamped = [*output([(60, "", "cycles", 100.0)], "0.100165531"), *output([(50, "", "cycles", 100.0)], "0.2001")]
    total = (
        output([(111, "", "cycles", 100.0)], "summary") if output is fields else output([(111, "", "cycles", 100.0)])
    )
    assert value(read(tmp_path, [*stamped, *total]), "cycles") == 111
    assert value(read(tmp_path, stamped), "cycles") == 110


TITLE = " Performance counter stats for 'sleep 0.1' (3 runs):"
TEXTS = {
    "plain": [
        "   1,039.26 msec task-clock     #    0.965 CPUs utilized",
        "   77,375,671      cycles    #    2.914 GHz",
    ],
    "German": [
        "   1.039,26 msec task-clock     #    0,965 CPUs utilized",
        "   77.375.671      cycles    #    2,914 GHz",
    ],
    "French": ["   1 039,26 msec task-clock", "   77 375 671      cycles                  #    2,914 GHz"],
    "narrow": ["   1\u202f039,26 msec task-clock", "   77\u202f375\u202f671      cycles      #    2,914 GHz"],
    "Swiss": ["   1'039.26 msec task-clock", "   77’375’671      cycles"],
    "without": ["   1039.26 msec task-clock", "   77375671      cycles"],
    "old": ["   1039.260000 task-clock (msec)       #    0,965 CPUs utilized", "   77 375 671 cycles  #    2,914 GHz"],
    "older": ["   1,039.260000 task-clock                #   11.037 CPUs utilized", "  77,375,671 cycles # 3.046 GHz"],
    "repeated": [
        "   1,039.26 msec task-clock  # 0.9 CPUs  ( +- 17.85% )",
        "  77,375,671 cycles ( +-  0.78% )  (83.33%)",
    ],
    "sockets": ["S0    2   1,039.26 msec task-clock   # 2.027 CPUs utilized", "S0    2    77,375,671  cycles"],
    "CPUs": [
        "CPU0  1,000.26 msec task-clock",
        "CPU1    39.00 msec task-clock",
        "CPU0   77,375,670   cycles",
        "CPU1   1  cycles",
    ],
    "cores": ["S0-D0-C0    1   1,039.26 msec task-clock", "S0-D0-C0           1   77,375,671  cycles"],
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_of_other_locales_and_options(tmp_path: Path, name: str) -> None:
    before = ["the program's own words", "3.5 seconds of music", "# processes: 2", "", TITLE, ""]
    rest = ["   <not supported>      instructions", "             #    0,23  stalled cycles per insn", ""]
    users = ["       0.001886000 seconds user", "       0.000000000 seconds sys", ""]
    table = read(tmp_path, [*before, *TEXTS[name], *rest, *users], Labels())
    assert (value(table, "processes"), value(table, "cycles")) == (2, 77375671)
    assert value(table, "time_s") == pytest.approx(1.03926, rel=1e-12)


def test_the_percentage_of_a_count_with_several_metrics_is_on_the_last(tmp_path: Path) -> None:
    # As Linux 6.19 prints them: 20 % of the time on one kind of core, 80 % on the other: 0.2 x 1e9 + 0.8 x 3e9.
    lines = [
        TITLE,
        "             7,932      context-switches                 #    281.7 cs/sec  cs_per_second",
        "             TopdownL1 (cpu_core)                 #     10.3 %  tma_bad_speculation",
        "                                                  #     17.3 %  tma_frontend_bound",
        "     1,000,000,000      cpu_atom/cycles/                 #      2.1 GHz  cycles_frequency       (20.00%)",
        "     3,000,000,000      cpu_core/cycles/                 #      4.1 GHz  cycles_frequency",
        "                                                  #     14.6 %  tma_bad_speculation",
        "                                                  #      8.5 %  tma_retiring             (80.00%)",
    ]
    assert value(read(tmp_path, lines), "cycles") == pytest.approx(2.6e9, rel=1e-12)


@pytest.mark.parametrize(
    "line",
    [
        "  0.305518180 seconds time elapsed",
        "   0,305518180 seconds time elapsed  ( +-  0,44% )",
        "   0.305518180 +- 0.00159 seconds time elapsed  ( +-  1.56% )",
    ],
)
def test_the_elapsed_time_is_that_of_the_run(tmp_path: Path, line: str) -> None:
    table = read(tmp_path, [TITLE, "   1,039.26 msec task-clock", "   5      cycles", "", line])
    assert value(table, "time_s") == 0.30551818
    counted = read(tmp_path, [TITLE, "    306,000,000 ns   duration_time", "   5      cycles", "", line])
    assert value(counted, "time_s") == pytest.approx(0.306, rel=1e-15)


def test_json_with_the_decimal_sign_of_a_locale(tmp_path: Path) -> None:
    line = '{"counter-value" : "2,500000", "unit" : "msec", "event" : "task-clock", "pcnt-running" : 100,00}'
    assert value(read(tmp_path, [line]), "time_s") == pytest.approx(2.5e-3, rel=1e-15)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ['{"counter-value" : "5", "event" : "cycles"}', "{oops}"],
            r":2: this is not a line of perf stat -j, got '\{oops\}'",
        ),
        (['{"counter-value" : "x", "event" : "cycles"}'], ":1: a count that is not a number, got 'x'"),
        (['{"counter-value" : "5", "event" : "cycles", "pcnt-running" : "y"}'], ":1: a percentage that is not a"),
        ([f'{{"counter-value" : {"9" * 5000}, "event" : "cycles"}}'], ":1: this is not a line of perf stat -j"),
        (['{"metric-value" : 5}'], "no event was counted"),
        ([TITLE, "   5      page-faults"], "no event that a counter needs"),
        ([TITLE], "no event was counted"),
    ],
)
def test_bad_outputs(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "perf.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_counters(path, RUN, "perf")


def test_what_is_not_known_is_told_what_to_record(tmp_path: Path) -> None:
    path = tmp_path / "perf.txt"
    path.write_text("cycles 5\n", encoding="utf-8")
    with pytest.raises(InputError, match="perf stat -x,"):
        read_counters(path, RUN, "perf")


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
@pytest.mark.parametrize("options", [["-j"], [], ["-r", "2"], ["-j", "-r", "2"], ["-I", "100", "--summary"]])
def test_recorded_runs(tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "perf.txt"
    # With -I, perf counts nothing of a program that has ended before its first look: `true` one time in thirty.
    program = ["sleep", "0.12"]
    command = ["perf", "stat", *options, "-e", "task-clock,cycles:u,duration_time", "-o", str(path), *program]
    if subprocess.run(command, capture_output=True, timeout=60, check=False).returncode or not path.exists():
        pytest.skip("perf may not count on this machine")
    assert 0 < value(read_counters(path, Labels(processes=1)), "time_s") < 60
