"""Extra-P's own files (``.extra-p``): a zip archive with the measurements as JSON, and repetitions as arrays.

``experiment.json`` has ``parameters`` and ``measurements: {REGION: {METRIC: [{coordinate, mean, values, ...}]}}``.
``values`` is null, or ``[CHUNK, INDEX]``: the array in ``values/CHUNK.vals`` at the byte that ``values/CHUNK.indx``
gives. Without the repetitions, their mean is taken, as Extra-P does. Models in the file are not read. Source: Extra-P
4.2, ``extrap/fileio/experiment_io.py`` and ``values_io.py``.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import numpy as np
from numpy.lib import format as npy

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import DATA_BYTES, check_size, open_bytes
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.fitting.measurements import Measurements, check_parameters
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.json_parts import decoded, decoder
from simcodesign.fitting.readers.rows import Rows, pair

EXPERIMENT = "experiment.json"
_MAGIC = {"indx": b"Extra-P INDEX\0\0\0", "vals": b"Extra-P VALUES\0\0"}
_WORD = struct.calcsize("<Q")


def read_experiment(path: Path, partial: bool = True) -> Measurements:
    """Read the measurements of an experiment of Extra-P. Raises InputError for what is no such file, or damaged."""
    rows = Rows(str(path), partial)
    with _members(path) as members:
        content = decoded(decoder(), members.text(), str(path))
        try:
            parameters = tuple(map(str, content["parameters"]))  # type: ignore[index] # checked by doing it
            check_parameters(parameters, Place(str(path), path="parameters"))
            for region, metrics in content["measurements"].items():  # type: ignore[index]
                for metric, measured in metrics.items():
                    place = Place(str(path), path=f"measurements.{region}.{metric}")
                    for one in measured:
                        point = tuple(map(float, one["coordinate"]))
                        if len(point) != len(parameters):
                            raise InputError("a point that does not fit the parameters", place, value=point)
                        at = rows.point(point, lambda place=place: place)  # type: ignore[misc]
                        values = members.values(one)
                        number = pair(rows.region(region), rows.metric(metric))
                        rows.add([number] * len(values), [at] * len(values), values)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise _no_experiment(path, error) from None
    return rows.measurements(parameters)


def _no_experiment(path: Path, error: Exception) -> InputError:
    what = f"not an experiment of Extra-P ({type(error).__name__}: {error})"
    return InputError(what, Place(str(path)), allowed=f"a zip archive with {EXPERIMENT}, as Extra-P saves it")


class _Members:
    """The members of the archive, each read once."""

    def __init__(self, archive: zipfile.ZipFile, place: Place) -> None:
        self._archive, self._place = archive, place
        self._known: dict[str, bytes] = {}

    def member(self, name: str) -> bytes:
        """Return the bytes of a member. Raises KeyError, and InputError for one that unpacks to too much."""
        if name not in self._known:
            check_size(self._archive.getinfo(name).file_size, DATA_BYTES, self._place, "what the file unpacks to")
            self._known[name] = self._archive.read(name)
        return self._known[name]

    def text(self) -> str:
        """Return the JSON of the experiment."""
        return self.member(EXPERIMENT).decode("utf-8")

    def values(self, measured: dict[str, object]) -> list[float]:
        """Return the repetitions of a measurement, or their mean."""
        where = measured.get("values")
        if where is None:
            return [float(cast(float, measured["mean"]))]
        chunk, index = (int(number) for number in cast("list[float]", where))
        starts, data = self._chunk(chunk, "indx"), self._chunk(chunk, "vals")
        (start,) = struct.unpack_from("<Q", starts, len(_MAGIC["indx"]) + _WORD * (index + 1))
        values = npy.read_array(io.BytesIO(data[start:]), allow_pickle=False)
        return [float(value) for value in np.ravel(values)]

    def _chunk(self, chunk: int, kind: str) -> bytes:
        data = self.member(f"values/{chunk}.{kind}")
        if not data.startswith(_MAGIC[kind]):
            raise ValueError(f"values/{chunk}.{kind} is damaged")
        return data


@contextmanager
def _members(path: Path) -> Iterator[_Members]:
    """Yield the members of an archive. Raises InputError for what is no archive, or damaged."""
    with open_bytes(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                yield _Members(archive, Place(str(path)))
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            RuntimeError,
            OSError,
            KeyError,
            struct.error,
            ValueError,
        ) as error:
            raise _no_experiment(path, error) from None


def sniff(start: FileStart) -> Match:
    """Return a zip archive that begins with the experiment or its values."""
    is_archive = start.content.startswith(b"PK\x03\x04")
    names = (EXPERIMENT.encode(), b"values/")
    return Match.CERTAIN if is_archive and start.content[30:].startswith(names) else Match.NONE


READERS.add_reader(MeasurementReader("extrap", read_experiment, (".extra-p",), sniff))
