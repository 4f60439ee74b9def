"""The launcher, from a copy of the checkout in a folder with spaces in its path."""

import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from braidmq import __version__
from required import missing

ROOT = Path(__file__).parents[3]
COPIED = ("braid", "requirements.lock", "requirements-dev.lock", "src", "tools", "pyproject.toml")
UV = "uv==0.8.0"
VENDOR = Path("src", "braidmq", "console", "static", "vendor")
SYSTEM_TOOLS = ("sh", "dirname", "cat", "cksum", "rm", "awk", "env", "find", "sort", "xargs")

Require = Callable[[str, str], Path]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    for name in COPIED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH with what every system has, and Python, but no uv."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in SYSTEM_TOOLS:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    (folder / "python3").symlink_to(Path(sys.executable).resolve())
    return folder


def braid(
    checkout: Path,
    *arguments: str,
    path: Path | None = None,
    python: str | None = None,
    shell: str = "sh",
    in_ci: bool = False,
) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("BRAID_", "PYTHON"))}
    environment["CI"] = str(in_ci).lower()
    environment |= {} if path is None else {"PATH": str(path)}
    environment |= {} if python is None else {"PYTHON": python}
    command = [shell, str(checkout / "braid"), *arguments]
    return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)


def pretend_prepared(checkout: Path) -> None:
    """This test run's own environment, under the stamp that the launcher would leave."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    interpreter = checkout / ".venv" / "bin" / "python"
    interpreter.write_text(f'#!/bin/sh\nPYTHONPATH="{checkout}/src" exec "{sys.executable}" "$@"\n')
    interpreter.chmod(0o755)
    pretend_prepared_for(checkout, "requirements.lock")


def pretend_prepared_for(checkout: Path, lock: str) -> None:
    with (checkout / lock).open("rb") as stream:
        checksum = subprocess.run(["cksum"], stdin=stream, capture_output=True, text=True, check=True).stdout.strip()
    (checkout / ".venv" / f".stamp-{lock}").write_text(f"{checksum} {checkout}\n")


@pytest.mark.parametrize("shell", ["sh", "dash", "bash"])
def test_a_prepared_checkout_starts_without_a_word_of_its_own(
    checkout: Path, shell: str, require_tool: Require
) -> None:
    require_tool(shell, "runs the launcher")
    pretend_prepared(checkout)
    ended = braid(checkout, "version", shell=shell)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.fullmatch(r"braid \d+\.\d+\.\d+\n", ended.stdout)


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_told_without_an_environment(checkout: Path, programs: Path, option: str) -> None:
    ended = braid(checkout, option, path=programs)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"braid {__version__}\n", "")
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("command", ["version", "up"])
def test_a_second_start_costs_under_300_ms_of_its_own(checkout: Path, command: str) -> None:
    pretend_prepared(checkout)
    (checkout / ".venv" / "bin" / "python").write_text("#!/bin/sh\n")
    (checkout / VENDOR).mkdir(parents=True, exist_ok=True)
    duration_s(checkout, command)  # whose stamps say that the console is there, and that all is compiled
    best_s = min(duration_s(checkout, command) for _ in range(5))
    assert best_s < 0.3, "the best of five, since others use this machine too"


def duration_s(checkout: Path, command: str) -> float:
    started = time.monotonic()
    ended = braid(checkout, command)
    took_s = time.monotonic() - started
    assert ended.returncode == 0
    return took_s


def calls_of_an_interpreter(checkout: Path, *, failing: str = "") -> Path:
    """In place of the environment's Python one that only notes how it was called, and fails with what is named."""
    pretend_prepared(checkout)
    calls = checkout / "calls"
    fails = f'case "$*" in *{failing}*) exit 1 ;; esac' if failing else ""
    (checkout / ".venv" / "bin" / "python").write_text(f'#!/bin/sh\necho "$@" >>"{calls}"\n{fails}\n')
    return calls


def test_a_console_that_could_not_be_fetched_is_tried_again_after_a_day_or_when_asked_for(
    checkout: Path, programs: Path
) -> None:
    calls = calls_of_an_interpreter(checkout, failing="console_assets")
    shutil.rmtree(checkout / VENDOR, ignore_errors=True)
    missed = checkout / ".venv" / ".console-missed"

    def fetched(*arguments: str) -> tuple[int, str]:
        """How often until now, and what was said."""
        ended = braid(checkout, *arguments, path=programs)
        assert ended.returncode == 0
        assert calls.read_text().splitlines()[-1].endswith(" ".join(arguments[1:])), "the command has run"
        return calls.read_text().count("console_assets.py"), ended.stderr

    times, said = fetched("up")
    assert times == 1
    assert "the console will look bare: the message above says why" in said
    for _ in range(2):
        times, said = fetched("up")
        assert times == 1
        assert said.count("\n") == 1
        assert "It is tried again tomorrow, or now with: ./braid test, or rm " in said
        assert str(missed) in said
    assert fetched("version")[0] == 1, "who does not look at the console is not told of it"
    two_days_ago = time.time() - 2 * 86_400
    os.utime(missed, (two_days_ago, two_days_ago))
    assert fetched("up")[0] == 2
    missed.unlink()
    assert fetched("up")[0] == 3
    (checkout / ".venv" / "bin" / "python").write_text(f'#!/bin/sh\necho "$@" >>"{calls}"\n')
    pretend_prepared_for(checkout, "requirements-dev.lock")
    assert fetched("test", "quick")[0] == 4, "and now it is there"
    assert not missed.exists()


