"""One client's connection: frames in, answers out, in the order of the requests. Hot path.

A client may send many requests without waiting for answers. Produce requests are begun as they come, so that those of
one moment share a commit; every other request waits until all before it are answered, as it would on a Kafka broker.
While too much waits, or the client does not read its answers, no more is read from it.
"""

import asyncio
import socket
import struct
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, cast

import structlog

from braidmq.model.errors import MalformedRequest
from braidmq.protocols.kafka._call import Call, Client
from braidmq.protocols.kafka._errors import CloseConnection
from braidmq.protocols.kafka._memory import RequestMemory
from braidmq.protocols.kafka._operations import Response, operations
from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka.codec import (
    ApiKey,
    Buffer,
    RequestHeader,
    Unencodable,
    decode_request,
    encode_response,
    encode_response_pieces,
    peek_request,
)
from braidmq.protocols.kafka.handlers.api_versions import unsupported_version
from braidmq.protocols.listener import Address

_SIZE: Final = struct.Struct(">i")
_SMALL_PIECE_BYTES: Final = 4096
_PRODUCE: Final = b"\x00\x00"
_FETCH: Final = int(ApiKey.FETCH)
_WAITING_MAX = 64
_WAITING_BYTES_MAX = 4 << 20
WRITE_BUFFER_BYTES = 1 << 20

_logger = structlog.get_logger(__name__)


class Home(Protocol):
    """What a connection needs of its listener."""

    services: KafkaServices
    memory: RequestMemory
    requests: Counter[int]
    """How many there were, by API key."""
    request_bytes_max: int

    def opened(self, connection: "Connection") -> bool:
        """Whether there is room for one more."""
        ...

    def closed(self, connection: "Connection") -> None: ...


