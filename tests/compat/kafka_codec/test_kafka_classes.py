"""Ours against Kafka's own classes: 3.9 for the old versions, 4.x for the new, every message of every version."""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import generate_kafka_codec as generator
import pytest
from kafka_specs import Versions, read_specs

from braidmq.protocols.kafka.codec import ApiMessage, MalformedRequest, Struct, decode_message, encode_message
from braidmq.protocols.kafka.codec._schema import fields_of
from kafka_oracles.values import MESSAGE_CLASSES, filled, mutated, random_struct, versions_of

PROGRAM = Path(__file__).parent / "KafkaClasses.java"
ROUNDS = 20
MUTATIONS = 40


STRICTER = ("is not as long as its tag says", "does not fit 31 bits")
"""Where we refuse what Kafka reads: it does not look at a known tag's size, and wraps long lengths to negative ones."""


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
    """What they made of it: the message written again, if it can be, and how much they left unread."""

    accepted: bool
    written: bytes | None = None
    unread_bytes: int = 0


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
    if line in ("refused", "unwritable"):
        return Answer(accepted=line == "unwritable")
    unread, _, written = line.partition(" ")
    return Answer(True, bytes.fromhex(written), int(unread))


def messages(jars: generator.Jars, jar: Path) -> Iterator[tuple[type[ApiMessage], int]]:
    """The messages in the versions that this jar is the truth for: the old one for what the new one dropped."""
    new = {spec["name"]: spec for spec in read_specs(jars.new).values()}
    for kind in MESSAGE_CLASSES:
        known = Versions.parse(new[kind.__name__]["validVersions"])
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
        assert found == Answer(True, line.data), line.text()


@pytest.mark.timeout(600)
def test_we_read_what_kafka_reads_and_refuse_what_it_refuses(jars: generator.Jars, jar: Path) -> None:
    chance = random.Random(21)
    lines = [
        Line(kind, version, mutated(encode_message(random_struct(kind, version, chance), version), chance))
        for kind, version in messages(jars, jar)
        for _ in range(MUTATIONS)
    ]
    answers = ask(jars, jar, lines)
    wrong = [
        f"{line.text()}: {why}"
        for line, found in zip(lines, answers, strict=True)
        if (why := disagreement(line, found)) is not None
    ]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(lines)}", *wrong[:20]])


def disagreement(line: Line, kafka: Answer) -> str | None:
    """Unknown tags are kept by Kafka and skipped by us, so what they wrote is compared as we read it."""
    try:
        ours = decode_message(line.kind, line.version, line.data)
    except MalformedRequest as error:
        stricter = any(reason in error.message for reason in STRICTER)
        return f"Kafka reads it, we do not: {error}" if kafka.accepted and not stricter else None
    if not kafka.accepted:
        return None if has_later_tags(line.kind, line.version) else f"Kafka refuses it, we do not: {ours}"
    if kafka.written is not None and decode_message(line.kind, line.version, kafka.written) != ours:
        return f"Kafka reads it otherwise: {ours}"
    return None


def has_later_tags(kind: type[Struct], version: int) -> bool:
    """Kafka refuses a tag that only a later version knows; to us it is unknown like any other, and skipped."""
    fields = fields_of(kind)
    inner = [(field.shape.element or field.shape).struct for field in fields]
    return any(version < field.tagged.first for field in fields) or any(
        struct is not None and has_later_tags(struct, version) for struct in inner
    )
