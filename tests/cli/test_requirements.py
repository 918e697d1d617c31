"""``compare --requirements``: what it prints, as tables, JSON and plots; the memory of ``explore``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.cli.app import main
from simcodesign.studies.requirements.memory_capacity import fit_memory
from simcodesign.studies.requirements.upgrade import share_of

SYSTEMS = ["strawman-massively-parallel", "strawman-vector", "strawman-hybrid"]
J = "juqueen"
RACKS, SOCKETS, MEMORY = (f"{J} with {key}=x2" for key in ("nodes", "processors_per_node", "memory.capacity"))
UPGRADES = [J, RACKS, SOCKETS, MEMORY]
APPS = ["kripke", "lulesh", "milc", "relearn", "icofoam"]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for the cells of all systems on one line."""
    monkeypatch.setenv("COLUMNS", "140")


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["compare", *arguments, "--requirements"]) == 0
    return " ".join(capsys.readouterr().out.split())


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["compare", *arguments, "--requirements", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["compare", *arguments, "--requirements"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_the_five_steps(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "lulesh", J, RACKS)
    for words in (
        "lulesh on juqueen",
        "I requirements of a process model",
        "flop 1e5 n log2(n) p^0.25 log2(p)",
        "bytes used 1e5 n log2(n)",
        "II processes p 458752 917504 2",
        "memory of a process m 1 GB 1 GB 1",
        "III footprint at the old size 1 GB 1 GB 1",
        "IV problem size of a process n 1003 1003 1",
        "overall problem size N = p n 4.601e8 9.203e8 2",
        "V flop 4.895e11 6.13e11 1.252",
        "loads and stores 1.881e10 1.981e10 1.053",
    ):
        assert words in text, words
    assert "baseline" not in text


def test_all_ratios_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, *APPS, *UPGRADES)
    assert "kripke lulesh milc relearn icofoam baseline" in text
    assert "overall problem size 1 1.095 1 0.5 0 1" in text
    assert "nodes=x2: does not fit at any n with all of 917504 processes" in text
    assert "100 p log2(p) alone 1.817 GB, and a process has 1 GB" in text


def test_ratios_in_json_are_not_rounded(capsys: pytest.CaptureFixture[str]) -> None:
    (study,) = answer(capsys, "lulesh", J, RACKS, "-P", "1024")["studies"]
    assert study["ratios"]["computation"] == pytest.approx(2**0.25 * 1.1, rel=1e-14)
    assert (study["old"]["processes"], study["new"]["processes"]) == (1024, 2048)
    assert (
        study["new"]["requirements"]["flops"] / study["old"]["requirements"]["flops"] == study["ratios"]["computation"]
    )
    (nothing,) = answer(capsys, "icofoam", J, RACKS)["studies"]
    assert (nothing["ratios"]["size"], nothing["ratios"]["computation"], nothing["new"]["requirements"]) == (
        0,
        None,
        None,
    )


def test_settings_and_bases(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(
        capsys,
        "lulesh",
        "kripke",
        J,
        MEMORY,
        "--set",
        f"n_base={math.e!r}",
        "--set",
        "memory.capacity=32 GB",
    )
    assert "1e5 n log(n)" in text
    assert "memory of a process m 2 GB 4 GB 2" in text
    n = largest(capsys, "lulesh", "juqueen", "--set", f"n_base={math.e!r}")
    assert 1e5 * n * math.log(n) <= 1e9 < 1e5 * (n + 1) * math.log(n + 1)


def test_an_upgrade_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    half = f"{J} with nodes=x4, memory.capacity=x0.5"
    assert "overall problem size N = p n 4.588e9 9.175e9 2" in out(capsys, "kripke", J, half)
    text = out(capsys, "kripke", J, f"{J} with network.bandwidth=x3")
    assert "network.bandwidth=x3: also changes rates (network x 3)" in text
    assert "not an upgrade, got 'nods'" in refusal(capsys, "kripke", J, f"{J} with nods=x4")


def test_a_variant_with_values_is_a_machine_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """16 GB and 32 GB a node of 16 processes; kripke needs 1e5 bytes for each size."""
    (study,) = answer(capsys, "kripke", J, f"{J} with memory.capacity=32 GB")["studies"]
    assert [system["fit"]["whole"] for system in study["systems"]] == [1e4, 2e4]


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("nodes=x2", "nodes=32"),
        ("network.startup=x0.5", "network.startup=5 us"),
        ("network.bandwidth=x1.5", "network.bandwidth=150 MB/s"),
    ],
)
def test_a_factor_is_a_multiple_of_what_the_file_has(change: str, value: str) -> None:
    """crossbar-16 has 16 nodes, a startup of 10 us and 100 MB/s."""
    by_factor, by_value = (sc.Machine.load(f"crossbar-16 with {text}") for text in (change, value))
    assert by_factor.nodes == by_value.nodes
    assert by_factor.constants() == pytest.approx(by_value.constants(), rel=1e-14)


