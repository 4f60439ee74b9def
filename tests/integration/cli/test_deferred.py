"""Dead letters, delayed and transactional messages, and traces, by the command."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from cli_support import Braid
from running_node import RunningNode


@pytest.fixture
def buried(done: Braid, node: RunningNode, request: pytest.FixtureRequest) -> str:
    """A group with three dead letters; their topic is called like it."""
    name = f"dead-{abs(hash(request.node.name)) % 10**8}"
    done("topic", "create", name, "-p", "1")
    done("group", "create", name)
    done("offset", "reset", name, "--to", "earliest", "--topic", name, "--yes")
    done("produce", name, "-n", "3", "-b", "bad-{{count}}", "--keys", "{{count}}")
    with httpx.Client(base_url=f"{node.url}/api/v1/groups/{name}", timeout=20) as client:
        received = client.post("/receive", json={"topic": name, "count_max": 3, "wait_s": 5}).json()["messages"]
        assert len(received) == 3
        for message in received:
            assert client.post("/bury", json={"receipt": message["receipt"]}).status_code == 204
    return name


def test_dead_letters_are_listed_with_cause_and_age_and_replayed_one_by_one(done: Braid, buried: str) -> None:
    found = done("dlq", "list", "--group", buried, "-o", "json").json
    assert [each["message"]["body"] for each in found] == ["bad-1", "bad-2", "bad-3"]
    assert all(each["cause"] and each["age_ms"] >= 0 for each in found)
    shown = done("dlq", "show", "--group", buried, "0:1", "-o", "json").json
    assert (shown["message"]["body"], shown["attempts"]) == ("bad-2", found[1]["attempts"])
    assert {"group": buried, "letters": 3} in done("dlq", "groups", "-o", "json").json
    assert sum(each["letters"] for each in done("dlq", "ages", "--group", buried, "-o", "json").json) == 3
    would = done("dlq", "replay", "--group", buried, "--dry-run", "-o", "json").json
    assert [each["offset"] for each in would] == [None, None, None]
    place = f"{found[1]['place']['partition']}:{found[1]['place']['offset']}"
    (replayed,) = done("dlq", "replay", "--group", buried, "--place", place, "--yes", "-o", "json").json
    assert replayed["error"] is None
    assert done("consume", buried, "--group", buried, "-e").out == "bad-2\n"


def test_dead_letters_are_exported_and_forgotten(done: Braid, buried: str, tmp_path: Path) -> None:
    file = tmp_path / "dead.ndjson"
    done("dlq", "export", "--group", buried, "--file", str(file))
    assert len(file.read_text().splitlines()) == 3
    assert len(done("dlq", "export", "--group", buried, "--format", "csv").out.splitlines()) == 4
    assert done("dlq", "delete", "--group", buried, "--dry-run", "-o", "json").json["deleted"] == 3
    assert len(done("dlq", "list", "--group", buried, "-o", "json").json) == 3
    done("dlq", "delete", "--group", buried, "--yes")
    assert done("dlq", "list", "--group", buried, "-o", "json").json == []


def test_a_delayed_message_is_listed_and_cancelled(done: Braid, braid: Braid) -> None:
    done("topic", "create", "later", "-p", "1")
    handle = done("message", "send", "later", "x", "--delay", "1h", "-o", "json").json["timer"]
    assert [each["handle"] for each in done("timer", "list", "--topic", "later", "-o", "json").json] == [handle]
    assert done("timer", "show", handle, "-o", "json").json["message"]["body"] == "x"
    done("timer", "cancel", handle, "--dry-run")
    assert len(done("timer", "list", "--topic", "later", "-o", "json").json) == 1
    done("timer", "cancel", handle, "--yes")
    assert done("timer", "list", "--topic", "later", "-o", "json").json == []
    assert braid("timer", "release", handle, "--to", "later").status == 4
    assert braid("message", "send", "later", "x", "--at", "2020-01-01").status == 2


def test_transactional_messages_are_decided(done: Braid, braid: Braid) -> None:
    done("topic", "create", "halves", "-p", "1")
    send = ("message", "send", "halves", "--transaction", "deciders", "-o", "json")
    first, second = (done(*send, body).json["half"] for body in ("yes", "no"))
    listed = done("tx", "list", "--group", "deciders", "--state", "prepared", "-o", "json").json
    assert {each["handle"] for each in listed} == {first, second}
    assert done("tx", "show", first, "-o", "json").json["message"]["body"] == "yes"
    done("tx", "commit", first, "--dry-run")
    assert done("tx", "show", first, "-o", "json").json["state"] == "prepared"
    assert done("tx", "commit", first, "--yes", "-o", "json").json["committed"] is True
    done("tx", "rollback", second, "--yes")
    assert done("consume", "halves", "--from", "earliest", "-e").out == "yes\n"
    assert braid("tx", "discard", "f" * 32, "--yes").status in (4, 5)


def test_messages_are_found_shown_sent_again_and_traced(done: Braid, braid: Braid, wait_for: Any) -> None:
    done("topic", "create", "sought", "-p", "1")
    sent = done("message", "send", "sought", "body", "--keys", "seek-me", "--tag", "t", "-o", "json").json
    wait_for(lambda: braid("message", "find", "--id", sent["id"]).status == 0)
    wait_for(lambda: braid("message", "find", "--key", "seek-me").status == 0)
    ended = done("message", "find", "--topic", "sought", "--from", "1h")
    assert "body" in ended.out
    assert "looked through" in ended.err
    assert done("message", "show", "sought", "0", "0", "-o", "json").json["tag"] == "t"
    assert done("message", "resend", "sought", "0", "0", "-o", "json").json["offset"] == 1
    assert braid("message", "find", "--key", "nobody-has-this").status == 1
    (life,) = done("trace", sent["id"], "--topic", "sought", "-o", "json").json
    assert "stored" in {step["kind"] for step in life["steps"]}
    assert "stored" in done("trace", "--topic", "sought", "--key", "seek-me").out
    assert braid("trace").status == 2
