"""A message as people see it: text where it is text, base64 where it is not.

JSON has no bytes. So each of body, key and header values is a text, or, where its bytes are not UTF-8, is null with the
bytes in the field of the same name with `_base64` behind it. Nothing is replaced or cut: what is shown can be sent
again as it was. What is left out is HTTP's own mark alone, which no reader of HTTP has use for.
"""

import base64
from collections.abc import Iterable
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from braidmq.model import BORN_HEADER, HTTP_HEADER, ROCKETMQ_HEADER, Header, Message

_BORN_DIGITS_MAX: Final = 15
_WRITERS: Final = {ROCKETMQ_HEADER: "rocketmq", HTTP_HEADER: "http"}


class HeaderView(msgspec.Struct, frozen=True, kw_only=True):
    """One property. `value` is null where its bytes are not text, or where it has none at all."""

    name: Annotated[str, Meta(examples=["region"])]
    value: Annotated[str | None, Meta(examples=["north"])]
    value_base64: str | None = None


class MessageView(msgspec.Struct, frozen=True, kw_only=True):
    """A message and where it lies."""

    topic: Annotated[str, Meta(examples=["orders"])]
    partition: Annotated[int, Meta(examples=[0], description="-1 while it is in no topic yet.")]
    offset: Annotated[int, Meta(examples=[42], description="-1 while it is in no topic yet.")]
    id: Annotated[
        str | None,
        Meta(examples=["7F0000010A2C18B4AAC2"], description="Its unique id, by which it is found and traced."),
    ]
    tag: Annotated[str | None, Meta(examples=["paid"])]
    keys: Annotated[list[str], Meta(examples=[["order-17"]], description="By these it is found.")]
    key: Annotated[str | None, Meta(examples=["order-17"], description="By this it is ordered, spread and compacted.")]
    key_base64: str | None = None
    body: Annotated[str | None, Meta(examples=['{"order": 17}'])]
    body_base64: Annotated[
        str | None, Meta(description="Filled where the body is not text, or where base64 was asked for.")
    ] = None
    size_bytes: Annotated[int, Meta(examples=[13], description="Of the body.")]
    born_ms: Annotated[int, Meta(examples=[1760000000000], description="When its producer made it.")]
    protocol: Annotated[str, Meta(examples=["rocketmq"], description="Who wrote it; empty where that is unknown.")]
    headers: list[HeaderView]


def message_view(message: Message, *, with_base64: bool = False) -> MessageView:
    """The message for people; `with_base64` fills the fields of bytes even where they are text."""
    body, body_base64 = shown(message.body, with_base64=with_base64)
    key, key_base64 = shown(message.key, with_base64=with_base64)
    return MessageView(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        id=message.id,
        tag=message.tag,
        keys=list(message.keys),
        key=key,
        key_base64=key_base64,
        body=body,
        body_base64=body_base64,
        size_bytes=len(message.body or b""),
        born_ms=_born_ms(message),
        protocol=_protocol(message.headers),
        headers=[
            _header(name, value, with_base64=with_base64) for name, value in message.headers if name != HTTP_HEADER
        ],
    )


def shown(content: bytes | None, *, with_base64: bool = False) -> tuple[str | None, str | None]:
    """The bytes as text and as base64, one of them None; both where base64 was asked for and they are text."""
    if content is None:
        return None, None
    try:
        text: str | None = content.decode()
    except UnicodeDecodeError:
        text = None
    return text, base64.b64encode(content).decode() if text is None or with_base64 else None


def _protocol(headers: Iterable[Header]) -> str:
    """Who wrote the message, by the mark that its protocol leaves."""
    for name, _ in reversed(tuple(headers)):
        if name in _WRITERS:
            return _WRITERS[name]
    return ""


def _header(name: str, value: bytes | None, *, with_base64: bool) -> HeaderView:
    text, encoded = shown(value, with_base64=with_base64)
    return HeaderView(name=name, value=text, value_base64=encoded)


def _born_ms(message: Message) -> int:
    """A message that came to its topic later says itself when it was born."""
    said = message.header(BORN_HEADER)
    if said is not None and said.isdigit() and len(said) <= _BORN_DIGITS_MAX:
        return int(said)
    return message.born_ms
