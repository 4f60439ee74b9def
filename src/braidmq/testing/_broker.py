"""The broker in memory, behind the two doors that httpx has: requests are answered here, and no socket is opened.

One lock guards everything. A request that waits is looked at again every few milliseconds until something came.
"""

import asyncio
import threading
import time
from hashlib import blake2b
from types import TracebackType
from typing import Any, Final

import httpx
import msgspec

from braidmq.model import BraidError, Message
from braidmq.model.errors import IdempotencyKeyReused
from braidmq.sdk import Message as ReadMessage
from braidmq.testing._routes import Answer, NotInMemory, Request, Routes

LOOK_S: Final = 0.005


class MemoryBroker:
    """What clients take in place of a node's address. `failing` answers the next requests with 503, so many of them."""

    def __init__(self) -> None:
        self._routes = Routes()
        self._lock = threading.Lock()
        self._answers: dict[str, tuple[bytes, Answer]] = {}
        self.failing = 0

    def __enter__(self) -> "MemoryBroker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """There is nothing to close."""

    @property
    def transport(self) -> httpx.BaseTransport:
        return _Door(self)

    @property
    def async_transport(self) -> httpx.AsyncBaseTransport:
        return _AsyncDoor(self)

    def messages(self, topic: str) -> list[ReadMessage]:
        """All that was sent to a topic, by partition; none where there is no such topic."""
        with self._lock:
            self._routes.topics.pass_time(_now_ms())
            found = self._routes.topics.topics.get(topic)
            return [] if found is None else [_read(message) for log in found.partitions for message in log]

    def dead_letters(self, group: str) -> list[ReadMessage]:
        """All that a group could not work on."""
        with self._lock:
            found = self._routes.groups.get(group)
            return [] if found is None else [_read(message) for message, _ in found.dead]

    def answer(self, request: Request) -> Answer:
        """The answer, now."""
        with self._lock:
            if self.failing > 0:
                self.failing -= 1
                return Answer(503, b"")
            try:
                return self._once(request)
            except BraidError as error:
                return _problem(error)
            except msgspec.DecodeError as error:
                return Answer(400, _encode_problem("bad_request", f"body: {error}", retriable=False))

    def _once(self, request: Request) -> Answer:
        """A request with a key that was answered before gets that answer."""
        key = request.headers.get("idempotency-key")
        if key is None:
            return self._routes.handle(request, _now_ms())
        digest = blake2b(f"{request.method} {request.path}\n".encode() + request.body).digest()
        known = self._answers.get(key)
        if known is not None and known[0] != digest:
            raise IdempotencyKeyReused
        if known is None:
            known = self._answers[key] = (digest, self._routes.handle(request, _now_ms()))
        return known[1]


class _Door(httpx.BaseTransport):
    """For blocking clients."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = _request(request, request.read())
        deadline_s = time.monotonic() + asked.wait_s
        answer = self._broker.answer(asked)
        while answer.is_empty and time.monotonic() < deadline_s:
            time.sleep(LOOK_S)
            answer = self._broker.answer(asked)
        return _response(answer)


class _AsyncDoor(httpx.AsyncBaseTransport):
    """For async clients."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        asked = _request(request, await request.aread())
        deadline_s = time.monotonic() + asked.wait_s
        answer = self._broker.answer(asked)
        while answer.is_empty and time.monotonic() < deadline_s:
            await asyncio.sleep(LOOK_S)
            answer = self._broker.answer(asked)
        return _response(answer)


def _request(request: httpx.Request, body: bytes) -> Request:
    query = dict(request.url.params)
    wait_s = float(query.get("wait_s", 0))
    if request.url.path.endswith("/receive"):
        wait_s = float(msgspec.json.decode(body).get("wait_s", 0))
    return Request(
        request.method, request.url.raw_path.partition(b"?")[0].decode(), query, request.headers, body, wait_s
    )


def _response(answer: Answer) -> httpx.Response:
    kind = "application/json" if answer.status < 400 else "application/problem+json"
    return httpx.Response(answer.status, content=answer.content, headers={"content-type": kind})


def _problem(error: BraidError) -> Answer:
    status = 404 if error.code.startswith("unknown_") else 501 if isinstance(error, NotInMemory) else 422
    return Answer(status, _encode_problem(error.code, error.message, fix=error.fix, retriable=error.retriable))


def _encode_problem(code: str, detail: str, *, fix: str = "", retriable: bool) -> bytes:
    problem: dict[str, Any] = {"title": "", "status": 0, "code": code, "detail": detail, "fix": fix}
    return msgspec.json.encode(problem | {"retriable": retriable})


def _read(message: Message) -> ReadMessage:
    from braidmq.core.desk.message_views import message_view

    return msgspec.json.decode(msgspec.json.encode(message_view(message)), type=ReadMessage)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
