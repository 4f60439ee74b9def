"""A small client of the node's HTTP interface. Every failure becomes an error that has a message and an exit status.

Answers are what JSON gives: dictionaries and lists. The commands show them; they do not compute with them.
"""

import json
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from braidmq.cli._errors import NodeRefused, NodeStorage, NotThere, Unreachable

if TYPE_CHECKING:
    import ssl

    import httpx

API: Final = "/api/v1"
TIMEOUT_S: Final = 40.0
"""Longer than the longest wait that the node allows in one request."""
CONNECT_S: Final = 5.0
PAGE_SIZE: Final = 1_000

_STORAGE_CODES: Final = frozenset({"storage_full", "storage_failed", "damaged_log", "log_closed", "too_many_files"})

Query = Mapping[str, Any]


def path_of(*parts: object) -> str:
    """A path of the interface; names may hold any character."""
    return API + "".join(f"/{quote(str(part), safe='')}" for part in parts)


class Api:
    """One node, asked by HTTP."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        """Raises Unreachable where the address is none."""
        import httpx

        self.url = url.rstrip("/")
        timeout = httpx.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s))
        try:
            self._client = httpx.Client(base_url=self.url, timeout=timeout, trust_env=False, verify=_trust(url))
        except (httpx.InvalidURL, ValueError) as error:
            raise Unreachable(f"{url!r} is no address: {error}", fix=_EXAMPLE) from error

    def __enter__(self) -> "Api":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, path: str, **query: Any) -> Any:
        """The answer. Raises NotThere, NodeRefused, NodeStorage, Unreachable; so do all that follow."""
        return self.ask("GET", path, query=query)

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        return self.ask("POST", path, query=query, body=body)

    def put(self, path: str, body: Any = None, **query: Any) -> Any:
        return self.ask("PUT", path, query=query, body=body)

    def patch(self, path: str, body: Any = None, **query: Any) -> Any:
        return self.ask("PATCH", path, query=query, body=body)

    def delete(self, path: str, **query: Any) -> Any:
        return self.ask("DELETE", path, query=query)

    def ask(self, method: str, path: str, *, query: Query, body: Any = None) -> Any:
        """None where the node answers with nothing."""
        response = self._request(method, path, query, body)
        return response.json() if response.content else None

    def text(self, path: str) -> str:
        """What is no JSON, such as the metrics."""
        return self._request("GET", path, {}, None).text

    def all(self, path: str, *, limit: int, **query: Any) -> tuple[list[Any], int]:
        """The first items of a list with pages, and how many there are."""
        found: list[Any] = []
        page, total = 1, 1
        while len(found) < min(total, limit):
            answer = self.get(path, page=page, page_size=min(PAGE_SIZE, limit), **query)
            found += answer["items"]
            total, page = answer["total"], page + 1
            if not answer["items"]:
                break
        return found[:limit], total

    def through(self, path: str, *, limit: int, **query: Any) -> tuple[list[Any], bool]:
        """The first items of a list with a cursor, and whether there are more."""
        found: list[Any] = []
        cursor: str | None = None
        while True:
            answer = self.get(path, cursor=cursor, limit=min(PAGE_SIZE, limit - len(found)), **query)
            found += answer["items"]
            cursor = answer["cursor"]
            if cursor is None or len(found) >= limit:
                return found, cursor is not None

    def lines(self, path: str, **query: Any) -> Iterator[str]:
        """The lines of an answer, as they come."""
        import httpx

        try:
            with self._client.stream("GET", path, params=_said(query), timeout=_without_end()) as response:
                if response.status_code >= 400:
                    response.read()
                    raise _refusal(response)
                yield from response.iter_lines()
        except httpx.TransportError as error:
            raise _unreachable(self.url, error) from error

    def events(self, path: str, **query: Any) -> Iterator[tuple[str, Any]]:
        """Server-sent events: the name of each, and its content."""
        name = ""
        for line in self.lines(path, **query):
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                yield name, json.loads(value)

    def _request(self, method: str, path: str, query: Query, body: Any) -> "httpx.Response":
        import httpx

        try:
            response = self._client.request(method, path, params=_said(query), json=body)
        except httpx.TransportError as error:
            raise _unreachable(self.url, error) from error
        if response.status_code >= 400:
            raise _refusal(response)
        return response


_EXAMPLE: Final = "Name the node's HTTP address with --url, BRAID_URL or `braid context add`: http://127.0.0.1:8400"


def _said(query: Query) -> dict[str, Any]:
    """Without what was not said; truth as JSON has it."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None and value != ""
    }


def _trust(url: str) -> "ssl.SSLContext | bool":
    """Reading all certificates takes longer than most commands; without TLS there are none to check, and this trusts
    nobody."""
    if url.startswith("https:"):
        return True
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _without_end() -> "httpx.Timeout":
    import httpx

    return httpx.Timeout(TIMEOUT_S, connect=CONNECT_S)


def _unreachable(url: str, error: Exception) -> Unreachable:
    reason = str(error) or type(error).__name__
    return Unreachable(f"the node at {_without_password(url)} cannot be reached: {reason}", fix=_START)


_START: Final = "Start a node with `braid up`, or name another one with --url, BRAID_URL or `braid context select`."


def _without_password(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else url


def _refusal(response: "httpx.Response") -> NodeRefused:
    try:
        problem = response.json()
        detail, code, fix = str(problem["detail"]), str(problem["code"]), str(problem.get("fix", ""))
    except (ValueError, KeyError, TypeError):
        detail = f"what answers there is no node: {response.status_code} {response.reason_phrase}"
        return NodeRefused(detail, fix=_EXAMPLE)
    if code in _STORAGE_CODES:
        return NodeStorage(detail, problem=code, fix=fix)
    kind = NotThere if response.status_code == 404 else NodeRefused
    return kind(detail, problem=code, fix=fix)
