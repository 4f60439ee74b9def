"""What is missing is a visible skip on a desk, and a failure in CI."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"
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


def test_a_file_of_tests_whose_module_is_missing_is_skipped_and_fails_in_ci(tmp_path: Path) -> None:
    tests = tmp_path / "test_it.py"
    tests.write_text('import pytest\n\npytest.importorskip("no_such_module", reason="it is not installed")\n')
    (tmp_path / "conftest.py").write_text("from conftest_of_the_house import pytest_make_collect_report\n")
    shutil.copy(CONFTEST, tmp_path / "conftest_of_the_house.py")

    def collected(ci: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", "-c", os.devnull, str(tests)]
        paths = os.pathsep.join([str(tmp_path), str(CONFTEST.parent)])
        environment = os.environ | {"CI": ci, "PYTHONPATH": paths}
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    skipped, failed = collected("false"), collected("true")
    assert "1 skipped" in skipped.stdout
    assert "it is not installed" in skipped.stdout
    assert failed.returncode == pytest.ExitCode.INTERRUPTED, failed.stdout
    assert "test_it.py was not collected" in failed.stdout
