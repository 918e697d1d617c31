"""The store of a sweep: round trips, locks, other sweeps, full disks, and a kill at any moment."""

from __future__ import annotations

import math
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.store import PAGE_BYTES, Store, StoreError
from simcodesign.studies.sweep.sweep import Sweep, sweep_of
from simcodesign.studies.sweep.table import table_of
from tests import ROOT, examples

META = {"workload": "w", "points": 100}


def row(number: int, reason: str = "", **results: float) -> PointResult:
    """A row with a key of its own."""
    return PointResult(
        number, f"{number:032x}", {"P": float(number)}, {} if reason else results or {"t": number / 7}, reason
    )


def rows(*numbers: int) -> list[PointResult]:
    return [row(number) for number in numbers]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.sqlite"


def test_what_was_added_is_there_when_it_is_opened_again(path: Path) -> None:
    with Store.create(path, META) as store:
        store.add(rows(3, 1))
        store.add([row(2, reason="P is too large")])
    with Store.open(path) as store:
        assert store.meta() == META
        assert list(store.rows()) == [row(1), row(2, reason="P is too large"), row(3)]
        assert store.done().tolist() == [1, 2, 3]
        assert store.missing(5).tolist() == [0, 4]
        assert (len(store), store.failed()) == (3, 1)
        assert list(store.failures()) == [row(2, reason="P is too large")]
        assert store.check() == []


def test_a_closed_store_is_one_file(path: Path) -> None:
    with Store.create(path, META) as store:
        store.add(rows(1))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@settings(deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.builds(
            PointResult,
            st.integers(0, 2**62),
            st.binary(min_size=16, max_size=16).map(bytes.hex),
            st.dictionaries(st.text(st.characters(codec="utf-8")), st.floats() | st.text(st.characters(codec="utf-8"))),
            st.dictionaries(st.text(st.characters(codec="utf-8")), st.floats()),
            st.text(st.characters(codec="utf-8")),
        ),
        unique_by=(lambda one: one.number, lambda one: one.key),
        max_size=8,
    )
)
def test_every_row_comes_back_exactly(tmp_path: Path, written: list[PointResult]) -> None:
    path = tmp_path / "any.sqlite"
    path.unlink(missing_ok=True)
    with Store.create(path, META) as store:
        store.add(written)
        read = list(store.rows())
    assert [repr(one) for one in read] == [repr(one) for one in sorted(written, key=lambda one: one.number)]


def test_a_point_is_added_once_and_all_of_a_batch_or_nothing(path: Path) -> None:
    with Store.create(path, META) as store:
        store.add(rows(1))
        with pytest.raises(StoreError, match="exists already"):
            store.add(rows(2, 1))
        assert store.done().tolist() == [1]
        store.add(rows(2))
        assert store.done().tolist() == [1, 2]


def test_forgotten_failures_are_left_to_do(path: Path) -> None:
    with Store.create(path, META) as store:
        store.add([row(0), row(1, reason="no"), row(2, reason="no")])
        assert store.forget_failures() == 2
        assert store.missing(3).tolist() == [1, 2]
        store.add(rows(1))
        assert store.failed() == 0


