"""Constants of machines from times of workloads: equations written out here, simulations, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.calibration.calibrate import calibrate, timings_of
from simcodesign.calibration.timings import Timing, read_timings
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.engine.simulate import simulate

MACHINE = """\
simcodesign: 1
name: small
nodes: 16
processor: {rate: 100 MFLOP/s}
network:
  topology: {kind: crossbar}
  sends: blocking
  startup: 100 us
  bandwidth: 10 MB/s
  link_bandwidth: 20 MB/s
disk: {read_startup: 1 ms, write_startup: 2 ms, bandwidth: 20 MB/s, shared_by: 1}
"""
WORKLOAD = """\
simcodesign: 1
name: pieces
parameters:
  n: {default: 1000, range: [1, 1e9]}
  reads: {default: 4, range: [1, 1e9]}
presets:
  large: {n: 1e6}
program:
  - phase: first
    constants: {disk.per_byte: 1 ns/B}
    do:
      - compute: {flops: 1e6*n/P}
      - read: {bytes: n, times: reads}
      - write: {bytes: 3*n}
  - phase: second
    do:
      - broadcast: {bytes: n, algorithm: linear}
      - write: {bytes: 8, times: 5}
"""
DISK = ["disk.read_startup", "disk.write_startup", "disk.per_byte"]


@pytest.fixture
def machine(tmp_path: Path):
    return load_machine(written(tmp_path / "machine.yaml", MACHINE))


@pytest.fixture
def workload(tmp_path: Path):
    return load_workload(written(tmp_path / "workload.yaml", WORKLOAD))


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def first_disk_s(n: float, reads: float, read_s: float, write_s: float, per_byte_s: float) -> float:
    """Disk time of the first phase, by hand."""
    return reads * (read_s + per_byte_s * n) + write_s + per_byte_s * 3 * n


def disk_times(points, constants=(2e-3, 5e-3, 3e-8), phase: str = "first") -> list[Timing]:
    return [
        Timing(first_disk_s(n, reads, *constants), {"n": n, "reads": reads, "P": 4}, None, phase, "disk")
        for n, reads in points
    ]


VARIED = [(1e3, 4), (1e3, 8), (1e5, 4), (1e6, 16), (1e6, 2)]


def values(result) -> dict[str, float]:
    return {str(unknown): one.value for unknown, one in zip(result.unknowns, result.fit.estimates, strict=True)}


def test_disk_constants_of_a_phase(workload, machine) -> None:
    calibration = calibrate(workload, machine, disk_times(VARIED))
    assert values(calibration) == pytest.approx(
        {"disk.read_startup (first)": 2e-3, "disk.write_startup (first)": 5e-3, "disk.per_byte (first)": 3e-8}, rel=1e-9
    )
    assert calibration.fit.residuals_s == pytest.approx(np.zeros(5), abs=1e-12)


def test_shared_by_the_phases(workload, machine) -> None:
    """Of the second phase, 5 writes of 8 bytes."""
    more = Timing(5 * (5e-3 + 3e-8 * 8), {"n": 7.0}, None, "second", "disk")
    calibration = calibrate(workload, machine, [*disk_times(VARIED), more], per_phase=False)
    assert values(calibration) == pytest.approx(dict(zip(DISK, (2e-3, 5e-3, 3e-8), strict=True)), rel=1e-9)
    assert calibration.fit["disk.write_startup"].rows == 6


def test_times_of_the_whole_run_are_shared_by_default(workload, machine) -> None:
    """10 ms of computation per 1000 elements are known, and so are the messages."""
    times = []
    for n, reads in [*VARIED, (5e5, 3)]:
        known = 1e6 * n / 4 / 1e8
        messages = forecast(workload, machine, {"n": n, "P": 4}).components["communication"]
        disk = first_disk_s(n, reads, 2e-3, 5e-3, 3e-8) + 5 * (5e-3 + 3e-8 * 8)
        times.append(Timing(known + float(messages) + disk, {"n": n, "reads": reads, "P": 4}))
    calibration = calibrate(workload, machine, times, unknown=DISK)
    assert values(calibration) == pytest.approx(dict(zip(DISK, (2e-3, 5e-3, 3e-8), strict=True)), rel=1e-6)


def test_fixed_constants_are_known_parts(workload, machine) -> None:
    calibration = calibrate(workload, machine, disk_times(VARIED), fixed={"first:disk.per_byte": 3e-8})
    assert values(calibration) == pytest.approx(
        {"disk.read_startup (first)": 2e-3, "disk.write_startup (first)": 5e-3}, rel=1e-9
    )
    calibration = calibrate(workload, machine, disk_times(VARIED), fixed={"disk.per_byte": 3e-8}, per_phase=False)
    assert values(calibration) == pytest.approx({"disk.read_startup": 2e-3, "disk.write_startup": 5e-3}, rel=1e-9)


def test_constants_that_are_not_asked_for_keep_their_values(workload, machine) -> None:
    """The phase replaces the time per byte: 1 ns."""
    times = disk_times(VARIED, (2e-3, 5e-3, 1e-9))
    calibration = calibrate(workload, machine, times, unknown=DISK[:2])
    assert list(values(calibration).values()) == pytest.approx([2e-3, 5e-3], rel=1e-9)


def test_a_ratio_leaves_one_factor(workload, machine) -> None:
    """With one point alone the three constants cannot be told apart, but their factor can."""
    ratio = dict(zip(DISK, (1e-3, 2.5e-3, 1.5e-8), strict=True))
    calibration = calibrate(workload, machine, disk_times([(1e3, 4)]), unknown=[], ratios=[ratio])
    assert list(values(calibration).values()) == pytest.approx([2.0], rel=1e-12)
    assert calibration.unknowns[0].ratio == tuple(ratio.items())


def test_computation_is_a_factor(workload, machine) -> None:
    """Twice as long as the workload says: 2 x 10 ms per 1000 elements, and the disk by the machine."""
    times = [
        Timing(2 * 1e6 * n / 4 / 1e8 + first_disk_s(n, 4, 2e-3, 5e-3, 1e-9), {"n": n, "P": 4}, None, "first")
        for n in (1e3, 1e4, 1e5)
    ]
    calibration = calibrate(
        workload, machine, times, unknown=["computation", "disk.read_startup", "disk.write_startup"]
    )
    assert values(calibration)["computation (first)"] == pytest.approx(2, rel=1e-9)
    (both,) = (one for group in calibration.fit.groups for one in group.combinations)
    assert both.weights["disk.write_startup (first)"] == pytest.approx(1 / 4)
    assert both.value == pytest.approx((4 * 2e-3 + 5e-3) / 4, rel=1e-6)


def test_messages_may_not_be_faster_than_links_and_are_found_all_the_same(workload, machine) -> None:
    """A linear broadcast on 4 ranks, whose root sends 3 messages; the link of 20 MB/s bounds the time per byte."""
    times = [
        Timing(
            float(forecast(workload, machine, {"n": n, "P": P}).phases["second"]["communication"]),
            {"n": n, "P": P},
            None,
            "second",
            "communication",
        )
        for n in (10, 1e4, 1e6)
        for P in (2, 4, 16)
    ]
    calibration = calibrate(workload, machine, times)
    assert values(calibration) == pytest.approx(
        {"network.startup (second)": 1e-4, "network.per_byte (second)": 1e-7}, rel=1e-9
    )


def test_what_cannot_be_told_apart_comes_with_advice(workload, machine) -> None:
    calibration = calibrate(workload, machine, disk_times([(1e3, 4)]))
    (group,), (advice,) = calibration.fit.groups, calibration.advice
    assert group.missing == 2
    assert "n = 2000 instead of 1000" in advice
    assert "reads = 8 instead of 4" in advice
    assert not any(words.startswith("P ") for words in advice)  # the disk does not know of P
    other = calibrate(workload, machine, disk_times([(1e3, 4), (2e3, 4), (1e3, 8)]))
    assert other.fit.groups[0].missing == 0


def test_presets_are_advice_too(workload, machine) -> None:
    time = Timing(1.0, {"P": 4}, "large", "first", "disk")
    assert "n = 2e+06 instead of 1e+06" in calibrate(workload, machine, [time]).advice[0]


def test_times_without_an_unknown_are_told(workload, machine) -> None:
    other = Timing(1.0, {"P": 4}, None, "first", "computation")
    calibration = calibrate(workload, machine, [other, *disk_times(VARIED)])
    assert calibration.unused == (other,)
    assert len(calibration.timings) == len(VARIED)


def test_parameters_and_preset_for_rows_that_say_nothing_else(workload, machine) -> None:
    time = Timing(first_disk_s(1e6, 9, 2e-3, 5e-3, 1e-9), {}, None, "first", "disk")
    calibration = calibrate(
        workload,
        machine,
        [time],
        {"reads": 9, "P": 2},
        preset="large",
        unknown=["disk.read_startup"],
        fixed={"disk.write_startup": 5e-3},
    )
    assert values(calibration) == pytest.approx({"disk.read_startup (first)": 2e-3}, rel=1e-6)


def test_noise_is_found_again(workload, machine) -> None:
    draw = np.random.default_rng(2)
    times = [
        Timing(one.seconds * (1 + 0.03 * draw.standard_normal()), one.values, None, one.phase, one.component)
        for one in disk_times(VARIED * 8)
    ]
    calibration = calibrate(workload, machine, times, level=0.999)
    assert calibration.fit.groups[0].error == pytest.approx(0.03, rel=0.4)
    for one, truth in zip(calibration.fit.estimates, (2e-3, 5e-3, 3e-8), strict=True):
        assert one.low < truth < one.high


def test_simulated_seismic_gives_back_its_constants() -> None:
    """All that the closed form knows, simulated without effects, over several numbers of processors."""
    times = []
    for ranks in (2, 4, 8):
        result = simulate(
            "seismic",
            "power-challenge",
            {"P": ranks},
            preset="test",
            phases=["stacking"],
            effects="none",
        )
        rows = timings_of(result, {"P": ranks}, "test")
        times += [Timing(row.seconds, {"P": row.P}, row.preset, row.phase, row.component) for row in rows.itertuples()]
    calibration = calibrate("seismic", "power-challenge", times, unknown=["network.startup", "network.per_byte"])
    assert list(values(calibration).values()) == pytest.approx([318e-6, 0.662e-6], rel=1e-8)
    assert {one.component for one in calibration.unused} == {"computation", "disk"}


def test_a_table_of_a_result_is_read_again(tmp_path: Path, workload, machine) -> None:
    result = forecast(workload, machine, {"P": 4, "n": 50})
    path = tmp_path / "times.csv"
    timings_of(result, {"P": 4, "n": 50}).to_csv(path, index=False)
    rows = read_timings([path], workload)
    assert {(one.phase, one.component): one.seconds for one in rows} == {
        (phase, part): seconds for phase, parts in result.phases.items() for part, seconds in parts.items() if seconds
    }


def test_ranks_that_differ_are_looked_at(tmp_path: Path, machine) -> None:
    """Rank r reads r + 1 times; the last of P reads P times."""
    text = WORKLOAD[: WORKLOAD.index("program:")] + "program:\n  - read: {bytes: n, times: rank + 1}\n"
    workload = load_workload(written(tmp_path / "ranks.yaml", text))
    times = [Timing(P * (2e-3 + 3e-8 * n), {"P": P, "n": n}) for P in (2, 4) for n in (1e3, 1e5)]
    assert values(calibrate(workload, machine, times)) == pytest.approx(
        {"disk.read_startup": 2e-3, "disk.per_byte": 3e-8}, rel=1e-9
    )


# What is refused.


def test_messages_that_leave_side_by_side_are_named_as_a_cause(tmp_path: Path) -> None:
    """In a binary tree the second child gets its message last, but after the first if the bytes leave side by side."""
    tree = "program:\n  - broadcast: {bytes: n, algorithm: binary_tree}\n"
    workload = load_workload(written(tmp_path / "tree.yaml", WORKLOAD[: WORKLOAD.index("program:")] + tree))
    times = [Timing(1e-3, {"P": 16, "n": n}, component="communication") for n in (10, 1e4)]
    calibrate(workload, load_machine(written(tmp_path / "one_by_one.yaml", MACHINE)), times)
    text = MACHINE.replace("  sends: blocking\n", "")
    with pytest.raises(InputError, match=r"not linear in .*network\.sends: nonblocking"):
        calibrate(workload, load_machine(written(tmp_path / "together.yaml", text)), times)


def test_constants_of_which_the_larger_counts_are_refused_by_name(tmp_path: Path, workload) -> None:
    text = MACHINE.replace(
        "  sends: blocking\n  startup: 100 us\n  bandwidth: 10 MB/s\n  link_bandwidth: 20 MB/s\n",
        "  model: loggop\n  L: 5 us\n  o: 2 us\n  g: 4 us\n  G: 1 ns/B\n",
    )
    machine = load_machine(written(tmp_path / "loggop.yaml", text))
    times = [Timing(1e-3, {"P": 4}, None, "second", "communication")]
    with pytest.raises(InputError, match=r"not linear in .*network\.o and network\.g"):
        calibrate(workload, machine, times)
    times = [
        Timing(
            float(forecast(workload, machine, {"n": n, "P": 4}).phases["second"]["communication"]),
            {"n": n, "P": 4},
            None,
            "second",
            "communication",
        )
        for n in (10, 1e4, 1e6)
    ]
    calibration = calibrate(workload, machine, times, unknown=["network.L", "network.G"])
    assert list(values(calibration).values()) == pytest.approx([5e-6, 1e-9], rel=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unknown": ["disk.read_start"]}, "did you mean 'disk.read_startup'"),
        ({"unknown": ["processor.rate"]}, "not a time constant"),
        ({"unknown": ["network.link_per_byte"]}, "not a time constant"),
        ({"unknown": ["network.g"]}, "not a time constant"),
        ({"unknown": ["disk.per_byte"] * 2}, "named twice"),
        ({"fixed": {"third:disk.per_byte": 1.0}}, "no such phase"),
        ({"fixed": {"disk.per_byte": -1.0}}, "0 or above"),
        ({"unknown": ["disk.per_byte"], "fixed": {"disk.per_byte": 1.0}}, "nothing is left"),
        ({"ratios": [{"disk.per_byte": 1.0}]}, "two or more"),
        ({"ratios": [{"disk.per_byte": 1.0, "disk.read_startup": 0.0}]}, "two or more"),
        ({"ratios": [{"disk.per_byte": 1.0, "disk.read_startup": 1.0}] * 2}, "in two ratios"),
        ({"unknown": ["network.startup"]}, "no measured time has a part"),
        ({"weighting": "some"}, "weights"),
    ],
)
def test_options_that_cannot_be_used(workload, machine, options: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        calibrate(workload, machine, disk_times(VARIED), **options)


def test_points_that_cannot_be_forecast_are_named(workload, machine, tmp_path: Path) -> None:
    path = written(tmp_path / "times.csv", "P,phase,component,seconds\n4,first,disk,1\n99,first,disk,2\n")
    with pytest.raises(InputError, match=r"times\.csv:3: .*more ranks"):
        calibrate(workload, machine, path)
    path.write_text("n,phase,component,seconds\n4,first,disk,1\n0,first,disk,2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"times\.csv:3: .*'n'"):
        calibrate(workload, machine, path)


def test_a_time_of_zero_needs_absolute_weights(workload, machine) -> None:
    times = [*disk_times(VARIED), Timing(0.0, {"P": 4}, None, "first", "disk")]
    with pytest.raises(InputError, match="absolute weights"):
        calibrate(workload, machine, times)
    assert calibrate(workload, machine, times, weighting="absolute").fit.estimates[0].rows == 6


def test_no_times(workload, machine) -> None:
    with pytest.raises(InputError, match="no measured times"):
        calibrate(workload, machine, [])
