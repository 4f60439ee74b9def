"""gRPC on a stream of HTTP/2: how messages travel, how a call ends, and what a handler may do with its call. Hot path.

A message is a byte that says whether it is compressed, four of length, and the message. An answer is headers, messages,
and headers behind them that say how it went.
"""

import asyncio
import base64
import enum
import re
import zlib
from collections import deque
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from braidmq.protocols.http2 import Headers, Stream, literal_block
from braidmq.protocols.listener import Address

if TYPE_CHECKING:
    from braidmq.protocols.rocketmq_grpc._connection import GrpcConnection

PREFIX_BYTES: Final = 5
CONTENT_TYPE: Final = "application/grpc"
HEADERS_BLOCK: Final = b"\x88" + literal_block([("content-type", CONTENT_TYPE)])
"""Status 200 is number 8 of HTTP/2's own table."""
STRANGER_BLOCK: Final = literal_block([(":status", "415"), ("content-type", "text/plain; charset=utf-8")])
STRANGER_TEXT: Final = b"RocketMQ 5 clients speak gRPC here; this was something else.\n"
OK_BLOCK: Final = literal_block([("grpc-status", "0")])
_TIMEOUT: Final = re.compile(r"([0-9]{1,8})([HMSmun])")
_UNITS_S: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


class GrpcStatus(enum.IntEnum):
    """gRPC's own numbers, as far as they are said here."""

    OK = 0
    CANCELLED = 1
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14


class Aborted(Exception):
    """The call ends with a status that is not OK; raised to leave the handler."""

    def __init__(self, status: GrpcStatus, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class _End(enum.Enum):
    END = "end"


END: Final = _End.END
"""What `read` gives where the client has said all."""


def trailers_block(status: GrpcStatus, detail: str = "") -> bytes:
    said = [("grpc-status", str(int(status)))]
    if detail:
        said.append(("grpc-message", quote(detail[:1024], safe=" !#$&'()*+,/:;=?@[]~\"{}|<>")))
    return literal_block(said)


def refusal_block(status: GrpcStatus, detail: str) -> bytes:
    """Headers that are the whole answer."""
    return HEADERS_BLOCK + trailers_block(status, detail)


def packed(message: bytes) -> bytes:
    return b"\x00" + len(message).to_bytes(4, "big") + message


def timeout_s(text: str | None) -> float | None:
    """How long the client waits for the whole call; None where it does not say, or not in a way that can be read."""
    found = _TIMEOUT.fullmatch(text or "")
    return None if found is None else int(found[1]) * _UNITS_S[found[2]]


def unpacked(flag: int, body: bytes, encoding: str, bytes_max: int) -> bytes:
    """A message as it was before it travelled. Raises Aborted."""
    if flag == 0:
        return body
    if flag != 1 or encoding != "gzip":
        raise Aborted(GrpcStatus.UNIMPLEMENTED, f"messages may be compressed by gzip, not by {encoding[:32]!r}")
    unzip = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        message = unzip.decompress(body, bytes_max + 1)
    except zlib.error as error:
        raise Aborted(GrpcStatus.INTERNAL, f"the message cannot be decompressed: {error}") from error
    if len(message) > bytes_max or not unzip.eof:
        raise Aborted(GrpcStatus.RESOURCE_EXHAUSTED, f"a message may have {bytes_max} bytes")
    return message


def metadata_of(headers: Headers) -> dict[str, Any]:
    """The headers that are the caller's own."""
    return {
        name: base64.b64decode(value + "==") if name.endswith("-bin") else value
        for name, value in headers
        if not name.startswith(":")
    }


class Context:
    """One call, as its handler sees it."""

    __slots__ = ("_connection", "_incoming", "_reader", "_stream", "_until_s", "answered", "metadata", "serialize")

    def __init__(self, connection: "GrpcConnection", stream: Stream, metadata: dict[str, Any], serialize: Any) -> None:
        self._connection = connection
        self._stream = stream
        self.metadata = metadata
        self.serialize = serialize
        limit_s = timeout_s(metadata.get("grpc-timeout"))
        self._until_s = None if limit_s is None else connection.now_s() + limit_s
        self._incoming: deque[tuple[Any, int]] = deque()
        self._reader: asyncio.Future[None] | None = None
        self.answered = False
        """Whether the headers of the answer have gone."""

    @property
    def peer(self) -> Address:
        return self._connection.peer

    def time_remaining(self) -> float | None:
        return None if self._until_s is None else self._until_s - self._connection.now_s()

    def bring(self, message: Any, size_bytes: int) -> None:
        """What the client said next, or END. Its bytes count until it is read."""
        self._incoming.append((message, size_bytes))
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def read(self) -> Any:
        """What the client says next; END where it has said all."""
        while not self._incoming:
            self._reader = self._connection.future()
            await self._reader
        message, size_bytes = self._incoming[0]
        if message is not END:
            self._incoming.popleft()
            self._connection.took(self._stream, size_bytes)
        return message

    async def write(self, message: Any) -> None:
        """Say something. Waits while the client takes nothing."""
        self.say(self.serialize(message))
        while self._connection.must_wait(self._stream):
            await self._connection.room(self._stream)

    def say(self, message: bytes) -> None:
        if not self.answered:
            self.answered = True
            self._connection.send_headers(self._stream, HEADERS_BLOCK)
        self._connection.send_data(self._stream, packed(message))

    def end(self, block: bytes = OK_BLOCK) -> None:
        """The answer is whole."""
        if not self.answered:
            self.answered = True
            block = HEADERS_BLOCK + block
        self._connection.send_headers(self._stream, block, end=True)

    async def abort(self, status: GrpcStatus, detail: str) -> None:
        raise Aborted(status, detail)
