"""The readers of traces that become recordings; each registers itself in its own module.

Another package names the module that registers its reader as an entry point::

    [project.entry-points."simcodesign.recording_readers"]
    pilot = "my_package.pilot_reader"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simcodesign.core.files.readers import Reader, ReaderRegistry
from simcodesign.describe.python_programs.recording import Recording


@dataclass(frozen=True)
class RecordingReader(Reader[Callable[[Path], Recording]]):
    """The reader of one format. ``read`` takes the file that the user names, and finds the files of the other ranks."""


READERS: ReaderRegistry[RecordingReader] = ReaderRegistry("recordings", __name__, "simcodesign.recording_readers")
