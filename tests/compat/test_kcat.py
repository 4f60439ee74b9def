"""kcat: what an engineer types first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from compat_support import RunProgram
from running_node import RunningNode


@pytest.fixture
def kcat(require_tool: Callable[[str, str], Path], broker: RunningNode) -> list[str]:
    return [str(require_tool("kcat", "talks to the Kafka listener")), "-b", broker.bootstrap]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_was_sent_with_a_codec_comes_back(kcat: list[str], run: RunProgram, codec: str) -> None:
    lines = "".join(f"key{number}:value {number}\n" for number in range(200))
    topic = f"kcat-{codec}"
    run([*kcat, "-P", "-t", topic, "-K", ":", "-z", codec], given=lines)
    out = run([*kcat, "-C", "-t", topic, "-e", "-q", "-K", ":"])
    assert sorted(out.splitlines()) == sorted(lines.splitlines())


def test_topics_are_listed(kcat: list[str], run: RunProgram) -> None:
    run([*kcat, "-P", "-t", "kcat-listed"], given="a\n")
    assert 'topic "kcat-listed" with 4 partitions' in run([*kcat, "-L"])


def test_offsets_are_found_by_time_and_reading_begins_there(kcat: list[str], run: RunProgram) -> None:
    run([*kcat, "-P", "-t", "kcat-times", "-p", "0"], given="a\nb\nc\n")
    found = run([*kcat, "-C", "-t", "kcat-times", "-p", "0", "-e", "-q", "-f", "%T %o\n"]).splitlines()
    stamp, offset = found[0].split()
    assert run([*kcat, "-Q", "-t", f"kcat-times:0:{stamp}"]) == f"kcat-times [0] offset {offset}\n"
    assert run([*kcat, "-Q", "-t", "kcat-times:0:-1"]) == "kcat-times [0] offset 3\n"
    late = run([*kcat, "-C", "-t", "kcat-times", "-p", "0", "-e", "-q", "-o", "s@4102444800000"])
    assert late == ""


def test_headers_come_back(kcat: list[str], run: RunProgram) -> None:
    run([*kcat, "-P", "-t", "kcat-headers", "-H", "TAGS=paid", "-H", "KEYS=o1 o2"], given="a\n")
    assert run([*kcat, "-C", "-t", "kcat-headers", "-e", "-q", "-f", "%h\n"]) == "TAGS=paid,KEYS=o1 o2\n"


def test_a_group_reads_everything_once(kcat: list[str], run: RunProgram) -> None:
    run([*kcat, "-P", "-t", "kcat-group"], given="".join(f"{number}\n" for number in range(100)))
    group = [*kcat, "-G", "kcat-readers", "-e", "-q", "-X", "auto.offset.reset=earliest", "kcat-group"]
    assert sorted(map(int, run(group).split())) == list(range(100))
    assert run(group) == ""
