"""Signals that ask for the end, heard where work can end in order."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

#: Ctrl-C, the wish of a batch system, and the loss of the terminal.
ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """A context manager within which these signals are noted: calling it says whether one came, ``number`` which.

    A second Ctrl-C raises KeyboardInterrupt, for those who cannot wait. Outside the main thread, where no signal is
    heard, nothing is noted.
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        return self.number > 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in ASKING:
                if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        again, self.number = self.number, number
        if again and number == signal.SIGINT:
            raise KeyboardInterrupt
