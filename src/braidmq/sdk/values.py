"""What programs send and get: messages, what became of them, and which of them are wanted."""

import base64
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, TypedDict

import msgspec
from msgspec import Meta

from braidmq.model import SHARDING_KEY_HEADER, BraidError, FilterKind
from braidmq.model.errors import InvalidFilter, InvalidMessage
from braidmq.sdk.errors import error_of

Body = bytes | str | Mapping[str, Any] | list[Any] | None
"""Bytes and text go as they are; dictionaries and lists as JSON. None is a tombstone: it deletes its key."""

_PROPERTY: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")
_EXPRESSION_WORDS: Final = frozenset(
    ["AND", "OR", "NOT", "BETWEEN", "IN", "IS", "NULL", "TRUE", "FALSE", "CONTAINS", "STARTSWITH", "ENDSWITH"]
)


class SendOptions(TypedDict, total=False):
    """What may be said of a message besides its body."""

    tag: str | None
    keys: Sequence[str]
    """By these it is found."""
    key: str | None
    """The record key, as Kafka's clients see it."""
    sharding_key: str | None
    """Messages with the same one are in order."""
    id: str | None
    """One is made where none is said."""
    properties: Mapping[str, str]
    partition: int | None
    delay_s: float | None
    deliver_at: datetime | None
    """With its time zone."""


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """One of several messages that are sent together."""

    body: Body
    tag: str | None = None
    keys: Sequence[str] = ()
    key: str | None = None
    sharding_key: str | None = None
    id: str | None = None
    properties: Mapping[str, str] = {}
    partition: int | None = None
    delay_s: float | None = None
    deliver_at: datetime | None = None


class ErrorView(msgspec.Struct, frozen=True, kw_only=True):
    """Why one of several was refused."""

    code: str
    detail: str
    retriable: bool = False

    def as_error(self) -> BraidError:
        """The error that it stands for."""
        return error_of(self.code, self.detail)


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is kept: at a place, under a timer until its time has come, or as a half."""

    id: str = ""
    partition: int | None = None
    offset: int | None = None
    timer: Annotated[str | None, Meta(description="By this it can be cancelled before its time.")] = None
    half: Annotated[str | None, Meta(description="By this it is committed or rolled back.")] = None


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """One property of a message; `value` is null where its bytes are not text."""

    name: str
    value: str | None = None
    value_base64: str | None = None


class Message(msgspec.Struct, kw_only=True):
    """A message that was read."""

    topic: str
    partition: int
    offset: int
    id: str | None = None
    tag: str | None = None
    keys: list[str] = []
    size_bytes: int = 0
    born_ms: int = -1
    protocol: str = ""
    headers: list[Header] = []
    key_text: str | None = msgspec.field(default=None, name="key")
    key_base64: str | None = None
    body_text: str | None = msgspec.field(default=None, name="body")
    body_base64: str | None = None

    @property
    def body(self) -> bytes | None:
        """None is a tombstone."""
        return _bytes(self.body_text, self.body_base64)

    @property
    def key(self) -> bytes | None:
        """The record key."""
        return _bytes(self.key_text, self.key_base64)

    @property
    def text(self) -> str:
        """The body as text. Raises UnicodeDecodeError where it is none."""
        return (self.body or b"").decode()

    def json(self) -> Any:
        """The body as JSON says it. Raises msgspec.DecodeError where it is none."""
        return msgspec.json.decode(self.body or b"")

    @property
    def properties(self) -> dict[str, str]:
        """All headers that are text; where a name repeats, the last wins."""
        return {header.name: header.value for header in self.headers if header.value is not None}

    @property
    def sharding_key(self) -> str | None:
        return self.properties.get(SHARDING_KEY_HEADER)


class Filter(msgspec.Struct, frozen=True):
    """Which messages a reader wants; made by `by_tag`, `by_sql` and `by_properties`."""

    kind: FilterKind = FilterKind.ALL
    expression: str = ""


EVERYTHING: Final = Filter()


def by_tag(*tags: str) -> Filter:
    """Messages with one of these tags. Raises InvalidFilter."""
    if not tags or any(not tag.strip() or "|" in tag for tag in tags):
        raise InvalidFilter("by_tag: name at least one tag; a tag is not blank and holds no |")
    return Filter(FilterKind.TAG, " || ".join(tags))


def by_sql(expression: str) -> Filter:
    """Messages for whose properties the expression is true: `region = 'north' AND amount > 10`."""
    return Filter(FilterKind.SQL, expression)


def by_properties(**properties: str) -> Filter:
    """Messages that have all of these properties. Raises InvalidFilter for names that expressions cannot hold."""
    wrong = [name for name in properties if not _PROPERTY.match(name) or name.upper() in _EXPRESSION_WORDS]
    if wrong or not properties:
        raise InvalidFilter(f"by_properties: expressions cannot name {wrong}" if wrong else "by_properties: name one")
    wanted = (f"{name} = '{_quoted(value)}'" for name, value in properties.items())
    return Filter(FilterKind.SQL, " AND ".join(wanted))


def new_id() -> str:
    """An id that no other message has."""
    return uuid.uuid4().hex.upper()


def wire(message: Outgoing) -> dict[str, Any]:
    """The message as the node takes it; it has an id, so that a repetition is the same message."""
    said: dict[str, Any] = {"id": message.id or new_id(), **_body(message.body)}
    if message.keys:
        said["keys"] = list(message.keys)
    if message.properties:
        said["properties"] = dict(message.properties)
    for name in ("tag", "key", "sharding_key", "partition"):
        if getattr(message, name) is not None:
            said[name] = getattr(message, name)
    if message.delay_s is not None:
        said["delay_ms"] = int(message.delay_s * 1000)
    if message.deliver_at is not None:
        said["deliver_at_ms"] = _moment_ms(message.deliver_at)
    return said


def at_a_moment(said: dict[str, Any]) -> dict[str, Any]:
    """A delay as a moment, for messages that wait before they reach the node."""
    if "delay_ms" in said:
        said["deliver_at_ms"] = time.time_ns() // 1_000_000 + said.pop("delay_ms")
    return said


def _moment_ms(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise InvalidMessage("deliver_at: say its time zone, as datetime.now(UTC) does")
    return int(moment.timestamp() * 1000)


def _body(body: Body) -> dict[str, Any]:
    if isinstance(body, bytes):
        try:
            return {"body": body.decode()}
        except UnicodeDecodeError:
            return {"body_base64": base64.b64encode(body).decode()}
    if body is None or isinstance(body, str):
        return {"body": body}
    return {"json": body}


def _bytes(text: str | None, encoded: str | None) -> bytes | None:
    if text is not None:
        return text.encode()
    return None if encoded is None else base64.b64decode(encoded)


def _quoted(text: str) -> str:
    return text.replace("'", "''")
