"""``MPI.pickle``: how objects become bytes in messages. A program may set other functions, as of dill."""

from __future__ import annotations

import pickle as python_pickle
from collections.abc import Callable
from typing import Any

from simcodesign.mpi.objects.bytes_in_memory import MemoryBytes

_LATEST = python_pickle.HIGHEST_PROTOCOL


class Pickle:
    """A pair of functions; ``protocol``: of Python's own; ``threshold``: bytes of buffers that stay out of band."""

    def __init__(
        self,
        dumps: Callable[..., bytes] | None = None,
        loads: Callable[..., Any] | None = None,
        protocol: int | None = None,
        threshold: int | None = None,
    ) -> None:
        self._dumps, self._loads = dumps or python_pickle.dumps, loads or python_pickle.loads
        own = dumps is None or dumps is python_pickle.dumps
        self.PROTOCOL: int | None = protocol if protocol is not None else _LATEST if own else None
        self.THRESHOLD: int = 262144 if threshold is None else threshold

    def dumps(self, obj: Any) -> bytes:
        """Return the bytes of an object."""
        return self._dumps(obj) if self.PROTOCOL is None else self._dumps(obj, self.PROTOCOL)

    def loads(self, data: Any) -> Any:
        """Return the object of bytes."""
        return self._loads(data)

    def dumps_oob(self, obj: Any) -> tuple[bytes, list[MemoryBytes]]:
        """Return the bytes of an object, and the long buffers that these are without."""
        found: list[MemoryBytes] = []

        def keep(buffer: Any) -> bool:
            raw = buffer.raw()
            if raw.nbytes < self.THRESHOLD:
                return True
            found.append(MemoryBytes(raw))
            return False

        protocol = _LATEST if self.PROTOCOL is None or self.PROTOCOL < 0 else self.PROTOCOL
        return self._dumps(obj, max(protocol, 5), buffer_callback=keep), found

    def loads_oob(self, data: Any, buffers: Any) -> Any:
        """Return the object of bytes and buffers."""
        return self._loads(data, buffers=buffers)


#: The pair that messages use.
PICKLE = Pickle()
