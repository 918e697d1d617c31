"""A reader of measurements of another package: lines ``P => SECONDS`` below a first line that names the format."""

from __future__ import annotations

from pathlib import Path

from simcodesign.core.errors import Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import lines, number
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.rows import Rows, pair

MAGIC = "MEAS 1"


def read_meas(path: Path, partial: bool = False) -> Measurements:
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


READER = MeasurementReader("meas", read_meas, (".meas",), sniff_meas)
READERS.add_reader(READER)
