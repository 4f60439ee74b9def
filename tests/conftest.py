"""What all tests share: folders become markers, a way to say that a test needs a program, and a way to wait."""

import os
import shutil
import time
from collections.abc import Callable, Generator
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

from required import NOT_COMPILED, missing, required_module

_HERE = Path(__file__).parent
_FOLDERS = sorted(path.name for path in _HERE.iterdir() if path.is_dir() and not path.name.startswith(("_", ".")))

_LONG_FIRST = ("/faults/pipeline/", "/compat/", "/integration/pipeline/", "/browser/", "/faults/", "/integration/")


# How long an example takes says more about the machine than about the code: tests have a limit each.
hypothesis.settings.register_profile("house", hypothesis.settings(), deadline=None)
hypothesis.settings.register_profile("quick", hypothesis.settings(), deadline=None, max_examples=20)
hypothesis.settings.load_profile("house")


def pytest_configure(config: pytest.Config) -> None:
    for folder in _FOLDERS:
        config.addinivalue_line("markers", f"{folder}: given to everything in tests/{folder}")
    config.addinivalue_line("markers", "quick: fast enough for `./braid test quick` although not a unit test")
    config.addinivalue_line("markers", "thorough: takes too long for `./braid test quick` although a unit test")


def _turn(item: pytest.Item) -> int:
    """Files that take minutes come first, so that two processes end at the same time; the order is kept otherwise."""
    path = item.path.as_posix()
    return next((turn for turn, part in enumerate(_LONG_FIRST) if part in path), len(_LONG_FIRST))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            folder = item.path.relative_to(_HERE).parts[0]
            if folder in _FOLDERS:
                item.add_marker(folder)
    items.sort(key=_turn)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Files of tests that need what is not there fail in CI, as single tests do."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was not collected: {report.longrepr}"
    return report


class RequireTool:
    """Finds a program that a test drives, or ends the test: skipped on a desk, failed in CI."""

    def __call__(self, name: str, why: str) -> Path:
        found = shutil.which(name)
        if found is None:
            missing(f"{name} is not installed: {why}")
        return Path(found)


@pytest.fixture(scope="session")
def require_tool() -> RequireTool:
    """`require_tool("kcat", "drives the Kafka listener")` is the program's path."""
    return RequireTool()


class RequireCompiled:
    """Finds a compiled module that a test is about, or ends the test: skipped on a desk, failed in CI."""

    def __call__(self, name: str) -> ModuleType:
        return required_module(name, NOT_COMPILED)


@pytest.fixture(scope="session")
def require_compiled() -> RequireCompiled:
    """`require_compiled("braidmq.log.embedded._many_files")` is the module."""
    return RequireCompiled()


class WaitFor:
    """Waits until a condition holds; a test never sleeps for a time that somebody guessed."""

    def __call__(self, condition: Callable[[], bool], limit_s: float = 20.0) -> None:
        deadline = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > deadline:
                pytest.fail(f"waited {limit_s} s in vain")
            time.sleep(0.01)


@pytest.fixture(scope="session")
def wait_for() -> WaitFor:
    """`wait_for(lambda: file.exists())` fails the test when the limit has passed."""
    return WaitFor()
