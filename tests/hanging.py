"""What should take a moment and never ends fails, instead of holding up the tests.

The limit is far above what any machine needs, since it tells quick from endless and is no measure of speed; and it is one of
CPU time, so that a machine that is busy with other things does not fail a test.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: CPU seconds after which something is taken to hang that takes a fraction of a second.
LIMIT_S = 30.0


class HangError(BaseException):
    """Raised in whatever runs too long; no Exception, so that nothing takes it for an error of its own."""


@contextmanager
def no_hang(limit_s: float = LIMIT_S) -> Iterator[None]:
    """Raise ``HangError``, with where it was, in what takes more than ``limit_s`` CPU seconds of this process."""
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _too_long(_: int, frame: FrameType | None) -> None:
    raise HangError("".join(traceback.format_stack(frame)[-6:]))
