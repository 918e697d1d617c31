"""A command of the program, called in this process: how it ended and what it printed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from simcodesign import cli


class Ran:
    """How a command ended and what it printed."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> dict[str, Any]:
        assert self.status == 0, self.err
        answer: dict[str, Any] = json.loads(self.out)
        return answer

    def cells(self, *first: str) -> list[str]:
        """The cells of the row of a table that begins so."""
        assert self.status == 0, self.err
        rows = [re.split(r"\s{2,}", line.strip()) for line in self.out.splitlines()]
        return next(row for row in rows if row[: len(first)] == list(first))


def command(capfd: pytest.CaptureFixture[str], *first: str) -> Any:
    """A function that calls the command which begins with these arguments."""

    def called(*arguments: Any) -> Ran:
        capfd.readouterr()
        status = cli.main([*first, *map(str, arguments)])
        return Ran(status, *capfd.readouterr())

    return called
