"""Answers that draw themselves into Matplotlib axes."""

from __future__ import annotations

from typing import Any

from simcodesign.core.by_name import function_of


class Drawn:
    """Base of answers that have a picture."""

    def plot(self, ax: Any = None, *, kind: str | None = None, **options: Any) -> Any:
        """Draw the answer into Matplotlib axes ``ax`` (by default of a new figure), and return them.

        ``kind``: which picture; ``options``: its own. Both are listed at ``simcodesign.plot``, with what is raised.
        """
        return function_of("report.pictures.plot", "plot")(self, ax, kind=kind, **options)
