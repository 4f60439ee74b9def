"""Around every request that changes something: what a repeated one gets, and what the audit log says.

Both are middlewares, driven by what routes declare (`_needs`) and by headers: no handler has to think of them.
"""

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

import msgspec
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, HTTPReceiveMessage, Message, Receive, Scope, Send

from braidmq.core.answers import Answers, KeptAnswer
from braidmq.core.audit import DONE, Auditor, is_change
from braidmq.model import DEFAULT_INSTANCE
from braidmq.model.errors import MessageTooLarge
from braidmq.protocols.http._needs import Noted, need_of, noted_of

if TYPE_CHECKING:
    from braidmq.protocols.http._operations_services import OperationsServices

API: Final = "/api/v1/"
KEY_HEADER: Final = b"idempotency-key"
REPLAYED_HEADER: Final = (b"idempotency-replayed", b"true")
_KEPT_BYTES_MAX: Final = 128 * 1024
_NAMED_BODY_BYTES_MAX: Final = 64 * 1024
_NAMED_FIELDS_MAX: Final = 1_000
_PROBLEM: Final = b"application/problem+json"
_AUDITED_NAME: Final = "audited_name"
_LOOKING: Final = {"GET", "HEAD", "OPTIONS"}


def change_middlewares(operations: "OperationsServices", body_bytes_max: int) -> list[ASGIMiddleware]:
    """The outermost first: a request whose answer is known changes nothing, so nothing is noted of it."""
    return [IdempotentPosts(operations.answers, body_bytes_max), AuditedChanges(operations.audit)]


class _Heard:
    """Passes an answer on, and remembers its beginning."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.content_type = b""
        self._body = bytearray()
        self.is_whole = False

    @property
    def body(self) -> bytes | None:
        """None where it is larger than anybody wants to know."""
        return bytes(self._body) if len(self._body) <= _KEPT_BYTES_MAX else None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.content_type = dict(message["headers"]).get(b"content-type", b"")
        elif message["type"] == "http.response.body":
            if len(self._body) <= _KEPT_BYTES_MAX:
                self._body += message["body"]
            self.is_whole = not message["more_body"]
        await self._send(message)


class IdempotentPosts(ASGIMiddleware):
    """A POST with a key that was answered before gets that answer."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, answers: Answers, body_bytes_max: int) -> None:
        self._answers = answers
        self._body_bytes_max = body_bytes_max

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        raw = dict(scope["headers"]).get(KEY_HEADER)
        if raw is None or _method(scope) != "POST" or not scope["path"].startswith(API):
            await next_app(scope, receive, send)
            return
        key, body = raw.decode("latin-1"), await _whole_body(receive, self._body_bytes_max)
        digest = _digest(scope, body)
        known = await self._answers.claim(key, digest)
        if known is not None:
            await _replay(known, send)
            return
        await self._carry_out(key, digest, scope, _given(body, receive), send, next_app)

    async def _carry_out(
        self, key: str, digest: bytes, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp
    ) -> None:
        heard = _Withheld(send)
        try:
            await next_app(scope, receive, heard.send)
        except BaseException:  # a cancellation, too: the key must not stay claimed
            await self._answers.release(key)
            raise
        if heard.is_whole and heard.status < 400:
            content_type = heard.content_type.decode("latin-1")
            answer = KeptAnswer(digest=digest, status=heard.status, content_type=content_type, body=heard.body)
            await self._answers.keep(key, answer)
        else:
            await self._answers.release(key)
        await heard.end()


class _Withheld(_Heard):
    """Keeps back the end of an answer until the answer is kept: who has it all can count on it."""

    def __init__(self, send: Send) -> None:
        super().__init__(send)
        self._last: Message | None = None
        self._pass_on, self._send = send, self._hold

    async def _hold(self, message: Message) -> None:
        if message["type"] == "http.response.body" and not message["more_body"]:
            self._last = message
        else:
            await self._pass_on(message)

    async def end(self) -> None:
        if self._last is not None:
            await self._pass_on(self._last)


