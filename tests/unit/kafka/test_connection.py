"""Frames out of a stream that may be cut anywhere, and what is counted of them."""

import asyncio
import random
import struct
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from braidmq.core.quotas import Quotas
from braidmq.protocols.framed import RequestMemory
from braidmq.protocols.kafka._connection import Connection
from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka.codec import ApiKey, RequestHeader, decode_response, encode_request
from braidmq.protocols.kafka.codec.messages.api_versions import ApiVersionsRequest
from braidmq.protocols.listener import Address
from conftest import RequireCompiled

MIB = 1 << 20


class Home:
    """A listener that lets everybody in."""

    name = "kafka"

    def __init__(self, buffer_bytes_max: int = 8 * MIB) -> None:
        self.services = cast("KafkaServices", None)
        self.quotas = cast("Quotas", SimpleNamespace(on=False))
        self.audited: frozenset[int] = frozenset()
        self.memory = RequestMemory(buffer_bytes_max)
        self.requests: Counter[int] = Counter()
        self.request_bytes_max = 4 * MIB

    def opened(self, _: Connection) -> bool:
        return True

    def closed(self, _: Connection) -> None: ...


class Wire:
    """A transport that keeps what was written."""

    def __init__(self, connection: Connection) -> None:
        self.protocol: Connection | asyncio.BufferedProtocol = connection
        self.written = b""
        self.is_closed = False

    def bring(self, data: bytes) -> None:
        """Bytes come from the client, as many at a time as there is room for."""
        while data:
            if isinstance(self.protocol, asyncio.BufferedProtocol):
                room = memoryview(self.protocol.get_buffer(-1))
                size = min(len(room), len(data))
                room[:size] = data[:size]
                self.protocol.buffer_updated(size)
                data = data[size:]
            else:
                self.protocol.data_received(data)
                return

    def set_protocol(self, protocol: Connection | asyncio.BufferedProtocol) -> None:
        self.protocol = protocol

    def write(self, data: bytes) -> None:
        self.written += data

    def writelines(self, pieces: list[bytes]) -> None:
        self.written += b"".join(pieces)

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def get_extra_info(self, _: str) -> Any:
        return None

    def set_write_buffer_limits(self, high: int) -> None: ...

    @property
    def answered(self) -> list[int]:
        numbers, rest = [], self.written
        while rest:
            (size,) = struct.unpack_from(">i", rest)
            numbers.append(decode_response(ApiKey.API_VERSIONS, 3, rest[4 : 4 + size])[0])
            rest = rest[4 + size :]
        return numbers


def request(number: int, padding: int = 0) -> bytes:
    """An ApiVersions request; bytes behind its last field are passed over."""
    header = RequestHeader(
        request_api_key=ApiKey.API_VERSIONS, request_api_version=3, correlation_id=number, client_id="unit"
    )
    frame = encode_request(header, ApiVersionsRequest(client_software_name="unit", client_software_version="1"))
    return struct.pack(">i", len(frame) - 4 + padding) + frame[4:] + bytes(padding)


async def connected(home: Home) -> tuple[Connection, Wire]:
    connection = Connection(home, lambda reached: Address("here", reached.port))
    wire = Wire(connection)
    connection.connection_made(cast("Any", wire))
    return connection, wire


async def test_frames_cut_at_any_place_are_answered_in_order() -> None:
    stream = b"".join(map(request, (1, 2, 3)))
    for cut in range(len(stream) + 1):
        home = Home()
        _, wire = await connected(home)
        for piece in (stream[:cut], stream[cut:]):
            wire.bring(piece)
        assert wire.answered == [1, 2, 3], cut
        assert (home.memory.partial_bytes, home.memory.whole_bytes) == (0, 0)


@pytest.mark.parametrize("seed", range(20))
async def test_frames_of_all_sizes_in_pieces_of_all_sizes_are_answered_in_order(seed: int) -> None:
    draw = random.Random(seed)
    numbers = list(range(1, 12))
    stream = b"".join(request(number, draw.choice((0, 1, 5000, 100_000, 400_000))) for number in numbers)
    home = Home()
    _, wire = await connected(home)
    position = 0
    while position < len(stream):
        size = draw.choice((1, 2, 3, 4, 50, 3000, 5000, 70_000, 300_000))
        wire.bring(stream[position : position + size])
        position += size
    assert wire.answered == numbers
    assert (home.memory.partial_bytes, home.memory.whole_bytes) == (0, 0)


async def test_a_frame_byte_by_byte_is_kept_in_few_pieces() -> None:
    connection, wire = await connected(Home())
    for byte in request(1, 20_000):
        wire.bring(bytes((byte,)))
        assert len(connection._partial) <= 2
    assert wire.answered == [1]


async def test_pieces_over_the_limit_close_the_connection_and_are_forgotten() -> None:
    home = Home(buffer_bytes_max=MIB)
    _, wire = await connected(home)
    wire.bring(struct.pack(">i", 3 * MIB) + bytes(MIB))
    closed = [wire.is_closed]
    wire.bring(bytes(MIB))
    closed.append(wire.is_closed)
    assert closed == [False, True]
    wire.protocol.connection_lost(None)
    assert home.memory.partial_bytes == 0


async def test_a_large_frame_is_read_to_where_it_stays(require_compiled: RequireCompiled) -> None:
    require_compiled("braidmq.protocols.framed._room")
    home = Home()
    connection, wire = await connected(home)
    stream = request(1, MIB) + request(2)
    wire.bring(stream[:1000])
    assert wire.protocol is not connection
    assert home.memory.partial_bytes == 1000 - 4
    wire.bring(stream[1000 : MIB // 2])
    assert home.memory.partial_bytes == MIB // 2 - 4
    wire.bring(stream[MIB // 2 :])
    assert wire.protocol is connection
    assert wire.answered == [1, 2]
    assert (home.memory.partial_bytes, home.memory.whole_bytes) == (0, 0)


async def test_a_client_that_goes_within_a_large_frame_leaves_nothing_behind() -> None:
    home = Home()
    _, wire = await connected(home)
    wire.bring(request(1, MIB)[:300_000])
    assert home.memory.partial_bytes > 0
    wire.protocol.connection_lost(None)
    assert home.memory.partial_bytes == 0


def test_room_takes_as_much_as_it_has(require_compiled: RequireCompiled) -> None:
    room = require_compiled("braidmq.protocols.framed._room").Room(10, b"abc")
    lent = memoryview(room)
    assert (len(room), len(lent), lent.readonly) == (7, 7, False)
    lent[:4] = b"defg"
    assert room.fill(4) is None
    with pytest.raises(ValueError, match="room"):
        room.fill(4)
    memoryview(room)[:] = b"hij"
    assert room.fill(3) == b"abcdefghij"
    with pytest.raises(BufferError):
        memoryview(room)
