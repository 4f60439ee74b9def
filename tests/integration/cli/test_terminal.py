"""The command in a process of its own: at a terminal, in a pipe, and asked by a shell."""

import json
import os
import pty
import select
import subprocess
import time
from pathlib import Path

import pytest

from cli_support import Braid, Started


class Terminal:
    """What a person sits at: everything that the command prints, and a way to type."""

    def __init__(self, started: Started, *arguments: str, stdout: int | None = None) -> None:
        self._ours, theirs = pty.openpty()
        out = theirs if stdout is None else stdout
        self.process = started(*arguments, stdin=theirs, stdout=out, stderr=theirs)
        os.close(theirs)
        self.seen = ""

    def until(self, text: str = "", limit_s: float = 30.0) -> str:
        """All that was seen, once the text is there, or without one at the end."""
        deadline = time.monotonic() + limit_s
        while not text or text not in self.seen:
            ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"only this was seen: {self.seen!r}"
            try:
                got = os.read(self._ours, 65_536)
            except OSError:  # how Linux tells that nobody is at the other end
                break
            if not got:
                break
            self.seen += got.decode(errors="replace")
        return self.seen

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        self.until()
        os.close(self._ours)
        return int(self.process.wait(20))


def test_a_person_is_asked_before_something_is_destroyed_and_sees_what(done: Braid, started: Started) -> None:
    done("topic", "create", "asked", "-p", "1")
    done("produce", "asked", "-b", "x", "-n", "7")
    terminal = Terminal(started, "topic", "delete", "asked")
    seen = terminal.until("[y/N]")
    assert "messages" in seen
    assert "7" in seen
    terminal.type("n\n")
    assert terminal.end() == 1
    assert done("topic", "show", "asked", "-o", "json").json["messages"] == 7
    terminal = Terminal(started, "topic", "delete", "asked")
    terminal.until("[y/N]")
    terminal.type("y\n")
    assert terminal.end() == 0
    assert done("topic", "list", "--search", "asked", "-o", "json").json == []


def test_what_is_shown_before_a_question_is_not_in_the_output(done: Braid, started: Started) -> None:
    done("topic", "create", "piped-away")
    terminal = Terminal(started, "topic", "delete", "piped-away", "-o", "json", stdout=subprocess.PIPE)
    assert "partitions" in terminal.until("[y/N]")
    terminal.type("y\n")
    assert json.loads(terminal.process.stdout.read())["dry_run"] is False
    assert terminal.end() == 0


def test_with_yes_nobody_is_asked(done: Braid, started: Started) -> None:
    done("topic", "create", "unasked")
    terminal = Terminal(started, "topic", "delete", "unasked", "--yes")
    assert terminal.end() == 0
    assert "[y/N]" not in terminal.seen


def test_no_message_can_speak_to_a_terminal(done: Braid, started: Started) -> None:
    done("topic", "create", "hostile", "-p", "1")
    done("produce", "hostile", "--raw", "-b", "\x1b]0;owned\x07\x1b[31mred")
    for arguments in (
        ("consume", "hostile", "--from", "earliest", "-e"),
        ("message", "find", "--topic", "hostile"),
        ("message", "show", "hostile", "0", "0"),
    ):
        terminal = Terminal(started, *arguments)
        assert terminal.end() == 0
        assert "\x1b]0" not in terminal.seen
        assert "\x1b[31m" not in terminal.seen
        assert "owned" in terminal.seen


def test_colours_are_for_terminals_and_not_where_somebody_does_not_want_them(
    done: Braid, started: Started, environment: dict[str, str]
) -> None:
    done("topic", "list")
    terminal = Terminal(started, "topic", "list")
    assert terminal.end() == 0
    assert "\x1b[1m" in terminal.seen
    environment["NO_COLOR"] = "1"
    terminal = Terminal(started, "topic", "list")
    assert terminal.end() == 0
    assert "\x1b" not in terminal.seen
    assert "\x1b" not in done("topic", "list").out


def test_progress_is_shown_at_a_terminal_only(done: Braid, started: Started) -> None:
    done("topic", "create", "watched")
    terminal = Terminal(started, "produce", "watched", "-b", "x", "-n", "3000")
    assert terminal.end() == 0
    assert "to watched" in terminal.seen
    assert done("produce", "watched", "-b", "x", "-n", "10")[1:] == ("", "")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("braid topic show completed-", ["completed-one", "completed-two"]),
        ("braid consume completed-t", ["completed-two"]),
        ("braid group show completed-g", ["completed-group"]),
        ("braid offset reset completed-g", ["completed-group"]),
        ("braid tim", ["timer"]),
        ("braid topic sh", ["show"]),
    ],
)
def test_a_shell_is_offered_words_and_names(
    done: Braid, started: Started, environment: dict[str, str], line: str, offered: list[str]
) -> None:
    for noun, name in (("topic", "completed-one"), ("topic", "completed-two"), ("group", "completed-group")):
        if not done(noun, "list", "--search", name, "-o", "json").json:
            done(noun, "create", name)
    assert _offered(started, environment, line) == offered


def test_a_shell_is_told_nothing_by_a_node_that_is_not_there(started: Started, environment: dict[str, str]) -> None:
    environment["BRAID_URL"] = "http://127.0.0.1:1"
    assert _offered(started, environment, "braid topic show x") == []


def _offered(started: Started, environment: dict[str, str], line: str) -> list[str]:
    count = len(line.split()) - 1
    environment.update({"_BRAID_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(count)})
    out, err = started().communicate(timeout=30)
    assert err == b""
    return sorted(out.decode().split())


def test_bash_understands_the_script_for_it(done: Braid, tmp_path: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_BRAID_COMPLETE" in done("completion", shell).out
    file = tmp_path / "braid.bash"
    file.write_text(done("completion", "bash").out)
    subprocess.run(["bash", "-n", str(file)], check=True)


def test_contexts_choose_the_node(
    done: Braid, braid: Braid, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = environment["BRAID_URL"]
    monkeypatch.delenv("BRAID_URL")
    done("context", "add", "nowhere", "http://127.0.0.1:1")
    done("context", "add", "here", url)
    assert braid("topic", "list").status == 6, "the first context is selected"
    done("topic", "list", "--context", "here")
    monkeypatch.setenv("BRAID_CONTEXT", "here")
    done("topic", "list")
    assert braid("topic", "list", "--context", "nowhere").status == 6, "a flag beats the environment"
    monkeypatch.delenv("BRAID_CONTEXT")
    done("context", "select", "here")
    done("topic", "list")
    monkeypatch.setenv("BRAID_URL", "http://127.0.0.1:1")
    assert braid("topic", "list").status == 6, "the environment beats the file"
    done("topic", "list", "--url", url)
    done("context", "remove", "here", "--yes")
    assert [each["name"] for each in done("context", "list", "-o", "json").json] == ["nowhere"]


def test_top_is_a_live_view_at_a_terminal(done: Braid, started: Started) -> None:
    done("produce", "watched-live", "-b", "x")
    # A topic in which nothing happens any more is soon below those that are shown.
    started("produce", "watched-live", "-b", "x", "-n", "1000", "--every", "50ms")
    terminal = Terminal(started, "top", "--count", "12")  # figures may be ten seconds old
    assert terminal.end() == 0
    for text in ("BraidMQ", "protocol", "topics", "watched-live"):
        assert text in terminal.seen
