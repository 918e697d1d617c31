"""Recordings as workloads: the operations of P ranks, as a file or another program holds them, and which files do."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import STREAM_BYTES, is_file, names_a_path, open_bytes
from simcodesign.core.files.readers import START_BYTES, FileStart
from simcodesign.describe.goal.files import OTHERS, SCHEDULES
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.python_programs.recording import BLOCK, Recording
from simcodesign.describe.recordings.readers.registry import READERS, RecordingReader
from simcodesign.describe.workload import Workload


@dataclass(frozen=True)
class RecordedRun(RecordedProgram):
    """The operations that ``recording.ranks`` ranks did, on exactly this number of ranks."""

    recording: Recording = field(compare=False, repr=False)
    words = "recording"

    def recorded(self, ranks: int, values: dict[str, object]) -> Recording:
        if ranks != self.recording.ranks:
            raise InputError("the ranks of a recording", self.place, value=ranks, allowed=f"{self.recording.ranks}")
        return self.recording


def workload_of_recording(recording: Recording, name: str, about: str = "") -> Workload:
    """Return the workload that repeats a recording on as many ranks as it has."""
    ranks, place = float(recording.ranks), Place(recording.file)
    parameter = Parameter("P", ranks, about="ranks of the recording", low=ranks, high=ranks, whole=True)
    step = RecordedRun(None, place, name, _digest(recording), (), recording)
    return Workload(name, {"P": parameter}, {}, (step,), about=about, place=place)


def _digest(recording: Recording) -> str:
    """Digest of all that a simulation depends on, whatever the widths of the columns."""
    from hashlib import blake2b

    digest = blake2b(repr((recording.operations, recording.phases)).encode(), digest_size=16)
    for array in (*recording.colours, *(getattr(recording, one.name) for one in fields(recording))):
        if isinstance(array, np.ndarray):
            kind = bool if array.dtype == bool else np.int64
            for begin in range(0, len(array), BLOCK):
                digest.update(array[begin : begin + BLOCK].astype(kind).tobytes())
    return digest.hexdigest()


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
