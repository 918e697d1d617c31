"""Traces of real programs, recorded with valgrind's lackey.

``record_trace(["./program", "argument"], 1_000_000, Path("program.trace.npz"))`` runs the program under ``valgrind
--tool=lackey --trace-mem=yes``, which makes it some hundred times slower, and keeps the first million loads, stores and
modifies with the instructions that issued them. Processes that the program starts are not recorded. valgrind's own
optimisation is off (``--vex-iropt-level=0``): with it, loads of values that are not used are missing from the trace.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

import numpy as np
from numpy.lib import format as npy

from simcodesign.core.errors import InputError, Place
from simcodesign.core.to_json import attributes_of
from simcodesign.locality.traces.byte_streams import Stream
from simcodesign.locality.traces.readers.arrays import ADDRESS, GROUP, KIND, SIZE
from simcodesign.locality.traces.readers.text import LACKEY_TEXT, parsed_blocks
from simcodesign.locality.traces.trace import Accesses

SUFFIX = ".npz"
PAUSE_S = 0.005
PIPE_BYTES = 1 << 20
#: Columns of the recorded file, and their types.
COLUMNS = {ADDRESS: np.dtype("<u8"), KIND: np.dtype("u1"), GROUP: np.dtype("<u8"), SIZE: np.dtype("<u4")}


@dataclass(frozen=True)
class Recording:
    """A recorded trace. ``exit_status`` is None if the program was stopped (killed) because that was enough."""

    path: Path
    accesses: int
    skipped: int
    exit_status: int | None

    @property
    def stopped(self) -> bool:
        """Return whether the program was stopped before its end."""
        return self.exit_status is None

    def json_fields(self) -> dict[str, Any]:
        """How it ended."""
        return attributes_of(self, "accesses", "stopped", "exit_status")


def record_trace(
    command: Sequence[str],
    most_accesses: int,
    to: str | Path,
    *,
    skip: int = 0,
    any_exit_status: bool = False,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
) -> Recording:
    """Run a program and write its data accesses as ``.npz``.

    From number ``skip`` on, ``most_accesses`` at most.

    The program is killed as soon as there are enough; ``Recording.stopped`` records that. Its output goes to ``stdout``
    and ``stderr``, as of ``subprocess.run``, and never into the trace. The file holds the arrays ``address`` (uint64,
    bytes), ``kind`` (uint8), ``group`` (uint64, address of the instruction) and ``size`` (uint32, bytes), which
    ``open_trace`` and ``numpy.load`` read. It appears under its name when it is complete, and not at all if anything
    goes wrong.

    Raises ``InputError`` without valgrind, or for a program that does not exist, that makes no access after ``skip``,
    or that ends by a signal or with a status other than 0 (unless ``any_exit_status``) before there are enough.
    """
    path = _checked_path(Path(to))
    if most_accesses < 1:
        raise InputError("at least one access must be recorded", value=most_accesses, allowed="1 access or more")
    if skip < 0:
        raise InputError("the number of skipped accesses cannot be negative", value=skip, allowed="0 or more")
    arguments, end = lackey_command(command), skip + most_accesses
    with _Columns(path, range(skip, end)) as columns, _running(arguments, stdout, stderr) as (stream, process):
        try:
            for block in parsed_blocks(stream, LACKEY_TEXT):
                columns.append(block.accesses)
                if columns.accesses >= end:
                    break
            status = None if columns.accesses >= end else process.wait()
        except InputError:
            if status := _status_of_ended(process):  # explains more than what it made of the trace
                _check_end(command[0], status, columns, any_exit_status)
            raise
        _check_end(command[0], status, columns, any_exit_status)
        process.kill()
        columns.write()
    return Recording(path, columns.count, skip, status)


def lackey_command(command: Sequence[str]) -> list[str]:
    """Return the command line of valgrind without the output path; InputError without valgrind or the program."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise InputError("recording needs valgrind, which is not installed", allowed="Debian: apt-get install valgrind")
    if isinstance(command, str) or not command:
        raise InputError(
            "no program to run is given", value=command, allowed="a sequence: the program and its arguments"
        )
    if shutil.which(command[0]) is None:
        raise InputError(
            "there is no such program", value=command[0], allowed="the path or the name of an executable file"
        )
    # Settings of the user's own could change what is printed; a process forked off would print into the same trace;
    # and an optimised program would lack the loads of values that it does not use.
    ours = ["--command-line-only=yes", "--quiet", "--vgdb=no", "--trace-children=no", "--child-silent-after-fork=yes"]
    return [
        valgrind,
        *ours,
        "--vex-iropt-level=0",
        "--tool=lackey",
        "--trace-mem=yes",
        "--basic-counts=no",
        "--",
        *command,
    ]


