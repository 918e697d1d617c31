"""A reader of measurements that another package brings: registered from here, used by the library and the command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from tests.command_line import command
from tests.extension.installation import install, run
from tests.extension.meas_format import MAGIC, READER, read_meas

FILE = f"{MAGIC}\n" + "".join(f"{p} => {3.0 * p}\n" for p in (2, 4, 8, 16, 32))

# Importing the module registered it; other tests see the shipped formats alone.
READERS.remove(READER.name)


@pytest.fixture
def meas_reader() -> Iterator[None]:
    READERS.add_reader(READER)
    yield
    READERS.remove(READER.name)


@pytest.mark.usefixtures("meas_reader")
@pytest.mark.parametrize(("name", "format"), [("a.meas", None), ("a.txt", None), ("a", "meas")])
def test_the_library_reads_it(tmp_path: Path, name: str, format: str | None) -> None:
    path = tmp_path / name
    path.write_text(FILE)
    measurements = sc.read_table(path, format)
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
        sc.read_table(path)
    with pytest.raises(InputError, match="did you mean 'meas'"):
        sc.read_table(path, "maes")


@pytest.mark.usefixtures("meas_reader")
def test_errors_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.meas"
    path.write_text(f"{MAGIC}\n2 => six\n")
    with pytest.raises(InputError, match=r"a\.meas:2: not a number, got 'six'"):
        sc.read_table(path)


@pytest.mark.usefixtures("meas_reader")
def test_two_readers_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="format of measurements is registered already, got 'meas'"):
        READERS.add_reader(MeasurementReader("meas", read_meas))


def test_without_it_the_format_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "a.meas"
    path.write_text(FILE)
    with pytest.raises(InputError, match="the format of the file is unknown"):
        sc.read_table(path)


@pytest.mark.thorough
def test_an_entry_point_of_an_installed_package_is_found(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("meas_format.py"), tmp_path / "meas_files.py")
    install(tmp_path, "meas_files", "[simcodesign.measurement_readers]\nmeas = meas_files:READER\n")
    path = tmp_path / "a.meas"
    path.write_text(FILE)
    fitted = run(tmp_path, "fit", str(path), "--json")
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert json.loads(fitted.stdout)["fits"][0]["model"]["text"] == "3 p"
