"""What is kept of a group: a row for the group, under the empty key, and one for each member, under its id.

Rows are arrays in msgpack, tagged with what they are. New fields go to the end, with a default.
"""

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


class ConsumerRow(msgspec.Struct, frozen=True, kw_only=True, array_like=True, tag="consumer"):
    """A group that we assign to. `topics` tells whether the topics are still those that the target was made for."""

    epoch: int
    target_epoch: int
    assignor: str
    topics: str


class ClassicSide(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What a member of such a group has said of itself that speaks as if the members divided the work themselves."""

    session_ms: int
    protocols: tuple[tuple[str, bytes], ...]

    @property
    def protocol(self) -> str:
        """The way to divide the work that it is told was chosen: the one that it likes best."""
        return self.protocols[0][0]

    @property
    def metadata(self) -> bytes:
        return self.protocols[0][1]


class ConsumerMemberRow(msgspec.Struct, frozen=True, kw_only=True, array_like=True, tag="consumer_member"):
    """A member of such a group, and what it is to hold."""

    instance_id: str | None
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    pattern: str
    assignor: str
    rack: str | None
    rebalance_ms: int
    epoch: int
    previous_epoch: int
    progress: str
    assigned: tuple[int, ...]
    revoking: tuple[int, ...]
    target: tuple[int, ...]
    classic: ClassicSide | None = None


class ShareRow(msgspec.Struct, frozen=True, kw_only=True, array_like=True, tag="share"):
    """A group whose members share partitions; they are not kept."""

    epoch: int


Row = ClassicRow | ClassicMemberRow | ConsumerRow | ConsumerMemberRow | ShareRow

GROUP_KEY = ""

_encoder = msgspec.msgpack.Encoder()
_decoder: Any = msgspec.msgpack.Decoder(Row)


def encode_row(row: Row) -> bytes:
    """The row as the store keeps it."""
    return _encoder.encode(row)


def decode_row(data: bytes) -> Row:
    """A row as `encode_row` made it."""
    row: Row = _decoder.decode(data)
    return row
