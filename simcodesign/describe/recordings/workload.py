"""Workloads from files of recorded operations: which files these are, and how they are read."""

from __future__ import annotations

from pathlib import Path

from simcodesign.core.files.input_files import STREAM_BYTES, is_file, names_a_path, open_bytes
from simcodesign.core.files.readers import START_BYTES, FileStart
from simcodesign.describe.goal.files import OTHERS, SCHEDULES
from simcodesign.describe.recordings.readers.registry import READERS, RecordingReader
from simcodesign.describe.recordings.recorded_run import workload_of_recording
from simcodesign.describe.workload import Workload


def recording_reader(name: str | Path) -> RecordingReader | None:
    """Return the reader of a file of recorded operations; None for a file that is none, or that does not exist."""
    suffix = Path(name).suffix.lower()
    if suffix in (*OTHERS, *SCHEDULES) or not (suffix or names_a_path(name)) or not is_file(name):
        return None
    with open_bytes(name, STREAM_BYTES) as file:
        start = FileStart(suffix, file.read(START_BYTES))
    return READERS.recognised(start)


def load_recording(name: str | Path, reader: RecordingReader) -> Workload:
    """Return the workload of such a file. InputError for what cannot be, with file and line."""
    path = Path(name)
    return workload_of_recording(reader.read(path), path.name.removesuffix(path.suffix), f"Recording ({reader.name}).")
