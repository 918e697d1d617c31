"""What all tests share: the Hypothesis profiles and the folder of example cases."""

from __future__ import annotations

import signal
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests import MOST_PARAMETERS, RANDOM, ROOT, THOROUGH, examples

# No deadline: the time of one example depends more on the load of the machine than on the code.
# Every run tries the same examples, so that a failure can be repeated. `make test-random` draws other examples and prints its seed.
settings.register_profile("fixed", deadline=None, max_examples=examples(100), derandomize=True, database=None)
settings.register_profile("random", settings.get_profile("fixed"), derandomize=False)
settings.load_profile("random" if RANDOM else "fixed")
if not RANDOM:
    # Otherwise examples would also depend on the numbers in all modules that happen to be loaded.
    providers._get_local_constants = providers.Constants

# A run that a script has put into the background ignores Ctrl-C, and so would every process that a test starts and stops.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of these tests."""
    parser.addoption("--renew", action="store_true", help="rewrite the outputs in tests/cli/golden")
    parser.addoption("--write-passed", type=Path, metavar="FILE", help="write the names of the tests that pass to FILE")
    parser.addoption(
        "--without-passed", type=Path, metavar="FILE", help="omit tests in FILE that would do the same again"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Record the tests that pass if ``--write-passed`` requests it; with xdist in the controlling process only."""
    file = config.getoption("--write-passed")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(PassedTests(file))


class PassedTests:
    """Write the names of the tests that pass to a file, one per line."""

    def __init__(self, file: Path) -> None:
        self.file, self.names = file, list[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.names.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("\n".join(self.names), encoding="utf-8")


def does_more_when_thorough(item: pytest.Item) -> bool:
    """Return whether ``make test-all`` tries more in this test than ``make test``: more examples, or more in its body."""
    module = vars(item.module)  # type: ignore[attr-defined]
    return item.get_closest_marker("hypothesis") is not None or "THOROUGH" in module or "numbers_of_ranks" in module


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Limit the ordinary suite to a few parameters of each test, always the same; ``make test-all`` runs all."""
    if file := config.getoption("--without-passed"):
        passed = set(file.read_text(encoding="utf-8").splitlines())
        again = [item.nodeid in passed and not does_more_when_thorough(item) for item in items]
        config.hook.pytest_deselected(items=[item for item, is_again in zip(items, again, strict=True) if is_again])
        items[:] = [item for item, is_again in zip(items, again, strict=True) if not is_again]
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
