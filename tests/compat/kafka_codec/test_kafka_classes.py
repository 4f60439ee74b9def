"""Ours against Kafka's own classes: 3.9 for the old versions, 4.x for the new, every message of every version."""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import generate_kafka_codec as generator
import pytest

from braidmq.protocols.kafka.codec import (
    ApiMessage,
    MalformedRequest,
    decode_message,
    encode_message,
)
from kafka_oracles.values import MESSAGE_CLASSES, filled, mutated, random_struct, versions_of

PROGRAM = Path(__file__).parent / "KafkaClasses.java"
ROUNDS = 20
MUTATIONS = 40


class Line(NamedTuple):
    """One message for Kafka's classes to read."""

    kind: type[ApiMessage]
    version: int
    data: bytes

    def text(self) -> str:
        name = self.kind.__name__
        if self.kind.API_KEY < 0:
            return f"{name} {self.version} {self.data.hex()}"
        side = "request" if name.endswith("Request") else "response"
        return f"{side} {self.kind.API_KEY} {self.version} {self.data.hex()}"


class Answer(NamedTuple):
    """What they made of it: the message written again, and how much they left unread; None if they refused it."""

    written: bytes | None
    unread_bytes: int


def ask(jars: generator.Jars, jar: Path, lines: list[Line]) -> list[Answer]:
    classpath = os.pathsep.join((str(jar), str(jars.logging)))
    done = subprocess.run(
        ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", classpath, str(PROGRAM)],
        input="\n".join(line.text() for line in lines),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return [answer(line) for line in done.stdout.splitlines()]


def answer(line: str) -> Answer:
    if line == "refused":
        return Answer(None, 0)
    unread, _, written = line.partition(" ")
    return Answer(bytes.fromhex(written), int(unread))


def messages(jars: generator.Jars, jar: Path) -> Iterator[tuple[type[ApiMessage], int]]:
    """The messages in the versions that this jar is the truth for: the old one for what the new one dropped."""
    new = {spec["name"]: spec for spec in generator.read_specs(jars.new).values()}
    for kind in MESSAGE_CLASSES:
        known = generator.Versions.parse(new[kind.__name__]["validVersions"])
        for version in versions_of(kind):
            if (known.first <= version <= known.last) == (jar == jars.new):
                yield kind, version


@pytest.fixture(params=["old", "new"])
def jar(request: pytest.FixtureRequest, jars: generator.Jars) -> Path:
    found: Path = getattr(jars, request.param)
    return found


@pytest.mark.timeout(600)
def test_kafka_writes_every_message_as_we_do(jars: generator.Jars, jar: Path) -> None:
    chance = random.Random(20)
    lines = [
        Line(kind, version, encode_message(value, version))
        for kind, version in messages(jars, jar)
        for value in (kind(), filled(kind, version), *(random_struct(kind, version, chance) for _ in range(ROUNDS)))
    ]
    answers = ask(jars, jar, lines)
    assert len(answers) == len(lines) > 500
    for line, found in zip(lines, answers, strict=True):
        assert found == Answer(line.data, 0), line.text()


@pytest.mark.timeout(600)
def test_we_read_what_kafka_reads_and_refuse_what_it_refuses(jars: generator.Jars, jar: Path) -> None:
    chance = random.Random(21)
    lines = [
        Line(kind, version, mutated(encode_message(random_struct(kind, version, chance), version), chance))
        for kind, version in messages(jars, jar)
        for _ in range(MUTATIONS)
    ]
    wrong = [
        f"{line.text()}: Kafka {found}, ours {ours}"
        for line, found in zip(lines, ask(jars, jar, lines), strict=True)
        if (ours := rewritten(line)) != found.written
    ]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(lines)}", *wrong[:20]])


def rewritten(line: Line) -> bytes | None:
    try:
        return encode_message(decode_message(line.kind, line.version, line.data), line.version)
    except MalformedRequest:
        return None
