"""What the guides show works as it stands: every block of `sh` and `python` of a page, in turn, on a new node.

A block of `text` right behind one is what it prints: these lines in this order, `…` for anything, blanks as they come.
"""

import os
import re
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import braidmq
from running_node import RunningNode

DOCS = Path(__file__).parents[3] / "docs"
PAGES = (
    "index.md",
    "tutorial.md",
    "console.md",
    "api.md",
    "delay.md",
    "transactions.md",
    "dead-letters.md",
    "rocketmq-grpc.md",
    "operations.md",
)
NOT_RUN = {
    "starts a node": "the test has started one",
    "goes on": "it would only end with Ctrl-C",
    "needs Spark": "tests of the pipeline run these commands with Spark",
}
"""A block below `<!-- not run: WHY -->` is excused, for one of these reasons."""
_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<excuse>[^>]*) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    """A piece of a page that a reader would type."""

    language: str
    text: str
    excuse: str | None
    printed: str = ""


def blocks(page: str) -> list[Block]:
    found: list[Block] = []
    for each in _BLOCK.finditer((DOCS / page).read_text()):
        if each["language"] == "text" and found:
            found[-1] = found[-1]._replace(printed=each["text"])
        found.append(Block(each["language"], each["text"], each["excuse"]))
    return found


LOOKS = re.compile(r"(braid (trace|message find) .*\n?)+")
"""Commands that only look, at what is written down a moment after it happened."""
LOOK_LIMIT_S = 10.0


def is_printed(expected: str, output: str) -> bool:
    left = iter([" ".join(line.split()) for line in output.splitlines()])
    return all(any(_agrees(line, printed) for printed in left) for line in expected.splitlines())


def _agrees(line: str, printed: str) -> bool:
    parts = [re.escape(" ".join(part.split())) for part in line.split("…")]
    return re.fullmatch(".*".join(parts), printed) is not None


def test_what_is_printed_is_compared_line_by_line() -> None:
    assert is_printed("a  b\nc … d", "x\na b\ny\nc 1 d\n")
    assert not is_printed("a\nb", "b\na")
    assert not is_printed("a b", "xa b")


@pytest.fixture
def node(tmp_path: Path, wait_for: Any) -> Iterator[RunningNode]:
    listen = [f"--{name}=127.0.0.1:0" for name in ("http", "kafka", "rocketmq", "grpc")]
    arguments = ["--data", str(tmp_path / "data"), *listen, "--set", "log.flush=interval"]
    running = RunningNode(tmp_path, arguments, {}, wait_for)
    try:
        yield running.wait_ready()
    finally:
        running.clean_up()


class Reader:
    """Somebody who types a page's blocks, one after the other, in a folder of their own."""

    def __init__(self, node: RunningNode, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._addresses = {"127.0.0.1:9092": node.bootstrap, "127.0.0.1:9876": node.name_server}
        self._addresses |= {"127.0.0.1:8081": node.grpc_address, "http://127.0.0.1:8400": node.url}
        self._environment = _environment(node, folder)
        for name, target in {"braid": f"{shlex.quote(sys.executable)} -m braidmq", "python": sys.executable}.items():
            program = folder / name
            program.write_text(f'#!/bin/sh\nexec {target} "$@"\n')
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def type(self, block: Block) -> None:
        text = block.text
        for shown, real in self._addresses.items():
            text = text.replace(shown, real)
        shell = ["bash", "-eo", "pipefail", "-c"] if block.language == "sh" else [sys.executable, "-c"]
        until = time.monotonic() + (LOOK_LIMIT_S if LOOKS.fullmatch(block.text) else 0)
        while True:
            run = subprocess.run(
                [*shell, text], env=self._environment, cwd=self._folder, capture_output=True, text=True, timeout=120
            )
            assert run.returncode == 0, f"{block.text}\nended with {run.returncode}:\n{run.stdout}\n{run.stderr}"
            if is_printed(block.printed, run.stdout):
                return
            assert time.monotonic() < until, f"{block.text}\nprinted:\n{run.stdout}\n{run.stderr}"


def _environment(node: RunningNode, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    return kept | {
        "BRAID_URL": node.url,
        "XDG_CONFIG_HOME": str(folder / "config"),
        "PYTHONPATH": str(Path(braidmq.__file__).parents[1]),
        "PATH": f"{folder}{os.pathsep}{kept['PATH']}",
    }


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES)
def test_every_snippet_of_a_page_works(page: str, node: RunningNode, tmp_path: Path) -> None:
    reader = Reader(node, tmp_path / "reader")
    typed = [block for block in blocks(page) if block.language in ("sh", "python") and block.excuse is None]
    assert typed, f"{page} has nothing to type"
    for block in typed:
        reader.type(block)


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_run_says_why_and_every_block_says_what_it_is(page: str) -> None:
    for block in blocks(page):
        assert block.language in ("sh", "python", "text", "json"), f"{page}: a block of {block.language}"
        assert block.excuse is None or block.excuse in NOT_RUN, f"{page}: {block.excuse}"
    assert (DOCS / page).read_text().count("```") == 2 * len(blocks(page)), f"{page}: a block without a language"


def test_every_excuse_is_used() -> None:
    assert {block.excuse for page in PAGES for block in blocks(page)} - {None} == set(NOT_RUN)