def test_a_factor_of_nothing_is_refused() -> None:
    with pytest.raises(sc.InputError, match="no factor of what the file leaves out"):
        sc.Machine.load("crossbar-16 with memory.capacity=x2")


def test_straw_men(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, *APPS, *SYSTEMS)
    for words in (
        "processors 2e9 5e7 1e8",
        "memory of a processor 5 MB 200 MB 100 MB",
        "kripke largest problem 1e11 1e11 1e11",
        "lulesh largest problem 2.673e10 1.255e10 1.402e10",
        "time for 1.255e10 21.72 s 21.51 s 23.24 s",
        "icofoam largest problem nothing fits nothing fits nothing fits",
        "icofoam is excluded",
        "n = 1 takes 6.179 TB, 100 p log2(p) alone 6.179 TB, and a process has 5 MB",
    ):
        assert words in text, words


def test_any_set_of_systems(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "kripke", "icofoam", J, "strawman-vector")
    kripke, icofoam = result["studies"]
    assert [system["machine"] for system in kripke["systems"]] == ["juqueen", "strawman-vector"]
    assert kripke["benchmark"] == pytest.approx(458752 * 1e4)
    assert icofoam["excluded"] == ["strawman-vector"]
    assert icofoam["systems"][1]["wall_time_s"] is None


def test_a_problem_too_small_for_some_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "kripke", *SYSTEMS, "--benchmark", "1e9")
    assert "no time, 0.5 of a process is no size that it allows" in text
    assert "time for 1e9 - 0.01 s 0.01 s" in text or "10 ms 10 ms" in text


def test_added_terms(capsys: pytest.CaptureFixture[str]) -> None:
    (study,) = answer(capsys, "lulesh", *SYSTEMS, "--preset", "additive")["studies"]
    assert all(system["wall_time_s"] < 0.1 for system in study["systems"])


