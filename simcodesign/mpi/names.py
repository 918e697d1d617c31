"""Errors for names of mpi4py that are not simulated."""

from __future__ import annotations

from inspect import getattr_static
from typing import Any, ClassVar, NoReturn

from simcodesign.core.errors import InputError
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.errors import MpiError
from simcodesign.mpi.values.handles import Handled, equals_constant, is_constant

#: Classes of errors for null objects of mpi4py's classes.
_ERRORS = {
    **{name: name.upper() for name in ("Comm", "Win", "File", "Op", "Group", "Info", "Request", "Session")},
    "Datatype": "TYPE",
    "Errhandler": "ERRHANDLER",
}
#: Classes whose objects are copied as such of their other classes.
_KINDS = (*_ERRORS, "Status", "Message")
#: Types of which no object of mpi4py is made.
_NOT_COPIED = (int, str, tuple)


class NotSimulatedError(InputError, AttributeError, NotImplementedError):
    """Error for a name of mpi4py that is not simulated.

    It is an AttributeError, so that ``hasattr`` is False, and a NotImplementedError, as mpi4py raises for what its MPI
    does not have.
    """


class NullError(MpiError, AttributeError):
    """A use of a null object; an AttributeError, so that ``hasattr`` is False."""


def not_simulated(owner: str, name: str) -> NoReturn:
    """Raise NotSimulatedError at the user's line, or AttributeError for names that Python itself looks for."""
    if name.startswith("_"):
        raise AttributeError(name)
    raise NotSimulatedError(f"mpi4py's {owner}.{name} is not simulated", place_of_call())


class SimulatedKind(type):
    """The class of the classes of mpi4py: other names of them raise NotSimulatedError.

    An object made of another one of its kind is the same, ``MPI.Comm(comm)``; one made of nothing is null where a class
    has ``empty_is_null``. ``__init__`` is then called only if a program defines it.
    """

    def __getattr__(cls, name: str) -> Any:
        not_simulated(cls.__name__, name)

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if not isinstance(getattr_static(cls, name, None), NotSimulated)]

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if len(given) == 1 and isinstance(given[0], _NOT_COPIED):
            raise TypeError(f"mpi4py's {cls.__name__} cannot be made of a {type(given[0]).__name__}")
        if given and not isinstance(given[0], Quick):  # the usual case
            return super().__call__(*given, **named)
        made: Any = cls.__new__(cls, *given, **named)  # type: ignore[arg-type]
        is_null = not given and not named and cls.empty_is_null
        home = getattr(cls.__init__, "__module__", __name__)  # type: ignore[misc]
        if not home.startswith("simcodesign.") or not (is_null or _is_copy(cls, given, named)):
            cls.__init__(made, *given, **named)  # type: ignore[misc]
        return made


class NotSimulated:
    """A name of mpi4py that is not simulated, of the objects of a Quick class."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, one: object, owner: type) -> NoReturn:
        not_simulated(owner.__name__, self._name)


class OfNull:
    """An attribute that all objects of a Quick class have but null ones."""

    def __get__(self, one: Any, owner: type) -> NoReturn:
        if one is None:
            raise AttributeError
        null_used(owner)


def of_null() -> Any:
    """Return an attribute that raises MpiError in null objects."""
    return OfNull()


class Quick(Handled, metaclass=SimulatedKind):
    """Base of the classes of mpi4py. A null object has no state.

    Python looks up the attributes of classes with ``__getattr__`` in 40 ns, of others in 5 ns. What most calls of
    programs are of, communicators and requests, therefore has none: its other names are NotSimulated one by one.
    """

    empty_is_null = False
    #: An attribute that an object of a more general class has if it can be copied as one of this class.
    copied_with: ClassVar[str] = ""

    def __new__(cls, *given: Any, **named: Any) -> Any:
        """Return a new object, with the state of its original, if any."""
        made = super().__new__(cls)
        if _is_copy(cls, given, named):
            state = given[0].state()
            if state and cls.copied_with and given[0] and not hasattr(given[0], cls.copied_with):
                raise TypeError(f"mpi4py's {cls.__name__} cannot be made of another {type(given[0]).__name__}")
            made.__dict__.update(state)
        return made

    def state(self) -> dict[str, Any]:
        """Return the attributes; empty of a null object."""
        return self.__dict__

    def check(self) -> None:
        """Raise MpiError if the object is null."""
        if not self:
            null_used(type(self))

    #: The method that ends an object.
    ended_by: ClassVar[str] = "Free"

    def free(self) -> None:
        """End the object, unless it is null or a constant of MPI; a copy of a constant becomes null."""
        if not self or is_constant(self):
            return
        if equals_constant(self):
            self._become_null()
        else:
            getattr(self, self.ended_by)()

    def _become_null(self) -> None:
        self.__dict__.clear()

    def is_same(self, other: object) -> bool:
        """Return whether two objects have the same state, or both are null."""
        if self is other or not isinstance(other, Quick):
            return self is other
        if not self or not other:
            return not self and not other and (isinstance(other, self.__class__) or isinstance(self, other.__class__))
        one, two = self.state(), other.state()
        return one.keys() == two.keys() and all(one[key] is two[key] for key in one)


class Simulated(Quick):
    """Base of most classes of mpi4py: other names of their objects raise NotSimulatedError."""

    def __getattr__(self, name: str) -> Any:
        if not self.__dict__ and self.empty_is_null and not name.startswith("__"):
            null_used(type(self))
        not_simulated(type(self).__name__, name)


def null_used(kind: type) -> NoReturn:
    """Raise NullError for the use of a null object."""
    name = next((one.__name__ for one in kind.__mro__ if one.__name__ in _ERRORS), "")
    what = f"the program uses a null object of mpi4py's {kind.__name__}, such as MPI.{name.upper()}_NULL"
    raise NullError(what, place_of_call(), allowed="an object that is not null", name=_ERRORS.get(name, "ARG"))


def _is_copy(cls: type, given: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Return whether an object is made of one of its kind. Raises TypeError for one of another kind."""
    if len(given) != 1 or named or not isinstance(given[0], Quick):
        return False
    kind = next((one for one in reversed(cls.__mro__) if one.__name__ in _KINDS), cls)
    if not isinstance(given[0], kind):
        raise TypeError(f"mpi4py's {cls.__name__} cannot be made of a {type(given[0]).__name__}")
    return True
