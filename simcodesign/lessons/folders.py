"""The lessons that are bundled, and a template for new ones."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.files.input_files import is_file, is_folder, read_bytes, read_text
from simcodesign.describe.yaml.files import available as descriptions
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.yaml.lesson import FILE

TEMPLATE = "template"


def available() -> list[str]:
    """Names of the shipped lessons."""
    return sorted(path.parent.name for path in _folder().glob(f"*/{FILE}") if path.parent.name != TEMPLATE)


def bundled() -> dict[str, list[str]]:
    """Return the names of all ``workloads``, ``machines`` and ``lessons`` that are installed with the package.

    >>> import simcodesign as sc
    >>> "jacobi" in sc.bundled()["workloads"], "fugaku" in sc.bundled()["machines"]
    (True, True)
    """
    return {**{kind: descriptions(kind) for kind in ("workloads", "machines")}, "lessons": available()}


def lesson_folder(name: str | Path) -> Path:
    """Return the folder of a shipped lesson by its name, or a folder by its path. InputError for what is neither."""
    text = str(name)
    if isinstance(name, Path) or "/" in text or (text not in available() and is_folder(Path(text))):
        return Path(name)
    if text not in available():
        raise InputError("no such lesson", value=text, allowed=f"{nearest(text, available())}; or a folder")
    return _folder() / text


def new_lesson(folder: Path) -> None:
    """Make a folder with a small lesson that works, to be changed. InputError if there is something of this name."""
    if folder.exists():
        raise InputError("exists already", Place(str(folder)), allowed="the name of a new folder")
    if folder.name in available():
        raise InputError("the name of a shipped lesson", value=folder.name, allowed="a name of its own")
    shutil.copytree(_folder() / TEMPLATE, folder)
    file = folder / FILE
    text = read_text(file).replace("name: template", f"name: {_scalar(folder.name)}")
    with replacing_text(file) as written:
        written.write(text)


def _scalar(name: str) -> str:
    """Return a name in YAML, in quotes if it could be anything else."""
    return name if re.fullmatch(r"[A-Za-z][\w-]*", name) else json.dumps(name, ensure_ascii=False)


def lesson_hash(lesson: Lesson) -> str:
    """Return a digest of its YAML files, programs and recordings, on which all truths depend.

    The same in every language: 16 hexadecimal digits.
    """
    digest = sha256()
    found = (path for pattern in ("*.y*ml", "*.py", "*.npz") for path in lesson.folder.glob(pattern))
    for path in sorted(found) if is_file(lesson.folder / FILE) else ():
        digest.update(f"{path.name}\n".encode() + read_bytes(path))
    return digest.hexdigest()[:16]


def shipped_folder(name: str) -> Path:
    """Return a bundled folder next to the lessons, such as ``notebooks``."""
    return _folder() / name


def _folder() -> Path:
    """Inside the installed package, or at the top of a checkout."""
    here = Path(__file__).resolve().parent
    return here / "shipped" if is_folder(here / "shipped") else here.parent.parent / "lessons"
