"""Compiled functions do what Python does, to the last bit, and Python does what they do where there is no Numba."""

from __future__ import annotations

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
    numba = pytest.importorskip("numba")
    njit = numba.njit

    def nowhere(**options: object) -> object:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(numba, "njit", nowhere)
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
    seen = []
    for more in (1.0, 1.0, 20.0):
        (folder / "inner.py").write_text(inner.format(more))
        seen.append(float(printed("from package.outer import twice; print(twice(1.0))", tmp_path)))
    assert seen == [4.0, 4.0, 42.0]


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
from random import Random
from tests.oracles.event_contract import ROUNDED, TIED, Writer, shuffled
from tests.engine.test_engines_agree import outcome
from simcodesign.core.jit import HAVE_NUMBA
from simcodesign.engine.compiled import engine as compiled_engine
from simcodesign.engine.reference import engine as simpy_engine
assert not HAVE_NUMBA
random, ends = Random(7), 0
for times in (TIED, ROUNDED) * 60:
    plan = shuffled(Writer(random, times, random.randint(5, 50)).plan(), random)
    expected = outcome(simpy_engine.run, plan)
    assert outcome(compiled_engine.run, plan) == expected
    ends += isinstance(expected, dict)
print(ends)
"""


@pytest.mark.thorough
def test_the_compiled_engine_without_numba() -> None:
    """The same Logs and the same errors."""
    assert 20 <= int(printed(WITHOUT_NUMBA, HERE)) <= 110
