"""Functions of other modules by name: what methods of a class call that is imported by these modules."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def function_of(module: str, name: str) -> Any:
    """Return a function of a module of this package, imported when the method that calls it is called."""
    return getattr(import_module(f"simcodesign.{module}"), name)