class Connection(asyncio.Protocol):
    """Made by the listener for each client."""

    __slots__ = (
        "_advertise",
        "_begun",
        "_begun_produce",
        "_client",
        "_frame_bytes",
        "_home",
        "_is_flushing",
        "_is_reading",
        "_loop",
        "_output",
        "_partial",
        "_partial_bytes",
        "_size_begun",
        "_transport",
        "_waiting",
        "_waiting_bytes",
        "heard_at",
    )

    def __init__(self, home: Home, advertise: Callable[[Address], Address]) -> None:
        self._home = home
        self._advertise = advertise
        self._loop = asyncio.get_running_loop()
        self._partial: list[bytes | bytearray] = []
        """The pieces of a frame that has not arrived whole."""
        self._partial_bytes = 0
        self._frame_bytes = 0
        self._size_begun = b""
        """The first bytes of a frame's size, where they came alone."""
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._begun: deque[_Begun] = deque()
        self._begun_produce = False
        self._output: list[Buffer] = []
        self._is_flushing = False
        self._is_reading = True
        self.heard_at = self._loop.time()

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        peer = self._transport.get_extra_info("peername") or ("", 0)
        here = self._transport.get_extra_info("sockname") or ("", 0)
        self._client = Client(peer[0], self._advertise(Address(*here[:2])))
        if (wire := self._transport.get_extra_info("socket")) is not None:
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self._home.opened(self):
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the transport's own signature
        self._home.closed(self)
        memory = self._home.memory
        if self._partial:
            memory.free_partial(self._partial_bytes)
            self._partial.clear()
        memory.free(self._waiting_bytes + sum(begun.frame_bytes for begun in self._begun))
        self._waiting.clear()
        for begun in self._begun:
            begun.task.cancel()
        self._begun.clear()

    def pause_writing(self) -> None:
        self._is_flushing = True
        self._regulate()

    def resume_writing(self) -> None:
        self._is_flushing = False
        self._begin_waiting()

    def eof_received(self) -> bool:
        """A client that has said all may still want its answers; without any to come, the connection ends."""
        return bool(self._begun or self._waiting)

    def data_received(self, data: bytes) -> None:
        self.heard_at = self._loop.time()
        position = 0
        if self._partial:
            position = self._add_piece(data)
            if self._partial:
                return
        elif self._size_begun:
            data = self._size_begun + data
            self._size_begun = b""
        size = len(data)
        while size - position >= 4:
            (frame_bytes,) = _SIZE.unpack_from(data, position)
            if not 0 <= frame_bytes <= self._home.request_bytes_max:
                self._refuse(f"a request of {frame_bytes} bytes; at most {self._home.request_bytes_max} are taken")
                return
            position += 4
            if size - position < frame_bytes:
                self._begin_frame(data[position:], frame_bytes)
                position = size
                break
            self._take(data[position : position + frame_bytes])
            position += frame_bytes
        self._size_begun = data[position:]
        self._write_output()
        self._regulate()

    def _begin_frame(self, piece: bytes, frame_bytes: int) -> None:
        self._partial.append(piece)
        self._partial_bytes = len(piece)
        self._frame_bytes = frame_bytes
        self._hold(len(piece))

    def _add_piece(self, data: bytes) -> int:
        """Put what has come to the frame that was begun; how much of it belonged there."""
        missing = self._frame_bytes - self._partial_bytes
        piece = data[:missing]
        last = self._partial[-1]
        if len(piece) >= _SMALL_PIECE_BYTES:
            self._partial.append(piece)
        elif isinstance(last, bytearray):
            # Who sends a large frame in tiny pieces costs no more than the frame.
            last += piece
        else:
            self._partial.append(bytearray(piece))
        self._partial_bytes += len(piece)
        if self._partial_bytes < self._frame_bytes:
            self._hold(len(piece))
        else:
            frame = b"".join(self._partial)
            self._home.memory.free_partial(len(frame) - len(piece))
            self._partial.clear()
            self._take(frame)
        return len(piece)

    def _hold(self, size: int) -> None:
        """A piece of a request has arrived, and the rest has not."""
        if not self._home.memory.take_partial(size):
            self._refuse("requests that have not arrived whole take all of kafka.buffer_bytes_max")

    # Requests.

    def _take(self, frame: bytes) -> None:
        self._home.memory.take(len(frame))
        if self._may_begin(frame):
            self._begin(frame)
        else:
            self._waiting.append(frame)
            self._waiting_bytes += len(frame)

    def _may_begin(self, frame: bytes) -> bool:
        if self._waiting or self._is_flushing:
            return False
        return not self._begun or (self._begun_produce and frame[:2] == _PRODUCE)

    def _begin(self, frame: bytes) -> None:
        if self._transport.is_closing():
            self._home.memory.free(len(frame))
            return
        if not self._begin_now(frame):
            self._home.memory.free(len(frame))

    def _begin_now(self, frame: bytes) -> bool:
        """Whether the request is still under way."""
        try:
            header, request = decode_request(frame)
            operation = operations.get(header.request_api_key)
            if operation is None or not _within(operation.handler.versions, header.request_api_version):
                raise MalformedRequest(
                    f"API {header.request_api_key} version {header.request_api_version} is not answered here"
                )
            self._home.requests[header.request_api_key] += 1
            result = operation.handler.answer(Call(header, request, self._client, self._home.services))
        except MalformedRequest as error:
            self._answer_unreadable(frame, error)
            return False
        except Exception as error:  # a fault of ours: this client is told by the closed connection, others go on
            self._fail(error)
            return False
        if result is None or not hasattr(result, "__await__"):
            self._answer(header, result)
            return False
        self._begun_produce = frame[:2] == _PRODUCE
        task: asyncio.Future[Any] = asyncio.ensure_future(result, loop=self._loop)
        self._begun.append(_Begun(header, task, len(frame)))
        task.add_done_callback(self._task_done)
        return True

    def _answer_unreadable(self, frame: bytes, error: MalformedRequest) -> None:
        if len(frame) >= 8 and (beginning := peek_request(frame)).api_key == ApiKey.API_VERSIONS:
            first = RequestHeader(
                request_api_key=beginning.api_key, request_api_version=0, correlation_id=beginning.correlation_id
            )
            self._answer(first, unsupported_version(operations))
        else:
            self._refuse(error.message)

    def _fail(self, error: BaseException | None) -> None:
        if isinstance(error, CloseConnection):
            self._refuse(error.message)
            return
        _logger.error("kafka request failed", client=self._client.host, exc_info=error)
        self._transport.abort()

    def _refuse(self, why: str) -> None:
        _logger.info("kafka connection closed", client=self._client.host, reason=why)
        self._write_output()
        self._transport.close()

    # Answers.

    def _task_done(self, _: "asyncio.Future[Any]") -> None:
        """Answer what is finished, in order."""
        begun = self._begun
        while begun and begun[0].task.done():
            header, done, frame_bytes = begun.popleft()
            self._home.memory.free(frame_bytes)
            if done.cancelled() or (error := done.exception()) is not None:
                self._fail(None if done.cancelled() else error)
                return
            self._answer(header, done.result())
        self._write_output()
        if not begun:
            self._begin_waiting()

    def _begin_waiting(self) -> None:
        while self._waiting and not self._is_flushing:
            frame = self._waiting[0]
            if self._begun and not (self._begun_produce and frame[:2] == _PRODUCE):
                break
            self._waiting.popleft()
            self._waiting_bytes -= len(frame)
            self._begin(frame)
        self._write_output()
        self._regulate()

    def _answer(self, header: RequestHeader, response: Response) -> None:
        if response is None:
            return
        try:
            if header.request_api_key == _FETCH:
                self._output += encode_response_pieces(header, response)
            else:
                self._output.append(encode_response(header, response))
        except Unencodable:
            _logger.exception("kafka answer cannot be written", client=self._client.host)
            self._transport.abort()

    def _write_output(self) -> None:
        output = self._output
        if output:
            self._output = []
            if not self._transport.is_closing():
                if len(output) == 1:
                    self._transport.write(output[0])
                else:
                    self._transport.writelines(output)

    def _regulate(self) -> None:
        """Read from this client only while what it sent can be worked on."""
        if self._transport.is_closing():
            return
        is_busy = (
            self._is_flushing
            or len(self._waiting) >= _WAITING_MAX
            or self._waiting_bytes >= _WAITING_BYTES_MAX
            or len(self._begun) >= _WAITING_MAX
            or self._home.memory.is_full
        )
        if is_busy and self._is_reading:
            self._is_reading = False
            self._transport.pause_reading()
            if self._home.memory.is_full:
                self._home.memory.when_free(self._regulate)
        elif not is_busy and not self._is_reading:
            self._is_reading = True
            self._transport.resume_reading()

    # The listener's side.

    @property
    def is_idle(self) -> bool:
        """Nothing is under way."""
        return not self._begun and not self._waiting

    def close(self) -> None:
        """Leave when the output is written."""
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()


class _Begun(NamedTuple):
    """A request whose answer is being made."""

    header: RequestHeader
    task: "asyncio.Future[Any]"
    frame_bytes: int


def _within(versions: tuple[int, int], version: int) -> bool:
    return versions[0] <= version <= versions[1]
