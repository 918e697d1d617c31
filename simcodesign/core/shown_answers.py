"""How answers and descriptions show themselves: as pictures in Matplotlib axes, and as tables in notebooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcodesign.core.registry import Registry, function_of

#: Makers of an object's HTML, by class; the modules of ``report.notebook`` register here.
VIEWS: Registry[type, Callable[[Any], str]] = Registry("view", "simcodesign.report.notebook.html", "simcodesign.views")


class ShownInNotebooks:
    """Base of objects that a notebook shows as tables, if a view is registered for the class or one of its bases."""

    def _repr_html_(self) -> str | None:
        """Return HTML without styles or scripts from elsewhere; None without a view, so that the text is shown."""
        return next((VIEWS[kind](self) for kind in type(self).__mro__ if kind in VIEWS), None)


class Drawn:
    """Base of answers that have a picture."""

    def plot(self, ax: Any = None, *, kind: str | None = None, **options: Any) -> Any:
        """Draw the answer into Matplotlib axes ``ax`` (by default of a new figure), and return them.

        ``kind``: which picture; ``options``: its own. Both are listed at ``simcodesign.plot``, with what is raised.
        """
        return function_of("report.pictures.plot", "plot")(self, ax, kind=kind, **options)
