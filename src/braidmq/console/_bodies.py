"""A message's body as people read it: as JSON, as text, and as bytes. Large ones are cut; the file has all."""

import base64
from typing import Final, NamedTuple

import msgspec

from braidmq.core.desk.message_views import MessageView

TEXT_MAX: Final = 128 << 10
HEX_MAX: Final = 4 << 10
PREVIEW_MAX: Final = 120
_LINE: Final = 16


class Shown(NamedTuple):
    """Forms of a body; None where it is not of that form. `is_cut` says that a form shows only its beginning."""

    json: str | None
    text: str | None
    hex: str
    is_cut: bool


def body_bytes(message: MessageView) -> bytes:
    if message.body_base64 is not None:
        return base64.b64decode(message.body_base64)
    return b"" if message.body is None else message.body.encode()


def shown_body(message: MessageView) -> Shown:
    content = body_bytes(message)
    text = message.body
    pretty = _pretty(text) if text is not None and len(text) <= TEXT_MAX else None
    is_cut = len(content) > HEX_MAX or (text is not None and len(text) > TEXT_MAX)
    return Shown(pretty, None if text is None else text[:TEXT_MAX], hex_lines(content[:HEX_MAX]), is_cut)


def preview(message: MessageView) -> str:
    """One line for a list."""
    if message.body is None:
        return ""
    return " ".join(message.body[: PREVIEW_MAX * 2].split())[:PREVIEW_MAX]


def hex_lines(content: bytes) -> str:
    """As hexadecimal dumps are written: the place, sixteen bytes, and what of them can be read."""
    lines = (content[at : at + _LINE] for at in range(0, len(content), _LINE))
    return "\n".join(f"{nth * _LINE:08x}  {_pairs(line):<48}  {_readable(line)}" for nth, line in enumerate(lines))


def _pairs(line: bytes) -> str:
    return " ".join((line[:8].hex(" "), line[8:].hex(" "))) if len(line) > 8 else line.hex(" ")


def _readable(line: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)


def _pretty(text: str) -> str | None:
    """None for what is no JSON object or list: a bare number is text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return None