def test_a_store_is_never_made_over_another_file(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(StoreError, match="exists already"):
        Store.create(path, META)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("content", [b"", b"x" * 99, b"SQLite format 3\x00", b"x" * 5000])
def test_another_file_is_no_store(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"a\.sqlite: the store is damaged: it does not begin"):
        Store.open(path)


def test_another_database_is_no_store(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE points (number INTEGER PRIMARY KEY)")
    connection.close()
    with pytest.raises(StoreError, match="no store of a sweep"):
        Store.open(path)


def test_no_store_and_no_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such store"):
        Store.open(tmp_path / "none.sqlite")
    with pytest.raises(InputError, match=r"none.*cannot be written"):
        Store.create(tmp_path / "none" / "a.sqlite", META)


def test_a_second_writer_is_told_the_first_and_readers_are_not_disturbed(path: Path) -> None:
    with Store.create(path, META) as store:
        store.add(rows(1))
        with pytest.raises(InputError, match=rf"a\.sqlite: is being written by process {os.getpid()}"):
            Store.open(path)
        with Store.open(path, write=False) as reader:
            assert reader.done().tolist() == [1]
            store.add(rows(2))
            assert reader.done().tolist() == [1, 2]
    with Store.open(path) as store:
        assert len(store) == 2


def test_a_reader_cannot_write(path: Path) -> None:
    Store.create(path, META).close()
    with Store.open(path, write=False) as store, pytest.raises(StoreError, match="cannot be opened"):
        store.add(rows(1))


# Whose store it is.


def small(**changes: object) -> Sweep:
    options = {"vary": ["P=1,2,4"], "simulate": True, "seed": 1} | changes
    return sweep_of("jacobi", "mesh-256", **options)  # type: ignore[arg-type]


def test_the_store_of_the_sweep_is_taken(path: Path) -> None:
    sweep = small()
    with Store.create(path, sweep.meta()) as store:
        store.add([sweep.row(sweep.point(1), {"t": 1.0})])
        store.check_sweep(small())
        store.check_sweep(small(engine="simpy"))  # changes no result


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"vary": ["P=1,2,8"]}, r"axes: P \(3 from 1\.0 to 4\.0.*P \(3 from 1\.0 to 8\.0"),
        ({"simulate": False}, "simulate: True in the store, False now"),
        ({"seed": 2}, "seed: 1 in the store, 2 now"),
        ({"effects": "none"}, "effects"),
        ({"settings": {"n": "500"}}, r"parameters: \{\} in the store, \{'n': 500\.0\} now"),
        ({"settings": {"network.startup": "1 us"}}, "machine content: the machine has changed"),
    ],
)
def test_the_store_of_another_sweep_is_refused_with_what_differs(
    path: Path, changes: dict[str, object], named: str
) -> None:
    with Store.create(path, small().meta()) as store, pytest.raises(StoreError, match=named):
        store.check_sweep(small(**changes))


def test_rows_of_another_sweep_are_found_by_their_keys(path: Path) -> None:
    sweep, other = small(), small(seed=2)
    with Store.create(path, sweep.meta()) as store:
        store.add([sweep.row(other.point(1), {"t": 1.0})])
        with pytest.raises(StoreError, match="point 1 does not belong to this sweep"):
            store.check_sweep(sweep)


# The table.


def test_the_table_is_that_of_the_rows_in_any_order(path: Path) -> None:
    written = [row(2), row(0, reason="no"), row(1, t=math.nan, u=5.0)]
    with Store.create(path, META) as store:
        for one in written:
            store.add([one])
        result = store.frame()
    assert result.equals(table_of(reversed(written)))
    assert result.columns.tolist() == ["point", "P", "t", "u", "error"]
    assert result["point"].tolist() == [0, 1, 2]
    assert result["error"].tolist() == ["no", "", ""]
    assert np.isnan(result["t"][0])


@pytest.mark.parametrize("change", ["row = '7'", "row = '[1, 2]'", "state = 1", "key = 'text'"])
def test_a_row_of_another_form_is_damage(path: Path, change: str) -> None:
    with Store.create(path, META) as store:
        store.add(rows(0, 1, 2))
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE points SET {change} WHERE number = 1")
    connection.close()
    with Store.open(path) as store, pytest.raises(StoreError, match="the row of point 1 is none of a store"):
        store.frame()


@pytest.mark.parametrize("size", [0, 1, 99, 100, PAGE_BYTES - 1, PAGE_BYTES, -1, -PAGE_BYTES])
def test_a_file_that_was_cut_off_is_damage(path: Path, size: int) -> None:
    with Store.create(path, META) as store:
        store.add(rows(*range(100)))
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(StoreError, match="the store is damaged"):
        Store.open(path)


