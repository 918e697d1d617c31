"""What all tests share: the Hypothesis profiles and the folder of example cases."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import settings

from simcodesign.core.jit import HAVE_NUMBA
from simcodesign.engine import selection
from tests import MOST_PARAMETERS, ROOT, THOROUGH, examples

# No deadline: the time of a single example says more about the machine's load than about the code.
settings.register_profile("default", deadline=None, max_examples=examples(100))
# The same examples at each run, so that a red build is red again when looked at.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "default")

# A run that a script has put into the background ignores Ctrl-C, and so would every process that a test starts and stops.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--renew``, of ``tests/cli/test_golden.py``."""
    parser.addoption("--renew", action="store_true", help="write the outputs of tests/cli/golden anew")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test with many parameters the ordinary suite runs a few, always the same; ``make test-all`` runs all."""
    if THOROUGH:
        return
    variants = defaultdict(list)
    for item in items:
        if item.get_closest_marker("thorough") is None:
            variants[item.nodeid.partition("[")[0]].append(item)
    for same_test in variants.values():
        # In the order of a checksum, parameters in a product do not come in step with their neighbours.
        for item in sorted(same_test, key=lambda item: crc32(item.nodeid.encode()))[MOST_PARAMETERS:]:
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of example cases beside the checkout; a test that needs it is skipped without it."""
    folder = ROOT.parent / "shared" / "cases"
    if not folder.is_dir():
        pytest.skip("needs the example cases in ../shared/cases, beside the checkout")
    return folder


@pytest.fixture(scope="session")
def papers() -> Path:
    """The folder of tables typed off the papers; a test that needs it is skipped without it."""
    folder = ROOT.parent / "shared" / "papers" / "data"
    if not folder.is_dir():
        pytest.skip("needs the tables of the papers in ../shared/papers/data, beside the checkout")
    return folder


@pytest.fixture(scope="session")
def shared_measured() -> Path:
    """The folder of measurements of real machines; a test that needs it is skipped without it."""
    folder = ROOT.parent / "shared" / "measured"
    if not folder.is_dir():
        pytest.skip("needs the measurements in ../shared/measured, beside the checkout")
    return folder


@pytest.fixture(scope="module")
def quick_engine() -> Iterator[None]:
    """In ``make test-all`` ``auto`` is the compiled engine, however small the Plan: many thousand runs of a module take a
    third of the time. That both engines give the same is tested elsewhere; the ordinary suite keeps to what users get.
    """
    with pytest.MonkeyPatch.context() as patch:
        if THOROUGH and HAVE_NUMBA:
            patch.setattr(selection, "SIMPY_UP_TO", 0)
        yield
