"""The two kinds of message ids, and the physical offset.

An offset id says where a message is: `ip port:i32 physical_offset:i64` in hexadecimal digits. A unique id says who
sent it: `ip process:u16 loader:u32 ms_of_month:u32 counter:u16`. RocketMQ's physical offset is a position in a file;
ours is the partition's number and the offset in it, so that a message is found without an index.
"""

import datetime
import ipaddress
import struct
from functools import lru_cache
from typing import Final, NamedTuple

from braidmq.model import PARTITION_NUMBER_MAX
from braidmq.protocols.rocketmq.codec._errors import MalformedMessage, Unencodable

OFFSET_BITS: Final = 40
OFFSET_MAX: Final = (1 << OFFSET_BITS) - 1

_IPV4_BYTES: Final = 4
_IPV6_BYTES: Final = 16
_OFFSET_TAIL: Final = struct.Struct(">iq")
_UNIQUE_TAIL: Final = struct.Struct(">HIIH")


@lru_cache(maxsize=1_024)
def _address_text(ip: bytes) -> str:
    """Messages come from few hosts, and each says its own."""
    return str(ipaddress.ip_address(ip))


class Host(NamedTuple):
    """An address as a message carries it: 4 or 16 bytes, and a port."""

    ip: bytes
    port: int

    @classmethod
    def of(cls, address: str, port: int) -> "Host":
        """From text. A name instead of an address, or what is no address, is 0.0.0.0: messages carry no names. An
        IPv4 address in IPv6 dress is taken as what it is."""
        try:
            found = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return cls(bytes(_IPV4_BYTES), port)
        if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        return cls(found.packed, port)

    @property
    def address(self) -> str:
        return _address_text(self.ip)

    @property
    def is_ipv6(self) -> bool:
        return len(self.ip) == _IPV6_BYTES


class OffsetId(NamedTuple):
    """Where a message is, and at which address to ask for it."""

    host: Host
    physical_offset: int


class UniqueId(NamedTuple):
    """Who made a message, and when within a month."""

    ip: bytes
    process: int
    loader: int
    ms_of_month: int
    counter: int


def physical_offset(partition_number: int, offset: int) -> int:
    """One number for a place in a partition. Raises Unencodable if one of the two does not fit."""
    if not (0 <= partition_number <= PARTITION_NUMBER_MAX and 0 <= offset <= OFFSET_MAX):
        raise Unencodable(f"partition number {partition_number} and offset {offset} do not fit a physical offset")
    return partition_number << OFFSET_BITS | offset


def split_physical_offset(physical: int) -> tuple[int, int]:
    """Partition number and offset. Raises MalformedMessage for what is none of ours."""
    if not 0 <= physical < 1 << 63:
        raise MalformedMessage(f"{physical} is no physical offset")
    return physical >> OFFSET_BITS, physical & OFFSET_MAX


def write_offset_id(host: Host, physical: int) -> str:
    try:
        return (host.ip + _OFFSET_TAIL.pack(host.port, physical)).hex().upper()
    except struct.error as error:
        raise Unencodable(f"port {host.port} and offset {physical} do not fit an offset id") from error


def read_offset_id(text: str) -> OffsetId:
    """Raises MalformedMessage for whatever is no offset id."""
    data = _digits(text, "offset id", _OFFSET_TAIL.size)
    ip = data[: -_OFFSET_TAIL.size]
    port, physical = _OFFSET_TAIL.unpack_from(data, len(ip))
    return OffsetId(Host(ip, port), physical)


def write_unique_id(unique: UniqueId) -> str:
    """Numbers are cut to the bits there are for them, as RocketMQ does: ids of long lives wrap."""
    tail = _UNIQUE_TAIL.pack(
        unique.process & 0xFFFF, unique.loader & 0xFFFFFFFF, unique.ms_of_month & 0xFFFFFFFF, unique.counter & 0xFFFF
    )
    return (unique.ip + tail).hex().upper()


def read_unique_id(text: str) -> UniqueId:
    """Raises MalformedMessage for ids of another form: users may set any text, and gRPC clients have their own form."""
    data = _digits(text, "unique id", _UNIQUE_TAIL.size)
    ip = data[: -_UNIQUE_TAIL.size]
    return UniqueId(ip, *_UNIQUE_TAIL.unpack_from(data, len(ip)))


def ms_of_month(now_ms: int) -> int:
    """Milliseconds since the month began, in UTC."""
    now = datetime.datetime.fromtimestamp(now_ms / 1000, datetime.UTC)
    start = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return now_ms - int(start.timestamp()) * 1000


def _digits(text: str, what: str, tail_bytes: int) -> bytes:
    lengths = (2 * (_IPV4_BYTES + tail_bytes), 2 * (_IPV6_BYTES + tail_bytes))
    if len(text) not in lengths:
        raise MalformedMessage(f"an {what} has {lengths[0]} or {lengths[1]} digits, this text has {len(text)}")
    try:
        data = bytes.fromhex(text)
    except ValueError as error:
        raise MalformedMessage(f"{text!r} is no {what}: it holds more than hexadecimal digits") from error
    if 2 * len(data) != len(text):
        raise MalformedMessage(f"{text!r} is no {what}: it holds more than hexadecimal digits")
    return data
