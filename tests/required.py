"""What tests need and may be missing: skipped with the reason on a desk, failed in CI."""

import importlib
import os
from types import ModuleType
from typing import NoReturn

import pytest

NOT_COMPILED = "./braid test compiles it where there is a C compiler"
NOT_INSTALLED = "the extra [pipeline] is not installed"


def missing(reason: str) -> NoReturn:
    """A missing tool is seen where somebody develops, and is a failure where everything must be shown."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def required_module(name: str, reason: str) -> ModuleType:
    """The module. Files of tests that cannot be imported without one say `pytest.importorskip`: see `conftest`."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(f"{name} cannot be imported: {reason}")
