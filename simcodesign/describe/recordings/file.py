"""Files of recordings: arrays in NumPy's compressed format without pickle, and a header in JSON.

They are the same on every computer.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing
from simcodesign.core.files.input_files import DATA_BYTES, check_size, open_bytes
from simcodesign.core.memory_limit import check_memory
from simcodesign.describe.demands.collective import (
    ALGORITHMS,
    ON_NODES,
    ROOTED,
    SEGMENTED,
    algorithm_names,
    every_algorithm,
)
from simcodesign.describe.network.algorithm_choice import AUTO
from simcodesign.describe.python_programs.checks import checked
from simcodesign.describe.python_programs.recorded_operations import (
    COLLECTIVE,
    COPY,
    KERNEL,
    MEMORY,
    RECEIVE,
    SEND,
    Operation,
)
from simcodesign.describe.python_programs.recording import BYTES_PER_ENTRY, NONE, Recording

#: The ending of such files, and the version of what is in them: 2 with kernels or copies of accelerators, otherwise 1.
SUFFIX, VERSION = ".recording.npz", 2
#: The first part of the file: the header, as bytes.
HEADER = "simcodesign_recording"
#: Arrays of N entries, rank after rank.
_COLUMNS = ("op", "phase", "line", "started", "waits_for")
#: Numbers of values of an operation, by its kind: without algorithms that need more, and without uses of memory.
_LENGTHS = {"compute": 3, "access": 4, KERNEL: 3, COPY: 3, SEND: 5, RECEIVE: 5, COLLECTIVE: 7}


def write_recording(recording: Recording, path: Path) -> None:
    """Write a recording as a file, whole or not at all.

    Raises InputError for uses of memory in it, which depend on the description of the machine's caches, and where the
    file cannot be written.
    """
    uses = recording.entries_of(recording.of_kind(MEMORY))
    if len(uses):
        what = "a file of a recording holds no loads and stores (sc.rank.memory)"
        raise InputError(what, recording.place_of(int(uses[0])), allowed="computation, disk accesses and messages")
    header = {
        "format": HEADER,
        "version": VERSION if any(one[0] in (KERNEL, COPY) for one in recording.operations) else 1,
        "operations": recording.operations,
        "phases": recording.phases,
        "file": recording.file,
        "files": recording.files,
    }
    arrays = {name: _small(getattr(recording, name)) for name in _COLUMNS}
    text = np.frombuffer(json.dumps(header, separators=(",", ":")).encode(), np.uint8)
    colours = _small(np.array(recording.colours))
    every: dict[str, Any] = {HEADER: text, "first": _small(recording.first), "colours": colours, **arrays}
    with replacing(path) as file:
        np.savez_compressed(file, **every)


def _small(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array with as few bytes an entry as its values need, in little-endian order."""
    if array.dtype == bool:
        return array
    least, most = (int(array.min()), int(array.max())) if array.size else (0, 0)
    kind = next(one for one in ("i1", "<i2", "<i4", "<i8") if np.iinfo(one).min <= least and most <= np.iinfo(one).max)
    return array.astype(kind)


def read_recording(path: Path) -> Recording:
    """Return the recording of a file. Raises InputError for a damaged file, and for one of a newer version."""
    place = Place(str(path))
    try:
        with open_bytes(path) as file, zipfile.ZipFile(file) as archive:
            total = sum(part.file_size for part in archive.infolist())
            check_size(total, DATA_BYTES, place, "what the file unpacks to")
            header = _header(_array(archive, HEADER, 1), place)
            parts = {
                name: _array(archive, name, 2 if name == "colours" else 1) for name in ("first", "colours", *_COLUMNS)
            }
    except InputError:
        raise
    except (OSError, EOFError, KeyError, ValueError, NotImplementedError, RuntimeError) as error:
        raise _damaged(place, str(error)) from None
    except (zipfile.BadZipFile, zlib.error, MemoryError) as error:
        raise _damaged(place, str(error)) from None
    return _recording(header, parts, place)


def _damaged(place: Place, why: str) -> InputError:
    return InputError(f"the file of a recording is damaged: {why}", place)


def _array(archive: zipfile.ZipFile, name: str, dimensions: int) -> NDArray[Any]:
    data = archive.read(f"{name}.npy")
    start = io.BytesIO(data)
    version = np.lib.format.read_magic(start)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = read_header(start)
    array = np.frombuffer(data, kind, offset=start.tell()).reshape(shape)  # ValueError unless the number of bytes fits
    if array.ndim != dimensions or array.dtype.kind not in ("b" if name == "started" else "iu"):
        raise ValueError(f"array {name} of {array.ndim} dimensions of {array.dtype}")
    return array if array.dtype == bool or name == HEADER else array.astype(np.int64)


