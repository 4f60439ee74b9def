"""What is kept of a group: a row for the group, under the empty key, and one for each member, under its id.

Rows are arrays in msgpack, tagged with what they are. New fields go to the end, with a default.
"""

from collections.abc import Mapping
from typing import Any

import msgspec


class ClassicRow(msgspec.Struct, frozen=True, kw_only=True, array_like=True, tag="classic"):
    """A group that assigns by itself. `is_rebalancing` says that its members were about to begin anew."""

    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    is_rebalancing: bool
    changed_ms: int


class ClassicMemberRow(msgspec.Struct, frozen=True, kw_only=True, array_like=True, tag="classic_member"):
    """A member of such a group."""

    instance_id: str | None
    client_id: str
    client_host: str
    session_ms: int
    rebalance_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes


Row = ClassicRow | ClassicMemberRow

GROUP_KEY = ""

_encoder = msgspec.msgpack.Encoder()
_decoder: Any = msgspec.msgpack.Decoder(Row)


def encode_rows(rows: Mapping[str, Row]) -> dict[str, bytes]:
    """The rows as the store keeps them."""
    return {key: _encoder.encode(row) for key, row in rows.items()}


def decode_row(data: bytes) -> Row:
    """A row as `encode_rows` made it."""
    row: Row = _decoder.decode(data)
    return row
