"""Requests while there are quotas: what each uses, and for how long its connection rests for that.

As since Kafka 2.0 (KIP-219), an answer comes at once and says for how long; meanwhile nothing more is read from that
connection. What is counted: the bytes of produce requests, the bytes of records in answers to fetches, and the time
that this node's one thread works on a request, with its answer; work that is handed to other tasks is not. A fetch
under a quota gets what it asked for, but no more than may be used at once, and the rest follows it: on Kafka it is
answered with nothing, and has to ask again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from time import perf_counter_ns
from typing import Any, Final

from braidmq.core.quotas import Quotas
from braidmq.model.limits import Limit
from braidmq.protocols.kafka._call import Client
from braidmq.protocols.kafka._later import Later
from braidmq.protocols.kafka._operations import Response
from braidmq.protocols.kafka.codec import (
    ApiKey,
    ApiMessage,
    RequestHeader,
    encode_response,
    encode_response_pieces,
)

_FETCHES: Final = (int(ApiKey.FETCH), int(ApiKey.SHARE_FETCH))
_PRODUCE: Final = int(ApiKey.PRODUCE)
_NS_PER_PERCENT: Final = 10_000_000
"""Of a second."""


class Reckoning:
    """One request, from its arrival to its answer."""

    __slots__ = ("_began_ns", "_busy_ns", "_client", "_frame_bytes", "_header", "_quotas", "_rest", "answer")

    def __init__(self, quotas: Quotas, client: Client, frame_bytes: int, rest: Callable[[float], None]) -> None:
        self._quotas = quotas
        self._client = client
        self._frame_bytes = frame_bytes
        self._rest = rest
        self._busy_ns = 0
        self._began_ns = perf_counter_ns()
        self._header: RequestHeader | None = None
        self.answer = Later()
        """The answer as a frame, with the time to rest in it."""

    def bound(self, header: RequestHeader, request: Any) -> None:
        """Ask for no more than may be used at once, and wait for no more."""
        self._header = header
        if header.request_api_key in _FETCHES:
            at_once = self._quotas.at_once(Limit.CONSUMED_BYTES, self._client.user, header.client_id or "")
            if at_once is not None:
                request.max_bytes = int(min(request.max_bytes, max(at_once, 1)))
                request.min_bytes = min(request.min_bytes, request.max_bytes)

    def follow(self, result: Response | Later | Awaitable[Response]) -> None:
        """Take what the handler returned. Raises nothing: what went wrong is what the answer fails with."""
        if result is None or isinstance(result, ApiMessage):
            self._tell(result)
            return
        if isinstance(result, Later):
            later = result
        else:
            later = Later()
            later.follow(asyncio.ensure_future(_Measured(result, self)))
        self.count()
        if later.is_done:
            self._take(later)
        else:
            later.when_done = partial(self._take, later)
            self.answer.on_lost = later.lose

    def resume(self) -> None:
        """Work on the request begins again."""
        self._began_ns = perf_counter_ns()

    def count(self) -> None:
        """Work on the request pauses."""
        now_ns = perf_counter_ns()
        self._busy_ns += now_ns - self._began_ns
        self._began_ns = now_ns

    def _take(self, later: Later) -> None:
        if later.error is not None:
            self.answer.fail(later.error)
            return
        assert not isinstance(later.response, bytes)
        self.resume()
        self._tell(later.response)

    def _tell(self, response: Response) -> None:
        """The answer goes first; the connection rests behind it."""
        try:
            self.count()
            wait_ms = self._use(response)
            frame = self._encoded(response, round(wait_ms))
        except Exception as error:  # goes to the connection, which ends by it
            self.answer.fail(error)
            return
        self.answer.tell(frame)
        if wait_ms:
            self._rest(wait_ms)

    def _use(self, response: Response) -> float:
        assert self._header is not None
        who = self._client.user, self._header.client_id or ""
        wait_ms = float(getattr(response, "throttle_time_ms", 0))
        if self._header.request_api_key == _PRODUCE:
            wait_ms = max(wait_ms, self._quotas.use(Limit.PUBLISHED_BYTES, *who, self._frame_bytes))
        elif self._header.request_api_key in _FETCHES:
            wait_ms = max(wait_ms, self._quotas.use(Limit.CONSUMED_BYTES, *who, _record_bytes(response)))
        busy, self._busy_ns = self._busy_ns / _NS_PER_PERCENT, 0
        return max(wait_ms, self._quotas.use(Limit.BUSY_PERCENT, *who, busy))

    def _encoded(self, response: Response, wait_ms: int) -> bytes | None:
        """The time that this takes is counted, and waited for with the next request."""
        assert self._header is not None
        if response is None:
            return None
        if hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = wait_ms
        if self._header.request_api_key in _FETCHES:
            frame = b"".join(encode_response_pieces(self._header, response))
        else:
            frame = encode_response(self._header, response)
        self.count()
        busy = self._busy_ns / _NS_PER_PERCENT
        self._quotas.use(Limit.BUSY_PERCENT, self._client.user, self._header.client_id or "", busy)
        return frame


class _Measured:
    """Something that is awaited, whose steps are counted."""

    __slots__ = ("_reckoning", "_work")

    def __init__(self, work: Awaitable[Response], reckoning: Reckoning) -> None:
        self._work = work
        self._reckoning = reckoning

    def __await__(self) -> Generator[Any, Any, Response]:
        steps = self._work.__await__()
        step: Callable[[], Any] = partial(next, steps)
        while True:
            self._reckoning.resume()
            try:
                waited_for = step()
            except StopIteration as end:
                response: Response = end.value
                return response
            finally:
                self._reckoning.count()
            try:
                yield waited_for
            except BaseException as error:  # a cancellation, for those who wait inside
                step = partial(steps.throw, error)
            else:
                step = partial(next, steps)


def _record_bytes(response: Any) -> int:
    """How much of the answer is records."""
    return sum(
        len(partition.records or b"")
        for topic in getattr(response, "responses", None) or ()
        for partition in topic.partitions
    )
