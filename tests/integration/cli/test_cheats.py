"""The examples of `braid cheat` work as they stand."""

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from braidmq.cli._cheats import CHEATS
from braidmq.cli.nouns import WORDS
from cli_support import Braid
from running_node import RunningNode

NOT_ON_A_NODE = {"up", "doctor", "config", "archive", "pipeline", "report", "cheat", "version"}
"""Of these, the pages of the pipeline and of settings have examples; they need more than a node."""


def test_every_noun_of_a_running_node_has_examples() -> None:
    assert set(CHEATS) == {word.word for word in WORDS} - NOT_ON_A_NODE


@pytest.fixture
def scene(done: Braid, braid: Braid, node: RunningNode, wait_for: Any) -> dict[str, str]:
    """What examples take for granted, and what stands for their words in capitals."""
    if braid("topic", "show", "orders").status:
        done("topic", "create", "orders", "-p", "2")
    for group in ("billing", "shipping"):
        if braid("group", "show", group).status:
            done("group", "create", group)
        done("offset", "reset", group, "--to", "earliest", "--topic", "orders", "--yes")
    done("message", "send", "orders", "x", "-p", "1")  # some examples wait for two
    sent = done("message", "send", "orders", "x", "--keys", "cheat-key", "-p", "0", "-o", "json").json
    wait_for(lambda: braid("message", "find", "--key", "cheat-key").status == 0)
    with httpx.Client(base_url=f"{node.url}/api/v1/groups/shipping", timeout=20) as client:
        for message in client.post("/receive", json={"topic": "orders", "count_max": 2}).json()["messages"]:
            client.post("/bury", json={"receipt": message["receipt"]})
    timer = done("message", "send", "orders", "x", "--delay", "1h", "-o", "json").json["timer"]
    half = done("message", "send", "orders", "x", "--transaction", "payers", "-o", "json").json["half"]
    return {"KEY": "cheat-key", "ID": sent["id"], "TIMER": timer, "HALF": half}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("noun", list(CHEATS))
def test_examples_work(
    noun: str,
    done: Braid,
    scene: dict[str, str],
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for _, example in CHEATS[noun]:
        words = [scene.get(word, word) for word in shlex.split(example)]
        if "|" in words:
            _run_in_a_shell(example, environment, tmp_path)
        else:
            assert words[0] == "braid"
            done(*words[1:])


def _run_in_a_shell(example: str, environment: dict[str, str], folder: Path) -> None:
    program = folder / "braid"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m braidmq "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    changed = environment | {"PATH": f"{folder}{os.pathsep}{environment['PATH']}"}
    subprocess.run(["bash", "-o", "pipefail", "-c", example], env=changed, check=True, timeout=60, cwd=folder)


def test_cheat_prints_them(done: Braid, braid: Braid) -> None:
    assert "braid topic create" in done("cheat", "topic").out
    assert "braid tx commit" in done("cheat").out
    assert braid("cheat", "nothing").status == 2
