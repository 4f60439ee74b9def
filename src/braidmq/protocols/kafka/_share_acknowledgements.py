"""What share consumers say of the messages that they hold: ranges of offsets, with one word for all or one for each.

    0 gap      there is no message at this offset: nothing is left to do
    1 accept   done
    2 release  not done; for anybody, at once
    3 reject   not to be tried again: to the group's dead letters
    4 renew    still being worked on: the lock begins anew

Of one partition all is taken, or nothing: a message that its member does not hold any more spoils the whole list. So
that nobody can make us go through offsets that nobody holds, a range is held against what the member has before it is
gone through.
"""

import asyncio
import enum
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from braidmq.model import DEFAULT_INSTANCE
from braidmq.model.errors import HandleExpired
from braidmq.model.share_settings import SharePolicy, share_policy
from braidmq.protocols.kafka._errors import InvalidResource
from braidmq.protocols.kafka._partitions import find_topic, partition_of
from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka._share_sessions import Held, ShareSession
from braidmq.protocols.kafka.codec import Uuid
from braidmq.protocols.kafka.codec.messages.share_acknowledge import ShareAcknowledgeRequest
from braidmq.protocols.kafka.codec.messages.share_fetch import ShareFetchRequest

Batch = ShareFetchRequest.AcknowledgementBatch | ShareAcknowledgeRequest.AcknowledgementBatch


class Word(enum.IntEnum):
    """What is said of a message."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


_WORDS: Final = frozenset(Word)


class _Said(NamedTuple):
    held: Held
    word: int


def policy_of(services: KafkaServices, group: str) -> SharePolicy:
    """How share consumers of the group are served."""
    found = services.catalog.group(DEFAULT_INSTANCE, group)
    return share_policy({} if found is None else found.settings)


async def acknowledge(
    services: KafkaServices,
    session: ShareSession,
    topic_id: Uuid,
    index: int,
    batches: Sequence[Batch],
    *,
    may_renew: bool,
) -> None:
    """Do as the member says, of one partition. Raises InvalidResource, UnknownTopic, UnknownPartition, HandleExpired
    where nothing was done, and what prevents messages from going to the dead letters."""
    check_batches(batches, may_renew=may_renew)
    number = partition_of(find_topic(services, "", topic_id), index).number
    said = [each for batch in batches for each in _said(session, number, batch)]
    cursors = services.cursors
    if not all(cursors.holds(session.group, each.held.receipt) for each in said):
        raise HandleExpired
    lock_ms = policy_of(services, session.group).lock_ms
    rejected = [each.held for each in said if not _apply(services, session, each, lock_ms)]
    burials = (cursors.bury(session.group, held.receipt) for held in rejected)
    fates = await asyncio.shield(asyncio.gather(*burials, return_exceptions=True))
    for fate in fates:
        if isinstance(fate, BaseException) and not isinstance(fate, HandleExpired):
            raise fate


def check_batches(batches: Sequence[Batch], *, may_renew: bool) -> None:
    """What can be said of them without knowing what the member holds. Raises InvalidResource."""
    behind = -1
    for batch in batches:
        if batch.first_offset > batch.last_offset or batch.first_offset <= behind:
            raise InvalidResource("acknowledged offsets come in ranges, each behind the one before")
        behind = batch.last_offset
        words = batch.acknowledge_types
        if len(words) not in (1, batch.last_offset - batch.first_offset + 1):
            raise InvalidResource("a range of offsets has one type of acknowledgement, or one for each offset")
        if not _WORDS.issuperset(words):
            raise InvalidResource(f"types of acknowledgement are {', '.join(map(str, sorted(_WORDS)))}")
        if Word.RENEW in words and not may_renew:
            raise InvalidResource("a request that renews locks says so (IsRenewAck, from version 2 on)")


def _said(session: ShareSession, number: int, batch: Batch) -> Iterator[_Said]:
    """Raises HandleExpired."""
    words, first, count = batch.acknowledge_types, batch.first_offset, batch.last_offset - batch.first_offset + 1
    if len(words) == 1 and count > len(session.held):
        if words[0] == Word.GAP:
            return  # a stretch without messages, of which there is nothing to be said
        raise HandleExpired
    for at in range(count):
        word = words[at] if len(words) > 1 else words[0]
        held = session.held.get((number, first + at))
        if held is not None:
            yield _Said(held, word)
        elif word != Word.GAP:
            raise HandleExpired


def _apply(services: KafkaServices, session: ShareSession, said: _Said, lock_ms: int) -> bool:
    """Whether that was all; what is rejected is not done before it is among the dead letters."""
    cursors, receipt = services.cursors, said.held.receipt
    if said.word == Word.RENEW:
        session.keep(cursors.extend(session.group, receipt, lock_ms), cursors.now_ms() + lock_ms)
        return True
    del session.held[receipt.number, receipt.offset]
    if said.word == Word.RELEASE:
        cursors.extend(session.group, receipt, 0)
    elif said.word != Word.REJECT:
        cursors.acknowledge(session.group, receipt)
    return said.word != Word.REJECT
