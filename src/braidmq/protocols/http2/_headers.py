"""Blocks of headers (RFC 7541). Hot path: most headers of a call are a byte that names what came before.

Written without a table, so that the same headers are always the same bytes. Read by hand: `hpack`, from which the fixed
table and the Huffman codes are taken, reads the same at six times the cost.
"""

from collections.abc import Iterable
from typing import Final

from hpack import HPACKDecodingError
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from braidmq.model.numbers import whole_number
from braidmq.protocols.http2._errors import ErrorCode, Http2Error

Header = tuple[str, str]
Headers = list[Header]

TABLE_BYTES: Final = 4096
"""What a peer may make us remember, unless it is told more; it is not."""
ENTRY_BYTES: Final = 32
"""What an entry counts beyond its texts."""
_FIXED: Final[tuple[Header, ...]] = tuple(
    (name.decode("latin-1"), value.decode("latin-1")) for name, value in HeaderTable.STATIC_TABLE
)
_FIXED_COUNT: Final = len(_FIXED)
_NUMBER_MAX: Final = 1 << 28

_REQUIRED: Final = frozenset({":method", ":scheme", ":path"})
_KNOWN_PSEUDO: Final = _REQUIRED | {":authority"}
_OF_CONNECTIONS: Final = frozenset({"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"})


class _Unreadable(Exception):
    """The block breaks the rules."""


class HeaderReader:
    """The one table of a connection: every block must be read, also those nobody wants."""

    def __init__(self, list_bytes_max: int) -> None:
        self._list_bytes_max = list_bytes_max
        self._table: list[Header] = []
        """The newest last."""
        self._table_bytes = 0
        self._table_bytes_max = TABLE_BYTES

    def read(self, block: bytes) -> Headers | None:
        """The headers; None where they are more than may be. Raises Http2Error where they cannot be read."""
        try:
            return self._read(block)
        except (_Unreadable, IndexError, HPACKDecodingError) as error:
            raise Http2Error(ErrorCode.COMPRESSION_ERROR, f"the headers cannot be read: {error}") from error

    def _read(self, block: bytes) -> Headers | None:
        headers: Headers = []
        at, end = 0, len(block)
        list_bytes = 0
        while at < end:
            first = block[at]
            if first & 0x80:
                if first & 0x7F < 0x7F:
                    index, at = first & 0x7F, at + 1
                else:
                    index, at = _number(block, at, 7)
                header = self._entry(index)
            elif first & 0xE0 == 0x20:
                at = self._resize(block, at, has_begun=bool(headers))
                continue
            else:
                header, at = self._literal(block, at, first)
            headers.append(header)
            list_bytes += len(header[0]) + len(header[1]) + ENTRY_BYTES
            if list_bytes > self._list_bytes_max:
                headers.clear()  # the rest is read for the table's sake
        return None if list_bytes > self._list_bytes_max else headers

    def _entry(self, index: int) -> Header:
        if index == 0:
            raise _Unreadable("there is no entry 0")
        if index <= _FIXED_COUNT:
            return _FIXED[index - 1]
        back = index - _FIXED_COUNT
        if back > len(self._table):
            raise _Unreadable(f"there is no entry {index}")
        return self._table[-back]

    def _literal(self, block: bytes, at: int, first: int) -> tuple[Header, int]:
        is_kept = first & 0x40
        index, at = _number(block, at, 6 if is_kept else 4)
        if index:
            name = self._entry(index)[0]
        else:
            name, at = _text_at(block, at)
        value, at = _text_at(block, at)
        header = (name, value)
        if is_kept:
            self._keep(header)
        return header, at

    def _keep(self, header: Header) -> None:
        self._table.append(header)
        self._table_bytes += len(header[0]) + len(header[1]) + ENTRY_BYTES
        self._shrink()

    def _shrink(self) -> None:
        gone = 0
        while self._table_bytes > self._table_bytes_max:
            name, value = self._table[gone]
            self._table_bytes -= len(name) + len(value) + ENTRY_BYTES
            gone += 1
        del self._table[:gone]

    def _resize(self, block: bytes, at: int, *, has_begun: bool) -> int:
        size, at = _number(block, at, 5)
        if has_begun or size > TABLE_BYTES:
            raise _Unreadable("the table cannot change its size so")
        self._table_bytes_max = size
        self._shrink()
        return at


def _number(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """A number whose first bits share a byte with something else, and where it ends."""
    limit = (1 << bits) - 1
    number = block[at] & limit
    at += 1
    if number < limit:
        return number, at
    shift = 0
    while True:
        byte = block[at]
        at += 1
        number += (byte & 0x7F) << shift
        shift += 7
        if number > _NUMBER_MAX or shift > 35:
            raise _Unreadable("a number is too large")
        if byte < 0x80:
            return number, at


def _text_at(block: bytes, at: int) -> tuple[str, int]:
    is_huffman = block[at] & 0x80
    size, at = _number(block, at, 7)
    raw = block[at : at + size]
    if len(raw) < size:
        raise _Unreadable("a text is cut off")
    if is_huffman:
        raw = decode_huffman(raw)
    return raw.decode("latin-1"), at + size


def fault_of(headers: Headers, *, trailing: bool) -> str:
    """What is wrong with the headers of a request, or with what trails it; nothing where all is well."""
    pseudo: dict[str, str] = {}
    regular = False
    for name, value in headers:
        if name[:1] == ":":
            if regular or trailing or name in pseudo or name not in _KNOWN_PSEUDO:
                return f"{name} must not be there"
            pseudo[name] = value
            continue
        regular = True
        if not name or (not name.islower() and name != name.lower()):
            return f"{name!r} is no name of a header"
        if name in _OF_CONNECTIONS or (name == "te" and value != "trailers"):
            return f"{name} is a header of connections"
    if not trailing and not (pseudo.keys() >= _REQUIRED and pseudo[":path"]):
        return "a request needs :method, :scheme and :path"
    return ""


def length_of(headers: Headers) -> int | None:
    """How long the request says that it is; -1 where it says so in a way that cannot be."""
    for name, value in headers:
        if name == "content-length":
            length = whole_number(value, 18)
            return -1 if length is None else length
    return None


def literal_block(headers: Iterable[tuple[str, str]]) -> bytes:
    """Headers as a block that touches no table (RFC 7541, 6.2.2)."""
    return b"".join(b"\x00" + _text(name) + _text(value) for name, value in headers)


def _text(text: str) -> bytes:
    raw = text.encode("latin-1", errors="replace")
    return _length(len(raw)) + raw


def _length(size: int) -> bytes:
    if size < 127:
        return bytes((size,))
    encoded = bytearray((127,))
    size -= 127
    while size >= 128:
        encoded.append(size & 127 | 128)
        size >>= 7
    encoded.append(size)
    return bytes(encoded)
