"""What Numba has compiled, kept on the disk and checked before it is used.

Numba itself takes whatever the files hold: a damaged index is an error of ``pickle``, and damaged machine code ends the
process. Here every file carries a digest of what it holds; what is damaged is compiled anew, as if it were not there.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from numba.core import sigutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps


class CheckedContent(CompileResultCacheImpl):  # type: ignore[misc] # Numba has no types
    """A compiled function as bytes, with their digest."""

    def reduce(self, cres: Any) -> tuple[bytes, bytes]:
        content: bytes = dumps(super().reduce(cres))
        return _digest(content), content

    def rebuild(self, target_context: Any, payload: tuple[bytes, bytes]) -> Any:
        digest, content = payload
        if _digest(content) != digest:
            raise ValueError("the digest differs")
        return super().rebuild(target_context, pickle.loads(content))


class CheckedCache(FunctionCache):  # type: ignore[misc]
    """The cache of one function; ``on_compile`` is called before it is compiled because the cache does not have it."""

    _impl_class = CheckedContent

    def __init__(self, function: Callable[..., Any], on_compile: Callable[[], None]) -> None:
        super().__init__(function)
        self._on_compile = on_compile

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
            if found is not None and found.signature.args != sigutils.normalize_signature(sig)[0]:
                raise ValueError("the index leads to another signature")
        except Exception:  # unpickling something damaged may raise anything
            found = None
            self._discard()
            warnings.warn(f"compiled code in {self.cache_path} was damaged, and is compiled anew", stacklevel=2)
        if found is None:
            self._on_compile()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            reason = f"{error.strerror or error}, so it is compiled anew each time"
            self.disable()
            warnings.warn(f"compiled code cannot be kept in {self.cache_path}: {reason}", stacklevel=2)

    def _discard(self) -> None:
        """Forget all that is kept of the function; where that cannot be written, use none of it."""
        try:
            self.flush()
        except OSError:
            self.disable()


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()
