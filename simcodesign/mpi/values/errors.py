"""Errors of MPI: ``MPI.Exception``, its classes and codes, and those that a program adds."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.mpi.values.constants import CONSTANTS

_NAMES = {CONSTANTS[name]: f"MPI_{name}" for name in CONSTANTS if name.startswith("ERR_")} | {0: "MPI_SUCCESS"}
_UNKNOWN, _LAST = CONSTANTS["ERR_UNKNOWN"], CONSTANTS["ERR_LASTCODE"]
#: Codes that programs have added, with their classes and words.
_added: dict[int, tuple[int, str]] = {}


class MpiError(InputError, RuntimeError):
    """``MPI.Exception``: an error that a program may catch.

    A program gives its code, ``MPI.Exception(MPI.ERR_RANK)``; the stand-in gives words, place, value and what is
    allowed, as of other errors, and ``name``: of its class, as ``"RANK"``.
    """

    def __init__(
        self,
        what: str | int = 0,
        place: Place | None = None,
        *,
        value: object = None,
        allowed: str | None = None,
        name: str = "ARG",
    ) -> None:
        self.ob_mpi = CONSTANTS[f"ERR_{name}"] if isinstance(what, str) else what if what >= 0 else _UNKNOWN
        super().__init__(
            error_string(self.ob_mpi) if not isinstance(what, str) else what, place, value=value, allowed=allowed
        )

    def Get_error_code(self) -> int:
        """Return the code."""
        return self.ob_mpi

    def Get_error_class(self) -> int:
        """Return the class of the code."""
        return error_class(self.ob_mpi)

    def Get_error_string(self) -> str:
        """Return the words of MPI for it."""
        return error_string(self.ob_mpi)

    error_code, error_class = property(Get_error_code), property(Get_error_class)
    error_string = property(Get_error_string)

    def __int__(self) -> int:
        return self.ob_mpi

    def __bool__(self) -> bool:
        return self.ob_mpi != 0

    def __hash__(self) -> int:
        return hash(self.ob_mpi)

    def __eq__(self, other: object) -> bool:
        return self.ob_mpi == (int(other) if isinstance(other, MpiError | int) else other)

    def __lt__(self, other: Any) -> bool:
        return self.ob_mpi < int(other)

    def __le__(self, other: Any) -> bool:
        return self.ob_mpi <= int(other)

    def __gt__(self, other: Any) -> bool:
        return self.ob_mpi > int(other)

    def __ge__(self, other: Any) -> bool:
        return self.ob_mpi >= int(other)

    def __repr__(self) -> str:
        return f"MPI.Exception({self.ob_mpi})"


class UnfitBufferError(MpiError, BufferError):
    """Memory that cannot be used as it is: with gaps, in another order of bytes, or not to be written to."""


class NotABufferError(MpiError, TypeError):
    """An object that has no memory."""


def called(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function that a program gave to MPI.

    Raises MpiError for an exception, which is printed: with its code if it is one of MPI, otherwise ERR_OTHER.
    """
    try:
        return function(*given)
    except Exception as error:
        traceback.print_exc()
        if isinstance(error, MpiError):
            raise
        what = "a function that the program gave to MPI raised an exception"
        raise MpiError(what, value=f"{type(error).__name__}: {error}", name="OTHER") from error


def error_class(errorcode: int) -> int:
    """Return the class of a code."""
    return _added[errorcode][0] if errorcode in _added else errorcode if errorcode in _NAMES else _UNKNOWN


def error_string(errorcode: int) -> str:
    """Return the words for a code."""
    return _added[errorcode][1] if errorcode in _added else _NAMES.get(errorcode, "MPI_ERR_UNKNOWN")


def last_used_code() -> int:
    """Return the largest code."""
    return max(_added, default=_LAST)


def errors_of_programs() -> dict[str, Callable[..., Any]]:
    """Return the functions of MPI on codes, which begin without added ones."""
    _added.clear()

    def Add_error_class() -> int:
        code = last_used_code() + 1
        _added[code] = (code, "")
        return code

    def Add_error_code(errorclass: int) -> int:
        code = last_used_code() + 1
        _added[code] = (errorclass, "")
        return code

    def Add_error_string(errorcode: int, string: str) -> None:
        _check_added(errorcode)
        _added[errorcode] = (_added[errorcode][0], string)

    def Remove_error_class(errorclass: int) -> None:
        _check_added(errorclass)
        if any(of == errorclass and code != errorclass for code, (of, _) in _added.items()) or _added[errorclass][1]:
            what, allowed = "this class of errors is in use", "a class without codes and texts"
            raise MpiError(what, value=errorclass, allowed=allowed)
        del _added[errorclass]

    def Remove_error_code(errorcode: int) -> None:
        _check_added(errorcode)
        if _added[errorcode][1]:
            raise MpiError("this code of errors has a text", value=errorcode, allowed="a code without a text")
        del _added[errorcode]

    def Remove_error_string(errorcode: int) -> None:
        Add_error_string(errorcode, "")

    found = (
        Add_error_class,
        Add_error_code,
        Add_error_string,
        Remove_error_class,
        Remove_error_code,
        Remove_error_string,
    )
    asked = {"Get_error_class": lambda errorcode: error_class(errorcode)}
    return (
        {one.__name__: one for one in found} | asked | {"Get_error_string": lambda errorcode: error_string(errorcode)}
    )


def _check_added(code: int) -> None:
    if code not in _added:
        raise MpiError("the program has not added this code of errors", value=code, allowed="an added code", name="ARG")