def _header(text: NDArray[Any], place: Place) -> Mapping[str, Any]:
    try:
        header = json.loads(text.astype(np.uint8).tobytes().decode())
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    if not isinstance(header, dict) or header.get("format") != HEADER:
        raise ValueError("no header of a recording")
    if header.get("version") not in range(1, VERSION + 1):
        what = "the version of a file of a recording"
        raise InputError(what, place, value=header.get("version"), allowed=f"1 to {VERSION}, which this program reads")
    return header


def _recording(header: Mapping[str, Any], parts: dict[str, NDArray[Any]], place: Place) -> Recording:
    first, op = parts["first"], parts["op"]
    if len(first) < 2 or first[0] != 0 or first[-1] != len(op) or (np.diff(first) < 0).any():
        raise _damaged(place, "its ranks")
    ranks, entries = len(first) - 1, len(op)
    check_memory(f"a recording of {entries:.3g} operations takes", entries * BYTES_PER_ENTRY, place)
    if any(len(parts[name]) != entries for name in _COLUMNS) or parts["colours"].shape[1] != ranks:
        raise _damaged(place, "its arrays differ in length")
    phases, files, (file,) = (
        _texts(names, place) for names in (header.get("phases"), header.get("files"), [header.get("file")])
    )
    if not phases or (files and len(files) != ranks):
        raise _damaged(place, "its names")
    colours = tuple(np.ascontiguousarray(row) for row in parts["colours"])
    if not colours or (colours[0] != 0).any():
        raise _damaged(place, "its groups")
    operations = _operations(header.get("operations"), ranks, len(colours), place)
    bounds = [("op", len(operations)), ("phase", len(phases)), ("waits_for", entries)]
    least = {"phase": 0}
    for name, end in bounds:
        column = parts[name]
        if ((column < least.get(name, NONE)) | (column >= end)).any():
            raise _damaged(place, f"numbers in {name}")
    recording = Recording(
        operations, phases, colours, first, op, parts["phase"], parts["line"], parts["started"],
        parts["waits_for"], file, files,
    )  # fmt: skip
    _check_waits(recording, place)
    return recording


def _texts(names: object, place: Place) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise _damaged(place, "its names")
    return tuple(names)


def _check_waits(recording: Recording, place: Place) -> None:
    """InputError unless every started operation is waited for once, later in its rank."""
    waits = np.flatnonzero(recording.waits_for != NONE)
    begun = recording.waits_for[waits]
    started = np.flatnonzero(recording.started)
    same = np.array_equal(np.sort(begun), started)
    if not same or (begun >= waits).any() or (recording.rank[begun] != recording.rank[waits]).any():
        raise _damaged(place, "its waits")
    if (recording.op[waits] != NONE).any() or (recording.op[started] == NONE).any():
        raise _damaged(place, "its waits")
    in_group = recording.entries_of(recording.of_kind(COLLECTIVE))
    group = np.nan_to_num(recording.column(6, (COLLECTIVE,))).astype(np.int64)[recording.op[in_group]]
    if (np.array(recording.colours)[group, recording.rank[in_group]] < 0).any():
        raise _damaged(place, "its groups")


def _operations(rows: object, ranks: int, groups: int, place: Place) -> tuple[Operation, ...]:
    if not isinstance(rows, list):
        raise _damaged(place, "its operations")
    auto = ((name, AUTO) for name in ALGORITHMS if AUTO in algorithm_names(name))
    algorithms = {*every_algorithm(), *auto} - ON_NODES
    return tuple(_operation(row, ranks, groups, algorithms, place) for row in rows)


def _operation(row: object, ranks: int, groups: int, algorithms: set[tuple[str, str]], place: Place) -> Operation:
    """Return an operation, checked as when it was recorded."""
    if not isinstance(row, list) or not row or not isinstance(row[0], str) or len(row) != _LENGTHS.get(row[0]):
        raise _damaged(place, "an operation")
    if row[0] != COLLECTIVE:
        names = {"compute": ("flops", "instructions", "seconds"), "access": ("read", "write")}.get(row[0], (row[0],))
        if row[1] not in names or (row[0] in (KERNEL, COPY) and not isinstance(row[2], str)):
            raise _damaged(place, "an operation")
        return checked(Operation(row), ranks, place)
    kind, name, size_bytes, algorithm, root, segments, group = row
    known = isinstance(name, str) and isinstance(algorithm, str) and (name, algorithm) in algorithms
    parts = isinstance(segments, list) and all(isinstance(one, int) and one > 0 for one in segments)
    if not known or not parts or len(segments) > ((name, algorithm) in SEGMENTED):
        raise _damaged(place, "a collective operation")
    if not isinstance(group, int) or not 0 <= group < groups or not isinstance(root, int):
        raise _damaged(place, "a collective operation")
    plain = checked(
        Operation((kind, name, size_bytes, None, root if name in ROOTED else None, (), group)), ranks, place
    )
    return Operation((*plain[:3], algorithm, plain[4], tuple(segments), group))
