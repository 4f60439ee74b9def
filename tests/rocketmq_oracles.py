"""Headers and bodies of RocketMQ with every field filled, for tests that send each of them somewhere and back."""

import enum
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any

import msgspec

from braidmq.protocols.rocketmq.codec import bodies, headers
from braidmq.protocols.rocketmq.codec.bodies import Body, MessageQueue
from braidmq.protocols.rocketmq.codec.headers import CustomHeader, RpcRequestHeader, TopicRequestHeader

HEADER_CLASSES = [
    found
    for _, found in inspect.getmembers(headers, inspect.isclass)
    if issubclass(found, CustomHeader) and found not in (CustomHeader, RpcRequestHeader, TopicRequestHeader)
]
BODY_CLASSES = [
    found
    for _, found in inspect.getmembers(bodies, inspect.isclass)
    if issubclass(found, Body | bodies.BatchAck | MessageQueue) and found is not Body
]

WORDS = {
    "language": "GO",
    "consumeResult": "CR_LATER",
    "topicFilterType": "MULTI_TAG",
    "type": "EXPONENTIAL",
    "userType": "Super",
    "properties": "TAGS\x01a\x02KEYS\x01k 1\x02",
}
"""What stands for a text where RocketMQ takes only certain ones, or where something special travels."""


def filled(kind: type[Any], number: int = 7) -> Any:
    """One with a value in every field, other values for another number."""
    numbers = iter(range(number, number + 1000))
    return _struct(kind, numbers, required_only=False)


def sparse(kind: type[Any]) -> Any:
    """One with only the fields that must be there."""
    return _struct(kind, iter(range(3, 1000)), required_only=True)


def unordered(value: Any) -> Any:
    """The value so that two are equal if they differ only in the order of lists: Java keeps some of them in sets."""
    if isinstance(value, msgspec.Struct):
        return (type(value).__name__, {name: unordered(getattr(value, name)) for name in value.__struct_fields__})
    if isinstance(value, dict):
        return {name: unordered(member) for name, member in value.items()}
    if isinstance(value, list):
        return sorted((unordered(item) for item in value), key=repr)
    return value


def _struct(kind: type[Any], numbers: Iterator[int], *, required_only: bool) -> Any:
    letters_only = kind is headers.SendMessageRequestHeaderV2
    values = {
        field.name: _value(field.type, field.encode_name, numbers)
        for field in msgspec.structs.fields(kind)
        if (field.required or not required_only)
        and not (letters_only and field.name in ("ns", "nsd", "bname", "oway", "lo"))
    }
    return kind(**values)


def _value(kind: Any, name: str, numbers: Iterator[int]) -> Any:
    kind, bounds = _bare(kind)
    arguments = typing.get_args(kind)
    match typing.get_origin(kind) or kind:
        case builtins if builtins is bool:
            return True
        case builtins if builtins is int:
            return next(numbers) * (1 if bounds < 1 << 40 else 1 << 33)
        case builtins if builtins is float:
            return next(numbers) + 0.5
        case builtins if builtins is bytes:
            return b"\x05"
        case builtins if builtins is str:
            return WORDS.get(name, f'{name} "{next(numbers)}" \u00e9\u4e2d')
        case builtins if builtins is list:
            return [_value(arguments[0], name, numbers) for _ in range(1 if arguments[0] is bodies.BatchAck else 2)]
        case builtins if builtins is dict:
            return {_key(arguments[0], numbers): _value(arguments[1], name, numbers) for _ in range(2)}
        case found if issubclass(found, enum.Enum):
            return list(found)[-1]
        case found:
            return _struct(found, numbers, required_only=False)


def _key(kind: Any, numbers: Iterator[int]) -> Any:
    return _value(kind, "key", numbers) if _bare(kind)[0] is not int else next(numbers)


def _bare(kind: Any) -> tuple[Any, int]:
    """The type without `| None` and without its limits, and the upper one of them."""
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        kind = next(each for each in typing.get_args(kind) if each is not type(None))
    if typing.get_origin(kind) is typing.Annotated:
        bare, meta = typing.get_args(kind)
        return bare, meta.le
    return kind, 0
