"""One case by its number: what is called, how it is run in this process, and what must not come of it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import resource
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from simcodesign import cli
from simcodesign.core import memory_limit
from simcodesign.engine import memory_estimate
from simcodesign.studies.sweep import executors
from tests.fuzz.mutations import changed_file, changed_words
from tests.fuzz.seeds import SHIPPED, command_lines, shipped
from tests.hanging import HangError, no_hang

STATUSES = (0, 1, 2, 130, 141)
#: CPU seconds that a case may take.
LIMIT_S = 10.0
#: Memory that a process of cases may take beyond what it had at its start.
LIMIT_BYTES = 2 * 2**30
#: Operations that a case may simulate, so that each is quick; what needs more is refused.
MOST_OPERATIONS = 20_000
LONGEST_ERROR = 4000
LINES = command_lines()

_NO_NUMBER = re.compile(r"(?<![\w.])[-+]?(nan|inf|infinity)(?![\w.])", re.IGNORECASE)
_NAMES_NO_NUMBER = re.compile(r"nan|inf", re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    """What is called in a folder with these files; ``changed`` are those that differ from the valid ones."""

    number: int
    words: list[str]
    files: Mapping[str, bytes]
    changed: tuple[str, ...]


def case(number: int, inputs: Mapping[str, bytes]) -> Case:
    """The case of a number: one to three changes of one valid line and its files."""
    rng = random.Random(number)
    words = list(LINES[number % len(LINES)])
    files = dict(inputs)
    for name, folder in SHIPPED.items():
        if name in words:
            files[name] = shipped(folder)[rng.choice(list(shipped(folder)))]
    named = {name for word in words if (name := word.partition("@")[0]) in files}
    reached = named | {other for name in named for other in files if other.encode() in files[name]}
    changed = list[str]()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if reached and rng.random() < 0.7:
            name = rng.choice(sorted(reached))
            files[name] = changed_file(rng, files[name])
            changed.append(name)
        else:
            words[1:] = changed_words(rng, words[1:])
    if "-j" in LINES[number % len(LINES)]:
        words += ["-j", "1"]  # the last one counts
    if words[0] == "validate":
        words.append("--list")  # what it would run takes minutes
    needed = {name: files[name] for name in sorted(reached)}
    return Case(number, [_inside(word) for word in words], needed, tuple(dict.fromkeys(changed)))


def _inside(word: str) -> str:
    """A word that names no file outside the folder, nor a program or scheduler to be called."""
    word = word.replace("\x00", "0").replace("/dev", "dev").replace("../", "").removeprefix("/")
    return "--json" if word.startswith(("--run", "--scheduler", "--cases")) else word


class ThisProcess(Executor):
    """In place of the processes of a sweep, which take seconds to start."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = Future[Any]()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """For a process of cases: little memory, no warnings of NumPy, and small simulations."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + LIMIT_BYTES, hard))
    spare_bytes = float(MOST_OPERATIONS * memory_estimate.SIMPY_OPERATION)
    try:
        with (
            patch.object(memory_limit, "memory_bytes", lambda: spare_bytes),
            patch.object(executors, "ProcessExecutor", ThisProcess),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error", RuntimeWarning)
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@dataclass(frozen=True)
class Outcome:
    """How a case ended; ``status`` is None where it did not end as programs do."""

    status: int | None
    out: str
    err: str


def run(one: Case, folder: Path) -> Outcome:
    """Run a case in an empty folder, within ``limits``."""
    for name, data in one.files.items():
        (folder / name).write_bytes(data)
    out, err = io.StringIO(), io.StringIO()
    back = Path.cwd()
    os.chdir(folder)
    status = None
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
            no_hang(LIMIT_S),
        ):
            status = cli.main(one.words)
    except HangError as error:
        err.write(f"took more than {LIMIT_S:g} CPU seconds\n{error}")
    except BaseException:
        err.write(traceback.format_exc())
    finally:
        os.chdir(back)
    return Outcome(status, out.getvalue(), err.getvalue())


def fault(one: Case, outcome: Outcome) -> str:
    """What is wrong with the end of a case; empty if nothing is."""
    if outcome.status is None:
        return f"no exit status: {outcome.err[-3000:]}"
    if outcome.status not in STATUSES:
        return f"undocumented exit status {outcome.status}"
    if "Traceback" in outcome.err + outcome.out:
        return f"a traceback: {outcome.err[-3000:]}"
    if outcome.status == 2:
        return _fault_of_message(one, outcome)
    return _no_number(one, outcome.out) if outcome.status == 0 else ""


def _fault_of_message(one: Case, outcome: Outcome) -> str:
    lines = [line for line in outcome.err.splitlines() if not line.startswith(("note: ", "warning: "))]
    shown = outcome.out if not lines else "\n".join(lines) if len(one.words) == 1 else ""
    if shown.lstrip().startswith("Usage: "):  # a command without its arguments shows its help
        return ""
    if not lines or not lines[0].startswith(("error: ", "Usage: ", "Error: ")):
        return f"exit status 2 without a message: {outcome.err[:2000]!r}"
    if "out of memory" in outcome.err:
        return outcome.err
    most = LONGEST_ERROR + 2 * len("".join(one.words))  # Click repeats words in full
    return f"a message of {len(outcome.err)} characters" if len(outcome.err) > most else ""


def _no_number(one: Case, out: str) -> str:
    """Whether an answer has NaN or infinity in it: in JSON; in text unless the input has such words itself, but for
    Aspen's tables, whose language has infinite results."""
    constants = list[str]()
    with contextlib.suppress(ValueError):
        json.loads(out, parse_constant=constants.append)
        return f"{constants[0]} in JSON" if constants else ""
    if any(word.endswith(".aspen") for word in one.words):
        return ""
    given = " ".join(one.words) + "".join(one.files[name].decode(errors="replace") for name in one.changed)
    result = None if _NAMES_NO_NUMBER.search(given) else _NO_NUMBER.search(out)
    return f"{result.group()} in the answer: {out[max(0, result.start() - 200) : result.end() + 50]}" if result else ""
