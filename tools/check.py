"""`./braid test [quick|--all] [-- PYTEST ARGUMENTS]`: everything that CI runs.

The gates (style, types, layers, dependencies) are independent and run side by side; then pytest runs on all cores.
Each part gets one line when it is done; what a failing part said is shown whole, at the end, where it is found.

Tests that drive other programs (people's clients and tools, Spark, browsers, nodes as processes) have a second try,
alone, when nothing else has failed: those have deadlines of their own, which a busy machine makes them miss. What
passed only then is named at the end. Tests of the house alone, and all that look for lost messages (tests/faults),
pass at once or fail.

    quick       gates, unit tests (properties with fewer examples), and the few others marked quick: under two minutes
    (nothing)   everything that is not marked slow
    --all       everything
"""

import argparse
import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
INTERRUPTED = 130
TESTS_FAILED = 1
"""pytest's own status for it."""
GATES_AT_ONCE = 2
PERCENT = re.compile(rb"\[ *(\d+%)\]")
CLOSING = re.compile(r"^=+ (?:FAILURES|ERRORS|short test summary info) =+$", re.MULTILINE)

FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) ([^ ]+?::.+?)(?: - |$)", re.MULTILINE)
OTHERS_PROGRAMS = ("tests/browser/", "tests/compat/", "tests/integration/")
SECOND_TRIES_MAX = 20
SHORT_LIVED_JAVA = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Tests start some two hundred Java machines that live for seconds: what these compile to run faster later is a quarter
of what they cost. Who has set these options keeps them."""

MARKERS = {"quick": "(unit or quick) and not (slow or thorough)", "default": "not slow", "all": ""}


class Part(NamedTuple):
    """One thing to run. `shows_end` prints the summary of a part that passed, too."""

    name: str
    command: list[str]
    shows_end: bool = False


class Outcome(NamedTuple):
    """What became of a part."""

    part: Part
    status: int
    output: str
    duration_s: float


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; 0 when all of it passed."""
    options = parse(arguments)
    try:
        return asyncio.run(check(gates(), tests(options.selection, options.pytest)))
    except KeyboardInterrupt:
        print("\ninterrupted", flush=True)
        return INTERRUPTED


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The selection (quick, default or all) and the arguments for pytest."""
    own, extra = _split(list(arguments))
    parser = argparse.ArgumentParser(prog="./braid test", usage="./braid test [quick | --all] [-- PYTEST ARGUMENTS]")
    parser.add_argument("selection", nargs="?", choices=["quick"], help="gates and fast tests: under two minutes")
    parser.add_argument("--all", action="store_true", help="also what is marked slow")
    options = parser.parse_args(own)
    if options.all and options.selection:
        parser.error("quick and --all exclude each other")
    options.selection = "all" if options.all else options.selection or "default"
    options.pytest = extra
    return options


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    place = arguments.index("--")
    return arguments[:place], arguments[place + 1 :]


def gates() -> list[Part]:
    """The longest first, so that the others run beside it."""
    tools = Path(sys.executable).parent
    return [
        Part("mypy", [sys.executable, "-m", "mypy"]),
        Part("ruff check", [sys.executable, "-m", "ruff", "check"]),
        Part("ruff format", [sys.executable, "-m", "ruff", "format", "--check"]),
        Part("lint-imports", [sys.executable, str(tools / "lint-imports"), "--no-cache", "--no-logo"]),
        Part("deptry", [sys.executable, "-m", "deptry", "--no-ansi", "."]),
    ]


def tests(selection: str, extra: Sequence[str]) -> Part:
    """pytest over what was selected; arguments of the caller come last and win. A third process works while the others
    wait for what they have started."""
    command = [sys.executable, "-m", "pytest", "--numprocesses=3", "--color=no"]
    command += ["--dist=loadfile", "--no-loadscope-reorder"]  # a file shares what is dear to start, in its own order
    if MARKERS[selection]:
        command += ["-m", MARKERS[selection]]
    if selection == "quick":
        command += ["--hypothesis-profile=quick"]  # fewer examples of each property
    return Part("pytest", [*command, *extra], shows_end=True)


async def check(side_by_side: Sequence[Part], alone: Part) -> int:
    """Run the parts, tell how it went; 0 when all passed."""
    progress = Progress(total=len(side_by_side) + 1)
    room = asyncio.Semaphore(GATES_AT_ONCE)

    async def run_in_turn(part: Part) -> Outcome:
        async with room:
            return await run(part, progress)

    began = time.monotonic()
    showing = asyncio.create_task(progress.keep_showing())
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run_in_turn(part)) for part in side_by_side]
        outcomes = [*(task.result() for task in tasks), *await run_tests(alone, progress)]
    finally:
        showing.cancel()
        progress.clear()
    return report(outcomes, time.monotonic() - began)


async def run_tests(part: Part, progress: "Progress") -> list[Outcome]:
    """Run pytest, and once more what may have a second try."""
    first = await run(part, progress)
    again = second_try(first)
    if again is None:
        return [first]
    second = await run(again, progress)
    if second.status != 0:
        return [first, second]
    named = "\n".join(f"passed at the second try: {name}" for name in failed_tests(first.output))
    return [first._replace(status=0, output=f"{first.output.rstrip()}\n{named}"), second]


def second_try(first: Outcome) -> Part | None:
    """The tests that failed, alone; None where one of them must not fail at all, or where they are many."""
    failed = failed_tests(first.output)
    may_try = failed and len(failed) <= SECOND_TRIES_MAX and all(name.startswith(OTHERS_PROGRAMS) for name in failed)
    if first.status != TESTS_FAILED or not may_try:
        return None
    return Part(
        "second try", [sys.executable, "-m", "pytest", "--numprocesses=0", "--color=no", *failed], shows_end=True
    )


def failed_tests(output: str) -> list[str]:
    """As pytest's summary names them."""
    return list(dict.fromkeys(FAILED_TEST.findall(output)))


