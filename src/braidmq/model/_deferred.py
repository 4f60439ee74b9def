"""Messages that were taken and are not in their topic yet: timers wait for a time, halves for their producer's word.

Both are found by an id of ours that begins with a time, so that ids are in the order of the times, and whose two halves
of 64 bits are both positive numbers, for protocols whose handles are a pair of numbers.
"""

import enum
from uuid import UUID

import msgspec

NEVER_MS = (1 << 62) - 1
"""When something is looked at again that only an operator may go on with."""

_COUNTER_BITS = 16
_RANDOM_BITS = 63


def deferred_id(time_ms: int, counter: int, random: int) -> UUID:
    """An id for something of this time. Of two with the same time, the lower counter comes first."""
    high = time_ms << _COUNTER_BITS | counter & ((1 << _COUNTER_BITS) - 1)
    return UUID(int=high << 64 | random & ((1 << _RANDOM_BITS) - 1))


def deferred_time_ms(id: UUID) -> int:
    """The time that an id was made for."""
    return id.int >> 64 + _COUNTER_BITS


class Timer(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is to be in its topic from a certain time on."""

    id: UUID
    topic_id: UUID
    instance: str
    topic: str
    partition: int = -1
    """Its index in the topic; -1 leaves the choice to the moment of delivery."""
    message_id: str
    due_ms: int
    wake_ms: int
    """When it is looked at next: the due time, or the end of a claim or of a pause."""
    owner: str = ""
    """Who has begun to deliver it; from then on it cannot be recalled. Empty while nobody has."""
    attempts: int = 0
    parked: str = ""
    """Why it waits for an operator; empty when it does not."""
    size_bytes: int
    content: bytes = b""
    """The message, as core writes it. Left out of listings."""


class HalfState(enum.StrEnum):
    """What is known of a half. The states only go forward, to one of the two ends."""

    PREPARED = "prepared"
    COMMITTING = "committing"
    """Decided, and perhaps not in its topic yet."""
    COMMITTED = "committed"
    ROLLED_BACK = "rolled_back"

    @property
    def is_commit(self) -> bool:
        return self in (HalfState.COMMITTING, HalfState.COMMITTED)


class Half(msgspec.Struct, frozen=True, kw_only=True):
    """A message whose producer has not said yet whether it counts, or has said so a short time ago."""

    id: UUID
    topic_id: UUID
    instance: str
    topic: str
    partition: int = -1
    group: str
    """The producers that can be asked."""
    message_id: str
    state: HalfState = HalfState.PREPARED
    prepared_ms: int
    immunity_ms: int = -1
    """How long its producer wants to be left in peace; -1 where it did not say."""
    wake_ms: int
    owner: str = ""
    checks: int = 0
    """How often producers were asked."""
    attempts: int = 0
    """How often the committed message was tried to be appended by others than the one who committed."""
    parked: str = ""
    size_bytes: int
    content: bytes = b""
    """Left out of listings, and given up with the end."""