def largest(capsys: pytest.CaptureFixture[str], *arguments: str) -> int:
    """The largest problem that ``explore`` finds, the only thing that varies."""
    assert main(["explore", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["feasible"], found["exact"]) == (True, True)
    (value,) = found["point"]["values"].values()
    return int(value)


@pytest.mark.parametrize(
    ("workload", "machine", "ranks"),
    [("icofoam", "juqueen", 1024), ("relearn", "strawman-vector", None), ("milc", "juqueen", None)],
)
def test_the_largest_problem_is_that_of_the_fit(
    workload: str, machine: str, ranks: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Against the footprints of all whole sizes around it, and against the fit of memory that upgrades have."""
    n = largest(capsys, workload, machine, *(["-P", str(ranks)] if ranks else []))
    given = {"P": ranks} if ranks else {}
    sizes = np.arange(max(n - 500, 1), n + 500)
    result = sc.forecast(workload, machine, {**given, "n": sizes})
    fits = np.asarray(result.footprint_bytes) <= result.capacity_bytes
    assert sizes[fits].max() == n
    processes, capacity_bytes = share_of(sc.Machine.load(machine), given)
    assert fit_memory(workload, processes, capacity_bytes).whole == n


def test_every_n_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        "simcodesign: 1\nname: flat\nparameters: {n: {default: 1, range: [1, 1e6]}}\nfootprint: 8*P\nprogram: [barrier: {}]\n",
        encoding="utf-8",
    )
    assert largest(capsys, str(path), "juqueen") == 1e6
    assert "nodes=x2: every n fits" in out(capsys, str(path), *UPGRADES)


SMALL = ["--simulate", "-P", "16", "--effects", "links"]


def node_bytes(edge: int, cores: int = 1024) -> int:
    """Memory of a node of ``cg``: arrays as they would be allocated by a core with ``edge``^3 cubes, 18 neighbours a dof."""
    vertices = (edge + 1) ** 3
    arrays = [
        np.empty((5 * edge**3, 4), np.int32),  # tetrahedra
        np.empty((vertices, 3), np.float64),  # coordinates
        np.empty((vertices, 19), np.float64),  # the matrix: values, columns, first of each row
        np.empty((vertices, 19), np.int32),
        np.empty(vertices, np.int32),
        *(np.empty(vertices, np.float64) for _ in range(1 + 4)),  # the right side, and the paper's four vectors
    ]
    return cores * sum(array.nbytes for array in arrays)


def test_the_memory_of_conjugate_gradients(capsys: pytest.CaptureFixture[str]) -> None:
    """The published cubes take what their arrays do; the largest number of cubes fits, and one more does not."""
    result = sc.forecast("cg", "exascale-cg")
    assert (float(result.footprint_bytes), result.capacity_bytes) == (node_bytes(16), 16e9)
    per_vertex, per_cube = 1024 * (24 + 19 * 12 + 4 + 8 + 32), 1024 * 80
    bytes_of = {cubes: per_vertex * (cubes ** (1 / 3) + 1) ** 3 + per_cube * cubes for cubes in (38769, 38770)}
    assert bytes_of[38769] <= 16e9 < bytes_of[38770]
    assert largest(capsys, "cg", "exascale-cg") == 38769


@pytest.mark.parametrize("machine", ["exascale-cg", "exascale-cg-fat-tree", "exascale-cg-hypercube"])
def test_memory_is_no_concern_of_scalability(machine: str) -> None:
    """As the paper says: a node's storage does not depend on their number, and exceeds that of its own dof by a surface."""
    few, many = (float(sc.forecast("cg", machine, {"P": p}).footprint_bytes) for p in (8, 4096))
    assert few == many < 16e9
    shared = [node_bytes(edge) / edge**3 for edge in (16, 32, 64)]
    limit = 1024 * (296 + 80)  # bytes of a cube without its shared vertices
    excess = [(one - limit) * edge for one, edge in zip(shared, (16, 32, 64), strict=True)]
    assert excess == pytest.approx([3 * 1024 * 296] * 3, rel=0.07)  # 3 edge^2 + 3 edge + 1 vertices more


IO = """
simcodesign: 1
name: restarts
parameters:
  n: {default: 1, range: [1, 1e12]}
footprint: 1e6*n
program:
  - compute: {flops: 1e6*n}
  - read: {bytes: 1e6*n}
  - write: {bytes: 1e5*P}
"""


def test_io_is_a_requirement_where_there_is_any(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A process of 1 GB reads 1e9 bytes, and writes 1e5 of each of 458752 or 917504 processes."""
    path = tmp_path / "restarts.yaml"
    path.write_text(IO.lstrip())
    before, after = 1e9 + 1e5 * 458752, 1e9 + 1e5 * 917504
    text = out(capsys, str(path), "kripke", J, RACKS)
    assert "bytes read and written 4.688e10 9.275e10 1.979" in text
    assert "I/O 1.979 - 1" in text
    assert "bytes read" not in out(capsys, "kripke", J, RACKS)
    (study,) = answer(capsys, str(path), J, RACKS)["studies"]
    assert study["ratios"]["io"] == pytest.approx(after / before, rel=1e-12)
    assert study["baseline"]["io"] == 1
    (none,) = answer(capsys, "kripke", J, RACKS)["studies"]
    assert none["ratios"]["io"] is None


@pytest.mark.thorough
def test_io_ranks_upgrades_and_is_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "restarts.yaml"
    path.write_text(IO.lstrip())
    result = answer(capsys, str(path), J, RACKS, SOCKETS, *SMALL)
    before = 1e9 + 1e5 * 16
    expected = {"nodes=x2": (1e9 + 1e5 * 32) / before / 2, "processors_per_node=x2": (5e8 + 1e5 * 32) / before}
    (ranking,) = result["rankings"]
    assert ranking["scores"]["io"] == pytest.approx(expected, rel=1e-12)
    assert [cell["counter_ratios"]["disk_bytes"] for cell in result["cells"]] == pytest.approx(
        [2 * expected["nodes=x2"], expected["processors_per_node=x2"]], rel=1e-12
    )
    text = out(capsys, str(path), J, RACKS, *SMALL)
    assert "I/O" in text
    assert "disk.bandwidth" in text


@pytest.mark.thorough
def test_simulated_upgrades(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "kripke", "lulesh", *UPGRADES, *SMALL)
    for words in (
        "kripke, lulesh with 16 of 458752 processes (torus 1x1x1x1)",
        "Scaling: nodes as they are",
        "Counters: in all 6 cells the simulation's have the ratios of the requirements",
        "kripke nodes=x2 1 2 1 1 1.016 1 1 1.016",
        "weights of resources",
        "smaller machine | whole machine",
        "The requirements, against the simulated time: ",
        "Sensitivity of the time ratios (by the forecast)",
        "No ratio changes by 1% with",
        "what is assumed says so",
    ):
        assert words in text, words


def test_simulated_upgrades_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "kripke", J, MEMORY, *SMALL, "--vary", "processor.rate=x0.5,x1,x4")
    (cell,), (ranking,) = result["cells"], result["rankings"]
    assert cell["counter_ratios"].pop("disk_bytes") is None  # nothing is read or written
    assert cell["counter_ratios"] == pytest.approx({"flops": 2, "sent_bytes": 2, "loads_stores": 2})
    assert cell["time_ratio"] == cell["new"]["simulated_s"] / cell["old"]["simulated_s"]
    assert [step["name"] for step in cell["steps"]][-2:] == ["hops", "links"]
    assert (ranking["picks"]["simulated"], ranking["verdict"]) == (["memory.capacity=x2"], "same")
    assert result["varied"]["reading"] == "simulation"
    assert [one["factor"] for one in result["varied"]["numbers"]] == [0.5, 4]


def test_simulated_upgrades_after_which_nothing_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        "simcodesign: 1\nname: tight\nparameters: {n: {default: 1, range: [1, 1e6]}}\nfootprint: 1e6*n + 4e7*P\n"
        "program: [compute: {flops: n}]\n",
        encoding="utf-8",
    )
    # On the whole machine not even the base fits, and without messages two resources have no ratios.
    text = out(capsys, str(path), J, RACKS, MEMORY, *SMALL)
    assert "tight, nodes=x2: does not fit at any n" in text
    (cell, _) = answer(capsys, str(path), J, RACKS, MEMORY, *SMALL)["cells"]
    assert (cell["new"], cell["time_ratio"], cell["full"]["time_ratio"]) == (None, None, None)


def test_simulated_straw_men(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["kripke", *SYSTEMS, "--simulate", "-P", "200", "--effects", "none"]
    text = out(capsys, *arguments)
    assert "kripke whole systems, computation alone 1 1 1" in text
    assert "processors divided by 1e7 on all systems (nodes by 1e4, processors of a node by 1000)" in text
    (study,) = answer(capsys, *arguments)["studies"]
    assert [system["processes"] for system in study["systems"]] == [200, 5, 10]
    assert study["scale"]["processors"] == 10**7


@pytest.mark.thorough
@pytest.mark.parametrize("form", [pytest.param("png", marks=pytest.mark.thorough), "svg"])
def test_plot_of_simulated_upgrades(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"plot.{form}"
    out(capsys, "kripke", "milc", *UPGRADES, *SMALL, "--write", str(path))
    begins = {"png": b"\x89PNG", "svg": b"<?xml"}
    assert path.read_bytes().startswith(begins[form])
    if form == "svg":
        assert "milc, processors_per_node=x2" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["kripke", "torus-cluster", "torus-cluster with nodes=x2"], "does not say how much memory"),
        (["jacobi", *UPGRADES], "does not say its footprint"),
        (["kripke", *UPGRADES, "--set", "nothing=3"], "--set: "),
        (["kripke", *UPGRADES, "--set", "n"], "--set: not a setting"),
        (["kripke", *UPGRADES, "--set", "n=2", "--set", "n=3"], "--set: set twice"),
        (["kripke", *UPGRADES, "--set", "c_flop=x"], "must be a number"),
        (["kripke", *UPGRADES, "--size", "m"], "no parameter 'm'"),
        (["kripke", *UPGRADES, "-P", "1000000"], "processes on juqueen: P"),
        (["kripke", "nowhere", *SYSTEMS], "no such machine"),
        (["kripke", *SYSTEMS, "--set", "P=8"], "P cannot be given"),
        (["milc", J, "--set", "n=8"], "n cannot be given"),
        (["kripke", *SYSTEMS, "--benchmark", "0"], "overall problem"),
        (["kripke", *UPGRADES, "--vary", "blocking=x2"], "--vary needs --simulate"),
        (["kripke", *UPGRADES, "--effects", "none"], "--effects needs --simulate"),
        (["kripke", *SYSTEMS, "-P", "200"], "-P needs --simulate"),
        (["kripke", *UPGRADES, "--why"], "--why and --requirements exclude each other"),
        (["kripke", *UPGRADES, "--simulate", "-P", "8"], "a multiple of 16"),
        (["kripke", *UPGRADES, "--simulate", "--vary", "blocking"], "--vary: not something to vary"),
        (["kripke", *UPGRADES, "--simulate", "--vary", "blocking=x"], "--vary: factors of blocking"),
        (["kripke", *UPGRADES, "--simulate", "--vary", "blockin=x2"], "did you mean 'blocking'"),
        (["kripke", *UPGRADES, "--simulate", "--vary", "n=x2"], "n cannot be varied"),
        (["kripke", *UPGRADES, "--simulate", "--vary", "blocking=x2", "--vary", "blocking=x3"], "varied twice"),
        (["kripke", *UPGRADES, "--simulate", "--effects", "heat"], "no such effect"),
        (["kripke", *SYSTEMS, "--simulate", "--benchmark", "1e9"], "without --benchmark"),
        (["kripke", *SYSTEMS, "--simulate", "-P", "100"], "200 or more"),
        (["kripke", *UPGRADES, "--write", "x.txt"], "--write: no kind of file has this name or suffix"),
        (["kripke", *SYSTEMS, "--simulate", "--write", "x.png"], "simulated systems have no plot"),
        (["kripke", J, "--write", "trace.json"], "requirements have no trace"),
    ],
)
def test_bad_input(arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert what in refusal(capsys, *arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        [*APPS, *UPGRADES],
        ["icofoam", J, RACKS],
        [*APPS, *SYSTEMS],
        ["icofoam", *SYSTEMS],
        [*APPS, J, "strawman-vector"],
    ],
)
@pytest.mark.parametrize("form", ["png", "svg"])
@pytest.mark.thorough
def test_plots(arguments: list[str], form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"plot.{form}"
    assert main(["compare", *arguments, "--requirements", "--write", str(path)]) == 0
    begins = {"png": b"\x89PNG", "svg": b"<?xml"}
    assert path.read_bytes().startswith(begins[form])
    if "icofoam" in arguments and form == "svg":
        assert "nothing fits" in path.read_text(encoding="utf-8")
