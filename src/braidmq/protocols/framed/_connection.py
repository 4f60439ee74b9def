"""One client's connection, as bytes: frames in, pieces of answers out, within bounded memory. Hot path.

A frame is `length:i32` and so many bytes. What a frame means is the protocol's business: it gives `_take`. While a
client does not read its answers, or too much of it waits (the protocol says when), no more is read from it.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

from braidmq.logger import get_logger
from braidmq.protocols.framed._memory import RequestMemory
from braidmq.protocols.listener import Address

try:
    from braidmq.protocols.framed._room import Room
except ImportError:  # not compiled here: a frame is put together from its pieces
    _IS_COMPILED = False
else:
    _IS_COMPILED = True

WRITE_BUFFER_BYTES = 1 << 20

_SIZE: Final = struct.Struct(">i")
_SMALL_PIECE_BYTES: Final = 4096
_ROOM_BYTES_MIN: Final = 128 << 10
_ROOM_BYTES_MAX: Final = 8 << 20
"""How much must be missing of a frame that is worth a room of its own, and how large it may say it is: room is made
before anything has come."""

_logger = get_logger(__name__)

Buffer = bytes | bytearray | memoryview


class Home(Protocol):
    """What a connection needs of its listener."""

    name: str
    memory: RequestMemory
    request_bytes_max: int

    def opened(self, connection: Any) -> bool:
        """Whether there is room for one more."""
        ...

    def closed(self, connection: Any) -> None: ...


class FramedConnection(asyncio.Protocol):
    """A protocol's connection derives from this, and gives `_take`, `_is_busy`, `_go_on`, `_lost` and `is_idle`."""

    __slots__ = (
        "_advertise",
        "_frame_bytes",
        "_home",
        "_is_flushing",
        "_is_reading",
        "_is_write_due",
        "_loop",
        "_output",
        "_partial",
        "_partial_bytes",
        "_said_all",
        "_size_begun",
        "_transport",
        "heard_at",
        "here",
        "opened_at",
        "peer",
    )

    frame_bytes_min = 0

    def __init__(self, home: Home, advertise: Callable[[Address], Address]) -> None:
        self._home = home
        self._advertise = advertise
        self._loop = asyncio.get_running_loop()
        self._said_all = False
        """The client sends no more."""
        self._partial: list[bytes | bytearray] = []
        """The pieces of a frame that has not arrived whole."""
        self._partial_bytes = 0
        self._frame_bytes = 0
        self._size_begun = b""
        """The first bytes of a frame's size, where they came alone."""
        self._output: list[Buffer] = []
        self._is_write_due = False
        self._is_flushing = False
        self._is_reading = True
        self.opened_at = self.heard_at = self._loop.time()

    # What a protocol gives.

    def _take(self, frame: bytes) -> None:
        """A whole frame, without its size. It is counted in the listener's memory until `free`."""
        raise NotImplementedError

    def _take_several(self, data: bytes, position: int) -> int:  # noqa: ARG002 - for those who can
        """Frames that can be taken faster together, from this position on; where the next begins. Those that were taken
        are counted in the listener's memory until `free`."""
        return position

    def _is_busy(self) -> bool:
        """Whether enough of this client waits for now."""
        raise NotImplementedError

    def _go_on(self) -> None:
        """The client reads its answers again."""

    def _lost(self) -> None:
        """The connection is gone; what was counted in the listener's memory is freed here."""

    @property
    def is_idle(self) -> bool:
        """Nothing is under way."""
        raise NotImplementedError

    @property
    def client(self) -> tuple[str, str]:
        """The client's name and its software, as far as it has told."""
        return "", ""

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        peer = self._transport.get_extra_info("peername") or ("", 0)
        here = self._transport.get_extra_info("sockname") or ("", 0)
        self.peer = Address(*peer[:2])
        self.here = self._advertise(Address(*here[:2]))
        """Where this client reaches us, as far as it is to know."""
        if (wire := self._transport.get_extra_info("socket")) is not None:
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self._home.opened(self):
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the transport's own signature
        self._home.closed(self)
        self._home.memory.free_partial(self._partial_bytes)
        self._partial_bytes = 0
        self._partial.clear()
        self._lost()

    def pause_writing(self) -> None:
        self._is_flushing = True
        self._regulate()

    def resume_writing(self) -> None:
        self._is_flushing = False
        self._go_on()
        self._regulate()

    def eof_received(self) -> bool:
        """A client that has said all may still want its answers; after the last of them the connection ends."""
        self._said_all = True
        return not self.is_idle

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
            position = self._take_several(data, position)
            if size - position < 4:
                break
            (frame_bytes,) = _SIZE.unpack_from(data, position)
            if not self.frame_bytes_min <= frame_bytes <= self._home.request_bytes_max:
                self._refuse(f"a request of {frame_bytes} bytes; at most {self._home.request_bytes_max} are taken")
                return
            position += 4
            if size - position < frame_bytes:
                self._begin_frame(data[position:], frame_bytes)
                position = size
                break
            frame = data[position : position + frame_bytes]
            self._home.memory.take(frame_bytes)
            self._take(frame)
            position += frame_bytes
        self._size_begun = data[position:]
        self._write_output()
        self._regulate()

    def _begin_frame(self, piece: bytes, frame_bytes: int) -> None:
        self._frame_bytes = frame_bytes
        if _IS_COMPILED and frame_bytes - len(piece) >= _ROOM_BYTES_MIN and frame_bytes <= _ROOM_BYTES_MAX:
            self._transport.set_protocol(_Filling(self, Room(frame_bytes, piece)))
        else:
            self._partial.append(piece)
        self.hold(len(piece))

    def filled(self, frame: bytes) -> None:
        """A frame has come whole that had room of its own."""
        self._transport.set_protocol(self)
        self.heard_at = self._loop.time()
        self._take_whole(frame)
        self._write_output()
        self._regulate()

    def _take_whole(self, frame: bytes) -> None:
        """Take a frame that came in pieces."""
        self._home.memory.free_partial(self._partial_bytes)
        self._partial_bytes = 0
        self._home.memory.take(len(frame))
        self._take(frame)

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
        if self._partial_bytes + len(piece) < self._frame_bytes:
            self.hold(len(piece))
        else:
            frame = b"".join(self._partial)
            self._partial.clear()
            self._take_whole(frame)
        return len(piece)

    def hold(self, size: int) -> None:
        """A piece of a request has arrived, and the rest has not."""
        self._partial_bytes += size
        self.heard_at = self._loop.time()
        if not self._home.memory.take_partial(size):
            self._refuse(f"requests that have not arrived whole take all of {self._home.name}.buffer_bytes_max")

    def _refuse(self, why: str) -> None:
        _logger.info("connection closed", protocol=self._home.name, client=self.peer.host, reason=why)
        self._write_output()
        self._transport.close()

    def _write_soon(self) -> None:
        """Write what there is to write together with what else comes in this turn: each write wakes the client."""
        if not self._is_write_due:
            self._is_write_due = True
            self._loop.call_soon(self._write_due)

    def _write_due(self) -> None:
        self._is_write_due = False
        self._write_output()

    def _write_output(self) -> None:
        output = self._output
        if output:
            self._output = []
            if not self._transport.is_closing():
                if len(output) == 1:
                    self._transport.write(output[0])
                else:
                    self._transport.writelines(output)
        if self._said_all and self.is_idle:
            self._transport.close()

    def _regulate(self) -> None:
        """Read from this client only while what it sent can be worked on."""
        if self._transport.is_closing():
            return
        is_full = self._home.memory.is_full
        is_busy = self._is_flushing or is_full or self._is_busy()
        if is_busy and self._is_reading:
            self._is_reading = False
            self._transport.pause_reading()
            if is_full:
                self._home.memory.when_free(self._regulate)
        elif not is_busy and not self._is_reading:
            self._is_reading = True
            self._transport.resume_reading()

    # The listener's side.

    def close(self) -> None:
        """Leave when the output is written."""
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()


class _Filling(asyncio.BufferedProtocol):
    """Stands in for a connection while a large frame comes, so that it is read to where it stays."""

    __slots__ = ("_connection", "_room")

    def __init__(self, connection: FramedConnection, room: "Room") -> None:
        self._connection = connection
        self._room = room

    def get_buffer(self, sizehint: int) -> "Room":  # noqa: ARG002 - there is as much room as is needed
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        if (frame := self._room.fill(nbytes)) is not None:
            self._connection.filled(frame)
        else:
            self._connection.hold(nbytes)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.connection_lost(exc)

    def eof_received(self) -> bool:
        return self._connection.eof_received()

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()
