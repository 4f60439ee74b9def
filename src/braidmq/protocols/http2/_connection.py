"""One connection: frames in, streams out, and the other way round. Hot path; no input or output.

A stream is opened by HEADERS and ended from both sides, or reset by one. `receive` takes what came, calls `Streams` for
what it means, and leaves what is to be sent in `outgoing`; who owns the socket sends that when the bytes of one turn
are through. A fault of one stream resets it, a fault of the connection raises Http2Error after GOAWAY was put there.

Both sides are bounded. What we may be sent is bounded by windows, which open again as streams take what came; what a
peer does not take waits in its stream, and writers wait until it is less (`Stream.is_full`).
"""

from collections import deque
from typing import Any, Final, NamedTuple, Protocol

from braidmq.protocols.http2 import _frames as f
from braidmq.protocols.http2._errors import ErrorCode, Http2Error, StreamError
from braidmq.protocols.http2._headers import HeaderReader, Headers, fault_of, length_of

WAITING_BYTES_MAX: Final = 256 << 10
"""How much waits in a stream for its peer before writers have to wait."""
CONTROL_FRAMES_MAX: Final = 10_000
"""How many frames that only cost work (resets, pings, settings) a peer may send in a row, with no data and no request
that was answered between them."""
PAYLOAD_SIZES: Final = {f.PRIORITY: 5, f.RST_STREAM: 4, f.PING: 8, f.WINDOW_UPDATE: 4}


class Limits(NamedTuple):
    """What a peer may make us keep."""

    streams_max: int = 1_000
    header_bytes_max: int = 16 << 10
    stream_window: int = 1 << 20
    connection_window: int = 16 << 20


class Streams(Protocol):
    """Who hears what streams bring."""

    def begun(self, stream: "Stream", headers: Headers) -> None:
        """A request begins."""
        ...

    def brought(self, stream: "Stream", data: bytes) -> None:
        """A piece of its body. The peer may send as much again when `Connection.took` was told of it."""
        ...

    def ended(self, stream: "Stream") -> None:
        """The request is whole."""
        ...

    def reset(self, stream: "Stream") -> None:
        """The stream is no more: the peer took it back, or broke a rule."""
        ...

    def drained(self, stream: "Stream") -> None:
        """The stream was full, and is not any more."""
        ...


class Stream:
    """One request and its answer. `call` is whatever its owner wants to find there."""

    __slots__ = (
        "call",
        "id",
        "is_full",
        "missing_bytes",
        "remote_ended",
        "send_window",
        "taken_bytes",
        "trailers",
        "waiting",
        "waiting_bytes",
        "window",
    )

    def __init__(self, id: int, send_window: int, window: int) -> None:
        self.id = id
        self.call: Any = None
        self.send_window = send_window
        self.window = window
        """What the peer may still send."""
        self.taken_bytes = 0
        """What was taken since the peer was last told that it may send more."""
        self.remote_ended = False
        self.missing_bytes: int | None = None
        """What is still to come of the request, where it said how long it is."""
        self.waiting: deque[bytes] = deque()
        self.waiting_bytes = 0
        self.trailers: bytes | None = None
        """Sent behind all that waits; the stream ends with it."""
        self.is_full = False


