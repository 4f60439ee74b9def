"""What receivers say and are told."""

from enum import StrEnum
from typing import NamedTuple

import msgspec

from braidmq.core.cursors._cursor import Holder
from braidmq.core.filters import Everything, Filter
from braidmq.model import Topic
from braidmq.records import Record

BYTES_MAX = 4 << 20


class Beginning(StrEnum):
    """Where a group begins in a partition in which it has never been."""

    START = "start"
    END = "end"
    YOUNG = "young"
    """At the start while the partition is young and has all that it ever had, else at the end."""


class Receipt(NamedTuple):
    """What a receiver says of a message that it was given, by. `seal` is what nobody can guess."""

    number: int
    offset: int
    serial: int
    seal: int


class Delivered(NamedTuple):
    """A message that was given out, and how often it was by now."""

    receipt: Receipt
    partition: int
    record: Record
    attempt: int
    topic: str
    """Where it lies: the topic that was asked for, or the group's retry topic."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What a receiver wants."""

    group: str
    topic: Topic
    partition: int | None = None
    """None wants messages of any."""
    chosen: Filter = Everything()
    count_max: int = 32
    bytes_max: int = BYTES_MAX
    invisible_ms: int = 60_000
    """How long the messages are the receiver's, and nobody else's."""
    is_ordered: bool = False
    """Messages of one sharding key come in order, and no further one while one of them is with a receiver."""
    is_single_file: bool = False
    """With `is_ordered`: all messages of a partition are in order, as if they had one sharding key."""
    holder: Holder | None = None
    """Renew the messages for it while it lives."""
    attempt_id: str = ""
    """Who asks again with the same word, because the answer was lost, is given the same messages."""
    client: str = ""
    beginning: Beginning = Beginning.YOUNG
    with_retries: bool = False
    """Also messages of the topic that came back to the group by its retry topic, unless members pull from that."""
    committed: bool = True
    """Without it, messages of transactions that are open, or were aborted, are given out like all others."""


class CursorLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How far things go."""

    open_max: int = 100_000
    """How many messages of a group may be given out, or looked at and waiting for their turn; then the group is given
    no new ones."""
    waiting_max: int = 20_000
    """How many receivers may wait at a time."""
    renewal_ms: int = 60_000
    renewed_max_ms: int = 3 * 3_600_000
    """For how long a message is renewed for a holder that lives."""


class CursorView(NamedTuple):
    """How far a group is in one partition."""

    number: int
    floor: int
    next: int
    end: int
    open: int
    out: int

    @property
    def lag(self) -> int:
        """How many messages are not done; some of those that nobody has looked at may not be wanted."""
        return self.open + max(self.end - self.next, 0)
