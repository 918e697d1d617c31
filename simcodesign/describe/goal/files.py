"""Which files are GOAL schedules: by the ending of their name, or by how they begin."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from simcodesign.core.files.input_files import is_file, names_a_path, open_bytes
from simcodesign.core.registry import function_of
from simcodesign.describe.goal.schedule import Schedule

Reader = Callable[[str | Path], Schedule]
#: Modules and names of the readers of schedules, as text and in LogGOPSim's binary format.
_OF_TEXT, _OF_BINARY = ("describe.goal.format", "read_goal"), ("describe.goal.binary", "read_binary_goal")
#: Endings of schedules, and their readers.
SCHEDULES = {".goal": _OF_TEXT, ".bin": _OF_BINARY}
#: The first number of a binary file; and of one that LogGOPSim has used up, as it does with ``--save-mem``.
MAGIC, USED_UP = 4223, 2342
#: The most bytes of a file: a hundred million operations and more.
MAX_BYTES = 2**32
#: Endings of other descriptions.
OTHERS = (".yaml", ".yml", ".py", ".aspen")
#: The beginning of a schedule as text, after comments, within ``_BYTES``.
_TEXT, _BYTES = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*num_ranks\s", re.DOTALL), 2**16


def schedule_reader(name: str | Path) -> Reader | None:
    """Return the reader of a schedule; None for a file that is none, or that does not exist.

    A file with another ending (``trace.g2``) is a schedule if it begins as one.
    """
    suffix = Path(name).suffix
    if suffix in SCHEDULES:
        return _reader(*SCHEDULES[suffix])
    if suffix in OTHERS or not (suffix or names_a_path(name)) or not is_file(name):
        return None
    with open_bytes(name, MAX_BYTES) as file:
        begin = file.read(_BYTES)
    if int.from_bytes(begin[:8], "little") in (MAGIC, USED_UP):
        return _reader(*_OF_BINARY)
    return _reader(*_OF_TEXT) if _TEXT.match(begin) else None


def _reader(module: str, name: str) -> Reader:
    """Return a reader, whose module is imported if there is a schedule."""
    reader: Reader = function_of(module, name)
    return reader