def test_an_overwritten_page_is_found_by_the_check(path: Path) -> None:
    """A leaf of the table, 13 in SQLite's file format."""
    with Store.create(path, META) as store:
        store.add(rows(*range(200)))
    data = bytearray(path.read_bytes())
    leaf = next(at for at in range(PAGE_BYTES, len(data), PAGE_BYTES) if data[at] == 13)
    data[leaf : leaf + PAGE_BYTES] = b"\xff" * PAGE_BYTES
    path.write_bytes(data)
    with Store.open(path) as store:
        assert store.check()


# What happens to processes and disks.

WRITER = """
    import resource, sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    from simcodesign.studies.sweep.store import Store, StoreError
    from tests.studies.sweep.test_store import META, row
    store = Store.create(Path(sys.argv[1]), META)
    {body}
"""


def writer(path: Path, body: str) -> subprocess.Popen[str]:
    """A process that writes rows into a new store."""
    code = textwrap.dedent(WRITER).format(tests=str(ROOT), body=textwrap.dedent(body))
    root = ROOT
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
    )


@pytest.mark.thorough
def test_what_add_has_returned_from_survives_kill_9(path: Path) -> None:
    body = """
for number in range(10**6):
    store.add([row(number)])
    print(number, flush=True)
"""
    with writer(path, body) as process:
        assert process.stdout is not None
        values = [int(process.stdout.readline()) for _ in range(25)]
        process.send_signal(signal.SIGKILL)
        values += [int(line) for line in process.stdout if line.endswith("\n")]
    with Store.open(path) as store:
        done = store.done().tolist()
        assert store.check() == []
        assert list(store.rows()) == rows(*done)
    assert done == list(range(len(done)))
    assert values[-1] <= done[-1] <= values[-1] + 1  # one may be stored that was not told yet


@pytest.mark.thorough
def test_a_full_disk_is_named_and_nothing_is_lost(path: Path) -> None:
    body = """
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
try:
    for number in range(10**6):
        store.add([row(number)])
        print(number, flush=True)
except StoreError as error:
    print(error)
store.close()
"""
    with writer(path, body) as process:
        result, _ = process.communicate()
    *numbers, message = result.splitlines()
    assert "the disk is full" in message
    assert "what was stored before is safe" in message
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 300_000
    with Store.open(path) as store:
        assert store.done().tolist() == [int(number) for number in numbers]
        assert store.check() == []
        store.add([row(10**6)])


# Reading.


def test_reading_leaves_no_file(tmp_path: Path, path: Path) -> None:
    with Store.create(path, META) as store:
        store.add(rows(1, 2))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    with Store.open(path, write=False) as store:
        assert list(store.rows()) == rows(1, 2)
        assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_store_on_read_only_media(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder cannot be written, whoever runs this; a lock that was left there is nobody's."""
    with Store.create(path, META) as store:
        store.add(rows(1, 2))
    path.with_name(f"{path.name}.lock").touch()
    really = os.access
    monkeypatch.setattr(os, "access", lambda name, mode: mode != os.W_OK and really(name, mode))
    connections = []

    def connected(address: str, **options: Any) -> sqlite3.Connection:
        connections.append(address)
        return sqlite3.Connection(address, **options)

    monkeypatch.setattr(sqlite3, "connect", connected)
    with Store.open(path, write=False) as store:
        assert list(store.rows()) == rows(1, 2)
    assert all(address.endswith("immutable=1") for address in connections)
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, f"{path.name}.lock"]


def test_a_reader_sees_the_rows_of_a_writer(path: Path) -> None:
    """Who is still at it: in its journal, not yet in the file."""
    with Store.create(path, META) as writer:
        writer.add(rows(1))
        with Store.open(path, write=False) as reader:
            assert list(reader.rows()) == rows(1)
            writer.add(rows(2))
            assert list(reader.rows()) == rows(1, 2)


def test_a_store_that_is_written_while_it_is_read(path: Path) -> None:
    with Store.create(path, META) as store:
        store.add(rows(1))
    with Store.open(path, write=False) as reader:
        assert len(reader) == 1
        with Store.open(path) as writer:
            writer.add(rows(2))
        with pytest.raises(StoreError, match="written by another process while it was read"):
            list(reader.rows())
