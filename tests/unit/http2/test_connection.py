"""A connection of HTTP/2, with python-hyper's `h2` as the other side, and with peers that mean no good."""

import contextlib
import random
from typing import Any, ClassVar

import h2.config
import h2.connection
import h2.events
import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.protocols.http2 import PREFACE, Connection, ErrorCode, Headers, Http2Error, Limits, Stream
from braidmq.protocols.http2 import _frames as f

REQUEST = [(":method", "POST"), (":scheme", "http"), (":authority", "here"), (":path", "/echo")]


class Echo:
    """Gives every request back, when it is whole."""

    wanted: ClassVar[Headers] = REQUEST

    def __init__(self, limits: Limits | None = None) -> None:
        self.connection = Connection(self, limits)
        self.bodies: dict[int, bytearray] = {}
        self.resets: list[int] = []
        self.drains = 0

    def begun(self, stream: Stream, headers: Headers) -> None:
        assert headers[: len(self.wanted)] == self.wanted
        self.bodies[stream.id] = bytearray()

    def brought(self, stream: Stream, data: bytes) -> None:
        self.bodies[stream.id] += data
        self.connection.took(stream, len(data))

    def ended(self, stream: Stream) -> None:
        self.connection.send_headers(stream, b"\x88")
        self.connection.send_data(stream, bytes(self.bodies[stream.id]))
        self.connection.send_headers(stream, b"", end=True)

    def reset(self, stream: Stream) -> None:
        self.resets.append(stream.id)

    def drained(self, _: Stream) -> None:
        self.drains += 1


class Client:
    """`h2` before an `Echo`; bytes cross in pieces."""

    def __init__(self, echo: Echo, pieces: random.Random) -> None:
        self.echo = echo
        self._pieces = pieces
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.answers: dict[int, bytearray] = {}
        self.ended: set[int] = set()
        self.resets: list[int] = []
        self.h2.initiate_connection()
        echo.connection.begin()

    def cross(self) -> None:
        """Until both sides have nothing more to say."""
        while True:
            there, back = self.h2.data_to_send(), b"".join(self.echo.connection.outgoing)
            self.echo.connection.outgoing.clear()
            if not there and not back:
                return
            while there:
                size = self._pieces.randint(1, 20_000)
                self.echo.connection.receive(there[:size])
                there = there[size:]
            for event in self.h2.receive_data(back) if back else ():
                self._hear(event)

    def _hear(self, event: Any) -> None:
        if isinstance(event, h2.events.DataReceived):
            self.answers.setdefault(event.stream_id, bytearray()).extend(event.data)
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended.add(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self.resets.append(event.stream_id)

    def ask(self, body: bytes) -> int:
        """Sends as much as the windows allow at a time."""
        stream_id = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream_id, REQUEST)
        while body:
            self.cross()
            size = min(self.h2.local_flow_control_window(stream_id), self.h2.max_outbound_frame_size, len(body))
            self.h2.send_data(stream_id, body[:size])
            body = body[size:]
        self.h2.end_stream(stream_id)
        return stream_id


@given(st.integers(0, 2**32), st.lists(st.integers(0, 300_000), min_size=1, max_size=6))
def test_every_request_comes_back_whole_whatever_the_pieces(seed: int, sizes: list[int]) -> None:
    draw = random.Random(seed)
    client = Client(Echo(Limits(stream_window=70_000, connection_window=100_000)), draw)
    bodies = {client.ask(body): body for body in (draw.randbytes(size) for size in sizes)}
    client.cross()
    assert client.ended == set(bodies)
    assert {stream_id: bytes(client.answers.get(stream_id, b"")) for stream_id in bodies} == bodies
    assert len(client.echo.connection) == 0


@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_are_answered_or_end_the_connection(data: bytes, greeted: bool) -> None:
    echo = Echo()
    with contextlib.suppress(Http2Error, AssertionError):  # the echo wants certain headers
        echo.connection.receive(PREFACE + f.frame(f.SETTINGS, 0, 0) + data if greeted else data)


