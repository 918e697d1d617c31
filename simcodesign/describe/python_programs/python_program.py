"""A program in Python as a demand: the whole program of its workload."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import CodeType
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.python_programs.recording import Program, Recording, record

#: Recordings that are kept: of what was simulated or forecast last.
MOST_KEPT = 2
_kept: OrderedDict[object, Recording] = OrderedDict()


@dataclass(frozen=True)
class PythonProgram(RecordedProgram):
    """The generator function ``name`` in a file of Python, whose source has this ``digest``.

    Functions are not pickled: another process loads the file again.
    """

    path: str = field(compare=False)
    functions: Any = field(default=None, compare=False, repr=False)  # (program, formula)
    words = "program in Python"

    @property
    def function(self) -> Program:
        """The generator function."""
        program: Program = self._functions()[0]
        return program

    @property
    def formula(self) -> Callable[..., Any] | None:
        """The function that replaces the forecast."""
        formula: Callable[..., Any] | None = self._functions()[1]
        return formula

    def _functions(self) -> tuple[Any, Any]:
        if self.functions is None:
            program = program_in(load_module(self.path), self.name, self.path)
            if program.digest != self.digest:
                raise InputError("the program has changed since it was loaded", self.place, value=self.name)
            object.__setattr__(self, "functions", program.functions)
        functions: tuple[Any, Any] = self.functions
        return functions

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "functions": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def recorded(self, ranks: int, values: dict[str, object]) -> Recording:
        """Return the operations of the ranks. InputError, with its line, for invalid ones."""
        key = (self.path, self.name, self.digest, self.function, ranks, tuple(sorted(values.items())))
        if key not in _kept:
            _kept[key] = record(self.function, ranks, values, self.path)
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
        return _kept[key]


class _SourceLoader(SourceFileLoader):
    """Compiles the source each time: a cache of bytecode cannot distinguish two edits of one size in one second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def load_module(path: str) -> Any:
    """Run a file of Python as a module of its own. InputError with the line of a failure."""
    name = f"_simcodesign_program_{Path(path).stem}"
    spec = spec_from_file_location(name, path, loader=_SourceLoader(name, path))
    if spec is None or spec.loader is None:
        raise InputError("not a file of Python", Place(path))
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except InputError:
        raise
    except SyntaxError as error:
        raise InputError(f"{type(error).__name__}: {error.msg}", Place(path, error.lineno)) from None
    except FileNotFoundError as error:
        if error.filename == path:
            raise InputError("cannot be read: no such file", Place(path)) from None
        raise InputError(f"{type(error).__name__}: {error}", Place(path)) from error
    except Exception as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == path]
        raise InputError(f"{type(error).__name__}: {error}", Place(path, lines[-1] if lines else None)) from error
    return module


def programs_in(module: Any) -> dict[str, PythonProgram]:
    """Return the programs at the top level of a module, by name."""
    steps = {name: getattr(value, "program", None) for name, value in vars(module).items()}
    return {
        name: program[0]
        for name, program in steps.items()
        if isinstance(program, tuple) and len(program) == 1 and isinstance(program[0], PythonProgram)
    }


def program_in(module: Any, name: str, path: str) -> PythonProgram:
    """Return the program of this name. InputError if there is none."""
    programs = programs_in(module)
    if name not in programs:
        allowed = ", ".join(programs) or "a generator function under @sc.program, at the top level of the file"
        raise InputError("no such program in this file", Place(path), value=name, allowed=allowed)
    return programs[name]
