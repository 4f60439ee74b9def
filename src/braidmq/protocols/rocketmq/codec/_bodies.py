"""Bodies of commands as JSON: bytes to structs and back. What the structs are is in `bodies`."""

from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from braidmq.protocols.rocketmq.codec import _fastjson
from braidmq.protocols.rocketmq.codec._errors import MalformedBody, Unencodable
from braidmq.protocols.rocketmq.codec.bodies import WORDS, Body, MessageQueue

BODY_BYTES_MAX: Final = 1024 * 1024
"""A heartbeat with a thousand subscriptions has a quarter of this. Reading holds the loop: more must be asked for."""

AnyBody = TypeVar("AnyBody", bound=Body)


def decode_body(kind: type[AnyBody], data: bytes, body_bytes_max: int = BODY_BYTES_MAX) -> AnyBody:
    """The body of a command. Raises MalformedBody, naming the place that is wrong."""
    body: AnyBody = _decoded(kind, data, body_bytes_max)
    return body


def decode_body_list(kind: type[AnyBody], data: bytes, body_bytes_max: int = BODY_BYTES_MAX) -> list[AnyBody]:
    """A body that is a list of these; no body is an empty list. Raises MalformedBody."""
    return _decoded(list[kind], data, body_bytes_max) if data else []  # type: ignore[valid-type]  # a type made at run time


def encode_body(body: Body | list[Any]) -> bytes:
    """A body as RocketMQ's own classes read it. Raises Unencodable."""
    try:
        return _fastjson.write(body)
    except (TypeError, UnicodeError, msgspec.MsgspecError) as error:
        raise Unencodable(f"a {type(body).__name__} cannot be written: {error}") from error


def _decoded(kind: Any, data: bytes, bytes_max: int) -> Any:
    if len(data) > bytes_max:
        raise MalformedBody(f"a body of {len(data)} bytes is larger than the {bytes_max} that are read")
    try:
        # A reference would be passed over as a member that is not known, and what it stands for would be lost.
        if b"$ref" not in data:
            return _decoder(kind).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # legal JSON of the expected shape is only what most clients send: the tolerant reader decides
    try:
        return _converted(_fastjson.parse(data, _message_queue), kind)
    except (_fastjson.NotJson, msgspec.ValidationError) as error:
        name = getattr(kind, "__name__", str(kind))
        raise MalformedBody(f"a body of {len(data)} bytes is no {name}: {error}") from error


def _converted(found: Any, kind: Any) -> Any:
    """What was parsed, as it is or, where that does not fit, with words in place of their numbers."""
    try:
        return msgspec.convert(found, kind, strict=False, str_keys=True)
    except msgspec.ValidationError:
        return msgspec.convert(_with_words(found), kind, strict=False, str_keys=True)


def _with_words(found: Any) -> Any:
    """Some clients say a word by its number, and later ones say words that are not known here, which are left out as
    fastjson leaves them out. A number that stands for nothing stays, to be refused."""
    if isinstance(found, list):
        return [_with_words(each) for each in found]
    if not isinstance(found, dict):
        return found
    members = {}
    for name, value in found.items():
        words = WORDS.get(name)
        if words is None:
            members[name] = _with_words(value)
        elif isinstance(value, str):
            if value in words:
                members[name] = value
        else:
            members[name] = words[value] if isinstance(value, int) and 0 <= value < len(words) else value
    return members


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def _message_queue(members: dict[str, Any]) -> MessageQueue:
    return msgspec.convert(members, MessageQueue, strict=False)
