"""A missing program is a visible skip on a desk, and a failure in CI."""

from collections.abc import Callable
from pathlib import Path

import pytest

Require = Callable[[str, str], Path]


def test_a_program_that_is_there_is_found(require_tool: Require) -> None:
    assert require_tool("sh", "runs the launcher").name == "sh"


def test_a_missing_program_skips_with_the_reason(require_tool: Require, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no-such-program is not installed: drives nothing"):
        require_tool("no-such-program", "drives nothing")


def test_a_missing_program_fails_in_ci(require_tool: Require, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no-such-program is not installed: drives nothing"):
        require_tool("no-such-program", "drives nothing")
