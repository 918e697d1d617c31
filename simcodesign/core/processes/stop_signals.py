"""Signals that ask a program to stop (Ctrl-C and others), noted so that it can stop in order."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
#: Ctrl-C, a batch system that ends a job, the loss of the terminal, and Ctrl-Break, as far as this system has them.
STOP_SIGNALS = tuple(signal.Signals[name] for name in _NAMES if hasattr(signal, name))


class StopSignals:
    """Context manager that notes these signals: call it to learn whether one came; ``number`` is its number, or 0.

    A second Ctrl-C raises KeyboardInterrupt, for those who cannot wait. Outside the main thread, which alone receives
    signals, nothing is noted.
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        return self.number > 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        earlier, self.number = self.number, number
        if earlier and number == signal.SIGINT:
            raise KeyboardInterrupt
