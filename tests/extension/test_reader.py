"""A reader of measurements that another package brings: registered from here, used by the library and the command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError, Place
from simcodesign.core.readers import FileStart, Match
from simcodesign.core.text_files import lines, number
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.rows import Rows, pair
from tests.command_line import command

MAGIC = "MEAS 1"
FILE = f"{MAGIC}\n" + "".join(f"{p} => {3.0 * p}\n" for p in (2, 4, 8, 16, 32))


def read_meas(path: Path, partial: bool = False) -> sc.Measurements:
    """Lines ``P => SECONDS`` below a first line that names the format."""
    rows = Rows(str(path), partial)
    series = pair(rows.region("main"), rows.metric("time"))
    for line, text in list(lines(path))[1:]:
        place = Place(str(path), line)
        processes, _, seconds = (part.strip() for part in text.partition("=>"))
        point = rows.point((number(processes, place),), lambda place=place: place)  # type: ignore[misc]
        rows.add([series], [point], [number(seconds, place)])
    return rows.measurements(("p",))


def sniff_meas(start: FileStart) -> Match:
    return Match.CERTAIN if start.text.startswith(MAGIC) else Match.NONE


@pytest.fixture
def meas_reader() -> Iterator[MeasurementReader]:
    reader = READERS.register(MeasurementReader("meas", read_meas, (".meas",), sniff_meas))
    yield reader
    READERS.remove(reader.name)


@pytest.mark.usefixtures("meas_reader")
@pytest.mark.parametrize(("name", "format"), [("a.meas", None), ("a.txt", None), ("a", "meas")])
def test_the_library_reads_it(tmp_path: Path, name: str, format: str | None) -> None:
    path = tmp_path / name
    path.write_text(FILE)
    measurements = sc.read_measurements(path, format)
    assert measurements.parameters == ("p",)
    assert np.array_equal(measurements.values[0, :, 0], [6.0, 12.0, 24.0, 48.0, 96.0])


@pytest.mark.usefixtures("meas_reader")
@pytest.mark.parametrize("options", [(), ("--format", "meas")])
def test_the_command_fits_it(tmp_path: Path, capfd: pytest.CaptureFixture[str], options: tuple[str, ...]) -> None:
    path = tmp_path / "a.meas"
    path.write_text(FILE)
    (fit,) = command(capfd, "fit")(path, *options, "--json").json["fits"]
    assert (fit["region"], fit["metric"]) == ("main", "time")
    assert fit["model"]["text"] == "3 p"


@pytest.mark.usefixtures("meas_reader")
def test_messages_list_it(tmp_path: Path) -> None:
    path = tmp_path / "a.unknown"
    path.write_text("hello\n")
    with pytest.raises(InputError, match="meas"):
        sc.read_measurements(path)
    with pytest.raises(InputError, match="did you mean 'meas'"):
        sc.read_measurements(path, "maes")


def test_errors_name_the_line(tmp_path: Path, meas_reader: MeasurementReader) -> None:
    path = tmp_path / "a.meas"
    path.write_text(f"{MAGIC}\n2 => six\n")
    with pytest.raises(InputError, match=r"a\.meas:2: not a number, got 'six'"):
        sc.read_measurements(path)


def test_two_readers_of_one_name_are_refused(meas_reader: MeasurementReader) -> None:
    with pytest.raises(ValueError, match="'meas' already"):
        READERS.register(meas_reader)


def test_without_it_the_format_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "a.meas"
    path.write_text(FILE)
    with pytest.raises(InputError, match="no known format"):
        sc.read_measurements(path)