class AuditedChanges(ASGIMiddleware):
    """Takes note of every request to a route whose need is to create, change or delete, or that wants it. One that only
    asks what would be, or for the form to fill in, is no change."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, auditor: Auditor) -> None:
        self._auditor = auditor

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        handler: Any = scope["route_handler"]
        need, noted = need_of(handler), noted_of(handler)
        is_only_looking = scope.get("method") in _LOOKING or b"dry_run=true" in scope["query_string"].lower()
        if need is None or is_only_looking or (noted is Noted.CHANGES and not is_change(need)):
            await next_app(scope, receive, send)
            return
        heard, named = _Heard(send), _Named(receive)
        try:
            await next_app(scope, named.receive, heard.send)
        finally:
            if noted is not Noted.OF_OPERATORS or not named.group:
                self._auditor.note(
                    protocol="http",
                    address=(scope["client"] or ("", 0))[0],
                    operation=str(handler.operation_id or handler.handler_name),
                    need=need,
                    name=_name(scope, named),
                    outcome=_outcome(heard),
                    detail=_place(scope),
                )


class _Named:
    """Passes a request's body on, and finds the name of the thing in it, where that is what is made, and the group.
    Nothing else of a body is looked at."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._body = bytearray()

    async def receive(self) -> Any:
        message = await self._receive()
        if message["type"] == "http.request" and len(self._body) <= _NAMED_BODY_BYTES_MAX:
            self._body += message["body"]
        return message

    @property
    def name(self) -> str:
        found = self._found()
        return found.name or found.group or ""

    @property
    def group(self) -> str:
        return self._found().group or ""

    def _found(self) -> "_OnlyNames":
        try:
            return msgspec.json.decode(self._body, type=_OnlyNames)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._found_in_form()

    def _found_in_form(self) -> "_OnlyNames":
        try:
            fields = dict(parse_qsl(self._body.decode("ascii"), max_num_fields=_NAMED_FIELDS_MAX))
        except ValueError:
            return _OnlyNames()
        return _OnlyNames(fields.get("name", ""), fields.get("group"))


class _OnlyNames(msgspec.Struct):
    name: str = ""
    group: str | None = None


def name_in_audit(scope: Scope, name: str) -> None:
    """What the audit log calls the thing that this request is about, where neither its path nor a body in JSON says."""
    scope["state"][_AUDITED_NAME] = name


def _name(scope: Scope, named: _Named) -> str:
    """As the handler or the path says it, or else the body."""
    said = scope["state"].get(_AUDITED_NAME)
    if isinstance(said, str):
        return said
    parts = [str(value) for value in scope.get("path_params", {}).values()]
    return "/".join(parts) or named.name


def _place(scope: Scope) -> str:
    """The instance of the thing, where that is not the usual one."""
    try:
        said = dict(parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=_NAMED_FIELDS_MAX))
    except ValueError:
        return ""
    instance = said.get("instance", DEFAULT_INSTANCE)
    return "" if instance == DEFAULT_INSTANCE else f"instance {instance}"


def _outcome(heard: _Heard) -> str:
    if 0 < heard.status < 400:
        return DONE
    if heard.content_type.startswith(_PROBLEM) and heard.body is not None:
        code = msgspec.json.decode(heard.body).get("code")
        if isinstance(code, str):
            return code
    return str(heard.status) if heard.status else "failed"


async def _whole_body(receive: Receive, bytes_max: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message["body"]
        if len(body) > bytes_max:
            raise MessageTooLarge(f"the request has more than {bytes_max} bytes (http.body_bytes_max)")
        if not message["more_body"]:
            return bytes(body)


def _given(body: bytes, receive: Receive) -> Receive:
    """The body again, and then whatever comes."""
    first: list[HTTPReceiveMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return first.pop() if first else await receive()

    return again


def _method(scope: Scope) -> str:
    return str(scope.get("method", ""))


def _digest(scope: Scope, body: bytes) -> bytes:
    digest = blake2b(digest_size=32)
    for part in (_method(scope).encode(), scope["path"].encode(), scope["query_string"], body):
        digest.update(len(part).to_bytes(8) + part)
    return digest.digest()


async def _replay(answer: KeptAnswer, send: Send) -> None:
    body = answer.body or b""
    headers = [(b"content-type", answer.content_type.encode("latin-1")), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": answer.status, "headers": [*headers, REPLAYED_HEADER]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
