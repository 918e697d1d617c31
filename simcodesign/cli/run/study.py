"""Carry out a study: each question as the command that answers it, whose report is recorded; then the page."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from click.exceptions import Exit

from simcodesign import __version__
from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Command
from simcodesign.cli.options.sweep_options import STORE_ENDING
from simcodesign.cli.written_files import TABLE
from simcodesign.core.errors import InputError, Place, SimcodesignError, nearest
from simcodesign.core.files.input_files import check_confined, noted_files
from simcodesign.describe.yaml.tree import Entry
from simcodesign.report.common.tables import text_table
from simcodesign.report.common.terminal import complain, print_all, recording, write
from simcodesign.report.study.page import AnsweredQuestion, write_page
from simcodesign.report.study.parts import parts_of
from simcodesign.studies.folder.answers import FOLDER, Answer, digests, keep_answer, read_answer
from simcodesign.studies.folder.study_file import Question, Study, new_study, read_study, several

PAGE = Path("page.html")
FAILED, STOPPED_FROM = 1, 128
#: Options that a study sets itself.
OWN = ("write", "as_json", "json_lines", "store", "resume", "retry", "check_store", "jobs", "metrics")
#: Options whose values may name files.
NAME_FILES = ("measured", "formula")
PICTURE = ".svg"


def run_study(folder: Path, jobs: int | None, *, new: bool = False) -> None:
    """Answer all questions, write the page and print a list. Exit status 1 if a question fails.

    ``new``: create the folder with a study instead.
    """
    if new:
        file = new_study(folder)
        write(f"{file}: change it, then\n  simcodesign study {shlex.quote(str(folder))}\n")
        return
    study = read_study(folder)
    with chdir(folder):
        every = [_asked(study, question) for question in study.questions]
        FOLDER.mkdir(exist_ok=True)
        answered = [AnsweredQuestion(one.question, _shown(one.arguments)) for one in every]
        try:
            for number, one in enumerate(every):
                complain(f"{number + 1} of {len(every)}: {one.question.name}")
                answered[number] = _answered(one, jobs)
        except (KeyboardInterrupt, Exit):
            complain(f"stopped; continue with: simcodesign study {shlex.quote(str(folder))}")
            raise
        finally:
            write_page(PAGE, study, answered, _named(study))
    _print(answered, folder)


@dataclass(frozen=True)
class _Asked:
    """A question as a command line: the ``arguments`` that state it, and the files ``written`` by their words."""

    question: Question
    command: Command
    arguments: tuple[str, ...]
    written: Mapping[str, Path]

    @property
    def with_files(self) -> tuple[str, ...]:
        """The command line with the files that it writes."""
        return (
            *self.arguments,
            *(word for name, path in self.written.items() for word in ("--write", f"{name}:{path}")),
        )


def _asked(study: Study, question: Question) -> _Asked:
    """Return a question as a command line. InputError for an option that its command does not have."""
    command = app.get_command(click.Context(app), question.command)
    assert isinstance(command, Command)
    words = [question.command, *study.words(question)]
    for key, entry in question.options.items():
        words += _option(command, key, entry)
    return _Asked(question, command, tuple(words), _written(command, question))


def _option(command: Command, key: str, entry: Entry) -> Iterator[str]:
    """Yield an option as the command line has it."""
    options = {name.lstrip("-"): one for one in command.params if isinstance(one, click.Option) for name in one.opts}
    usable = {name: one for name, one in options.items() if one.name not in OWN}
    name = key if key in options else key.replace("_", "-")
    if name not in usable:
        what = "a study sets this option itself" if name in options else f"{command.name} has no such option"
        allowed = nearest(name, usable)
        raise InputError(what, entry.place, value=key, allowed=f"{allowed}; about, pictures")
    option = usable[name]
    flag = max(option.opts, key=len)
    if option.is_flag:
        if entry.flag():
            yield flag
        elif option.secondary_opts:
            yield option.secondary_opts[0]
        return
    for text in _values(option, entry):
        _check_file(option, text, entry.place)
        yield f"{flag}={text}"
    if option.nargs > 1:
        yield flag
        yield from (one.text() for one in several(entry))


def _values(option: click.Option, entry: Entry) -> list[str]:
    """Return the values of an option: one, several of an option that can be repeated, NAME=VALUE of a mapping."""
    if option.nargs > 1:
        return []
    if isinstance(entry.content, dict):
        if not option.multiple:
            raise entry.error("a mapping", "one value")
        return [f"{name}={_text(option, one)}" for name, one in entry.content.items()]
    values = [one.text() for one in several(entry)]
    if len(values) != 1 and not option.multiple:
        raise entry.error("several values", "one value")
    return values


def _text(option: click.Option, entry: Entry) -> str:
    """Return the value of NAME=VALUE: a sequence is a list of values to vary, or a list that is set."""
    if not isinstance(entry.content, list):
        return entry.text()
    if option.name == "vary":
        return ",".join(_text(option, one) if isinstance(one.content, str) else _listed(one) for one in entry.content)
    return _listed(entry)


def _listed(entry: Entry) -> str:
    return f"[{', '.join(one.text() for one in entry.sequence())}]"


def _check_file(option: click.Option, text: str, place: Place) -> None:
    """InputError if a value names a file outside the folder of ``--confine``."""
    if isinstance(option.type, click.Path) or option.name in NAME_FILES:
        check_confined(Path(text), place)


def _written(command: Command, question: Question) -> Mapping[str, Path]:
    """Return the files of an answer by their words for ``--write``. InputError for a picture that there is not."""
    outputs = {} if command.outputs is None else command.outputs.outputs
    usable = [name for name, one in outputs.items() if PICTURE in one.suffixes]
    for word in question.pictures:
        if word.text() not in usable:
            raise word.error(f"{question.command} has no such picture", ", ".join(usable))
    pictures = {word.text(): FOLDER / f"{question.file_name}-{word.text()}{PICTURE}" for word in question.pictures}
    return {TABLE.word: FOLDER / f"{question.file_name}.csv", **pictures}


def _shown(arguments: tuple[str, ...]) -> str:
    return shlex.join(["simcodesign", *arguments])


def _answered(asked: _Asked, jobs: int | None) -> AnsweredQuestion:
    """Return the kept answer, or a new one. Raises Exit if the command was stopped."""
    question, shown = asked.question, _shown(asked.arguments)
    kept = FOLDER / f"{question.file_name}.json"
    answer = read_answer(kept, asked.with_files, __version__)
    if answer is None:
        try:
            answer = _new_answer(asked, jobs)
        except (SimcodesignError, click.UsageError) as error:
            text = error.format_message() if isinstance(error, click.UsageError) else str(error)
            complain(f"error: {text}")
            return AnsweredQuestion(question, shown, error=text)
        if not answer.status:
            keep_answer(answer, kept)
    return AnsweredQuestion(question, shown, answer)


def _new_answer(asked: _Asked, jobs: int | None) -> Answer:
    """Run the command and record what it prints. Raises Exit if it was stopped."""
    words = [*asked.with_files[1:]]
    if jobs is not None and any(one.name == "jobs" for one in asked.command.params):
        words += ["--jobs", str(jobs)]
    began_s = time.perf_counter()
    with recording() as recorded, noted_files() as files, _interrupts():
        status = asked.command.main(words, prog_name=f"simcodesign {asked.command.name}", standalone_mode=False) or 0
    if status >= STOPPED_FROM:
        raise Exit(status)
    written = {word: str(path) for word, path in asked.written.items() if path.is_file()}
    return Answer(
        arguments=asked.with_files,
        version=__version__,
        files=digests(files, Path()),
        parts=parts_of(recorded.parts),
        messages=[one for one in recorded.messages if (status or one.startswith("note: ")) and STORE_ENDING not in one],
        status=int(status),
        seconds=time.perf_counter() - began_s,
        tables=[path for word, path in written.items() if word == TABLE.word],
        pictures=[path for word, path in written.items() if word != TABLE.word],
    )


@contextmanager
def _interrupts() -> Iterator[None]:
    """Turn Click's exception for an interrupt into the interrupt that it was."""
    try:
        yield
    except click.Abort:
        raise KeyboardInterrupt from None


def _named(study: Study) -> Mapping[str, Mapping[str, str]]:
    """Meanings of the short names of the study."""
    return {
        "Machines": {name: one.text() for name, one in study.machines.items()},
        "Workloads": {name: one.text() for name, one in study.workloads.items()},
    }


def _print(answered: list[AnsweredQuestion], folder: Path) -> None:
    """Print the list of questions and files. Exit status 1 if a question failed."""
    table = text_table("Questions", "question", "answer", "seconds", "tables", right=["seconds"])
    for one in answered:
        answer = one.answer
        state = "failed" if answer is None else f"exit status {answer.status}" if answer.status else "answered"
        tables = [] if answer is None else [str(folder / path) for path in answer.tables]
        table.add_row(one.question.name, state, "" if answer is None else f"{answer.seconds:.1f}", ", ".join(tables))
    print_all([table])
    write(f"{folder / PAGE}: {(folder / PAGE).stat().st_size / 1e6:.2f} MB\n")
    if any(one.answer is None or one.answer.status for one in answered):
        raise Exit(FAILED)
