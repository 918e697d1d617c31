"""Functions that pass keywords on: each keyword is listed once, and ``help`` shows it wherever it can be given."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def shows_keywords(keywords: type, taken_by: Callable[..., Any]) -> Callable[[Function], Function]:
    """Show every keyword of a TypedDict in the signature that ``help`` and editors show.

    For a function whose last parameter is ``**options: Unpack[KEYWORDS]``, which it gives to ``taken_by``; each keyword
    has its default there.
    """

    def decorate(function: Function) -> Function:
        own = signature(function)
        named = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        passed_on = [each for name, each in signature(taken_by).parameters.items() if name in keywords.__annotations__]
        function.__signature__ = own.replace(parameters=[*named, *passed_on])  # type: ignore[attr-defined]
        return function

    return decorate