@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(0, 255), st.integers(0, 9), st.binary(max_size=60)), max_size=30)
)
def test_any_frames_are_answered_or_end_the_connection(frames: list[tuple[int, int, int, bytes]]) -> None:
    echo = Anything()
    ended_with = ErrorCode.NO_ERROR
    try:
        echo.connection.receive(PREFACE + f.frame(f.SETTINGS, 0, 0))
        for kind, flags, stream_id, payload in frames:
            echo.connection.receive(f.frame(kind, flags, stream_id, payload))
    except Http2Error as error:
        ended_with = error.number
    last = echo.connection.outgoing[-1]
    assert (last[3] == f.GOAWAY) == (ended_with != ErrorCode.NO_ERROR)
    assert last[3] != f.GOAWAY or int.from_bytes(last[13:17], "big") == ended_with


class Anything(Echo):
    """Whatever the headers."""

    wanted: ClassVar[Headers] = []


def greeted(limits: Limits | None = None) -> Echo:
    echo = Echo(limits)
    echo.connection.receive(PREFACE + f.frame(f.SETTINGS, 0, 0))
    echo.connection.outgoing.clear()
    return echo


def opened(echo: Echo, stream_id: int, *, end: bool = False) -> None:
    from hpack import Encoder

    flags = f.END_HEADERS | (f.END_STREAM if end else 0)
    echo.connection.receive(f.frame(f.HEADERS, flags, stream_id, Encoder().encode(REQUEST)))


def reset_rapidly(echo: Echo) -> None:
    for stream_id in range(1, 40_000, 2):
        opened(echo, stream_id)
        echo.connection.receive(f.number_frame(f.RST_STREAM, stream_id, ErrorCode.CANCEL))
        echo.connection.outgoing.clear()


def test_rapid_resets_end_the_connection() -> None:
    with pytest.raises(Http2Error) as raised:
        reset_rapidly(greeted())
    assert raised.value.number == ErrorCode.ENHANCE_YOUR_CALM


def test_endless_headers_end_the_connection() -> None:
    echo = greeted(Limits(header_bytes_max=1000))
    echo.connection.receive(f.frame(f.HEADERS, 0, 1, b"\x00"))
    endless = b"".join(f.frame(f.CONTINUATION, 0, 1, b"x" * 1000) for _ in range(100))
    with pytest.raises(Http2Error) as raised:
        echo.connection.receive(endless)
    assert raised.value.number == ErrorCode.ENHANCE_YOUR_CALM


def test_more_streams_than_may_be_are_refused_and_the_others_go_on() -> None:
    echo = greeted(Limits(streams_max=2))
    for stream_id in (1, 3, 5):
        opened(echo, stream_id)
    assert echo.connection.outgoing[-1] == f.number_frame(f.RST_STREAM, 5, ErrorCode.REFUSED_STREAM)
    assert len(echo.connection) == 2


def test_a_peer_that_takes_nothing_makes_writers_wait() -> None:
    echo = greeted()
    opened(echo, 1)
    stream = next(iter(echo.connection._open.values()))
    echo.connection.send_data(stream, bytes(400_000))
    assert stream.is_full
    for stream_id in (0, 1):
        echo.connection.receive(f.number_frame(f.WINDOW_UPDATE, stream_id, 400_000))
    assert (stream.is_full, stream.waiting_bytes, echo.drains) == (False, 0, 1)


def test_who_goes_away_takes_no_new_streams_but_ends_the_old_ones() -> None:
    echo = greeted()
    opened(echo, 1)
    echo.connection.go_away()
    opened(echo, 3)
    assert echo.connection.outgoing[-1] == f.number_frame(f.RST_STREAM, 3, ErrorCode.REFUSED_STREAM)
    echo.connection.receive(f.frame(f.DATA, f.END_STREAM, 1, b"late"))
    assert f.frame(f.DATA, 0, 1, b"late") in echo.connection.outgoing


def test_a_lost_connection_resets_all_its_streams() -> None:
    echo = greeted()
    opened(echo, 1)
    opened(echo, 3)
    echo.connection.lost()
    assert echo.resets == [1, 3]
