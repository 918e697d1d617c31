"""SimGrid's time-independent traces. All traces here are made by hand; makespans are those of crossbar-16: 10 us + n / 100
MB/s for a message of n bytes, 1e9 flops a second."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.describe.python_programs.recorded_operations import COLLECTIVE, COMPUTE, SEND
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.readers.time_independent import ACTIONS, read_time_independent
from tests import examples
from tests.describe.recordings.test_builder import message_s


def recorded(folder: Path, text: str) -> Recording:
    """The recording of the text of a trace."""
    path = folder / "a.txt"
    path.write_text(text)
    return read_time_independent(path)


def simulated(folder: Path, text: str) -> Result:
    """The same, simulated as a file that a user names."""
    (folder / "a.txt").write_text(text)
    result: Result = sc.simulate(str(folder / "a.txt"), "crossbar-16", effects="none")
    return result


def of_all(ranks: int, *actions: str) -> str:
    """The lines of actions that all ranks do."""
    lines = (f"{rank} {action}" for action in actions for rank in range(ranks))
    return "".join(f"{line}\n" for line in lines)


def test_computation_and_messages(tmp_path: Path) -> None:
    text = "0 init\n1 init\n0 compute 5e8\n0 sleep 0.25\n0 send 1 7 1000000\n1 recv 0 7 1000000\n0 finalize\n"
    assert simulated(tmp_path, text).makespan_s == pytest.approx(0.75 + message_s(1e6), rel=1e-12)


def test_messages_of_datatypes_and_old_traces(tmp_path: Path) -> None:
    """250,000 ints, or 125,000 elements of the default datatype of ``init 1``, MPI_DOUBLE, are 1 MB."""
    for begin, send, receive in [
        ("init", "send 1 0 250000 1", "recv 0 0 250000 1"),
        ("init 1", "Isend 1 125000", "Irecv 0 125000"),
        ("init", "Isend 1 1000000", "recv 0 0 -1"),
    ]:
        wait = "1 waitAll\n" if receive.startswith("I") else ""
        text = f"0 {begin}\n1 {begin}\n0 {send}\n1 {receive}\n0 waitall\n{wait}"
        assert simulated(tmp_path, text).makespan_s == pytest.approx(message_s(1e6), rel=1e-12)


def test_what_is_started_goes_on_beside_computation(tmp_path: Path) -> None:
    text = """0 init\n1 init
0 isend 1 0 1000000\n0 compute 4e6\n0 wait 0 1 0
1 irecv 0 0 1000000\n1 test 0 1 0\n1 compute 3e6\n1 wait 0 1 0\n1 compute 1e6
"""
    assert simulated(tmp_path, text).makespan_s == pytest.approx(message_s(1e6) + 1e-3, rel=1e-12)


def test_waits_take_the_first_that_was_started(tmp_path: Path) -> None:
    text = "0 isend 1 0 8\n0 isend 1 0 16\n0 wait 0 1 0\n0 wait 0 1 0\n1 recv 0 0 8\n1 recv 0 0 16\n"
    recording = recorded(tmp_path, text)
    assert recording.waits_for[recording.waits_for >= 0].tolist() == [0, 2]


def test_old_waits_take_the_last_that_was_started(tmp_path: Path) -> None:
    text = "0 Isend 1 8\n0 Isend 1 16\n0 wait\n0 wait\n1 recv 0 0 8\n1 recv 0 0 16\n"
    recording = recorded(tmp_path, text)
    assert recording.waits_for[recording.waits_for >= 0].tolist() == [2, 0]


def test_messages_to_and_from_no_rank_take_no_time(tmp_path: Path) -> None:
    """SMPI writes -333 for MPI_PROC_NULL: here rank 0 has no left neighbour, and rank 1 has no right one."""
    text = """0 init\n1 init
