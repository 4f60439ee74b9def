"""Whatever the bytes are, a reader gives a value or raises its own error, and is quick about it."""

import contextlib
import random
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from braidmq.protocols.rocketmq.codec import (
    BatchedMessage,
    Command,
    MalformedBody,
    MalformedFrame,
    MalformedHeader,
    MalformedMessage,
    Serialization,
    StoredMessage,
    decode_body,
    decode_command,
    encode_body,
    encode_command,
    message_of,
    read_header,
    write_header,
)
from braidmq.protocols.rocketmq.codec.bodies import HeartbeatData
from braidmq.protocols.rocketmq.codec.ids import read_offset_id, read_unique_id
from braidmq.protocols.rocketmq.codec.messages import (
    decode_batch,
    decode_messages,
    encode_batch,
    encode_message,
    read_properties,
)
from rocketmq_oracles import BODY_CLASSES, HEADER_CLASSES, filled

ROUNDS = 300
INTERESTING = [
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b'"',
    b"{",
    b"}",
    b"[",
    b"\\",
    b":",
    b",",
    b"\x01",
    b"9",
    b"-",
    b"{{",
]

Reader = Callable[[bytes], object]


def mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(changed))
        match chance.randint(0, 4):
            case 0:
                changed[at : at + chance.randint(1, 8)] = b""
            case 1:
                changed[at:at] = chance.choice(INTERESTING) * chance.choice([1, 1, 2, 200])
            case 2:
                changed[at : at + 1] = chance.randbytes(1)
            case 3:
                changed[at : at + 4] = chance.choice(
                    [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0"]
                )
            case _:
                changed += changed[at : at + 50]
    return bytes(changed)


def frame(serialization: Serialization) -> bytes:
    fields = {"topic": "t", "queueId": "3", "i": "TAGS\x01a\x02"}
    return encode_command(Command(code=310, fields=fields, remark="r", serialization=serialization, body=b"b"))[4:]


MESSAGE = encode_message(StoredMessage(topic="t" * 130, body=b"body", properties="a\x01b\x02"))
BATCH = encode_batch([BatchedMessage(body=b"one", properties="a\x01b\x02"), BatchedMessage(body=b"two")])
READERS: list[tuple[str, bytes, Reader, type[Exception]]] = [
    ("json frame", frame(Serialization.JSON), decode_command, MalformedFrame),
    ("binary frame", frame(Serialization.ROCKETMQ), decode_command, MalformedFrame),
    ("messages", MESSAGE + MESSAGE, decode_messages, MalformedMessage),
    ("batch", BATCH, decode_batch, MalformedMessage),
    (
        "offset id",
        b"C0A8070900002A9F0000000000ABCDEF",
        lambda data: read_offset_id(data.decode("latin-1")),
        MalformedMessage,
    ),
    (
        "unique id",
        b"C0A8070900002A9F0000000000ABCDEF",
        lambda data: read_unique_id(data.decode("latin-1")),
        MalformedMessage,
    ),
    ("properties", b"a\x01b\x02c\x01d\x02", lambda data: read_properties(data.decode("latin-1")), MalformedMessage),
]


@pytest.mark.parametrize(("data", "read", "error"), [row[1:] for row in READERS], ids=[row[0] for row in READERS])
def test_mutated_and_random_bytes_are_read_or_refused(data: bytes, read: Reader, error: type[Exception]) -> None:
    chance = random.Random(4711)
    for _ in range(4 * ROUNDS):
        for attempt in (mutated(data, chance), chance.randbytes(chance.randint(0, 120))):
            with contextlib.suppress(error):
                read(attempt)


@pytest.mark.parametrize("kind", BODY_CLASSES)
def test_mutated_bodies_are_read_or_refused(kind: type[Any]) -> None:
    chance = random.Random(kind.__name__)
    data = encode_body(filled(kind))
    for _ in range(ROUNDS // 4):
        with contextlib.suppress(MalformedBody):
            assert isinstance(decode_body(kind, mutated(data, chance)), kind)


@pytest.mark.parametrize("kind", HEADER_CLASSES)
def test_mutated_headers_are_read_or_refused(kind: type[Any]) -> None:
    chance = random.Random(kind.__name__)
    fields = write_header(filled(kind))
    for _ in range(ROUNDS // 4):
        changed = {
            name: mutated(value.encode(), chance).decode(errors="replace") if chance.random() < 0.3 else value
            for name, value in fields.items()
            if chance.random() < 0.95
        }
        with contextlib.suppress(MalformedHeader):
            assert isinstance(read_header(kind, changed), kind)


@pytest.mark.parametrize("bits", [0, 0x100, 0x200, 0x300])
def test_random_bodies_that_claim_to_be_compressed_are_refused(bits: int) -> None:
    chance = random.Random(bits)
    starts = [b"", b"\x78\x9c", bytes.fromhex("04224d18"), bytes.fromhex("28b52ffd")]
    for _ in range(ROUNDS):
        body = chance.choice(starts) + chance.randbytes(chance.randint(0, 60))
        with contextlib.suppress(MalformedMessage):
            message_of(StoredMessage(topic="t", body=body, sys_flag=1 | bits), body_bytes_max=100_000)


@pytest.mark.parametrize(
    "piece", [b'{"a":', b"[", b"{{", b'"\\', b'"\\u', b",", b"\\", b"1", b'{"a":1},', b"'", b'{"a":"', b"-", b"[,"]
)
def test_long_runs_take_time_and_memory_in_proportion(piece: bytes) -> None:
    data = piece * (500_000 // len(piece))
    header = len(data).to_bytes(4) + data
    tracemalloc.start()
    begun = time.process_time()
    with pytest.raises(MalformedFrame):
        decode_command(header, header_bytes_max=len(data))
    with pytest.raises(MalformedBody):
        decode_body(HeartbeatData, data)
    took_s = time.process_time() - begun
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took_s < 5
    assert peak_bytes < 60 * len(data)


def test_lengths_are_checked_before_anything_is_made_of_them() -> None:
    tracemalloc.start()
    huge = bytes.fromhex("7fffffff")
    for data, read, error in ((MESSAGE, decode_messages, MalformedMessage), (BATCH, decode_batch, MalformedMessage)):
        for at in range(len(data)):
            with contextlib.suppress(error):
                read(data[:at] + huge + data[at + 4 :])
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 100_000