def test_hot_paths_are_compiled_once_and_again_when_they_have_changed(checkout: Path, programs: Path) -> None:
    calls = calls_of_an_interpreter(checkout)
    (programs / "cc").symlink_to("/bin/true")
    source = next((checkout / "src").rglob("*.pyx"))
    for changed, times in ((b"", 1), (b"", 1), (b"# changed", 2)):
        with source.open("ab") as stream:
            stream.write(changed)
        ended = braid(checkout, "bench", path=programs)
        assert ended.returncode == 0, ended.stderr
        assert calls.read_text().count("build_native.py") == times
    assert ended.stderr == "braid: compiling the hot paths (once; some seconds)\n"


def test_without_a_compiler_nothing_is_compiled_nor_said(checkout: Path, programs: Path) -> None:
    calls = calls_of_an_interpreter(checkout)
    ended = braid(checkout, "bench", path=programs)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert calls.read_text() == "-m braidmq bench\n"


def test_what_cannot_be_compiled_is_said_and_the_command_runs(checkout: Path, programs: Path) -> None:
    calls = calls_of_an_interpreter(checkout, failing="build_native")
    (programs / "cc").symlink_to("/bin/true")
    ended = braid(checkout, "bench", path=programs)
    assert ended.returncode == 0
    assert "nothing was compiled: the message above says why. Everything works, some of it more slowly" in ended.stderr
    assert calls.read_text().endswith("-m braidmq bench\n")


def test_what_cannot_be_compiled_in_ci_ends_it(checkout: Path, programs: Path) -> None:
    calls_of_an_interpreter(checkout, failing="build_native")
    (programs / "cc").symlink_to("/bin/true")
    ended = braid(checkout, "bench", path=programs, in_ci=True)
    assert ended.returncode == 1
    assert ended.stderr.endswith("braid: compiling failed; the message above says why\n")


def test_an_unknown_python_is_named_with_the_fix(checkout: Path) -> None:
    ended = braid(checkout, "version", python="/no/such/python")
    assert ended.returncode == 1
    assert "PYTHON=/no/such/python is not Python 3.11 or newer; correct it, or unset it" in ended.stderr
    assert not (checkout / ".venv").exists()


def test_without_any_python_the_message_says_what_is_needed(checkout: Path, programs: Path) -> None:
    (programs / "python3").unlink()
    ended = braid(checkout, "version", path=programs)
    assert ended.returncode == 1
    assert ended.stderr.endswith(
        "needs Python 3.11 or newer; install it, or name it: PYTHON=/path/to/python3 ./braid\n"
    )


def test_when_pip_fails_its_message_is_shown_and_the_next_call_tries_again(checkout: Path, programs: Path) -> None:
    (checkout / "requirements.lock").write_text("/no/such/package.whl --hash=sha256:" + "0" * 64 + "\n")
    for _ in range(2):
        ended = braid(checkout, "version", path=programs)
        assert ended.returncode == 1
        assert "package.whl" in ended.stderr
        assert "installing from requirements.lock failed; the message above says why" in ended.stderr
        assert "\033" not in ended.stderr, "no control characters where there is no terminal"
        assert not list((checkout / ".venv").glob(".stamp-*"))


def test_an_interrupted_set_up_is_repaired_by_the_next_call(checkout: Path, programs: Path) -> None:
    (checkout / "requirements.lock").write_text("")
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    braid(checkout, "version", path=programs)
    pip = subprocess.run([checkout / ".venv/bin/python", "-m", "pip", "--version"], capture_output=True, check=False)
    assert pip.returncode == 0
    assert (checkout / ".venv" / ".stamp-requirements.lock").exists()


def test_a_checkout_that_was_moved_gets_a_new_environment(checkout: Path, programs: Path) -> None:
    (checkout / "requirements.lock").write_text("")
    braid(checkout, "version", path=programs)
    moved = checkout.with_name("moved")
    checkout.rename(moved)
    braid(moved, "version", path=programs)
    assert (moved / ".venv" / ".made-for").read_text() == f"{moved}\n"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_from_nothing_the_environment_is_made_with_pip(checkout: Path, programs: Path) -> None:
    ended = braid(checkout, "version", path=programs)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == "braid: preparing .venv from requirements.lock (once; a minute or so)\n"
    again = braid(checkout, "version", path=programs)
    assert (again.stdout, again.stderr) == (ended.stdout, "")


def uv_by_pip(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", UV]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    except subprocess.SubprocessError as error:
        missing(f"uv is not installed and cannot be fetched: {error}")
    return folder / "bin" / "uv"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_from_nothing_the_environment_is_made_with_uv(checkout: Path, programs: Path, tmp_path: Path) -> None:
    uv = shutil.which("uv") or uv_by_pip(tmp_path / "uv")
    (programs / "uv").symlink_to(uv)
    ended = braid(checkout, "version", path=programs)
    assert ended.returncode == 0, ended.stderr
    assert not (checkout / ".venv" / "bin" / "pip").exists()