0 irecv -333 7 5 0\n0 isend -333 7 5 0\n0 send 1 8 1000000\n0 wait -333 0 7\n0 wait 0 -333 7\n0 recv -333 -444 5 0
1 send -333 8 5 0\n1 irecv -333 8 5 0\n1 recv 0 8 1000000\n1 waitall 1
"""
    assert simulated(tmp_path, text).makespan_s == pytest.approx(message_s(1e6), rel=1e-12)
    both = "0 init\n1 init\n0 isend 1 0 1000000\n1 sendRecv 5 -333 1000000 0\n0 waitall\n0 sendRecv 5 -333 5 -333\n"
    assert simulated(tmp_path, both).makespan_s == pytest.approx(message_s(1e6))


def test_receives_from_any_rank_are_found_beside_those_from_no_rank(tmp_path: Path) -> None:
    text = "0 init\n1 init\n0 recv -333 3 8\n1 recv 0 3 8\n1 recv -333 3 8\n0 send 1 3 8\n0 send 1 3 8\n"
    with pytest.raises(InputError, match="rank 1 receives from any rank") as raised:
        recorded(tmp_path, text)
    assert raised.value.place is not None
    assert raised.value.place.line == 5


def test_synchronous_sends(tmp_path: Path) -> None:
    text = "0 init\n1 init\n0 Ssend 1 5 1000000 2\n1 recv 0 5 1000000 2\n1 ISsend 0 5 1000000 2\n1 wait 1 0 5\n"
    result = simulated(tmp_path, text + "0 recv 1 5 1000000 2\n")
    assert result.makespan_s == pytest.approx(2 * message_s(1e6), rel=1e-12)


def test_exchange_of_both_directions(tmp_path: Path) -> None:
    text = "0 sendRecv 1000000 1 2000000 1 6 6\n1 sendrecv 2000000 0 1000000 0 6 6\n"
    result = simulated(tmp_path, text)
    assert (result.messages, result.message_bytes) == (2, 3e6)
    assert result.makespan_s == pytest.approx(message_s(2e6), rel=1e-12)


@pytest.mark.parametrize(
    ("action", "operation", "size_bytes", "root"),
    [
        ("barrier", "barrier", 0, 0),
        ("bcast 10 2 1", "broadcast", 40, 2),
        ("bcast 10", "broadcast", 10, 0),
        ("reduce 10 0 3 0", "reduce", 80, 3),
        ("allReduce 10 0 0", "allreduce", 80, 0),
        ("scan 10 0 5", "scan", 40, 0),
        ("allToAll 10 10 6 6", "all_to_all", 10, 0),
        ("allgather 10 10 4 4", "allgather", 80, 0),
        ("gather 10 10 1 3 3", "gather", 20, 1),
        ("scatter 10 20 1 6 0", "scatter", 160, 1),
        ("reduceScatter 1 2 3 4 0 1", "reduce_scatter", 40, 0),
    ],
)
def test_collective_operations(tmp_path: Path, action: str, operation: str, size_bytes: float, root: int) -> None:
    recording = recorded(tmp_path, of_all(4, "init", action, "finalize"))
    (only,) = recording.operations
    assert (only[0], only[1], only[2], only[4]) == (COLLECTIVE, operation, size_bytes, root)


@pytest.mark.parametrize("action", ["reduce 8 5e8", "allreduce 8 5e8", "reducescatter 4 4 5e8", "scan 8 5e8"])
def test_combining_computes_afterwards(tmp_path: Path, action: str) -> None:
    recording = recorded(tmp_path, of_all(2, action))
    assert [one[0] for one in recording.operations] == [COLLECTIVE, COMPUTE]
    assert recording.operations[1][1:] == ("flops", 5e8)


@pytest.mark.parametrize(
    ("lines", "sent"),
    [
        (["gatherv 8 8 0 4 1"] * 3, {(0, 1, 8), (2, 1, 8)}),
        (["scatterv 1 2 3 2 1"] * 3, {(1, 0, 1), (1, 2, 3)}),
        (["scatterv 1 2 3 2 1 1 1"] * 3, {(1, 0, 4), (1, 2, 12)}),
        (["allgatherv 1 1 2 3"] * 3, {(0, 1, 1), (1, 2, 2), (2, 0, 3), (0, 1, 3), (1, 2, 1), (2, 0, 2)}),
        (["allgatherv 1 1 2 3 1"] * 3, {(0, 1, 4), (1, 2, 8), (2, 0, 12), (0, 1, 12), (1, 2, 4), (2, 0, 8)}),
        (
            ["alltoallv 9 1 2 3 9 1 4 7 6 6", "alltoallv 9 4 5 6 9 2 5 8 6 6", "alltoallv 9 7 8 9 9 3 6 9 6 6"],
            {(0, 1, 2), (0, 2, 3), (1, 0, 4), (1, 2, 6), (2, 0, 7), (2, 1, 8)},
        ),
    ],
)
def test_sizes_by_rank_are_messages(tmp_path: Path, lines: list[str], sent: set[tuple[int, int, float]]) -> None:
    recording = recorded(tmp_path, "".join(f"{rank} {line}\n" for rank, line in enumerate(lines)))
    sends = recording.entries_of(recording.of_kind(SEND))
    found = [(int(recording.rank[one]), *recording.operations[recording.op[one]][2:4]) for one in sends]
    assert sorted((source, target, size) for source, size, target in found) == sorted(sent)
    assert simulated(tmp_path, (tmp_path / "a.txt").read_text()).messages == len(sent)


def test_an_index_lists_the_files_of_ranks(tmp_path: Path) -> None:
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks" / "one").write_text("0 init\n0 send 1 0 1000000\n")
    (tmp_path / "ranks" / "other").write_text("1 init\n1 recv 0 0 1000000\n")
    (tmp_path / "index.txt").write_text("ranks/one\nranks/other\n")
    result = sc.simulate(str(tmp_path / "index.txt"), "crossbar-16", effects="none")
    assert result.makespan_s == pytest.approx(message_s(1e6), rel=1e-12)
    (tmp_path / "index.txt").write_text("ranks/other\nranks/one\n")
    with pytest.raises(InputError, match=r"other:1"):
        read_time_independent(tmp_path / "index.txt")


def test_an_index_of_others_names_no_file_outside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("0 init\n")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "index.txt").write_text("../secret\n../secret\n")
    with sc.confine(tmp_path / "inside"), pytest.raises(InputError, match="confine"):
        sc.Workload.load(str(tmp_path / "inside" / "index.txt"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("0 init\n0 frobnicate 3\n", 2),
        ("0 init\nzero init\n", 2),
        ("0 init\n2 init\n", 2),
        ("0 compute\n", 1),
        ("0 compute many\n", 1),
        ("0 compute -1\n", 1),
        ("0 compute nan\n", 1),
        ("0 compute 1e999\n", 1),
        ("0 send 1 0 8\n", 1),
        ("0 init\n1 init\n0 send 1 0 8 99\n1 recv 0 0 8\n", 3),
        ("0 init\n1 init\n0 send 1 0 8 -1\n1 recv 0 0 8\n", 3),
        ("0 init\n1 init\n1 recv -555 0 8\n0 send 1 0 8\n", 3),
        ("0 init\n1 init\n1 recv 0 -1 8\n0 send 1 0 8\n", 3),
        ("0 init\n1 init\n0 send 1 0 8\n1 recv 0 0 4\n", 4),
        ("0 init\n0 wait 0 1 0\n", 2),
        ("0 init\n0 wait 0\n", 2),
        ("0 init\n0 wait\n", 2),
        ("0 init\n1 init\n0 barrier\n", 3),
        ("0 init\n1 init\n0 bcast 8 0\n1 bcast 9 0\n", 4),
        ("0 bcast 8 5\n", 1),
        ("0 init\n1 init\n0 alltoallv 1 2 3 4\n", 3),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(InputError) as raised:
        recorded(tmp_path, text)
    assert raised.value.place is not None
    assert (raised.value.place.file, raised.value.place.line) == (str(tmp_path / "a.txt"), line)


def test_a_file_without_actions(tmp_path: Path) -> None:
    for text in ("", "\n# nothing\n"):
        with pytest.raises(InputError):
            recorded(tmp_path, text)


_words = st.one_of(
    st.sampled_from([*ACTIONS, "0", "1", "2", "3", "-1", "8", "1e3", "nan", "x", "#", "a.txt", "99999999999999999999"]),
    st.text(max_size=6),
)
_lines = st.one_of(
    st.text(max_size=40),
    st.lists(_words, max_size=8).map(" ".join),
    st.builds(
        "{} {} {}".format,
        st.integers(0, 2),
        st.sampled_from([*ACTIONS]),
        st.lists(st.integers(-1, 3), max_size=9).map(lambda numbers: " ".join(map(str, numbers))),
    ),
)


@given(st.lists(_lines, max_size=12))
@settings(max_examples=examples(300))
def test_any_text_is_a_recording_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_text("\n".join(lines), encoding="utf-8", errors="replace")
    try:
        recording = read_time_independent(path)
    except InputError:
        return
    assert recording.ranks >= 1
