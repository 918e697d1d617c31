"""Compiled functions do what Python does, to the last bit, and Python does what they do where there is no Numba."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core import jit as module
from simcodesign.core.jit import HAVE_NUMBA, called, compiled, compiled_without_arrays, inlined

needs_numba = pytest.mark.skipif(not HAVE_NUMBA, reason="needs numba")
HERE = Path(__file__).parent


def folded(values: np.ndarray, factor: float) -> float:
    """Sums, products, quotients and the later of two times, in the order that is written."""
    total = 0.0
    for value in values:
        total = max(total + value * factor, total / 3.0 + value) - value * 0.1
    return total


_called, _inlined = called(folded), inlined(folded)  # for compiled functions only: they cannot be called from here


@compiled_without_arrays
def by_call(values: np.ndarray, factor: float) -> float:
    return _called(values, factor)


@compiled_without_arrays
def by_inlining(values: np.ndarray, factor: float) -> float:
    return _inlined(values, factor)


#: The decorators whose functions Python may call.
DECORATORS = [compiled, compiled_without_arrays]
NAMES = ["compiled", "without arrays", "called", "inlined"]
COMPILED = [*(decorate(folded) for decorate in DECORATORS), by_call, by_inlining]


@pytest.mark.parametrize("function", COMPILED, ids=NAMES)
@given(st.lists(st.floats(-1e9, 1e9), max_size=20), st.floats(-1e3, 1e3))
def test_rounds_as_python_does(function: object, values: list[float], factor: float) -> None:
    """Fused or reordered, these would differ in the last bits."""
    array = np.array(values, np.float64)
    assert float(function(array, factor)).hex() == float(folded(array, factor)).hex()


@needs_numba
@pytest.mark.parametrize("function", COMPILED, ids=NAMES)
def test_it_is_compiled(function: object) -> None:
    function(np.ones(3), 1.0)
    assert callable(function.py_func)
    assert len(function.signatures) == 1


def test_without_numba_the_function_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HAVE_NUMBA", False)
    for decorate in (*DECORATORS, called, inlined):
        assert decorate(folded) is folded


@needs_numba
@pytest.mark.parametrize("decorate", DECORATORS, ids=NAMES[:2])
def test_without_a_folder_for_the_cache_it_is_compiled_all_the_same(
    decorate: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    caching = pytest.importorskip("simcodesign.core.compiled_cache")

    def nowhere(*_: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(caching, "CheckedCache", nowhere)
    function = decorate(folded)
    assert function.py_func is folded
    assert function(np.array([1.0, 2.0]), 0.5) == folded(np.array([1.0, 2.0]), 0.5)


def printed(program: str, *paths: Path) -> str:
    """What Python prints in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [HERE.parent, *paths]))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_numba
@pytest.mark.thorough
def test_what_is_compiled_into_a_cached_function_may_change(tmp_path: Path) -> None:
    """A function of one file is compiled into one of another; both are cached on disk."""
    folder = tmp_path / "package"
    folder.mkdir()
    inner = "from simcodesign.core.jit import inlined\n@inlined\ndef grown(x):\n    return x + {}\n"
    (folder / "outer.py").write_text(
        "from simcodesign.core.jit import compiled\nfrom package.inner import grown\n"
        "@compiled\ndef twice(x):\n    return 2.0 * grown(x)\n"
    )
    recorded = []
    for more in (1.0, 1.0, 20.0):
        (folder / "inner.py").write_text(inner.format(more))
        recorded.append(float(printed("from package.outer import twice; print(twice(1.0))", tmp_path)))
    assert recorded == [4.0, 4.0, 42.0]


TWICE = """
from simcodesign.core.jit import compiled, listeners
@compiled
def twice(x):
    return 2.0 * x
"""
#: Prints what the function gives, how often something was compiled, and the warnings.
CALL_TWICE = """
import warnings
import package.twice as module
compiling = []
module.listeners.append(compiling.append)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(module.twice(1.0), len(compiling), *(str(one.message).rpartition(" in ")[0] for one in caught))
"""
DAMAGE = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
    "flipped": lambda content: content[:-99] + bytes([content[-99] ^ 0x55]) + content[-98:],
    "garbage": lambda content: bytes(number * 7919 % 251 for number in range(len(content))),
}
#: Of an index, which is read as a pickle: nothing, the beginning of one, and what is none.
OF_INDEX = ("empty", "half", "garbage")
ONCE = ("code", "flipped")


@pytest.mark.thorough
@needs_numba
@pytest.mark.parametrize(
    ("suffix", "how"),
    [
        pytest.param(suffix, how, marks=() if (what, how) == ONCE else pytest.mark.thorough, id=f"{what} {how}")
        for what, suffix in (("index", ".nbi"), ("code", ".nbc"))
        for how in (DAMAGE if what == "code" else OF_INDEX)
    ],
)
def test_a_damaged_cache_is_compiled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, how: str
) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "twice.py").write_text(TWICE, encoding="utf-8")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert printed(CALL_TWICE, tmp_path) == "2.0 1"
    (file,) = (tmp_path / "cache").rglob(f"*{suffix}")
    file.write_bytes(DAMAGE[how](file.read_bytes()))
    anew = printed(CALL_TWICE, tmp_path)
    # An index that holds another version of Numba, as far as can be read, is not damaged for Numba but outdated.
    assert anew in ("2.0 1 compiled code", *(["2.0 1"] if suffix == ".nbi" else []))
    assert printed(CALL_TWICE, tmp_path) == "2.0 0"


@needs_numba
def test_a_cache_that_cannot_be_written_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    from simcodesign.core import compiled_cache

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(compiled_cache.FunctionCache, "save_overload", full)
    monkeypatch.setattr(compiled_cache.FunctionCache, "load_overload", lambda *_: None)
    function = compiled(folded)
    with pytest.warns(UserWarning, match="cannot be kept in .*No space left"):
        assert function(np.array([1.0, 2.0]), 0.5) == folded(np.array([1.0, 2.0]), 0.5)
