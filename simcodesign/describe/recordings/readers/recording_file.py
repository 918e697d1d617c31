"""The product's own files of recordings, as the other formats of recorded operations."""

from __future__ import annotations

from simcodesign.core.files.readers import FileStart, Match
from simcodesign.describe.recordings.file import HEADER, read_recording
from simcodesign.describe.recordings.readers.registry import READERS, RecordingReader


def _sniff(start: FileStart) -> Match:
    """Return a file of ZIP whose first part is the header."""
    is_one = start.content.startswith(b"PK") and HEADER.encode() in start.content[:100]
    return Match.CERTAIN if is_one else Match.NONE


READERS.add_reader(RecordingReader("recording", read_recording, (".npz",), _sniff))
