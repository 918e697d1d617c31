"""Write files on request: ``--write [WHAT:]FILE``.

A command declares what it can write as a table, and gets the option as a field of its options::

    FILES = Outputs(
        Output("plot", PLOT_SUFFIXES, "bars of the phases", _draw),
        Output("events", (".txt",), "every event in the order of time", _events, is_text=True),
        TABLE,                                       # the tables that are printed
    )

    @dataclass(frozen=True, kw_only=True)
    class RunOptions:
        write: Write = field(default_factory=list)   # of simcodesign.cli.options.shared

    @command(app, "run", outputs=FILES)              # its --help lists words, suffixes and what they are
    def run(options: RunOptions) -> None:
        files = FILES.requested(options.write)       # InputError for what cannot be written, before any work is done
        ...
        files.show(result, lambda: tables_of(result), options.as_json)

``files.show(answer, make_tables, as_json)`` prints the answer as JSON or as its tables, writes the tables into the
files of ``TABLE``, and calls ``_draw(answer, path)`` for each plot. A function imports the module that writes when it
is called, so that ``--help`` stays fast. With ``is_text`` it returns the text; then FILE may be ``-``, which prints
the text instead of tables and JSON (``files.prints``). ``"plot" in files`` returns whether a word is requested,
``files.paths`` returns the files, and ``files.refuse(words, ...)`` raises the InputError for words that an option
excludes. The command itself writes an output without a function, for example while a program runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import real_path

PLOT_SUFFIXES = (".png", ".svg", ".pdf")
#: As FILE: standard output.
PRINTED = Path("-")
_PLACE = Place("--write")
#: Pattern of a word before the colon; ``./a:b.png`` and ``C:\\a.png`` are names of files.
_WORD = re.compile(r"([a-z][a-z-]+):(.+)", re.DOTALL)


@dataclass(frozen=True)
class Output:
    """A kind of file that a command writes: its word, the suffixes of its names, and the function that writes it.

    ``write(answer, path)`` writes the file, or returns its text if ``is_text``. ``by_name``: its
    suffix alone does not choose it, but the word or the stem of the file.
    """

    word: str
    suffixes: tuple[str, ...]
    about: str
    write: Callable[[Any, Path], str | None] | None = None
    is_text: bool = False
    by_name: bool = False

    def takes(self, file: str) -> bool:
        """Return whether a name has one of the suffixes."""
        return file.lower().endswith(self.suffixes)

    @property
    def names(self) -> str:
        """The suffixes, and ``-`` for what can be printed."""
        return " ".join([*self.suffixes, *(["-"] if self.is_text else [])])


@dataclass(frozen=True)
class RequestedFiles:
    """The files that a command is to write, each with its kind."""

    files: tuple[tuple[Output, Path], ...]

    def __contains__(self, word: str) -> bool:
        return any(output.word == word for output, _ in self.files)

    def paths(self, word: str) -> list[Path]:
        """Return the files of one kind."""
        return [path for output, path in self.files if output.word == word]

    @property
    def prints(self) -> bool:
        """Whether one of them is printed instead of the tables."""
        return any(path == PRINTED for _, path in self.files)

    def refuse(self, words: Iterable[str], what: str, allowed: str) -> None:
        """Raise InputError if one of these kinds is requested."""
        for output, path in self.files:
            if output.word in words:
                raise InputError(what, _PLACE, value=f"{output.word}:{path}", allowed=allowed)

    def show(
        self,
        answer: Any,
        make_tables: Callable[[], Iterable[Any]],
        as_json: bool,
        make_json: Callable[[], Any] | None = None,
    ) -> None:
        """Print an answer as JSON (of ``make_json``, or itself) or as its tables, and write all files.

        The answer is not printed if a file is.
        """
        from simcodesign.report.common.terminal import print_all, write_json

        if as_json and not self.prints:
            write_json(answer if make_json is None else make_json())
        prints_tables = not (as_json or self.prints)
        if prints_tables or TABLE.word in self:
            tables = list(make_tables())
            if prints_tables:
                print_all(tables)
            self.write_tables(tables)
        self.write(answer)

    def write_tables(self, tables: Iterable[Any]) -> None:
        """Write tables into the files requested for them; without such files, load nothing."""
        paths = self.paths(TABLE.word)
        if paths:
            from simcodesign.report.common.table_files import write_tables

            for path in paths:
                write_tables(tables, path)

    def write(self, answer: Any) -> None:
        """Write all files whose kinds have a function."""
        for output, path in self.files:
            text = None if output.write is None else output.write(answer, path)
            if text is not None:
                write_text(text, path)


class Outputs:
    """Kinds of files that a command can write."""

    def __init__(self, *outputs: Output) -> None:
        self.outputs = {output.word: output for output in outputs}

    def rows(self) -> list[tuple[str, str]]:
        """Words with their suffixes, and what they are, for ``--help``."""
        return [(f"{one.word} ({one.names})", one.about) for one in self.outputs.values()]

    def requested(self, texts: Sequence[str], *, needed: bool = False) -> RequestedFiles:
        """Parse all ``[WHAT:]FILE``; InputError for what cannot be written, or for nothing if a file is ``needed``."""
        if needed and not texts:
            raise InputError("no file is given to write", _PLACE, allowed=self._allowed(self.outputs.values()))
        files: list[tuple[Output, Path]] = []
        for text in texts:
            output, path = self.parse(text)
            if any(real_path(path) == real_path(other) for _, other in files):
                raise InputError("this file is in use by the same command", _PLACE, value=text)
            _check(output, path, text)
            files.append((output, path))
        return RequestedFiles(tuple(files))

    def parse(self, text: str) -> tuple[Output, Path]:
        """Return the kind and the file of ``[WHAT:]FILE``: by the word, or the stem of the file, or its suffix.

        Raises InputError with the words and suffixes of the command.
        """
        found = _WORD.fullmatch(text)
        if found is None:
            return self._by_name(text), Path(text)
        word, file = found[1], found[2]
        if word not in self.outputs:
            allowed = self._allowed(self.outputs.values())
            raise InputError("no such kind of file", _PLACE, value=text, allowed=allowed)
        output = self.outputs[word]
        if not (output.takes(file) or (output.is_text and file == str(PRINTED))):
            raise InputError("wrong suffix of a file", _PLACE, value=text, allowed=self._allowed([output]))
        return output, Path(file)

    def _by_name(self, file: str) -> Output:
        takers = [output for output in self.outputs.values() if output.takes(file)]
        stem = Path(file).name.partition(".")[0].lower()
        named = [output for output in takers if output.word == stem]
        takers = [output for output in takers if not output.by_name]
        if not named and len(takers) > 1:
            words = " or ".join(f"{output.word}:{file}" for output in takers)
            raise InputError("several kinds of files have this suffix", _PLACE, value=file, allowed=words)
        if not takers:
            what = "no kind of file has this name or suffix"
            raise InputError(what, _PLACE, value=file, allowed=self._allowed(self.outputs.values()))
        return (named or takers)[0]

    @staticmethod
    def _allowed(outputs: Iterable[Output]) -> str:
        return ", ".join(f"{output.word}:FILE ({output.names})" for output in outputs)


def _check(output: Output, path: Path, text: str) -> None:
    """InputError for a file that could not be written: in no folder, or without the package that writes it."""
    if path == PRINTED:
        return
    if path.is_dir() or not path.parent.is_dir():
        raise InputError("cannot be written", _PLACE, value=text, allowed="a file in an existing folder")
    if path.suffix.lower() in PLOT_SUFFIXES:
        from simcodesign.report.common.plot_style import load_matplotlib

        load_matplotlib()
    elif path.suffix.lower() == ".parquet":
        from simcodesign.studies.sweep.table import check_table_file

        check_table_file(path)


def write_text(text: str, path: Path) -> None:
    """Print the text, or write it to the file."""
    from simcodesign.core.files.atomic_files import replacing_text
    from simcodesign.report.common.terminal import write

    if path == PRINTED:
        write(text)
        return
    with replacing_text(path) as file:
        file.write(text)


#: The tables that a command prints, for ``RequestedFiles.show``; without .tex where another word has it.
TABLE = Output("table", (".csv", ".jsonl", ".parquet", ".tex"), "the tables that are printed")
TABLE_BUT_TEX = replace(TABLE, suffixes=TABLE.suffixes[:-1])
