"""A task whose process dies; in a module that is quick to import, for processes do."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Dies:
    """The square of a number. At the number ``at`` the process is killed, always or until the file ``mended`` is there,
    which the first one leaves behind."""

    at: int
    mended: str = ""

    def __call__(self, number: int) -> int:
        if number == self.at and not (self.mended and Path(self.mended).exists()):
            if self.mended:
                Path(self.mended).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number**2