class _Pipe(io.FileIO):
    """A pipe into which lackey writes every line alone: read less often, it is as fast as a file."""

    def readinto1(self, buffer: memoryview, /) -> int:
        time.sleep(PAUSE_S)
        return self.readinto(buffer)


@contextmanager
def _running(
    arguments: list[str], stdout: int | IO[Any] | None, stderr: int | IO[Any] | None
) -> Iterator[tuple[Stream, subprocess.Popen[bytes]]]:
    """Run the program while its trace streams in through a pipe of its own.

    It is killed at the end if it still runs.
    """
    reading, writing = os.pipe()
    with _Pipe(reading, "rb") as source:
        with suppress(ImportError, OSError, AttributeError):  # a larger pipe than the user may have
            import fcntl

            fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        try:
            arguments = [arguments[0], f"--log-fd={writing}", *arguments[1:]]
            process = subprocess.Popen(arguments, stdout=stdout, stderr=stderr, pass_fds=[writing])
        except (OSError, ValueError) as error:
            raise InputError(f"the program cannot be run: {error}", allowed="a program and its arguments") from None
        finally:
            os.close(writing)
        try:
            yield Stream(source, "what lackey printed"), process
        finally:
            process.kill()
            process.wait()


def _status_of_ended(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return None


def _check_end(program: str, status: int | None, columns: _Columns, any_exit_status: bool) -> None:
    """InputError unless the program was stopped, or came to a good end and made enough accesses."""
    made, skip = columns.accesses, columns.wanted.start
    if status and not any_exit_status:
        ended = f"exit status {status}" if status > 0 else f"signal {signal.Signals(-status).name}"
        what = f"the program ended with {ended} after {made} accesses; nothing is written"
        raise InputError(what, Place(program), allowed="exit status 0, or any if asked for")
    if status is not None and made <= skip:
        what = f"the program made {made} accesses" + (f", of which {skip} are to be skipped" if skip else "")
        raise InputError(f"{what}; nothing is written", Place(program), allowed="a program that makes more")


class _Columns:
    """The columns of a trace on their way into a file: each goes to a file without a name first, in the same folder."""

    def __init__(self, path: Path, wanted: range) -> None:
        self._path, self.wanted = path, wanted
        self.accesses = self.count = 0
        try:
            self._files = {name: tempfile.TemporaryFile(dir=path.parent) for name in COLUMNS}  # noqa: SIM115
        except OSError as error:
            raise self._cannot_write(error) from None

    def append(self, accesses: Accesses) -> None:
        """Take in the next accesses, of which the wanted ones are kept."""
        kept = accesses[max(0, self.wanted.start - self.accesses) : max(0, self.wanted.stop - self.accesses)]
        try:
            for name, dtype in COLUMNS.items():
                self._files[name].write(getattr(kept, name).astype(dtype, copy=False).data)
        except OSError as error:
            raise self._cannot_write(error) from None
        self.count += len(kept)
        self.accesses += len(accesses)

    def write(self) -> None:
        """Write the whole trace, under its name only when it is complete."""
        part = self._path.with_name(f".{self._path.name}.{os.getpid()}.part")
        try:
            with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, dtype in COLUMNS.items():
                    self._write_column(archive, name, dtype)
            part.replace(self._path)
        except OSError as error:
            raise self._cannot_write(error) from None
        finally:
            part.unlink(missing_ok=True)

    def _cannot_write(self, error: OSError) -> InputError:
        return InputError(f"the trace cannot be written: {error.strerror}", Place(str(self._path)))

    def _write_column(self, archive: zipfile.ZipFile, name: str, dtype: Any) -> None:
        member = zipfile.ZipInfo(f"{name}.npy")  # without a date: equal traces make equal files
        member.compress_type = zipfile.ZIP_DEFLATED
        header = {"descr": dtype.str, "fortran_order": False, "shape": (self.count,)}
        with archive.open(member, "w", force_zip64=True) as target:
            npy.write_array_header_1_0(cast(Any, target), header)
            self._files[name].seek(0)
            shutil.copyfileobj(self._files[name], target, 1 << 20)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for file in self._files.values():
            file.close()


def _checked_path(path: Path) -> Path:
    if path.suffix.lower() != SUFFIX:
        raise InputError("a trace is written in one format only", Place(str(path)), value=path.suffix, allowed=SUFFIX)
    if path.is_dir():
        raise InputError(
            "the trace cannot be written to a folder", Place(str(path)), allowed=f"a file name that ends in {SUFFIX}"
        )
    if not path.parent.is_dir():
        raise InputError("there is no such folder", Place(str(path.parent)), allowed="a folder that exists")
    return path
