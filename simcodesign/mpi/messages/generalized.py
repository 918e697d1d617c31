"""Generalized requests: operations of a program itself, which decides when they are done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from simcodesign.mpi.objects.status import Status
from simcodesign.mpi.ranks.matching import Message
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.requests import Request
from simcodesign.mpi.values.errors import MpiError, called


class Grequest(Request):
    """An operation of the program, whose functions are called for the status, the end and a cancellation."""

    copied_with = "_functions"
    _result: Any = None
    _functions: tuple[Callable[..., None], ...]
    _completed_s: list[float]  # shared by copies

    @classmethod
    def Start(
        cls,
        query_fn: Callable[..., None] | None = None,
        free_fn: Callable[..., None] | None = None,
        cancel_fn: Callable[..., None] | None = None,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> Grequest:
        """Return a request that is done after ``Complete``."""
        world = cls.under_way
        assert world is not None
        made: Any = cls.begun(world, None)
        given, named = args or (), kwargs or {}

        def call(function: Callable[..., None] | None, *first: Any) -> None:
            if function is not None:
                called(partial(function, **named), *first, *given)

        made._functions = tuple((lambda *first, one=one: call(one, *first)) for one in (query_fn, free_fn, cancel_fn))
        made._completed_s = []
        own: Grequest = made
        return own

    def Complete(self) -> None:
        """Let the operation be done. Raises MpiError if it is."""
        if self._completed_s:
            raise MpiError("this request is complete already", place_of_call(), name="REQUEST")
        self._completed_s.append(self.world.scheduler.clock_s)

    def complete(self, obj: Any = None) -> None:
        """Let the operation be done; ``obj`` is what ``wait`` returns."""
        self._result = obj
        self.Complete()

    def done_s(self) -> float | None:
        """Return when it was completed; None before."""
        return 0.0 if self._ended else self._completed_s[0] if self._completed_s else None

    def wait_for_message(self) -> Message | None:
        """Let others run until it is complete, which only this rank can do; return None."""
        self.world.scheduler.wait(lambda: "wait for a request of the program", lambda: bool(self._completed_s))
        return None

    def end(self, status: Status | None) -> Any:
        """Wait; return the object it was completed with."""
        if self._ended:
            return super().end(status)
        super().end(Status() if status is None else status)
        self._functions[1]()
        result, self._result = self._result, None
        return result

    def note(self, status: Status) -> None:
        """Fill the status, as the program's function does."""
        status.clear()
        self._functions[0](status)

    def Cancel(self) -> None:
        """Call the program's function with whether the operation is complete."""
        self.check()
        self._functions[2](bool(self._completed_s))
