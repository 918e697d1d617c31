"""Read ``study.yaml``: the machines, workloads and questions of a study, each question a command with its options."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.files.file_names import safe_file_name
from simcodesign.core.files.input_files import is_file, is_folder, read_text
from simcodesign.describe.variants import JOB
from simcodesign.describe.yaml.files import named_source
from simcodesign.describe.yaml.machine import check_format
from simcodesign.describe.yaml.tree import Entry, read_yaml

#: The file of a study in its folder, and the study that ``new_study`` copies.
FILE = "study.yaml"
TEMPLATE = Path(__file__).with_name("template.yaml")
#: Commands that answer questions.
COMMANDS = ("compare", "explore", "forecast", "simulate", "sweep")
#: Keys of a question in addition to its command and the options of the command.
ABOUT, PICTURES = "about", "pictures"
_KEYS = ("simcodesign", "name", "about", "source", "machines", "workloads", "questions")


@dataclass(frozen=True)
class Question:
    """A question of a study: the name, the command that answers it, its names of workloads and machines, its options.

    ``options``: values by the names of options without their dashes. ``pictures``: words of ``--write``.
    """

    name: str
    about: str
    command: str
    names: tuple[Entry, ...]
    options: Mapping[str, Entry]
    pictures: tuple[Entry, ...]
    place: Place

    @property
    def file_name(self) -> str:
        """The beginning of the names of the files with the answer."""
        return safe_file_name(self.name.lower())


@dataclass(frozen=True)
class Study:
    """The content of ``study.yaml``. ``machines`` and ``workloads``: meaning of short names."""

    name: str
    about: str
    source: str
    machines: Mapping[str, Entry]
    workloads: Mapping[str, Entry]
    questions: tuple[Question, ...]

    def words(self, question: Question) -> tuple[str, ...]:
        """Return the workloads and machines of a question as its command takes them, in the folder of the study.

        The working folder must be the folder of the study. Raises InputError for a file outside the folder of
        ``confine``, and for a program in Python unless ``allow_programs`` applies.
        """
        known = {**self.machines, **self.workloads}
        return tuple(_word(entry, known) for entry in question.names)


def _word(entry: Entry, known: Mapping[str, Entry]) -> str:
    """Return a workload or machine as a command takes it; of a job ``NAME@0:512`` the name, with its places."""
    job = JOB.fullmatch(entry.text())
    if job is None:
        return named_source(known.get(entry.text(), entry), Path())
    name = job["workload"]
    return named_source(known.get(name, replace(entry, content=name)), Path()) + entry.text().removeprefix(name)


def read_study(folder: Path) -> Study:
    """Read the study in a folder. Raises InputError naming file, line and path of the invalid entry."""
    if not is_folder(folder) or not is_file(folder / FILE):
        allowed = f"a folder with a file {FILE}; simcodesign study --new {shlex.quote(str(folder))} creates one"
        raise InputError("no study", Place(str(folder)), allowed=allowed)
    entry = read_yaml(folder / FILE)
    items = entry.mapping(_KEYS, ("simcodesign", "questions"))
    check_format(items["simcodesign"])
    machines, workloads = (items[key].mapping() if key in items else {} for key in ("machines", "workloads"))
    for name in machines.keys() & workloads.keys():
        raise workloads[name].error(f"{name!r} is a machine and a workload", "two names")
    questions = tuple(_question(name, one) for name, one in items["questions"].mapping().items())
    if not questions:
        raise items["questions"].error("no question", "NAME: {COMMAND: WORKLOAD MACHINE, ...}")
    _check_file_names(questions)
    texts = {key: items[key].text() if key in items else "" for key in ("name", "about", "source")}
    name = texts["name"] or folder.resolve().name
    return Study(name, texts["about"], texts["source"], machines, workloads, questions)


def _question(name: str, entry: Entry) -> Question:
    items = dict(entry.mapping())
    # ``simulate: true`` is an option of sweep and explore.
    commands = [one for one in COMMANDS if one in items and items[one].content not in ("true", "false")]
    if len(commands) != 1:
        what = "several commands" if commands else "no command"
        raise InputError(what, entry.place, value=", ".join(commands or items), allowed=f"one of {', '.join(COMMANDS)}")
    named, about, pictures = (items.pop(key, None) for key in (commands[0], ABOUT, PICTURES))
    assert named is not None
    return Question(
        name=name,
        about="" if about is None else about.text(),
        command=commands[0],
        names=tuple(_words(named)),
        options=items,
        pictures=() if pictures is None else tuple(several(pictures)),
        place=entry.place,
    )


def several(entry: Entry) -> list[Entry]:
    """Return the items of a sequence; a single value is one."""
    return entry.sequence() if isinstance(entry.content, list) else [entry]


def _words(entry: Entry) -> list[Entry]:
    """Return the names of workloads and machines: a sequence, or a text with spaces between them."""
    if isinstance(entry.content, list):
        words = entry.content
    else:
        try:
            texts = shlex.split(entry.text())
        except ValueError:
            raise entry.error("a quote is not closed") from None
        words = [replace(entry, content=text) for text in texts]
    for word in words:
        if word.name().startswith("-"):
            raise word.error("an option among the names", "WORKLOAD MACHINE; options are keys of the question")
        if word.text() == "with":
            allowed = "a sequence of names, or a name under machines: or workloads: for the variant"
            raise word.error("a variant has spaces", allowed)
    return words


def _check_file_names(questions: tuple[Question, ...]) -> None:
    """InputError for two questions whose files would have the same names."""
    names: dict[str, Question] = {}
    for one in questions:
        other = names.setdefault(one.file_name, one)
        if other is not one:
            allowed = "names that differ in their first 40 letters or digits"
            what = f"its files would overwrite the files of {other.name!r}"
            raise InputError(what, one.place, value=one.name, allowed=allowed)


def new_study(folder: Path) -> Path:
    """Create a folder with a small study that works, to be changed, and return its file.

    Raises InputError if something with this name exists.
    """
    if folder.exists():
        raise InputError("exists already", Place(str(folder)), allowed="the name of a new folder")
    text = read_text(TEMPLATE)
    folder.mkdir(parents=True)
    name = folder.resolve().name
    shown = name if re.fullmatch(r"[A-Za-z][\w-]*", name) else json.dumps(name, ensure_ascii=False)
    with replacing_text(folder / FILE) as file:
        file.write(text.replace("name: template", f"name: {shown}", 1))
    return folder / FILE
