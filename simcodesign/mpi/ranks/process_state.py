"""The state of each rank in one process: ``__main__``, its modules, random numbers, output; and the clock.

Modules from the folder of the program are each rank's own; others are shared.
"""

from __future__ import annotations

import builtins
import io
import sys
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.mpi.ranks.random_streams import RandomStreams
from simcodesign.mpi.ranks.scheduler import place_of_error
from simcodesign.mpi.ranks.world import World


class _Output(io.TextIOBase):
    """Standard output: whole lines, kept with the rank that wrote them and its time."""

    def __init__(self, world: World, lines: list[tuple[float, int, str]]) -> None:
        self._world, self._lines = world, lines
        self._begun = [""] * world.size

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Keep the lines that are whole."""
        rank = self._world.current
        *whole, self._begun[rank] = (self._begun[rank] + text).split("\n")
        self._lines += [(self._world.scheduler.clock_s, rank, line) for line in whole]
        return len(text)

    def end(self) -> None:
        """Keep what did not end with a line."""
        ranks = self._world.scheduler.ranks
        self._lines += [(ranks[rank].clock_s, rank, text) for rank, text in enumerate(self._begun) if text]


class _FolderFinder:
    """Finder of modules in the folder of the program, and in folders below it; note their names.

    Folders below it count if the program adds them to ``sys.path``.
    """

    def __init__(self, folder: str, found: set[str]) -> None:
        self._folder, self._found = folder, found

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where a module is, None if it is not in the folder."""
        spec = PathFinder.find_spec(name, [self._folder, *sys.path] if path is None else path, target)
        if spec is None or spec.origin is None or not _is_own(Path(spec.origin).resolve(), self._folder):
            return None
        self._found.add(name)
        return spec


def _is_own(file: Path, folder: str) -> bool:
    """Return whether a file is of the program, not of an environment that is in its folder."""
    return file.is_relative_to(folder) and "site-packages" not in file.relative_to(folder).parts


class ProcessState:
    """The states of all ranks; the process holds the state of the rank whose turn it is."""

    def __init__(self, world: World, script: Path, source: bytes, arguments: Sequence[str], seed: int) -> None:
        self._world = world
        self.code = compile(source, str(script), "exec")
        self.argv = [str(script), *arguments]
        self._folder = str(script.resolve().parent)
        self._own_modules: set[str] = set()
        self._modules: list[dict[str, ModuleType]] = [{} for _ in range(world.size)]
        self._mains = [ModuleType("__main__") for _ in range(world.size)]
        for main in self._mains:
            main.__file__ = str(script)
        self._draws = b"random" in source  # to keep the states of random numbers takes as long as a call
        self._random = RandomStreams(seed)
        self._lines: list[tuple[float, int, str]] = []

    @property
    def lines(self) -> tuple[tuple[int, str], ...]:
        """Printed lines, with the ranks, in the order of time."""
        return tuple(one[1:] for one in sorted(self._lines, key=lambda one: one[0]))

    def body(self, rank: int) -> None:
        """Run the program as one rank."""
        self._world.begin_computing()
        try:
            exec(self.code, self._mains[rank].__dict__)  # the user's own program, as ``python PROGRAM`` would run it
        except SystemExit as end:
            if end.code not in (None, 0):
                raise InputError(f"rank {rank} ends by sys.exit", place_of_error(end), value=end.code) from None
        self._world.begin_call()
        self._world.end_call()

    def enter(self, rank: int) -> None:
        """Begin the turn of a rank."""
        sys.modules["__main__"] = self._mains[rank]
        if self._own_modules:
            sys.modules.update(self._modules[rank])
        if self._draws or self._own_modules:
            self._random.enter(rank)

    def leave(self, rank: int) -> None:
        """End the turn of a rank."""
        for name in self._own_modules:
            module = sys.modules.pop(name, None)
            if module is not None:
                self._modules[rank][name] = module
        if self._draws or self._own_modules:
            self._random.leave(rank)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let the states of the ranks hold while they run; the state of the process returns afterwards."""
        main, argv, path, output = sys.modules["__main__"], sys.argv, list(sys.path), sys.stdout
        finder: Any = _FolderFinder(self._folder, self._own_modules)
        written = _Output(self._world, self._lines)
        sys.argv, sys.stdout = list(self.argv), written
        sys.path.insert(0, self._folder)
        sys.meta_path.insert(0, finder)
        self._world.scheduler.enter, self._world.scheduler.leave = self.enter, self.leave
        try:
            with _virtual_clock(self._world), self._free_imports(), self._random.installed():
                yield
        finally:
            written.end()
            self._mains.clear()  # with the memory of the program
            sys.meta_path.remove(finder)
            sys.modules["__main__"], sys.argv, sys.path[:], sys.stdout = main, argv, path, output

    @contextmanager
    def _free_imports(self) -> Iterator[None]:
        """Let imports take no time: the first rank pays for the imports of all."""
        plain, importing = builtins.__import__, [False] * self._world.size

        def timed(*given: Any, **named: Any) -> ModuleType:
            rank = self._world.current
            if importing[rank] or self._world.speed is None:  # by a module that is being imported; nothing is timed
                return plain(*given, **named)
            importing[rank] = True
            try:
                with self._world.not_computing():
                    return plain(*given, **named)
            finally:
                importing[rank] = False

        builtins.__import__ = timed
        try:
            yield
        finally:
            builtins.__import__ = plain


@contextmanager
def _virtual_clock(world: World) -> Iterator[None]:
    """Let the clocks of ``time`` show the simulated time."""
    names = ("time", "perf_counter", "monotonic")
    functions: dict[tuple[ModuleType, str], Callable[..., Any]] = {
        **dict.fromkeys(((time, name) for name in names), world.now),
        **dict.fromkeys(((time, f"{name}_ns") for name in names), lambda: round(world.now() * 1e9)),
        (time, "sleep"): world.sleep,
        (timeit, "default_timer"): world.now,
    }
    before = {place: getattr(*place) for place in functions}
    for place, function in functions.items():
        setattr(*place, function)
    try:
        yield
    finally:
        for place, function in before.items():
            setattr(*place, function)