async def run(part: Part, progress: "Progress") -> Outcome:
    """Run one part to its end, or kill it and all that it started when we are interrupted."""
    started = time.monotonic()
    progress.begin(part)
    process = await asyncio.create_subprocess_exec(
        *part.command,
        cwd=ROOT,
        env=SHORT_LIVED_JAVA | os.environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output = await read_all(process, lambda percent: progress.note(part, percent))
        status = await process.wait()
    except asyncio.CancelledError:
        await stop(process)
        raise
    outcome = Outcome(part, status, output, time.monotonic() - started)
    progress.end(outcome)
    return outcome


async def read_all(process: asyncio.subprocess.Process, note: Callable[[str], None]) -> str:
    """Everything the process prints; what pytest says of how far it is goes to `note` at once."""
    stream = process.stdout
    if stream is None:
        return ""
    chunks: list[bytes] = []
    while chunk := await stream.read(1 << 16):
        chunks.append(chunk)
        for percent in PERCENT.findall(chunk)[-1:]:
            note(percent.decode())
    return b"".join(chunks).decode(errors="replace")


async def stop(process: asyncio.subprocess.Process) -> None:
    """The part is its own process group, so that its children go with it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), timeout=5)
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


class Progress:
    """One line for each part that is done, and on a terminal one that changes, for those under way."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._began_s: dict[str, float] = {}
        self._how_far: dict[str, str] = {}
        self._live = sys.stdout.isatty()

    def begin(self, part: Part) -> None:
        self._began_s[part.name] = time.monotonic()

    def note(self, part: Part, how_far: str) -> None:
        self._how_far[part.name] = how_far

    def end(self, outcome: Outcome) -> None:
        self._done += 1
        del self._began_s[outcome.part.name]
        self.clear()
        word = "ok    " if outcome.status == 0 else "FAILED"
        print(f"{word}  {outcome.part.name:<14} {outcome.duration_s:6.1f} s", flush=True)

    def clear(self) -> None:
        if self._live:
            print("\r\033[K", end="", flush=True)

    async def keep_showing(self) -> None:
        while self._live:
            now = time.monotonic()
            running = ", ".join(
                f"{name} {now - began:.0f} s {self._how_far.get(name, '')}".rstrip()
                for name, began in self._began_s.items()
            )
            print(f"\r\033[K{self._done} of {self._total} done; running: {running}", end="", flush=True)
            await asyncio.sleep(0.5)


def report(outcomes: Sequence[Outcome], took_s: float) -> int:
    """What failed in full, what pytest said at its end, and the verdict with the time that all of it took."""
    failed = [outcome for outcome in outcomes if outcome.status != 0]
    for outcome in outcomes:
        if outcome.part.shows_end and outcome.status == 0:
            print(f"\n{closing(outcome.output)}")
    for outcome in failed:
        print(f"\n===== {outcome.part.name} failed with status {outcome.status} =====\n{outcome.output.rstrip()}")
    names = ", ".join(outcome.part.name for outcome in failed)
    print(f"\n{'FAILED: ' + names if failed else 'all passed'}\nin all {took_s:.0f} s", flush=True)
    return 1 if failed else 0


def closing(output: str) -> str:
    """The end of what pytest printed: how tests failed that passed at the second try, why others were skipped, and its
    last line."""
    text = output.rstrip()
    heading = CLOSING.search(text)
    return text[heading.start() :] if heading else text.rpartition("\n")[2]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
