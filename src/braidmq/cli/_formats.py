"""How `braid consume` writes messages: a format string, or JSON.

`%t` topic, `%p` partition, `%o` offset, `%k` key, `%v` body, `%h` headers, `%T` born (ms), `%i` id, `%g` tag, `%s`
size, `%%` a percent sign, `\\n`, `\\t`, `\\0`. Bytes go out as they came, except to a terminal, which nothing may speak
to.
"""

import base64
import json
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from braidmq.cli._render import harmless
from braidmq.model.errors import InvalidSetting

Message = Mapping[str, Any]
Writer = Callable[[Message], bytes]
_PART: Final = re.compile(r"%(.)|\\(.)|[^%\\]+", re.DOTALL)
_ESCAPES: Final = {"n": b"\n", "t": b"\t", "0": b"\0", "r": b"\r", "\\": b"\\"}


def as_json(message: Message) -> bytes:
    """One line."""
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def parsed_format(text: str) -> Writer:
    """Raises InvalidSetting for a letter that does not exist."""
    parts = [_part(found) for found in _PART.finditer(text)]
    if sys.stdout.isatty():
        return lambda message: b"".join(_visible(part(message)) for part in parts)
    return lambda message: b"".join(part(message) for part in parts)


def _part(found: re.Match[str]) -> Writer:
    letter, escaped = found[1], found[2]
    if letter is not None:
        if letter not in _LETTERS:
            raise InvalidSetting(f"--format: %{letter} says nothing; there are %{' %'.join(_LETTERS)}")
        return _LETTERS[letter]
    literal = found[0].encode() if escaped is None else _ESCAPES.get(escaped, found[0].encode())
    return lambda _: literal


def _visible(text: bytes) -> bytes:
    """Lines and tabs stay; everything else that a terminal would obey is written out."""
    shown = text.decode(errors="backslashreplace")
    return "".join(each if each in "\n\t" else harmless(each) for each in shown).encode()


def _bytes(text: str | None, encoded: str | None) -> bytes:
    if text is not None:
        return text.encode()
    return b"" if encoded is None else base64.b64decode(encoded)


def _headers(message: Message) -> bytes:
    pairs = (each["name"].encode() + b"=" + _bytes(each["value"], each["value_base64"]) for each in message["headers"])
    return b",".join(pairs)


def _field(name: str) -> Writer:
    return lambda message: str("" if message[name] is None else message[name]).encode()


_LETTERS: Final[Mapping[str, Writer]] = {
    "t": _field("topic"),
    "p": _field("partition"),
    "o": _field("offset"),
    "k": lambda message: _bytes(message["key"], message["key_base64"]),
    "v": lambda message: _bytes(message["body"], message["body_base64"]),
    "h": _headers,
    "T": _field("born_ms"),
    "i": _field("id"),
    "g": _field("tag"),
    "s": _field("size_bytes"),
    "%": lambda _: b"%",
}
