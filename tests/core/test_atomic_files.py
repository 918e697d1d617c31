"""A file is there whole, or what was there before still is."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.core.files.atomic_files import replacing, replacing_text


def test_bytes_and_text_arrive_as_they_are(tmp_path: Path) -> None:
    with replacing(tmp_path / "a") as file:
        file.write(b"\x00\r\n\xff")
    with replacing_text(tmp_path / "b") as text:
        text.write("µ\r\n\n")
    assert (tmp_path / "a").read_bytes() == b"\x00\r\n\xff"
    assert (tmp_path / "b").read_bytes() == "µ\r\n\n".encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_nothing_is_there_before_all_is(tmp_path: Path) -> None:
    with replacing(tmp_path / "a") as file:
        file.write(b"some")
        assert not (tmp_path / "a").exists()


def fail_halfway(path: Path, error: type[BaseException]) -> None:
    with replacing_text(path) as file:
        file.write("half")
        raise error


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_what_was_there_stays_when_writing_fails(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a"
    path.write_text("before")
    with pytest.raises(error):
        fail_halfway(path, error)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_text_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(InputError, match="cannot be written: a name is no valid text"), replacing_text(path) as file:
        file.write("\ud800")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none" / "a"
    with pytest.raises(InputError, match="cannot be written: No such file") as caught, replacing(path):
        pass
    assert str(path) in str(caught.value)
