"""One client's connection: frames in, answers out, in the order of the requests. Hot path.

A client may send many requests without waiting for answers. Produce requests are begun as they come, so that those of
one moment share a commit; every other request waits until all before it are answered, as it would on a Kafka broker.
While too much waits, or the client does not read its answers, no more is read from it.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol

from braidmq.core.quotas import Quotas
from braidmq.logger import get_logger
from braidmq.model.errors import MalformedRequest
from braidmq.protocols.framed import FramedConnection
from braidmq.protocols.framed import Home as FramedHome
from braidmq.protocols.kafka import _audit
from braidmq.protocols.kafka._call import UNKNOWN, Call, Client
from braidmq.protocols.kafka._errors import CloseConnection
from braidmq.protocols.kafka._later import Later
from braidmq.protocols.kafka._operations import Response, operations
from braidmq.protocols.kafka._plain_produces import begin_plain
from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka._throttles import Reckoning
from braidmq.protocols.kafka.codec import (
    ApiKey,
    ApiMessage,
    RequestHeader,
    Unencodable,
    decode_request,
    encode_response,
    encode_response_pieces,
    peek_request,
)
from braidmq.protocols.kafka.handlers.api_versions import unsupported_version
from braidmq.protocols.listener import Address

_PRODUCE: Final = b"\x00\x00"
_PRODUCE_KEY: Final = int(ApiKey.PRODUCE)
_FETCH: Final = int(ApiKey.FETCH)
_WAITING_MAX = 64
_WAITING_BYTES_MAX = 4 << 20

_logger = get_logger(__name__)


class Home(FramedHome, Protocol):
    """What a connection needs of its listener."""

    services: KafkaServices
    quotas: Quotas
    requests: Counter[int]
    """How many there were, by API key."""
    audited: frozenset[int]
    """The API keys of requests that change something, which the audit log tells of."""


class Connection(FramedConnection):
    """Made by the listener for each client."""

    __slots__ = (
        "_begun",
        "_begun_produce",
        "_client",
        "_limited",
        "_quotas",
        "_rest",
        "_rests_until",
        "_waiting",
        "_waiting_bytes",
        "_waiting_bytes_max",
    )

    _home: Home

    def __init__(self, home: Home, advertise: Callable[[Address], Address]) -> None:
        super().__init__(home, advertise)
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._begun: deque[_Begun] = deque()
        self._begun_produce = False
        self._quotas = home.quotas
        self._limited = (-1, b"", False)
        """The quotas' revision, the client id as it was sent, and whether there is a quota for it."""
        self._waiting_bytes_max = _WAITING_BYTES_MAX
        """Next to nothing while the connection rests: others need the memory. As long as nothing waits, it is read
        from, so that a client that ends is noticed."""
        self._rest: Later | None = None
        """What stands in the line of answers while the connection rests, so that nothing is begun."""
        self._rests_until = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._client = Client(self.peer.host, self.here)

    def _lost(self) -> None:
        self._home.memory.free(self._waiting_bytes + sum(begun.frame_bytes for begun in self._begun))
        self._waiting.clear()
        begun, self._begun = self._begun, deque()
        for each in begun:
            each.later.lose()
        self._client.lose()

    def eof_received(self) -> bool:
        """Who holds messages and says no more is gone, whatever it still waits for: others are to have them at once."""
        return not self._client.bound and super().eof_received()

    def _is_busy(self) -> bool:
        return (
            len(self._waiting) >= _WAITING_MAX
            or self._waiting_bytes >= self._waiting_bytes_max
            or len(self._begun) >= _WAITING_MAX
        )

    def _go_on(self) -> None:
        self._begin_waiting()

    @property
    def is_idle(self) -> bool:
        return not self._waiting and (not self._begun or (self._rest is not None and len(self._begun) == 1))

    @property
    def client(self) -> tuple[str, str]:
        named = (self._client.software_name, self._client.software_version)
        return self._client.id, " ".join(each for each in named if each != UNKNOWN)

    # Requests.

    def _take(self, frame: bytes) -> None:
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
            if self._quotas.on and self._is_limited(frame):
                reckoning = Reckoning(self._quotas, self._client, len(frame), self._rest_for)
            else:
                reckoning = None
                if frame[:2] == _PRODUCE:
                    later = begin_plain(frame, self._client, self._home.services)
                    if later is not None:
                        self._home.requests[_PRODUCE_KEY] += 1
                        self._await(None, later, frame)
                        return True
            header, request = decode_request(frame)
            operation = operations.get(header.request_api_key)
            if operation is None or not _within(operation.handler.versions, header.request_api_version):
                raise MalformedRequest(
                    f"API {header.request_api_key} version {header.request_api_version} is not answered here"
                )
            self._home.requests[header.request_api_key] += 1
            self._client.id = header.client_id or ""
            if reckoning is not None:
                reckoning.bound(header, request)
            result = operation.handler.answer(Call(header, request, self._client, self._home.services))
            if header.request_api_key in self._home.audited:
                result = self._noted(header, request, result)
        except MalformedRequest as error:
            self._answer_unreadable(frame, error)
            return False
        except Exception as error:  # a fault of ours: this client is told by the closed connection, others go on
            self._fail(error)
            return False
        if reckoning is not None:
            self._await(header, reckoning.answer, frame)
            reckoning.follow(result)
            return True
        if result is None or isinstance(result, ApiMessage):
            self._answer(header, result)
            return False
        if isinstance(result, Later):
            later = result
        else:
            later = Later()
            later.follow(asyncio.ensure_future(result, loop=self._loop))
        self._await(header, later, frame)
        return True

    def _await(self, header: RequestHeader | None, later: Later, frame: bytes) -> None:
        self._begun_produce = frame[:2] == _PRODUCE
        self._begun.append(_Begun(header, later, len(frame)))
        later.when_done = self._answer_begun
        if later.is_done:
            self._answer_begun()

    async def _noted(
        self, header: RequestHeader, request: Any, result: Response | Later | Awaitable[Response]
    ) -> Response:
        """The answer, once it is there, with a note for the audit log."""
        response: Response = None
        try:
            if isinstance(result, Later):
                response = await result.wait()
            else:
                response = result if result is None or isinstance(result, ApiMessage) else await result
        finally:
            _audit.note(self._home.services.auditor, self._client.host, header, request, response)
        return response

    def _answer_unreadable(self, frame: bytes, error: MalformedRequest) -> None:
        if len(frame) >= 8 and (beginning := peek_request(frame)).api_key == ApiKey.API_VERSIONS:
            first = RequestHeader(
                request_api_key=beginning.api_key, request_api_version=0, correlation_id=beginning.correlation_id
            )
            self._answer(first, unsupported_version(operations))
        else:
            self._refuse(error.message)

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, CloseConnection):
            self._refuse(error.message)
            return
        if not isinstance(error, asyncio.CancelledError):
            _logger.error("kafka request failed", client=self._client.host, exc_info=error)
        self._transport.abort()

    # Quotas.

    def _is_limited(self, frame: bytes) -> bool:
        """Whether there is a quota for who sent this: the others go the shorter way. Clients keep their id."""
        client_id = frame[10 : 10 + max(int.from_bytes(frame[8:10], "big", signed=True), 0)]
        revision, known_id, is_limited = self._limited
        if revision != self._quotas.revision or client_id != known_id:
            is_limited = self._quotas.covers(self._client.user, client_id.decode(errors="replace"))
            self._limited = (self._quotas.revision, client_id, is_limited)
        return is_limited

    def _rest_for(self, wait_ms: float) -> None:
        """Begin nothing more for so long, and read no further; what was begun is answered."""
        if self._transport.is_closing():
            return
        until = self._loop.time() + wait_ms / 1000
        if self._rest is None:
            self._rest = Later()
            self._rest.when_done = self._answer_begun
            self._begun.append(_Begun(None, self._rest, 0))
            self._begun_produce = False
        elif until <= self._rests_until:
            return
        else:
            self._rest.on_lost()
        self._rests_until = until
        self._rest.on_lost = self._loop.call_at(until, self._end_rest).cancel
        self._waiting_bytes_max = 1
        self._regulate()

    def _end_rest(self) -> None:
        rest, self._rest = self._rest, None
        self._waiting_bytes_max = _WAITING_BYTES_MAX
        if rest is not None:
            rest.tell(b"")

    def turn_away(self, wait_ms: float) -> None:
        """Hear nothing of this client, and close the connection after a while."""
        self._loop.call_soon(self._rest_for, 2 * wait_ms)
        self._loop.call_later(wait_ms / 1000, self._transport.close)

    # Answers.

    def _answer_begun(self) -> None:
        """Answer what is finished, in order. Called from wherever an answer was made, so nothing else is begun here."""
        begun = self._begun
        try:
            while begun and begun[0].later.is_done:
                header, later, frame_bytes = begun.popleft()
                self._home.memory.free(frame_bytes)
                if later.error is not None:
                    self._fail(later.error)
                    return
                if header is None or isinstance(later.response, bytes):
                    assert isinstance(later.response, bytes)
                    self._output.append(later.response)
                else:
                    self._answer(header, later.response)
            if begun:
                self._write_soon()  # others may be answered in this turn, too
            else:
                self._write_output()
        except Exception as error:  # a fault of ours, of which who made the answer is not to hear: others wait for it
            self._fail(error)
        if not begun and (self._waiting or not self._is_reading):
            self._loop.call_soon(self._begin_waiting)

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


class _Begun(NamedTuple):
    """A request whose answer is being made."""

    header: RequestHeader | None
    """None where the answer comes as a frame."""
    later: Later
    frame_bytes: int


def _within(versions: tuple[int, int], version: int) -> bool:
    return versions[0] <= version <= versions[1]
