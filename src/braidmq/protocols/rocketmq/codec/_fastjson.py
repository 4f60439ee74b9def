"""JSON as fastjson writes and reads it, which is more than JSON.

RocketMQ's Java classes write maps with objects as keys (`{{"topic":"t"}:1}`) and with bare numbers as keys
(`{0:"a"}`), and read both. Clients in other languages write legal JSON, with nulls where Java leaves a field out. So
reading goes the short way first, msgspec's, and only what that refuses goes the tolerant way. Writing leaves nulls
out, quotes numbers, which every client reads, and writes object keys where a map has them, because Java reads nothing
else there.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

DEPTH_MAX: Final = 64
NUMBER_CHARACTERS_MAX: Final = 40
VALUES_MAX: Final = 50_000
"""Far more than clients send in a form that is no JSON; so many hold the loop for a fifth of a second."""

_SPACE: Final = re.compile(r"[ \t\r\n\f\b]*+")
_SPACE_AND_COMMAS: Final = re.compile(r"[ \t\r\n\f\b,]*+")
_STRING: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)"|\'((?:[^\'\\]++|\\.)*+)\'', re.DOTALL)
_NUMBER: Final = re.compile(r"([-+]?[0-9]++)(\.[0-9]*+)?([eE][-+]?[0-9]++)?[LSBFD]?")
_WORD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.]*+")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"} | {
    str(n): chr(n) for n in range(8)
}
_WORDS: Final = {"true": True, "false": False, "null": None, "NaN": None, "undefined": None}

AnyStruct = TypeVar("AnyStruct", bound=msgspec.Struct)
ObjectKey = Callable[[dict[str, Any]], Hashable]


class NotJson(ValueError):
    """The text is not even what fastjson takes for JSON."""


def parse(data: bytes, object_key: ObjectKey | None = None, values_max: int = VALUES_MAX) -> Any:
    """Whatever the text says, tolerantly. Members that are null are left out, as fastjson leaves them out.

    `object_key` turns an object that stands as a key into something that can be one; without it such keys are refused.
    Raises NotJson.
    """
    parser = _Parser(data.decode(errors="replace"), object_key, values_max)
    return parser.whole()


def write(value: Any) -> bytes:
    """A value of structs, maps, lists and plain values as fastjson would write it; what is None is left out."""
    pieces: list[str] = []
    _write(value, pieces)
    return "".join(pieces).encode(errors="replace")


class _Parser:
    """Recursive descent with bounds on depth and number of values. Time and memory grow with the text, up to them."""

    def __init__(self, text: str, object_key: ObjectKey | None, values_max: int) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._values_left = values_max
        self._object_key = object_key

    def whole(self) -> Any:
        value = self._value()
        self._skip(_SPACE)
        if self._at < len(self._text) and self._text[self._at :].strip("\0 \t\r\n"):
            raise self._refusal("something follows the value")
        return value

    def _value(self) -> Any:
        self._values_left -= 1
        if self._values_left < 0:
            raise self._refusal("it holds too many values")
        self._skip(_SPACE)
        match self._peek():
            case "{":
                return self._nested(self._object)
            case "[":
                return self._nested(self._array)
            case '"' | "'":
                return self._string()
            case _:
                return self._plain()

    def _nested(self, read: Callable[[], Any]) -> Any:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._refusal(f"it is nested more than {DEPTH_MAX} deep")
        value = read()
        self._depth -= 1
        return value

    def _object(self) -> dict[Hashable, Any]:
        self._at += 1
        members: dict[Hashable, Any] = {}
        while True:
            self._skip(_SPACE_AND_COMMAS)
            if self._peek() == "}":
                self._at += 1
                break
            name = self._key()
            self._skip(_SPACE)
            if self._peek() != ":":
                raise self._refusal("a colon is missing")
            self._at += 1
            value = self._value()
            if value is not None:
                members[name] = value
        if members.keys() == {"$ref"}:
            raise self._refusal("it refers to another place by $ref, which is not read")
        return members

    def _array(self) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        while True:
            self._skip(_SPACE_AND_COMMAS)
            if self._peek() == "]":
                self._at += 1
                return items
            items.append(self._value())

    def _key(self) -> Hashable:
        match self._peek():
            case '"' | "'":
                return self._string()
            case "{":
                make, self._object_key = self._object_key, None
                if make is None:
                    raise self._refusal("an object stands where no map has objects as keys")
                key = make(self._nested(self._object))
                self._object_key = make
                return key
            case _:
                found = _NUMBER.match(self._text, self._at) or _WORD.match(self._text, self._at)
                if found is None:
                    raise self._refusal("a name is missing")
                self._at = found.end()
                return found.group()

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise self._refusal("a string does not end")
        self._at = found.end()
        text = found[1] if found[1] is not None else found[2]
        if "\\" not in text:
            return text
        text = _ESCAPE.sub(_unescaped, text)
        if _SURROGATE.search(text):
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text

    def _plain(self) -> Any:
        if word := _WORD.match(self._text, self._at):
            if word.group() not in _WORDS:
                raise self._refusal(f"{word.group()[:20]!r} is no value")
            self._at = word.end()
            return _WORDS[word.group()]
        number = _NUMBER.match(self._text, self._at)
        if number is None or number.end() - number.start() > NUMBER_CHARACTERS_MAX:
            raise self._refusal("a value is missing, or a number is too long")
        self._at = number.end()
        if number[2] is None and number[3] is None:
            return int(number[1])
        return float(number[1] + (number[2] or "") + (number[3] or ""))

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, what: re.Pattern[str]) -> None:
        found = what.match(self._text, self._at)
        if found is not None:
            self._at = found.end()

    def _refusal(self, why: str) -> NotJson:
        return NotJson(f"{why} (character {self._at} of {len(self._text)})")


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _ESCAPED.get(escape, escape)


def _write(value: Any, pieces: list[str]) -> None:
    match value:
        case msgspec.Struct():
            _write_members(((name, getattr(value, attribute)) for attribute, name in _names(type(value))), pieces)
        case Mapping():
            _write_members(value.items(), pieces)
        case list() | tuple() | set() | frozenset():
            _write_items(value, pieces)
        case _:
            pieces.append(msgspec.json.encode(value).decode())


def _write_members(members: Any, pieces: list[str]) -> None:
    pieces.append("{")
    comma = ""
    for name, value in members:
        if value is None:
            continue
        pieces.append(comma)
        _write(name if isinstance(name, msgspec.Struct) else str(name), pieces)
        pieces.append(":")
        _write(value, pieces)
        comma = ","
    pieces.append("}")


def _write_items(items: Any, pieces: list[str]) -> None:
    pieces.append("[")
    comma = ""
    for item in items:
        pieces.append(comma)
        _write(item, pieces)
        comma = ","
    pieces.append("]")


@cache
def _names(kind: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(kind))
