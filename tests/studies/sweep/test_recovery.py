"""Damaged stores: whatever is cut off or flipped, no wrong row is read, and what SQLite can read comes out."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.recovery import recover
from simcodesign.studies.sweep.store import PAGE_BYTES, Store, StoreError
from simcodesign.studies.sweep.sweep import Sweep, sweep_of

COUNT = 200


@cache
def sweep() -> Sweep:
    return sweep_of("jacobi", "mesh-256", [f"n=1:{COUNT}:+1"], reading="both")


def rows_of(one: Sweep) -> list[PointResult]:
    """Rows of all sizes, some longer than a page and longer than two; some failed."""
    results = [{f"name {k}": number / (k + 1) for k in range(number % 7 * 3)} for number in range(COUNT)]
    for number in range(0, COUNT, 50):
        results[number] = {f"name {k}": number / 3 + k for k in range(150 + 2 * number)}
    return [
        one.row(point, results[point.number], "it failed" if point.number % 97 == 5 else "") for point in one.points()
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[int, PointResult]]:
    """A finished store as bytes, and its rows."""
    path = tmp_path_factory.mktemp("made") / "whole.sqlite"
    one = sweep()
    rows = rows_of(one)
    with Store.create(path, one.meta()) as store:
        for first in range(0, COUNT, 9):
            store.add(rows[first : first + 9])
    return path.read_bytes(), {row.number: row for row in rows}


def page_kinds(data: bytes) -> dict[int, int]:
    """The first byte of every page: 2 and 5 inner, 10 and 13 leaves, 0 overflow."""
    return {at // PAGE_BYTES: data[at + (100 if at == 0 else 0)] for at in range(0, len(data), PAGE_BYTES)}


def read_all(path: Path, rows: dict[int, PointResult]) -> str:
    """What a user of the store is told: "whole", or the damage. Fails where a wrong row is read."""
    try:
        with Store.open(path) as store:
            store.check_sweep(sweep())
            for row in store.rows():
                assert row == rows[row.number]
            assert store.done().tolist() == list(rows)
    except StoreError as error:
        return str(error) if str(path) in str(error) else f"not named: {error}"
    return "whole"


def recovered(path: Path, rows: dict[int, PointResult]) -> set[int]:
    """The numbers of the rows that come out. Fails where a wrong row comes out."""
    target = path.with_name("recovered.sqlite")
    target.unlink(missing_ok=True)
    try:
        outcome = recover(path, target)
    except StoreError:
        assert not target.exists()
        return set()
    with Store.open(target) as store:
        values = {row.number: row for row in store.rows()}
    assert len(values) == outcome.rows
    assert all(rows[number] == row for number, row in values.items())
    return set(values)


def test_the_store_has_pages_of_every_kind(made: tuple[bytes, dict[int, PointResult]]) -> None:
    assert set(page_kinds(made[0]).values()) >= {0, 2, 5, 10, 13}


def test_everything_comes_out_of_a_store_that_is_not_damaged(
    made: tuple[bytes, dict[int, PointResult]], tmp_path: Path
) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(made[0])
    assert read_all(path, made[1]) == "whole"
    recovery = recover(path, tmp_path / "b.sqlite")
    assert (recovery.rows, recovery.lost, recovery.meta) == (COUNT, 0, sweep().meta())
    assert read_all(tmp_path / "b.sqlite", made[1]) == "whole"


@pytest.mark.thorough
def test_no_flipped_bit_gives_a_wrong_row(made: tuple[bytes, dict[int, PointResult]], tmp_path: Path) -> None:
    data, rows = made
    dice = random.Random(1)
    path = tmp_path / "a.sqlite"
    # The first page and the heads of pages, where most depends on a bit, and anywhere.
    places = [dice.randrange(100 + 1000) for _ in range(80)]
    places += [dice.randrange(len(data) // PAGE_BYTES) * PAGE_BYTES + dice.randrange(40) for _ in range(80)]
    places += [dice.randrange(len(data)) for _ in range(140)]
    damaged = 0
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << dice.randrange(8)
        path.write_bytes(changed)
        result = read_all(path, rows)
        assert result == "whole" or "the store is damaged" in result or "format" in result
        damaged += result != "whole"
        recovered(path, rows)
    assert damaged > 50


def test_no_cut_gives_a_wrong_row_and_every_cut_is_named(
    made: tuple[bytes, dict[int, PointResult]], tmp_path: Path
) -> None:
    data, rows = made
    dice = random.Random(2)
    path = tmp_path / "a.sqlite"
    sizes = [0, 1, 99, 100, PAGE_BYTES - 1, PAGE_BYTES, len(data) - 1, len(data) - PAGE_BYTES]
    for size in [*sizes, *(dice.randrange(len(data)) for _ in range(60))]:
        path.write_bytes(data[:size])
        assert "the store is damaged" in read_all(path, rows)
        recovered(path, rows)


@pytest.mark.thorough
def test_an_overwritten_leaf_loses_its_own_rows_alone(
    made: tuple[bytes, dict[int, PointResult]], tmp_path: Path
) -> None:
    """Each row stands on one leaf, so that what the leaves lose one by one is every row once."""
    data, rows = made
    path = tmp_path / "a.sqlite"
    lost: list[int] = []
    for page, kind in page_kinds(data).items():
        if kind == 13 and page:  # without the first page SQLite reads nothing
            changed = bytearray(data)
            changed[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = b"\xff" * PAGE_BYTES
            path.write_bytes(changed)
            assert "the store is damaged" in read_all(path, rows)
            lost += set(rows) - recovered(path, rows)
    assert sorted(lost) == sorted(rows)


def test_overwritten_indices_lose_no_row(made: tuple[bytes, dict[int, PointResult]], tmp_path: Path) -> None:
    data, rows = made
    path, target = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    changed = bytearray(data)
    for page in (page for page, kind in page_kinds(data).items() if kind in (2, 10)):
        changed[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = b"\xff" * PAGE_BYTES
    path.write_bytes(changed)
    assert "the store is damaged" in read_all(path, rows)
    recovery = recover(path, target)
    assert (recovery.rows, recovery.lost) == (COUNT, 0)
    assert read_all(target, rows) == "whole"


def test_a_lost_description_is_made_anew_from_the_keys(
    made: tuple[bytes, dict[int, PointResult]], tmp_path: Path
) -> None:
    data, rows = made
    path, target = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    path.write_bytes(data.replace(b'"workload":"jacobi"', b'"workload":"jacobx"'))
    assert "its description of the sweep" in read_all(path, rows)
    recovery = recover(path, target)
    assert (recovery.rows, recovery.lost, recovery.meta) == (COUNT, None, {})
    with Store.open(target) as store:
        with pytest.raises(StoreError, match="not that of this sweep"):
            store.check_sweep(sweep_of("jacobi", "mesh-256", [f"n=1:{COUNT}:+1"], reading="both", seed=1))
        store.check_sweep(sweep())
    assert read_all(target, rows) == "whole"


def test_rows_in_the_log_of_a_killed_writer_come_out(
    made: tuple[bytes, dict[int, PointResult]], tmp_path: Path
) -> None:
    path, copy = tmp_path / "a.sqlite", tmp_path / "copy.sqlite"
    rows = [made[1][number] for number in range(COUNT)]
    with Store.create(path, sweep().meta()) as store:
        for first in range(0, COUNT, 25):
            store.add(rows[first : first + 25])
        copy.write_bytes(path.read_bytes())
        log = path.with_name("a.sqlite-wal").read_bytes()
    assert len(log) > 40_000  # all of it stands in the log alone
    for size in (len(log), len(log) - 1, len(log) // 2):
        copy.with_name("copy.sqlite-wal").write_bytes(log[:size])
        assert len(recovered(copy, made[1])) >= COUNT * (size / len(log) - 0.4)
    copy.with_name("copy.sqlite-wal").write_bytes(log)
    assert read_all(copy, made[1]) == "whole"


def test_a_flipped_bit_in_the_log_loses_rows_and_changes_none(
    made: tuple[bytes, dict[int, PointResult]], tmp_path: Path
) -> None:
    path, copy = tmp_path / "a.sqlite", tmp_path / "copy.sqlite"
    rows = [made[1][number] for number in range(COUNT)]
    with Store.create(path, sweep().meta()) as store:
        for first in range(0, COUNT, 25):
            store.add(rows[first : first + 25])
        main, log = path.read_bytes(), path.with_name("a.sqlite-wal").read_bytes()
    dice = random.Random(3)
    for _ in range(40):
        changed = bytearray(log)
        changed[dice.randrange(len(log))] ^= 1 << dice.randrange(8)
        copy.write_bytes(main)
        copy.with_name("copy.sqlite-wal").write_bytes(changed)
        with Store.open(copy) as store:
            done = store.done().tolist()
            assert done == list(range(len(done)))  # what was stored last is missing, and done again
            assert all(row == made[1][row.number] for row in store.rows())


def test_forgotten_failures_do_not_come_back(made: tuple[bytes, dict[int, PointResult]], tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(made[0])
    with Store.open(path) as store:
        forgotten = store.forget_failures()
    assert forgotten == sum(row.failed for row in made[1].values())
    assert recovered(path, made[1]) == {number for number, row in made[1].items() if not row.failed}


@pytest.mark.parametrize("content", [b"", b"nothing", b"\x00" * 100_000, random.Random(4).randbytes(100_000)])
def test_nothing_of_a_store_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="nothing of a store"):
        recover(path, tmp_path / "b.sqlite")
    assert not (tmp_path / "b.sqlite").exists()


def test_a_target_is_not_overwritten_and_a_source_must_be_there(
    made: tuple[bytes, dict[int, PointResult]], tmp_path: Path
) -> None:
    path, target = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    with pytest.raises(StoreError, match="no such store"):
        recover(path, target)
    path.write_bytes(made[0])
    target.write_text("mine")
    with pytest.raises(StoreError, match="there already"):
        recover(path, target)
    assert target.read_text() == "mine"
