"""Phases, declared computation and the memory of arrays of programs that use mpi4py."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign import cli
from simcodesign.core.errors import InputError

HEAD = "from mpi4py import MPI\nimport numpy as np\nimport simcodesign as sc\ncomm = MPI.COMM_WORLD\n"


@pytest.fixture
def ran(tmp_path: Path) -> Any:
    """Run a program on two ranks."""

    def run(text: str, **options: Any) -> Any:
        file = tmp_path / "program.py"
        file.write_text(HEAD + textwrap.dedent(text))
        return sc.run(file, 2, **({"on": "crossbar-16", "speed": None} | options))

    return run


def entries(done: Any) -> list[tuple[str, tuple[Any, ...]]]:
    """Phase and operation of each entry of rank 0."""
    recording = done.workload.program[0].recorded(2, {})
    last = int(recording.first[1])
    return [
        (recording.phases[phase], tuple(recording.operations[op])[:3])
        for op, phase in zip(recording.op[:last].tolist(), recording.phase[:last].tolist(), strict=True)
        if op >= 0
    ]


def test_phases_are_nested(ran: Any) -> None:
    done = ran(
        """
        comm.Barrier()
        with sc.phase("outer"):
            comm.Bcast(np.zeros(1))
            with sc.phase("inner"):
                comm.Bcast(np.zeros(2))
            comm.Bcast(np.zeros(3))
        comm.Barrier()
        """
    )
    sizes = [(phase, operation[2]) for phase, operation in entries(done)]
    assert sizes == [("main", 0), ("outer", 8), ("inner", 16), ("outer", 24), ("main", 0)]


def test_declared_operations_stand_in_place_of_the_time(ran: Any) -> None:
    """100 MFLOP are declared; the loop before them takes time, which does not count."""
    text = "comm.Barrier()\nsum(range(100000))\nsc.compute(flops=1e8)\ncomm.Barrier()\n"
    timed = [operation for _, operation in entries(ran(text, speed=1.0)) if operation[1] == "flops"]
    assert timed == [("compute", "flops", 1e8)]
    between = [operation[1] for _, operation in entries(ran(text, speed=1.0))]
    assert between[between.index("barrier") + 1] == "flops"
    assert "flops" in [operation[1] for _, operation in entries(ran(text))]
    assert {operation[1] for _, operation in entries(ran(text, declared=False))} == {"barrier"}


def test_marks_do_nothing_outside_of_a_run() -> None:
    with sc.phase("anything"):
        sc.compute(flops=1.0)
    with pytest.raises(InputError):
        sc.compute(flops=-1.0)
    with pytest.raises(InputError), sc.phase(""):
        pass


def test_lines_are_phases_where_none_are_marked(ran: Any) -> None:
    """HEAD has four lines."""
    done = ran("comm.Barrier()\ncomm.Bcast(np.zeros(1))\n", detail=True)
    assert [phase for phase, _ in entries(done)] == ["program.py:5", "program.py:6"]
    marked = ran('with sc.phase("all"):\n    comm.Barrier()\ncomm.Barrier()\n', detail=True)
    assert [phase for phase, _ in entries(marked)] == ["all", "main"]


def test_the_memory_of_arrays(ran: Any) -> None:
    """Views count once; arrays in lists, dictionaries, objects and locals of functions count; freed ones do not."""
    text = """
    class Held:
        pass
    a = np.zeros(100)                            # 800 B
    view = a[3:].reshape(-1)
    many = [np.zeros(10), {"x": np.zeros(20)}]   # 240 B
    held = Held()
    held.own = np.zeros(5)                       # 40 B
    def inside(gone):                            # 8 B a rank
        comm.Barrier()
    if comm.rank:
        inside(np.zeros(1))
    else:
        comm.Barrier()
    del a, view
    comm.Barrier()
    """
    assert ran(text, detail=True).array_bytes == (1080, 1088)


@pytest.mark.parametrize(("word", "simulated"), [("flops", "2 s"), ("none", "0 s")])
def test_the_command_counts_what_is_declared(
    word: str, simulated: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """crossbar-16 does 1 GFLOP/s."""
    file = tmp_path / "program.py"
    file.write_text(HEAD + "sum(range(100000))\nsc.compute(flops=2e9)\n")
    assert cli.main(["run", str(file), "-n", "2", "--on", "crossbar-16", "--compute", word]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "crossbar-16" in line)
    assert row.rstrip().endswith(f" {simulated}")


def test_declared_kernels_stand_in_place_of_the_time(ran: Any) -> None:
    """Two products of matrices on A100s whose kernels are launched in 5 us and reach half of 312 TFLOP/s."""
    constants = {"accelerator.launch": 5e-6, "accelerator.efficiency": 0.5}
    on = sc.Machine.load("a100-cluster").with_constants(constants)
    text = """
    comm.Barrier()
    begin = MPI.Wtime()
    sum(range(100000))
    sc.kernel(gemm=(4096, 4096, 4096), type="bf16", times=2)
    print(MPI.Wtime() - begin)
    comm.Barrier()
    """
    between = [operation[0] for _, operation in entries(ran(text, on=on, speed=1.0))]
    assert "kernel" in between[between.index("collective") + 1 :][:2]  # after the time until the clock is read
    done = ran(text, on=on)
    kernels = [operation for _, operation in entries(done) if operation[0] == "kernel"]
    assert len(kernels) == 1
    expected_s = 2 * (5e-6 + 2 * 4096**3 / 156e12)
    assert float(done.lines[0][1]) == pytest.approx(expected_s, rel=1e-9)
    assert {operation[0] for _, operation in entries(ran(text, on=on, declared=False))} == {"collective"}


@pytest.mark.parametrize(
    ("call", "on", "message"),
    [
        ("sc.kernel(flops=1)", "crossbar-16", "this needs an accelerator"),
        ("sc.kernel(flops=1, type='fp4')", "a100-cluster", "this needs accelerator.rates.fp4"),
        ("sc.kernel(flop=1)", "a100-cluster", "flop"),
    ],
)
def test_kernels_that_cannot_run_are_errors_with_their_line(ran: Any, call: str, on: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"program\.py:6.*{message}"):
        ran(f"comm.Barrier()\n{call}\n", on=on)


def test_kernels_have_no_model_of_requirements(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(HEAD + "comm.Barrier()\nsc.kernel(flops=1e9, type='bf16')\n")
    with pytest.raises(InputError, match="no models of what accelerators do"):
        sc.requirements(file, [2, 4, 8, 16], "a100-cluster")
