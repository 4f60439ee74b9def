"""Frames: nine bytes of header, and what it announces (RFC 9113, section 4). Hot path."""

import struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADER_BYTES: Final = 9
FRAME_BYTES_MIN: Final = 1 << 14
"""Every peer takes frames of this size; larger ones only when it says so."""
FRAME_BYTES_MAX: Final = (1 << 24) - 1
WINDOW_MAX: Final = (1 << 31) - 1
WINDOW_DEFAULT: Final = 65_535

DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

ACK: Final = 0x1
END_STREAM: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
HAS_PRIORITY: Final = 0x20

HEADER_TABLE_SIZE: Final = 0x1
ENABLE_PUSH: Final = 0x2
MAX_CONCURRENT_STREAMS: Final = 0x3
INITIAL_WINDOW_SIZE: Final = 0x4
MAX_FRAME_SIZE: Final = 0x5
MAX_HEADER_LIST_SIZE: Final = 0x6

_HEADER: Final = struct.Struct(">BHBBL")
_SETTING: Final = struct.Struct(">HL")
_NUMBER: Final = struct.Struct(">L")
_TWO_NUMBERS: Final = struct.Struct(">LL")
unpack_header: Final = _HEADER.unpack_from


def frame(kind: int, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    """One frame as it travels."""
    size = len(payload)
    return _HEADER.pack(size >> 16, size & 0xFFFF, kind, flags, stream_id) + payload


def settings_frame(values: dict[int, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(name, value) for name, value in values.items()))


def settings_of(payload: bytes) -> list[tuple[int, int]]:
    return list(_SETTING.iter_unpack(payload))


def number_frame(kind: int, stream_id: int, number: int) -> bytes:
    """RST_STREAM with its code, or WINDOW_UPDATE with its step."""
    return frame(kind, 0, stream_id, _NUMBER.pack(number))


def number_of(payload: bytes) -> int:
    found: int = _NUMBER.unpack(payload)[0]
    return found


def goaway_frame(last_stream_id: int, number: int, said: str) -> bytes:
    return frame(GOAWAY, 0, 0, _TWO_NUMBERS.pack(last_stream_id, number) + said.encode()[:256])
