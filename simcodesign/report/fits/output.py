"""Output of the command ``fit`` for each series, block by block as the series are fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from simcodesign.fitting.batch_predictions import BatchPredictions, batch_predictions
from simcodesign.fitting.fit import Fits
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.point_errors import PointErrors, together
from simcodesign.report.fits import code, tables
from simcodesign.report.fits.tables import Heading

Make = Callable[[Fits], list[Any]]


def made(
    makes: Sequence[Make], digests: bool, fits: Fits
) -> tuple[Fits | None, BatchPredictions | None, list[list[Any]]]:
    """Return outputs of a block of series, made where it is fitted: maybe another process."""
    parts = [make(fits) for make in makes]
    return (fits, batch_predictions(fits), parts) if digests else (None, None, parts)


class Writer:
    """Text for what ``make`` makes of each block: ``texts`` of block after block, then ``end``."""

    make: Make

    def __init__(self, heading: Heading, measurements: Measurements) -> None:
        self.heading, self.measurements = heading, measurements
        self.begun = False

    def texts(self, parts: list[Any]) -> Iterator[str]:
        """Yield the text of a block, after the head before the first."""
        if not self.begun:
            yield self.head()
        yield from self.body(parts)
        self.begun = True

    def head(self) -> str:
        """Return the text before all series."""
        return ""

    def body(self, parts: list[Any]) -> Iterator[str]:
        """Yield the texts of a block of series."""
        yield from parts

    def end(self) -> str:
        """Return the text after all series."""
        return ""


class JsonWriter(Writer):
    """One JSON object; each series has a line."""

    def __init__(self, heading: Heading, measurements: Measurements) -> None:
        super().__init__(heading, measurements)
        self.make = partial(tables.json_lines, target=heading.target, level=heading.level)
        self._errors = PointErrors(0, 0, 0)

    def head(self) -> str:
        """Return the text before all series."""
        return tables.json_head(self.heading, self.measurements)

    def body(self, parts: list[Any]) -> Iterator[str]:
        """Yield the texts of a block of series."""
        comma = "," if self.begun else ""
        self._errors = together([self._errors, *(errors for _, errors in parts)])
        for line, _ in parts:
            yield f"{comma}\n    {line}"
            comma = ","

    def end(self) -> str:
        """Return the text after all series."""
        return tables.json_tail(self._errors)


class LatexWriter(Writer):
    """A table of LaTeX."""

    def __init__(self, heading: Heading, measurements: Measurements) -> None:
        super().__init__(heading, measurements)
        self.make = partial(code.latex_rows, target=heading.target, level=heading.level)

    def head(self) -> str:
        """Return the text before all series."""
        return code.latex_head(self.heading, len(self.measurements.regions))

    def end(self) -> str:
        """Return the text after all series."""
        return code.latex_tail(len(self.measurements.regions))


class PythonWriter(Writer):
    """A module of Python."""

    make = staticmethod(code.python_parts)

    def __init__(self, heading: Heading, measurements: Measurements) -> None:
        super().__init__(heading, measurements)
        self._module = code.PythonModule(heading.parameters)

    def head(self) -> str:
        """Return the text before all series."""
        return code.python_head(self.heading)

    def body(self, parts: list[Any]) -> Iterator[str]:
        """Yield the texts of a block of series."""
        yield from self._module.functions(parts)

    def end(self) -> str:
        """Return the text after all series."""
        return "".join(self._module.table())


#: Writers of files by their suffix.
WRITERS: dict[str, type[Writer]] = {".tex": LatexWriter, ".py": PythonWriter}
