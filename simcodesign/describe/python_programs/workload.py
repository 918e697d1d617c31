"""``sc.program``: a generator function as a workload, and such workloads loaded from files of Python."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import check_execution, is_file, read_bytes
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.python_programs.python_program import PythonProgram, load_module, program_in, programs_in
from simcodesign.describe.workload import Workload

#: ``prog.py`` or ``prog.py:summa``.
_FORM = re.compile(r"(?P<path>.*\.py)(:(?P<name>\w+))?", re.DOTALL)


@overload
def program(function: Callable[..., Any]) -> Workload: ...
@overload
def program(
    *, forecast: Callable[..., Any] | None = None, about: str = "", source: str = ""
) -> Callable[[Callable[..., Any]], Workload]: ...
def program(
    function: Callable[..., Any] | None = None,
    *,
    forecast: Callable[..., Any] | None = None,
    about: str = "",
    source: str = "",
) -> Any:
    """Return a decorator: a generator function ``f(rank, size, *, parameter=default, ...)`` becomes a ``Workload``.

    Keyword parameters are the parameters of the workload: numbers, integers if the default is an int.
    ``forecast(machine, size, **parameters)``, in seconds, replaces the sum of closed forms. ``about`` and ``source``:
    as in files. InputError for anything else.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def ring(rank, size, *, m=1000):
    ...     yield sc.rank.send((rank + 1) % size, bytes=m)
    ...     yield sc.rank.receive((rank - 1) % size)
    >>> sc.simulate(ring, "crossbar-16", {"P": 4}, effects="none").messages
    4
    """

    def decorate(function: Callable[..., Any]) -> Workload:
        return _workload(function, forecast, about or (inspect.getdoc(function) or "").split("\n\n")[0], source)

    return decorate if function is None else decorate(function)


def _workload(function: Callable[..., Any], formula: Callable[..., Any] | None, about: str, source: str) -> Workload:
    path, line = function.__code__.co_filename, function.__code__.co_firstlineno
    place = Place(path, line, function.__name__)
    if not inspect.isgeneratorfunction(function):
        raise InputError("sc.program takes a generator function", place, allowed="def f(rank, size, ...): yield ...")
    parameters = {one.name: one for one in inspect.signature(function).parameters.values()}
    positional = [one for one in parameters.values() if one.kind == one.POSITIONAL_OR_KEYWORD]
    by_name = [one for one in parameters.values() if one.kind == one.KEYWORD_ONLY]
    if [one.name for one in positional] != ["rank", "size"] or len(parameters) != len(by_name) + 2:
        allowed = f"def {function.__name__}(rank, size, *, n=1000, ...)"
        raise InputError("a program takes rank and size, and parameters by keyword", place, allowed=allowed)
    known = {one.name: _parameter(one, place) for one in by_name}
    whole = tuple(name for name, parameter in known.items() if parameter.whole)
    name = function.__name__
    step = PythonProgram(None, place, name, _digest(function, path), whole, path, (function, formula))
    return Workload(name, known, {}, (step,), about=about, source=source, place=Place(path, line))


def _parameter(one: inspect.Parameter, place: Place) -> Parameter:
    default = None if one.default is one.empty else one.default
    if isinstance(default, bool) or not (default is None or isinstance(default, int | float)):
        raise InputError(f"the default of parameter {one.name!r}", place, value=default, allowed="a number")
    whole = isinstance(default, int) or one.annotation in (int, "int")
    return Parameter(one.name, None if default is None else float(default), whole=whole, place=place)


def _digest(function: Callable[..., Any], path: str) -> str:
    """Digest of the whole file, so that the functions that it calls count; of the code alone if there is no file."""
    from hashlib import blake2b

    code = function.__code__
    text = read_bytes(path) if is_file(path) else code.co_code + repr(code.co_consts).encode()
    return blake2b(text, digest_size=16).hexdigest()


def python_file(name: str | Path) -> str | None:
    """Return the file of Python that the name of a workload means, None if it means no such file."""
    form = _FORM.fullmatch(str(name))
    return form["path"] if form else None


def load_program(name: str | Path) -> Workload:
    """Return the workload of ``prog.py:summa``, or the only one of ``prog.py``. This executes the file.

    InputError if there is none, and where ``confine`` holds: what others have written is not executed.
    """
    form = _FORM.fullmatch(str(name))
    assert form is not None
    path = form["path"]
    check_execution(Place(path), path)
    read_bytes(path)
    module = load_module(os.path.abspath(path))
    wanted = form["name"]
    if wanted is None:
        programs = programs_in(module)
        if len(programs) != 1:
            allowed = ", ".join(f"{path}:{one}" for one in programs) or "a generator function under @sc.program"
            raise InputError("which program of this file?", Place(path), allowed=allowed)
        wanted = next(iter(programs))
    program_in(module, wanted, path)
    workload = getattr(module, wanted)
    assert isinstance(workload, Workload)
    return workload
