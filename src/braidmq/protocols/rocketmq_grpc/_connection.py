"""One client's connection: bytes to calls, and answers to bytes. Hot path.

Calls of one connection run side by side, each in a task of its own. What becomes ready in one turn of the loop goes out
in one write.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from braidmq.logger import get_logger
from braidmq.protocols.framed import RequestMemory
from braidmq.protocols.http2 import Connection, ErrorCode, Headers, Http2Error, Limits, Stream
from braidmq.protocols.listener import Address
from braidmq.protocols.rocketmq_grpc._context import (
    CONTENT_TYPE,
    END,
    PREFIX_BYTES,
    STRANGER_BLOCK,
    STRANGER_TEXT,
    Aborted,
    Context,
    GrpcStatus,
    metadata_of,
    refusal_block,
    unpacked,
)
from braidmq.protocols.rocketmq_grpc._service import Method, Service

UNREAD_BYTES_MAX: Final = 64 << 10
"""How much a client may have said on a stream that its handler has not read."""

_logger = get_logger(__name__)


class _Request:
    """A call that is coming, or under way."""

    __slots__ = ("body", "context", "encoding", "method", "task")

    def __init__(self, method: Method, context: Context, encoding: str) -> None:
        self.method = method
        self.context = context
        self.encoding = encoding
        self.body = bytearray()
        self.task: asyncio.Task[None] | None = None


class GrpcConnection(asyncio.Protocol):
    """See `http2.Streams` for what it hears from below."""

    def __init__(
        self,
        service: Service,
        memory: RequestMemory,
        limits: Limits,
        *,
        request_bytes_max: int,
        on_end: Callable[["GrpcConnection"], None],
    ) -> None:
        self._service = service
        self._memory = memory
        self._request_bytes_max = request_bytes_max
        self._on_end = on_end
        self._http2 = Connection(self, limits)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._flush_planned = False
        self._paused = False
        self._waiting: list[asyncio.Future[None]] = []
        self._pinged_after = -1
        self.received = 0
        """How often something came."""
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.peer = Address("", 0)

    # The socket.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        place = transport.get_extra_info("peername")
        self.peer = Address(*place[:2]) if place else Address("", 0)
        self._http2.begin()
        self._flush()

    def data_received(self, data: bytes) -> None:
        self.received += 1
        try:
            self._http2.receive(data)
        except Http2Error as error:
            _logger.info("a client broke the rules", peer=str(self.peer), reason=error.message)
            self._flush()
            self.close()
        else:
            self._flush()

    def connection_lost(self, _: Exception | None) -> None:
        self._http2.lost()
        self._wake()
        if not self.gone.done():
            self.gone.set_result(None)
        self._on_end(self)

    def pause_writing(self) -> None:
        """Who takes no answers may not ask more."""
        self._paused = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._paused = False
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        self._wake()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def go_away(self) -> None:
        self._http2.go_away()
        self._flush()

    def probe(self) -> None:
        """Ask a client that is silent whether it lives; end one that did not say so since it was asked."""
        if self._pinged_after == self.received:
            self.abort()
            return
        self._pinged_after = self.received
        self._http2.ping()
        self._flush()

    def _flush_soon(self) -> None:
        if not self._flush_planned:
            self._flush_planned = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_planned = False
        outgoing = self._http2.outgoing
        if outgoing and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(outgoing))
        outgoing.clear()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)

    # What calls need.

    def now_s(self) -> float:
        return self._loop.time()

    def future(self) -> "asyncio.Future[None]":
        return self._loop.create_future()

    def must_wait(self, stream: Stream) -> bool:
        return (self._paused or stream.is_full) and not self._http2.is_closed

    async def room(self, _: Stream) -> None:
        """Until it may have become better."""
        waiting = self.future()
        self._waiting.append(waiting)
        await waiting

    def took(self, stream: Stream, size: int) -> None:
        self._http2.took(stream, size)
        self._flush_soon()

    def send_headers(self, stream: Stream, block: bytes, *, end: bool = False) -> None:
        self._http2.send_headers(stream, block, end=end)
        self._flush_soon()

    def send_data(self, stream: Stream, data: bytes) -> None:
        self._http2.send_data(stream, data)
        self._flush_soon()

    # What streams bring.

    def begun(self, stream: Stream, headers: Headers) -> None:
        asked = metadata_of(headers)
        path = next(value for name, value in headers if name == ":path")
        if not str(asked.get("content-type", "")).startswith(CONTENT_TYPE):
            return  # told when it has said all
        method = self._service.methods.get(path)
        if method is None:
            self._refuse(stream, GrpcStatus.UNIMPLEMENTED, f"there is no {path[:200]}")
        elif not self._service.has_room:
            self._refuse(stream, GrpcStatus.RESOURCE_EXHAUSTED, "too many calls at a time (rocketmq_grpc.calls_max)")
        else:
            context = Context(self, stream, asked, method.serialize)
            request = stream.call = _Request(method, context, str(asked.get("grpc-encoding", "identity")))
            if method.reads_stream:
                self._start(stream, request, None)

    def brought(self, stream: Stream, data: bytes) -> None:
        request: _Request | None = stream.call
        if request is None:
            self._http2.took(stream, len(data))
            return
        request.body += data
        if not self._memory.take_partial(len(data)):
            self._refuse(stream, GrpcStatus.RESOURCE_EXHAUSTED, "too much at a time (rocketmq_grpc.buffer_bytes_max)")
        elif request.method.reads_stream:
            self._bring_messages(stream, request)
        elif len(request.body) > self._request_bytes_max + PREFIX_BYTES:
            self._refuse(stream, GrpcStatus.RESOURCE_EXHAUSTED, f"a request may have {self._request_bytes_max} bytes")
        else:
            self._http2.took(stream, len(data))

    def ended(self, stream: Stream) -> None:
        request: _Request | None = stream.call
        if request is None:
            self._tell_stranger(stream)
            return
        if request.method.reads_stream:
            request.context.bring(END, 0)
            return
        try:
            messages = self._whole_messages(request)
            if len(messages) != 1 or request.body:
                raise Aborted(GrpcStatus.INTERNAL, "a plain call has one message")
        except Aborted as error:
            self._refuse(stream, error.status, error.detail)
            return
        self._start(stream, request, messages[0][0])

    def _tell_stranger(self, stream: Stream) -> None:
        """Somebody with a browser, perhaps."""
        self._http2.send_headers(stream, STRANGER_BLOCK)
        self._http2.send_data(stream, STRANGER_TEXT)
        self._http2.send_headers(stream, b"", end=True)

    def reset(self, stream: Stream) -> None:
        request: _Request | None = stream.call
        if request is None:
            return
        stream.call = None
        self._memory.free_partial(len(request.body))
        if request.task is not None:
            request.task.cancel()

    def drained(self, _: Stream) -> None:
        self._wake()

    def _bring_messages(self, stream: Stream, request: _Request) -> None:
        try:
            for message, size in self._whole_messages(request):
                request.context.bring(message, size)
        except Aborted as error:
            self._refuse(stream, error.status, error.detail)
        if len(request.body) > UNREAD_BYTES_MAX:
            self._refuse(stream, GrpcStatus.RESOURCE_EXHAUSTED, f"what is said here may have {UNREAD_BYTES_MAX} bytes")

    def _whole_messages(self, request: _Request) -> list[tuple[Any, int]]:
        """What has come whole, with its size as it travelled. Raises Aborted."""
        found = []
        body = request.body
        while len(body) >= PREFIX_BYTES:
            end = PREFIX_BYTES + int.from_bytes(body[1:PREFIX_BYTES], "big")
            if end > self._request_bytes_max + PREFIX_BYTES:
                raise Aborted(GrpcStatus.RESOURCE_EXHAUSTED, f"a message may have {self._request_bytes_max} bytes")
            if len(body) < end:
                break
            content = unpacked(body[0], bytes(body[PREFIX_BYTES:end]), request.encoding, self._request_bytes_max)
            found.append((self._parsed(request.method, content), end))
            del body[:end]
            self._memory.free_partial(end)
        return found

    def _parsed(self, method: Method, content: bytes) -> Any:
        try:
            return method.parse(content)
        except Exception as error:  # whatever protobuf raises: the client is told, and nothing has begun
            raise Aborted(GrpcStatus.INTERNAL, "the message cannot be read") from error

    def _start(self, stream: Stream, request: _Request, message: Any) -> None:
        task = self._loop.create_task(self._service.answer(request.method, message, request.context))
        request.task = task
        task.add_done_callback(lambda _: self._over(stream))

    def _over(self, stream: Stream) -> None:
        request: _Request | None = stream.call
        if request is not None:
            self._memory.free_partial(len(request.body))
            stream.call = None

    def _refuse(self, stream: Stream, status: GrpcStatus, detail: str) -> None:
        """The call ends with this, whatever it was about to do."""
        request: _Request | None = stream.call
        self.reset(stream)
        if request is not None and request.context.answered:
            self._http2.reset(stream.id, ErrorCode.ENHANCE_YOUR_CALM)
        else:
            self._http2.send_headers(stream, refusal_block(status, detail), end=True)
        self._flush_soon()