class Connection:
    """The server's side of one connection."""

    def __init__(self, streams: Streams, limits: Limits | None = None) -> None:
        self._streams = streams
        self._limits = limits or Limits()
        self._reader = HeaderReader(self._limits.header_bytes_max)
        self._open: dict[int, Stream] = {}
        self._left = b""
        self._preface_seen = False
        self._settings_seen = False
        self._last_id = 0
        self._control_frames = 0
        self._block: tuple[int, int, bytearray] | None = None
        """Stream, flags and bytes of a block of headers that goes on in the next frame."""
        self._peer_frame_bytes = f.FRAME_BYTES_MIN
        self._peer_window = f.WINDOW_DEFAULT
        self._send_window = f.WINDOW_DEFAULT
        self._taken_bytes = 0
        self._window = self._limits.connection_window
        self._going = False
        self.is_closed = False
        self.pongs = 0
        """How many of our pings were answered."""
        self.outgoing: list[bytes] = []

    def begin(self) -> None:
        """What a server says first."""
        values = {
            f.MAX_CONCURRENT_STREAMS: self._limits.streams_max,
            f.INITIAL_WINDOW_SIZE: self._limits.stream_window,
            f.MAX_HEADER_LIST_SIZE: self._limits.header_bytes_max,
        }
        self.outgoing.append(f.settings_frame(values))
        self.outgoing.append(f.number_frame(f.WINDOW_UPDATE, 0, self._limits.connection_window - f.WINDOW_DEFAULT))

    def __len__(self) -> int:
        return len(self._open)

    # What comes.

    def receive(self, data: bytes) -> None:
        """Take what came. Raises Http2Error; what is in `outgoing` then is the last that is to be sent."""
        if self.is_closed:
            return
        if self._left:
            data, self._left = self._left + data, b""
        try:
            self._take_frames(data)
        except Http2Error as error:
            self._close(error)
            raise

    def _take_frames(self, data: bytes) -> None:
        """What is not a whole frame yet stays: less than one frame."""
        at, end = 0, len(data)
        if not self._preface_seen:
            self._check_preface(data)
            if end < len(f.PREFACE):
                self._left = data
                return
            self._preface_seen, at = True, len(f.PREFACE)
        while end - at >= f.HEADER_BYTES:
            high, low, kind, flags, stream_id = f.unpack_header(data, at)
            size = high << 16 | low
            if size > f.FRAME_BYTES_MIN:
                raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {size} bytes; at most {f.FRAME_BYTES_MIN}")
            begin = at + f.HEADER_BYTES
            if end - begin < size:
                break
            at = begin + size
            try:
                self._take(kind, flags, stream_id & f.WINDOW_MAX, data[begin:at])
            except StreamError as error:
                self.reset(error.stream_id, error.number)
        self._left = data[at:]

    def _check_preface(self, data: bytes) -> None:
        if not data.startswith(f.PREFACE[: len(data)]):
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "this is not HTTP/2")

    def _take(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if self._block is not None and (kind != f.CONTINUATION or stream_id != self._block[0]):
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "a block of headers must go on in the next frame")
        if not self._settings_seen and (kind != f.SETTINGS or flags & f.ACK):
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "SETTINGS must come first")
        if PAYLOAD_SIZES.get(kind, len(payload)) != len(payload):
            self._refuse_size(kind, stream_id)
        if kind == f.DATA:
            self._take_data(flags, stream_id, payload)
        elif kind == f.HEADERS:
            self._take_headers(flags, stream_id, payload)
        elif kind <= f.CONTINUATION:
            self._count_control(kind)
            _TAKERS[kind](self, flags, stream_id, payload)

    def _refuse_size(self, kind: int, stream_id: int) -> None:
        if kind == f.PRIORITY and stream_id in self._open:
            raise StreamError(stream_id, ErrorCode.FRAME_SIZE_ERROR, "the frame has a wrong size")
        raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "the frame has a wrong size")

    def _count_control(self, kind: int) -> None:
        if kind == f.WINDOW_UPDATE:
            return
        self._control_frames += 1
        if self._control_frames > CONTROL_FRAMES_MAX:
            raise Http2Error(ErrorCode.ENHANCE_YOUR_CALM, "too many frames that bring nothing")

    def _take_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        size = len(payload)
        self._window -= size
        if self._window < 0:
            raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "more was sent than the connection's window allows")
        stream = self._open.get(stream_id)
        if stream is None or stream.remote_ended:
            self._took_connection(size)
            self._refuse_unopened(stream_id)
            raise StreamError(stream_id, ErrorCode.STREAM_CLOSED, "data for a stream that has ended")
        stream.window -= size
        if stream.window < 0:
            self._took_connection(size)
            raise StreamError(stream_id, ErrorCode.FLOW_CONTROL_ERROR, "more was sent than the stream's window allows")
        data = _unpadded(payload) if flags & f.PADDED else payload
        if len(data) < size:
            self.took(stream, size - len(data))
        if flags & f.END_STREAM:
            stream.remote_ended = True
        if stream.missing_bytes is not None:
            stream.missing_bytes -= len(data)
            _check_length(stream)
        if data:
            self._control_frames = 0
            self._streams.brought(stream, data)
        elif not stream.remote_ended:
            self._count_control(f.DATA)
        if stream.remote_ended and stream.id in self._open:
            self._streams.ended(stream)

    def _refuse_unopened(self, stream_id: int) -> None:
        """A stream that was never opened is a fault of the connection; one that is over may still be spoken of."""
        if stream_id == 0 or stream_id > self._last_id or stream_id % 2 == 0:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, f"stream {stream_id} is not open")

    def _take_headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id % 2 == 0:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "clients open streams with odd numbers")
        fragment = _unpadded(payload) if flags & f.PADDED else payload
        if flags & f.HAS_PRIORITY:
            if len(fragment) < 5:
                raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "a priority takes five bytes")
            if f.number_of(fragment[:4]) & f.WINDOW_MAX == stream_id:
                raise Http2Error(ErrorCode.PROTOCOL_ERROR, "a stream cannot depend on itself")
            fragment = fragment[5:]
        if flags & f.END_HEADERS:
            self._take_block(stream_id, flags, fragment)
        else:
            self._block = (stream_id, flags, bytearray(fragment))

    def _take_continuation(self, flags: int, _: int, payload: bytes) -> None:
        if self._block is None:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "there is no block of headers to continue")
        stream_id, begun_with, block = self._block
        block += payload
        if len(block) > 2 * self._limits.header_bytes_max:
            raise Http2Error(ErrorCode.ENHANCE_YOUR_CALM, "the headers are too long")
        if flags & f.END_HEADERS:
            self._block = None
            self._take_block(stream_id, begun_with, bytes(block))

    def _take_block(self, stream_id: int, flags: int, block: bytes) -> None:
        headers = self._reader.read(block)
        stream = self._open.get(stream_id)
        if stream is not None:
            self._take_trailers(stream, flags, headers)
            return
        if stream_id <= self._last_id:
            raise Http2Error(ErrorCode.STREAM_CLOSED, f"stream {stream_id} has ended")
        self._last_id = stream_id
        if self._going or len(self._open) >= self._limits.streams_max:
            raise StreamError(stream_id, ErrorCode.REFUSED_STREAM, "too many streams at a time")
        if headers is None:
            raise StreamError(stream_id, ErrorCode.ENHANCE_YOUR_CALM, "the headers are too long")
        if fault := fault_of(headers, trailing=False):
            raise StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, fault)
        stream = self._open[stream_id] = Stream(stream_id, self._peer_window, self._limits.stream_window)
        stream.remote_ended = bool(flags & f.END_STREAM)
        stream.missing_bytes = length_of(headers)
        _check_length(stream)
        self._streams.begun(stream, headers)
        if stream.remote_ended and stream_id in self._open:
            self._streams.ended(stream)

    def _take_trailers(self, stream: Stream, flags: int, headers: Headers | None) -> None:
        if stream.remote_ended:
            raise StreamError(stream.id, ErrorCode.STREAM_CLOSED, "headers for a stream that has ended")
        if not flags & f.END_STREAM or headers is None or fault_of(headers, trailing=True):
            raise StreamError(stream.id, ErrorCode.PROTOCOL_ERROR, "what trails a request ends it")
        stream.remote_ended = True
        _check_length(stream)
        self._streams.ended(stream)

    def _take_priority(self, _: int, stream_id: int, payload: bytes) -> None:
        if stream_id == 0:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "a connection has no priority")
        if f.number_of(payload[:4]) & f.WINDOW_MAX == stream_id:
            raise StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, "a stream cannot depend on itself")

    def _take_reset(self, _: int, stream_id: int, __: bytes) -> None:
        stream = self._open.pop(stream_id, None)
        if stream is None:
            self._refuse_unopened(stream_id)
            return
        self._streams.reset(stream)

    def _take_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id != 0:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "settings are those of the connection")
        if len(payload) % 6 or (flags & f.ACK and payload):
            raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "settings have a wrong size")
        self._settings_seen = True
        if flags & f.ACK:
            return
        self.outgoing.append(f.frame(f.SETTINGS, f.ACK, 0))  # before what they set free
        for name, value in f.settings_of(payload):
            self._set(name, value)

    def _set(self, name: int, value: int) -> None:
        if name == f.INITIAL_WINDOW_SIZE:
            if value > f.WINDOW_MAX:
                raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large")
            self._widen_all(value - self._peer_window)
            self._peer_window = value
        elif name == f.MAX_FRAME_SIZE:
            if not f.FRAME_BYTES_MIN <= value <= f.FRAME_BYTES_MAX:
                raise Http2Error(ErrorCode.PROTOCOL_ERROR, "frames cannot have this size")
            self._peer_frame_bytes = value
        elif name == f.ENABLE_PUSH and value not in (0, 1):
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "push is on or off")

    def _widen_all(self, step: int) -> None:
        for stream in list(self._open.values()):
            stream.send_window += step
            if stream.send_window > f.WINDOW_MAX:
                raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large")
            self._pump(stream)

    def _take_push(self, _: int, __: int, ___: bytes) -> None:
        raise Http2Error(ErrorCode.PROTOCOL_ERROR, "clients push nothing")

    def _take_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id != 0:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "pings are those of the connection")
        if flags & f.ACK:
            self.pongs += 1
        else:
            self.outgoing.append(f.frame(f.PING, f.ACK, 0, payload))

    def _take_goaway(self, _: int, stream_id: int, payload: bytes) -> None:
        if stream_id != 0:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "going away is the connection's")
        if len(payload) < 8:
            raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "the frame has a wrong size")

    def _take_window(self, _: int, stream_id: int, payload: bytes) -> None:
        step = f.number_of(payload) & f.WINDOW_MAX
        if stream_id == 0:
            self._widen_connection(step)
            return
        stream = self._open.get(stream_id)
        if stream is None:
            self._refuse_unopened(stream_id)
            return
        if step == 0:
            raise StreamError(stream_id, ErrorCode.PROTOCOL_ERROR, "a window opens by a step")
        stream.send_window += step
        if stream.send_window > f.WINDOW_MAX:
            raise StreamError(stream_id, ErrorCode.FLOW_CONTROL_ERROR, "a window is too large")
        self._pump(stream)

    def _widen_connection(self, step: int) -> None:
        self._send_window += step
        if step == 0:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "a window opens by a step")
        if self._send_window > f.WINDOW_MAX:
            raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large")
        for stream in list(self._open.values()):
            if self._send_window <= 0:
                return
            if stream.waiting:
                self._pump(stream)

    # What goes.

    def took(self, stream: Stream, size: int) -> None:
        """What came was taken: the peer may send as much again. Told in steps, not for every piece."""
        self._took_connection(size)
        stream.taken_bytes += size
        if stream.taken_bytes * 2 >= self._limits.stream_window and not stream.remote_ended:
            self.outgoing.append(f.number_frame(f.WINDOW_UPDATE, stream.id, stream.taken_bytes))
            stream.window += stream.taken_bytes
            stream.taken_bytes = 0

    def _took_connection(self, size: int) -> None:
        self._taken_bytes += size
        if self._taken_bytes * 2 >= self._limits.connection_window:
            self.outgoing.append(f.number_frame(f.WINDOW_UPDATE, 0, self._taken_bytes))
            self._window += self._taken_bytes
            self._taken_bytes = 0

    def send_headers(self, stream: Stream, block: bytes, *, end: bool = False) -> None:
        """A block that fits one frame. With `end` it comes behind all that waits, and the stream is over; where nothing
        is to be said then, it is empty."""
        if stream.id not in self._open:
            return
        if not end:
            self.outgoing.append(f.frame(f.HEADERS, f.END_HEADERS, stream.id, block))
        elif stream.waiting:
            stream.trailers = block
        else:
            self._finish(stream, block)

    def send_data(self, stream: Stream, data: bytes) -> None:
        """As much as the windows allow now; the rest waits in the stream."""
        size = len(data)
        if stream.id not in self._open:
            return
        if (
            not stream.waiting
            and size <= self._peer_frame_bytes
            and size <= stream.send_window
            and size <= self._send_window
        ):
            stream.send_window -= size
            self._send_window -= size
            self.outgoing.append(f.frame(f.DATA, 0, stream.id, data))
            return
        stream.waiting.append(data)
        stream.waiting_bytes += size
        self._pump(stream)
        stream.is_full = stream.waiting_bytes > WAITING_BYTES_MAX

    def reset(self, stream_id: int, number: ErrorCode) -> None:
        """The stream is no more."""
        self.outgoing.append(f.number_frame(f.RST_STREAM, stream_id, number))
        self._count_control(f.RST_STREAM)
        stream = self._open.pop(stream_id, None)
        if stream is not None:
            self._streams.reset(stream)

    def ping(self) -> None:
        self.outgoing.append(f.frame(f.PING, 0, 0, b"braidmq "))

    def go_away(self) -> None:
        """No new streams; those that are open go on."""
        if not self._going:
            self._going = True
            self.outgoing.append(f.goaway_frame(self._last_id, ErrorCode.NO_ERROR, ""))

    def lost(self) -> None:
        """The connection is no more, and so are its streams."""
        self.is_closed = True
        streams, self._open = list(self._open.values()), {}
        for stream in streams:
            self._streams.reset(stream)

    def _close(self, error: Http2Error) -> None:
        self.outgoing.append(f.goaway_frame(self._last_id, error.number, error.message))
        self.lost()

    def _finish(self, stream: Stream, block: bytes) -> None:
        if block:
            self.outgoing.append(f.frame(f.HEADERS, f.END_HEADERS | f.END_STREAM, stream.id, block))
        else:
            self.outgoing.append(f.frame(f.DATA, f.END_STREAM, stream.id))
        self._open.pop(stream.id, None)
        self._control_frames = 0
        if not stream.remote_ended:
            # The answer is whole before the request was: the rest of it is not wanted.
            self.outgoing.append(f.number_frame(f.RST_STREAM, stream.id, ErrorCode.NO_ERROR))

    def _pump(self, stream: Stream) -> None:
        """Send of what waits as much as the windows allow."""
        while stream.waiting:
            room = min(stream.send_window, self._send_window, self._peer_frame_bytes)
            data = stream.waiting.popleft()
            if room <= 0 and data:
                stream.waiting.appendleft(data)
                return
            if len(data) > room:
                stream.waiting.appendleft(data[room:])
                data = data[:room]
            stream.send_window -= len(data)
            self._send_window -= len(data)
            stream.waiting_bytes -= len(data)
            self.outgoing.append(f.frame(f.DATA, 0, stream.id, data))
        if stream.is_full and stream.waiting_bytes <= WAITING_BYTES_MAX // 2:
            stream.is_full = False
            self._streams.drained(stream)
        if stream.trailers is not None:
            self._finish(stream, stream.trailers)


def _unpadded(payload: bytes) -> bytes:
    if not payload or payload[0] >= len(payload):
        raise Http2Error(ErrorCode.PROTOCOL_ERROR, "more padding than there is")
    return payload[1 : len(payload) - payload[0]]


def _check_length(stream: Stream) -> None:
    missing = stream.missing_bytes
    if missing is not None and (missing < 0 or (missing and stream.remote_ended)):
        raise StreamError(stream.id, ErrorCode.PROTOCOL_ERROR, "the request is not as long as it said")


_TAKERS: Final = {
    f.PRIORITY: Connection._take_priority,
    f.RST_STREAM: Connection._take_reset,
    f.SETTINGS: Connection._take_settings,
    f.PUSH_PROMISE: Connection._take_push,
    f.PING: Connection._take_ping,
    f.GOAWAY: Connection._take_goaway,
    f.WINDOW_UPDATE: Connection._take_window,
    f.CONTINUATION: Connection._take_continuation,
}
