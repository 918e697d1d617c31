"""Which files are GOAL schedules: by the ending of their name, or by how they begin."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from simcodesign.core.files.input_files import is_file, names_a_path, open_bytes
from simcodesign.describe.goal.binary import MAGIC, USED_UP, read_binary_goal
from simcodesign.describe.goal.format import MAX_BYTES, read_goal
from simcodesign.describe.goal.schedule import Schedule

Reader = Callable[[str | Path], Schedule]
#: Endings of schedules, as text and as LogGOPSim's binary format, and their readers.
SCHEDULES: dict[str, Reader] = {".goal": read_goal, ".bin": read_binary_goal}
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
        return SCHEDULES[suffix]
    if suffix in OTHERS or not (suffix or names_a_path(name)) or not is_file(name):
        return None
    with open_bytes(name, MAX_BYTES) as file:
        begin = file.read(_BYTES)
    if int.from_bytes(begin[:8], "little") in (MAGIC, USED_UP):
        return read_binary_goal
    return read_goal if _TEXT.match(begin) else None
