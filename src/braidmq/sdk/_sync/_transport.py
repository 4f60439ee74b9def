# Made by tools/unasync.py from ../_async: change it there.
"""Requests to a node, repeated with back-off where a repetition cannot do harm.

A request may be sent again when it never reached the node, or when it is `safe`: it changes nothing, or it carries a
key by which the node knows it again. Everything else is sent once, and a lost answer is told to the caller.
"""

import time
from collections.abc import Generator, Mapping
from typing import Any, TypeVar

import httpx
import msgspec

from braidmq.model import BraidError
from braidmq.sdk._backoff import Backoff
from braidmq.sdk._concurrency import lines, read, sleep
from braidmq.sdk._targets import API, KEY_HEADER, Target, client, said
from braidmq.sdk.errors import Closed, Unreachable, refusal

AnswerT = TypeVar("AnswerT")

_EVENT_CONTENT = "data: "
_NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Transport:
    """One node. `retry_s` is how long a call goes on trying, `timeout_s` how long one answer may take."""

    def __init__(self, target: Target, *, timeout_s: float, retry_s: float, client_id: str = "") -> None:
        """Raises Unreachable where the address is none."""
        self._client = client(target, timeout_s, client_id)
        self._timeout_s = timeout_s
        self._retry_s = retry_s

    def close(self) -> None:
        self._client.close()

    def ask(
        self,
        kind: type[AnswerT],
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
        safe: bool = False,
        wait_s: float = 0.0,
        headers: Mapping[str, str] | None = None,
        retry_s: float | None = None,
    ) -> AnswerT:
        """The answer as this type. Raises Unreachable, Closed, and what the node refuses it for."""
        content = self.send(
            method, path, query=query, body=body, key=key, safe=safe, wait_s=wait_s, headers=headers, retry_s=retry_s
        )
        if kind is type(None):
            return None
        return msgspec.json.decode(content, type=kind)

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
        safe: bool = False,
        wait_s: float = 0.0,
        headers: Mapping[str, str] | None = None,
        retry_s: float | None = None,
    ) -> bytes:
        """The content of the answer. `wait_s` is how long the node was asked to wait."""
        content = None if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        sent_headers = dict(headers or {})
        if content is not None:
            sent_headers["content-type"] = "application/json"
        if key is not None:
            sent_headers[KEY_HEADER] = key
        request = self._client.build_request(
            method,
            API + path,
            params=said(query or {}),
            content=content,
            headers=sent_headers,
            timeout=httpx.Timeout(self._timeout_s + wait_s, connect=self._timeout_s),
        )
        limit_s = self._retry_s if retry_s is None else retry_s
        return self._persist(request, safe=safe or key is not None or method == "GET", retry_s=limit_s)

    def events(self, path: str) -> Generator[bytes, None]:
        """The contents of server-sent events, until the node ends the stream. Raises Unreachable, Closed, and what the
        node refuses it for; a stream that breaks is not taken up again."""
        try:
            with self._client.stream("GET", API + path, timeout=self._timeout_s) as response:
                if response.status_code >= 400:
                    raise refusal(response.status_code, read(response))
                for line in lines(response):
                    if line.startswith(_EVENT_CONTENT):
                        yield line.removeprefix(_EVENT_CONTENT).encode()
        except httpx.TransportError as error:
            raise Unreachable(f"{API}{path}: {str(error) or type(error).__name__}") from error
        except RuntimeError as error:
            if self._client.is_closed:
                raise Closed from error
            raise

    def _persist(self, request: httpx.Request, *, safe: bool, retry_s: float) -> bytes:
        backoff = Backoff()
        deadline_s = time.monotonic() + retry_s
        while True:
            try:
                return self._once(request, safe=safe)
            except _Again as again:
                pause_s = backoff.next_s()
                if time.monotonic() + pause_s > deadline_s:
                    raise again.error from again.__cause__
            sleep(pause_s)

    def _once(self, request: httpx.Request, *, safe: bool) -> bytes:
        try:
            response = self._client.send(request)
        except httpx.TransportError as error:
            problem = Unreachable(f"{request.url.host}:{request.url.port}: {str(error) or type(error).__name__}")
            if safe or isinstance(error, _NEVER_ARRIVED):
                raise _Again(problem) from error
            raise problem from error
        except RuntimeError as error:
            if self._client.is_closed:
                raise Closed from error
            raise
        if response.status_code < 400:
            return response.content
        refused = refusal(response.status_code, response.content)
        if refused.retriable:
            raise _Again(refused)
        raise refused


class _Again(Exception):
    """The request may be sent again."""

    def __init__(self, error: BraidError) -> None:
        self.error = error
