"""Kept answers of a study: valid as long as the command, the version and the files that it read are the same."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.files.input_files import DATA_BYTES, is_file, open_bytes, read_text, real_path
from simcodesign.studies.sweep.content_digest import DIGEST_BYTES

#: The folder of the answers, in the folder of the study.
FOLDER = Path("answers")
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Answer:
    """The answer to a question: what its command printed, and the files that it wrote.

    ``arguments``: the command. ``version``: of the package. ``files``: the digests of the files that were read, by
    their paths. ``parts``: the printed report as JSON (``report.study.parts``). ``messages``: notes to standard error.
    ``status``: the exit status. ``seconds``: how long it took. ``tables``, ``pictures``: paths in the study's folder.
    """

    arguments: tuple[str, ...]
    version: str
    files: Mapping[str, str]
    parts: list[Any]
    messages: list[str]
    status: int
    seconds: float
    tables: list[str]
    pictures: list[str]


def read_answer(path: Path, arguments: Iterable[str], version: str) -> Answer | None:
    """Return the kept answer; None if there is none, or if the command, the version or a file has changed.

    The working folder is the folder of the study.
    """
    if not is_file(path):
        return None
    try:
        content = json.loads(read_text(path))
        answer = Answer(**{**content, "arguments": tuple(content["arguments"])})
    except (InputError, ValueError, TypeError, KeyError):
        return None  # incomplete, or of another version
    if answer.arguments != tuple(arguments) or answer.version != version:
        return None
    if not all(is_file(file) for file in (*answer.tables, *answer.pictures)):
        return None
    return answer if all(_digest(Path(file)) == one for file, one in answer.files.items()) else None


def keep_answer(answer: Answer, path: Path) -> None:
    """Write the answer, whole or not at all. InputError if that cannot be done."""
    with replacing_text(path) as file:
        json.dump(asdict(answer), file, indent=1, ensure_ascii=False, allow_nan=False)


def digests(paths: Iterable[Path], folder: Path) -> dict[str, str]:
    """Return the digests of files by their paths, which are relative to ``folder`` if they are inside it."""
    every = sorted({real_path(path) for path in paths})
    within = real_path(folder)
    return {str(path.relative_to(within) if path.is_relative_to(within) else path): _digest(path) for path in every}


def _digest(path: Path) -> str:
    """Return the digest of a file; "" if it cannot be read."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    try:
        with open_bytes(path, max(DATA_BYTES, os.path.getsize(path))) as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
    except (InputError, OSError):
        return ""
    return digest.hexdigest()
