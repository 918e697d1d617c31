"""The command calibrate: what it prints, as tables, JSON and YAML that can be pasted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

from simcodesign.analytic.forecast import forecast
from simcodesign.calibration.calibrate import timings_of
from simcodesign.cli import app
from simcodesign.describe.yaml.files import load_machine

RUNNER = CliRunner()
NETWORK = "network.startup,network.per_byte"


def run(*arguments: object):
    return RUNNER.invoke(app, ["calibrate", *map(str, arguments)], env={"COLUMNS": "120"})


def made(folder: Path, presets=("test", "small"), noise: float = 0.0) -> Path:
    """Times of the seismic application by the forecast."""
    draw = np.random.default_rng(1)
    rows = []
    for preset in presets:
        for ranks in (2, 4, 8, 16):
            result = forecast("seismic", "power-challenge", {"P": ranks}, preset=preset)
            rows.append(timings_of(result, {"P": ranks}, preset))
    table = pd.concat(rows)
    table["seconds"] *= 1 + noise * draw.standard_normal(len(table))
    path = folder / "times.csv"
    table.to_csv(path, index=False)
    return path


def test_tables_say_what_is_determined_and_what_is_not(tmp_path: Path) -> None:
    answer = run("seismic", "power-challenge", made(tmp_path))
    assert answer.exit_code == 0, answer.output
    text = " ".join(answer.output.split())
    assert "network.startup stacking 318 us to the digits shown 8" in text
    assert "disk.read_startup depth-migration not determined" in text
    assert "disk.read_startup + 0.1875 x disk.write_startup = 1.132 ms" in text
    assert "writes_per_step = 0.375 instead of 0.1875, or reads and writes timed apart" in text
    assert "32 times were not used" in text


def test_json_holds_numbers_in_si_units(tmp_path: Path) -> None:
    path = made(tmp_path, noise=0.02)
    answer = run("seismic", "power-challenge", path, "--unknown", NETWORK, "--json", "--level", "95%")
    data = json.loads(answer.output)
    assert data["level"] == 0.95
    constants = {(one["constant"], one["phase"]): one for one in data["constants"]}
    one = constants["network.startup", "depth-migration"]
    assert one["unit"] == "s"
    assert one["interval"][0] < 104e-6 < one["interval"][1]
    assert len(data["times"]) == 16


def test_noise_and_repetitions_are_shown(tmp_path: Path) -> None:
    path = made(tmp_path, noise=0.02)
    text = run("seismic", "power-challenge", path, path, "--unknown", NETWORK, "--shared").output
    assert "32 times" in text
    assert "network.startup    all" in text


def test_yaml_can_be_pasted_into_a_workload(tmp_path: Path) -> None:
    answer = run("seismic", "power-challenge", made(tmp_path), "--unknown", NETWORK, "--write", "constants:-")
    phases = answer.output.split("# phase ")[1:]
    assert [part.splitlines()[0] for part in phases] == ["stacking", "depth-migration"]
    pasted = yaml.safe_load(phases[0].partition("\n")[2])["constants"]
    assert pasted == {"network.startup": "0.000318 s", "network.per_byte": "6.62e-07 s/B"}


def test_yaml_of_shared_constants_is_of_a_machine(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    rows = [
        timings_of(
            forecast("seismic", "power-challenge", {"P": ranks}, preset="test", phases=["stacking"]), {"P": ranks}
        )
        for ranks in (4, 8, 16)
    ]
    pd.concat(rows).to_csv(path, index=False)
    text = run("seismic", "power-challenge", path, "--preset", "test", "--shared", "--write", "constants:-").output
    assert yaml.safe_load(text) == {"network": {"startup": "0.000318 s", "per_byte": "6.62e-07 s/B"}}
    assert "# disk.read_startup: not determined" in text


def test_ratios_and_fixed_constants_take_units(tmp_path: Path) -> None:
    path = made(tmp_path, ("test",))
    ratio = "disk.read_startup=43.2us,disk.write_startup=1.53ms,disk.per_byte=22.2 ns/B"
    data = json.loads(
        run(
            "seismic",
            "power-challenge",
            path,
            "--unknown",
            "network.startup",
            "--fix",
            "stacking:network.per_byte=662 ns/B",
            "--ratio",
            ratio,
            "--json",
        ).output
    )
    factors = [one["estimate"] for one in data["constants"] if one["ratio"]]
    assert factors == pytest.approx([1, 1.98, 3.43], rel=5e-3)  # printed digits of the ratio
    text = run(
        "seismic", "power-challenge", path, "--unknown", "network.startup", "--ratio", ratio, "--write", "constants:-"
    ).output
    assert "disk.write_startup: 0.00153 s" in text


def test_one_vector_times_a_factor_is_said(tmp_path: Path) -> None:
    """Several data sets and proportions of writes tell the disk constants of phases 2 and 4 apart; they are one vector."""
    rows = []
    for preset in ("test", "small", "medium"):
        for writes in (0.1875, 0.5):
            values = {"P": 16, "writes_per_step": writes}
            rows.append(timings_of(forecast("seismic", "power-challenge", values, preset=preset), values, preset))
    path = tmp_path / "times.csv"
    pd.concat(rows).to_csv(path, index=False)
    text = " ".join(run("seismic", "power-challenge", path).output.split())
    assert "The disk constants of stacking and depth-migration are one vector" in text
    assert "(1, 1.72" in text  # 3.43 / 1.985


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--json", "--write", "constants:-"], "exclude each other"),
        (["--fix", "disk.per_byte"], "--fix: not a value"),
        (["--fix", "disk.per_byte=3 us"], "--fix: 'us' is a unit of time"),
        (["--fix", "disk.per_byte=3", "--fix", "disk.per_byte=4"], "given twice"),
        (["--ratio", "disk.per_byte=3"], "two or more"),
        (["--error", "2 us"], "--error"),
        (["--level", "2"], "level"),
        (["--unknown", "disk.per_bite"], "did you mean 'disk.per_byte'"),
        (["--weights", "other"], "relative, absolute"),
    ],
)
def test_what_cannot_be_used_ends_with_status_2(tmp_path: Path, more: list[str], words: str) -> None:
    answer = run("seismic", "power-challenge", made(tmp_path, ("test",)), *more)
    assert answer.exit_code == 2
    assert words in " ".join(answer.output.split())


def table(folder: Path, *rows: str) -> Path:
    path = folder / "rows.csv"
    path.write_text("\n".join(["preset,P,phase,component,seconds", *rows]) + "\n", encoding="utf-8")
    return path


def test_a_single_time_has_no_interval_but_for_a_known_error(tmp_path: Path) -> None:
    """16 x 15 messages of 4096 B in 0.98 s: 4.083 ms each."""
    path = table(tmp_path, "test,16,stacking,communication,0.98")
    text = " ".join(run("seismic", "power-challenge", path).output.split())
    assert "network.startup + 4096 B x network.per_byte = 4.083 ms." in text
    assert "There is no interval for network.startup (stacking) and network.per_byte (stacking)" in text
    text = " ".join(run("seismic", "power-challenge", path, "--error", "0.5%").output.split())
    assert "= 4.083 ms (90 %: 4.05 ms to 4.117 ms)" in text  # 1.645 x 0.5 % of it
    assert "given as 0.5 %" in text


def test_bounds_scatter_and_too_much_that_is_known_are_said(tmp_path: Path) -> None:
    """Measured times of the small set, which no constants can give; and a phase in less time than it computes."""
    times = zip((4, 8, 16), (28.8, 16.7, 12.2), strict=True)
    path = table(
        tmp_path, *(f"small,{ranks},stacking,total,{seconds}" for ranks, seconds in times), "test,16,stacking,total,1"
    )
    text = " ".join(run("seismic", "power-challenge", path, "--unknown", NETWORK).output.split())
    assert "held at 0; without this bound" in text
    assert "In 1 times, the part that no unknown has is more than the whole measured time." in text
    rows = [f"small,{ranks},stacking,total,{seconds}" for ranks, seconds in ((4, 28.8), (8, 16.7), (16, 12.2))]
    text = " ".join(
        run("seismic", "power-challenge", table(tmp_path, *rows), "--unknown", f"computation,{NETWORK}").output.split()
    )
    assert "can hardly be separated" in text
    assert "computation stacking 2.595" in text


def test_a_constant_that_no_time_has_is_named(tmp_path: Path) -> None:
    path = table(tmp_path, "test,16,generation,disk,0.042")
    text = run("seismic", "power-challenge", path, "--unknown", "disk.write_startup,memory.latency").output
    assert "memory" in text


OSU = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n" + "".join(
    f"{2**power}  {1.5 + 2**power / 2e3 if power < 13 else 6 + 2**power / 8e3:.6f}\n" for power in range(21)
)


def test_what_benchmarks_print_becomes_a_machine_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("osu_latency.txt").write_text(OSU)
    Path("barrier.txt").write_text("# OSU MPI Barrier Latency Test v5.9\n# Avg Latency(us)\n 2.5\n")
    options = ["--write", "mine.yaml", "--write", "rows.csv", "--given", "barrier.txt:P=16"]
    answer = run("crossbar-16", "osu_latency.txt", "barrier.txt", *options, "--json")
    assert answer.exit_code == 0, answer.output
    data = json.loads(answer.stdout)
    assert [(one["up_to"], one["startup"]["estimate"]) for one in data["segments"]] == [
        (4096, pytest.approx(1.5e-6, rel=1e-3)),
        (None, pytest.approx(6e-6, rel=1e-3)),
    ]
    machine = load_machine("mine.yaml")
    assert machine.name == "mine"
    assert "osu_latency.txt lines 3-23" in machine.source
    rows = pd.read_csv("rows.csv")
    assert rows["role"].value_counts().to_dict() == {"calibration": 21, "evidence": 1}
    assert rows.loc[rows["phase"] == "barrier", "P"].tolist() == [16]


def test_the_printed_machine_is_yaml_and_names_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "osu_latency.txt"
    path.write_text(OSU)
    answer = run(
        "crossbar-16", path, "--write", "constants:-", "--segments", "1", "--fix", "network.receive_overhead=200ns"
    )
    text = yaml.safe_load(answer.output)
    assert text["extends"] == "crossbar-16"
    assert set(text["network"]) == {"startup", "bandwidth"}
    tables = run("crossbar-16", path)
    assert "Segments, by cross-validation" in tables.output
    assert "lines 3-23 were used and are no evidence" in " ".join(tables.output.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["crossbar-16", "osu.txt", "--unknown", "network.startup"],
        ["crossbar-16", "osu.txt", "--preset", "small"],
        ["jacobi", "crossbar-16", "osu.txt", "--segments", "2"],
        ["jacobi", "crossbar-16"],
        ["crossbar-16", "osu.txt", "--given", "P"],
        ["crossbar-16", "osu.txt", "--given", "other.txt:P=3"],
        ["crossbar-16", "osu.txt", "--fix", "network.startup=1us"],
        ["crossbar-16", "osu.txt", "--format", "nothing"],
        ["crossbar-16", "osu.txt", "--write", "machine.txt"],
        ["crossbar-16", "osu.txt", "--segments", "9"],
        ["nothing", "osu.txt"],
    ],
)
def test_what_cannot_be_calibrated_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("osu.txt").write_text(OSU)
    answer = run(*arguments)
    assert answer.exit_code == 2, answer.output
    assert "Traceback" not in answer.output


def test_a_machine_alone_prints_what_to_measure() -> None:
    """Three commands of each suite for a full node of 24 ranks, which share 2.5 MiB each, and of two."""
    answer = run("xeon-cluster")
    assert answer.exit_code == 0, answer.output
    for command in (
        "mpirun -np 2 IMB-MPI1 PingPong > pingpong.txt ",
        "mpirun -np 24 IMB-MPI1 -npmin 24 -msglog 24 Sendrecv > sendrecv.txt ",  # 16 MiB, beyond four times 2.5 MiB
        "mpirun -np 48 -ppn 24 IMB-MPI1 -npmin 48 -msglog 16:20 Alltoall > alltoall.txt ",
        "mpirun -np 2 osu_latency > latency.txt ",
        "mpirun -np 24 osu_multi_lat -m :16777216 > multi_lat.txt ",
        "mpirun -np 48 -ppn 24 osu_alltoall -m 65536:1048576 > alltoall.txt ",
    ):
        assert f"  {command}" in answer.output
    commands = json.loads(run("xeon-cluster", "--json").stdout)
    sendrecv = next(one for one in commands if one["file"] == "sendrecv.txt")
    assert sendrecv["determines"] == ["node.network.holds_receiver", "node.memory.copies"]
    assert sendrecv["given"] == ["nodes=1", "ranks_per_node=24"]
    assert "PingPong" in run("crossbar-16").output
    assert "Sendrecv on a full node" in " ".join(run("--help").output.split())
