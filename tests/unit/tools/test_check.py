"""The runner behind `./braid test`: what it selects, what it shows, and the status it ends with."""

import asyncio
import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CHECK = Path(__file__).parents[3] / "tools" / "check.py"


@pytest.fixture(scope="module")
def check() -> ModuleType:
    specification = importlib.util.spec_from_file_location("check", CHECK)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("arguments", "selection", "extra"),
    [
        ([], "default", []),
        (["quick"], "quick", []),
        (["--all"], "all", []),
        (["quick", "--", "-k", "log"], "quick", ["-k", "log"]),
    ],
)
def test_the_selection_and_the_arguments_for_pytest_are_told_apart(
    check: ModuleType, arguments: list[str], selection: str, extra: list[str]
) -> None:
    options = check.parse(arguments)
    assert (options.selection, options.pytest) == (selection, extra)


@pytest.mark.parametrize("arguments", [["everything"], ["quick", "--all"], ["--fast"]])
def test_an_unknown_selection_is_refused_with_the_usage(
    check: ModuleType, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        check.parse(arguments)
    assert ended.value.code == 2
    assert "./braid test [quick | --all]" in capsys.readouterr().err


def test_only_all_runs_what_is_slow(check: ModuleType) -> None:
    quick = check.tests("quick", []).command
    assert "not (slow or thorough)" in " ".join(quick)
    assert "--hypothesis-profile=quick" in quick
    assert "--hypothesis-profile=quick" not in check.tests("default", []).command
    assert "not slow" in " ".join(check.tests("default", []).command)
    assert "slow" not in " ".join(check.tests("all", []).command)
    assert check.tests("all", ["-k", "x"]).command[-2:] == ["-k", "x"]


def test_every_gate_is_there(check: ModuleType) -> None:
    assert {gate.name for gate in check.gates()} == {"mypy", "ruff check", "ruff format", "lint-imports", "deptry"}


async def run(check: ModuleType, gate: str, tests: str) -> int:
    gates = [check.Part("gate", [sys.executable, "-c", gate])]
    status: int = await check.check(gates, check.Part("pytest", [sys.executable, "-c", tests], shows_end=True))
    return status


async def test_when_all_pass_the_status_is_0_and_the_end_of_pytest_is_shown(
    check: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "print('= short test summary info =\\nSKIPPED because\\n= 7 passed in 1s =')"
    assert await run(check, "print('quiet')", said) == 0
    shown = capsys.readouterr().out
    assert "ok      gate" in shown
    assert "SKIPPED because\n= 7 passed in 1s =" in shown
    assert "quiet" not in shown
    assert re.search(r"\nall passed\nin all \d+ s\n$", shown)


async def test_a_failing_part_is_shown_whole_and_the_others_still_run(
    check: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await run(check, "import sys; print('why\\nand where'); sys.exit(3)", "print('= 7 passed in 1s =')") == 1
    shown = capsys.readouterr().out
    assert "===== gate failed with status 3 =====\nwhy\nand where" in shown
    assert "= 7 passed in 1s =" in shown
    assert re.search(r"\nFAILED: gate\nin all \d+ s\n$", shown)


async def test_a_part_that_is_killed_counts_as_failed(check: ModuleType) -> None:
    assert await run(check, "import os; os.kill(os.getpid(), 9)", "pass") == 1


async def test_independent_parts_run_side_by_side(check: ModuleType, tmp_path: Path) -> None:
    """Each waits for the other's file: one after the other, they would never end."""
    wait = (
        "import pathlib, sys, time\npathlib.Path(sys.argv[1]).touch()\n"
        "while not pathlib.Path(sys.argv[2]).exists(): time.sleep(0.01)"
    )
    names = (str(tmp_path / "a"), str(tmp_path / "b"))
    parts = [
        check.Part("a", [sys.executable, "-c", wait, *names]),
        check.Part("b", [sys.executable, "-c", wait, *reversed(names)]),
    ]
    async with asyncio.timeout(20):
        assert await check.check(parts, check.Part("pytest", [sys.executable, "-c", "pass"])) == 0


def test_an_interrupt_ends_the_parts_too(tmp_path: Path, wait_for: Callable[..., None]) -> None:
    started = tmp_path / "pid"
    part = f"import os, pathlib, time; pathlib.Path({str(started)!r}).write_text(str(os.getpid())); time.sleep(60)"
    script = (
        f"import sys; sys.path.insert(0, {str(CHECK.parent)!r}); import check\n"
        f"check.gates = lambda: [check.Part('gate', [sys.executable, '-c', {part!r}])]\n"
        "sys.exit(check.main([]))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as runner:
        wait_for(lambda: started.exists() and started.read_text() != "")
        runner.send_signal(signal.SIGINT)
        output, _ = runner.communicate(timeout=20)
    assert runner.returncode == 130
    assert output.endswith("interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


# A second try.

SUMMARY = """
=========================== short test summary info ============================
SKIPPED [1] tests/compat/test_a.py:3: no tool
FAILED tests/compat/test_a.py::test_one[4.9.8-rocketmq by key] - AssertionError: x
FAILED tests/compat/test_a.py::test_two
ERROR tests/integration/pipeline/test_b.py::test_three - Boom
======= 3 failed in 1 s =======
"""


def outcome(check: ModuleType, output: str, status: int = 1) -> Any:
    return check.Outcome(check.Part("pytest", ["pytest"]), status, output, 1.0)


def test_failed_tests_are_read_from_the_summary(check: ModuleType) -> None:
    assert check.failed_tests(SUMMARY) == [
        "tests/compat/test_a.py::test_one[4.9.8-rocketmq by key]",
        "tests/compat/test_a.py::test_two",
        "tests/integration/pipeline/test_b.py::test_three",
    ]


def test_only_tests_of_other_peoples_programs_have_a_second_try(check: ModuleType) -> None:
    again = check.second_try(outcome(check, SUMMARY))
    assert again is not None
    assert again.command[-3:] == check.failed_tests(SUMMARY)
    assert check.second_try(outcome(check, SUMMARY + "FAILED tests/faults/test_c.py::test_four - lost\n")) is None
    assert check.second_try(outcome(check, SUMMARY, status=2)) is None
    assert check.second_try(outcome(check, "all passed", status=0)) is None
    many = "\n".join(f"FAILED tests/compat/test_a.py::test_{at} - x" for at in range(check.SECOND_TRIES_MAX + 1))
    assert check.second_try(outcome(check, many)) is None


async def test_what_passes_at_the_second_try_is_named(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = [outcome(check, SUMMARY), outcome(check, "1 passed", status=0)]

    async def run(*_: object) -> Any:
        return ended.pop(0)

    monkeypatch.setattr(check, "run", run)
    first, second = await check.run_tests(check.Part("pytest", []), check.Progress(1))
    assert (first.status, second.status) == (0, 0)
    assert "passed at the second try: tests/compat/test_a.py::test_two" in first.output


def test_how_it_failed_at_first_is_shown_all_the_same(check: ModuleType) -> None:
    said = "..F\n=== FAILURES ===\nE  assert 1 == 2\n=== short test summary info ===\nFAILED x\n= 1 failed =\n"
    assert check.closing(said) == said.partition("\n")[2].rstrip()
    assert check.closing("...\n== 3 passed in 1s ==\n") == "== 3 passed in 1s =="


async def test_what_fails_twice_has_failed(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(*_: object) -> Any:
        return outcome(check, SUMMARY)

    monkeypatch.setattr(check, "run", run)
    assert [each.status for each in await check.run_tests(check.Part("pytest", []), check.Progress(1))] == [1, 1]
