"""Messages through pipes: in by lines and templates, out by formats."""

import json
import select
import signal
import subprocess
from typing import Any

import pytest

from cli_support import Braid, Started


@pytest.fixture
def topic(done: Braid, request: pytest.FixtureRequest) -> str:
    name = f"pipes-{abs(hash(request.node.name)) % 10**8}"
    done("topic", "create", name, "-p", "2")
    return name


def lines_of(done: Braid, topic: str, *arguments: str) -> list[str]:
    return sorted(done("consume", topic, "--from", "earliest", "-e", *arguments).out.splitlines())


def test_each_line_is_a_message_and_comes_out_as_one(done: Braid, topic: str) -> None:
    done("produce", topic, stdin="eins\nzwei\n三\n".encode())
    assert lines_of(done, topic) == ["eins", "zwei", "三"]


def test_keys_stand_before_a_separator_and_are_not_in_the_body(done: Braid, topic: str) -> None:
    done("produce", topic, "-K", ":", "-H", "region=north", "--tag", "paid", stdin=b"a:1:2\nb:\nplain\n")
    found = lines_of(done, topic, "-f", r"%k=%v %g\n")
    assert found == ["=plain paid", "a=1:2 paid", "b= paid"]
    assert "region=north" in done("consume", topic, "--from", "earliest", "-e", "-n", "1", "-f", "%h").out


def test_templates_count_and_make_up_and_evaluate_nothing(done: Braid, braid: Braid, topic: str) -> None:
    done("produce", topic, "-n", "3", "-b", '{"n": {{count}}, "r": {{random 5 5}}}', "-k", "k{{count}}")
    assert lines_of(done, topic, "-f", r"%k %v\n") == [f'k{n} {{"n": {n}, "r": 5}}' for n in (1, 2, 3)]
    ended = braid("produce", topic, "-b", "{{__import__('os')}}")
    assert (ended.status, "is no word of a template" in ended.err) == (2, True)
    done("produce", topic, "--raw", "-b", "{{x}}")
    assert "{{x}}" in lines_of(done, topic)


def test_bytes_that_are_no_text_go_through_as_they_are(done: Braid, topic: str) -> None:
    sent = bytes(range(256)).replace(b"\n", b"")
    done("produce", topic, "--whole", stdin=sent)
    got = done("consume", topic, "--from", "earliest", "-e", "-f", "%v").out
    assert got.encode(errors="surrogateescape") == sent


def test_reading_begins_where_it_is_told(done: Braid, braid: Braid, topic: str) -> None:
    done("produce", topic, "-n", "6", "-b", "{{count}}", "-p", "1")
    read = ("consume", topic, "-e", "-p", "1", "-f", "%v ")
    assert done(*read, "--from", "-2").out == "5 6 "
    assert done(*read, "--from", "4").out == "5 6 "
    assert done(*read, "--from", "1h", "-n", "2").out == "1 2 "
    assert done(*read, "--from", "2099-01-01").out == ""
    assert done(*read, "--from", "latest").out == ""
    assert braid(*read[:2], "-e", "-p", "7").status == 2


def test_json_lines_hold_whole_messages(done: Braid, topic: str) -> None:
    done("produce", topic, "-b", "x", "-k", "key")
    (message,) = [json.loads(line) for line in lines_of(done, topic, "-J")]
    assert (message["topic"], message["key"], message["body"]) == (topic, "key", "x")


def test_a_group_gets_each_message_once(done: Braid, topic: str) -> None:
    done("produce", topic, "-n", "5", "-b", "{{count}}")
    group = f"{topic}-readers"
    done("group", "create", group)
    done("offset", "reset", group, "--to", "earliest", "--topic", topic, "--yes")
    first = done("consume", topic, "--group", group, "-e", "-n", "3").out.splitlines()
    rest = done("consume", topic, "--group", group, "-e").out.splitlines()
    assert (len(first), len(rest)) == (3, 2)
    assert sorted(first + rest) == ["1", "2", "3", "4", "5"]


def test_following_waits_for_what_comes_and_ends_with_ctrl_c(done: Braid, started: Started, topic: str) -> None:
    done("produce", topic, "-b", "before")
    process = started("consume", topic, "--from", "earliest")
    assert read_line(process) == b"before\n"
    done("produce", topic, "-b", "after")
    assert read_line(process) == b"after\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


def test_tail_shows_what_comes_from_now_on(done: Braid, started: Started, topic: str, wait_for: Any) -> None:
    done("produce", topic, "-b", "before")
    process = started("message", "tail", topic, "-n", "1", "-f", r"%v\n")

    def is_heard() -> bool:
        done("produce", topic, "-b", "now")
        return bool(select.select([process.stdout], [], [], 0.2)[0])

    wait_for(is_heard)
    assert read_line(process) == b"now\n"
    assert process.wait(20) == 0


def test_a_slow_pipe_is_sent_line_by_line(done: Braid, started: Started, topic: str) -> None:
    process = started("produce", topic, "--show", stdin=subprocess.PIPE)
    for number in range(2):
        process.stdin.write(b"line\n")
        process.stdin.flush()
        assert read_line(process).split()[1].isdigit(), number
    process.stdin.close()
    assert process.wait(20) == 0


def test_a_reader_that_has_had_enough_is_no_error(done: Braid, started: Started, topic: str) -> None:
    done("produce", topic, "-n", "5000", "-b", "x" * 100)
    process = started("consume", topic, "--from", "earliest", "-e")
    read_line(process)
    process.stdout.close()
    assert process.wait(30) == 0
    assert process.stderr.read() == b""


def test_a_refused_message_ends_with_status_1(braid: Braid, topic: str) -> None:
    ended = braid("produce", topic, "-b", "x", "--keys", " ")
    assert (ended.status, "refused" in ended.err) == (1, True)


def read_line(process: "subprocess.Popen[bytes]", limit_s: float = 20.0) -> bytes:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], limit_s)
    assert ready, "nothing came"
    return process.stdout.readline()
