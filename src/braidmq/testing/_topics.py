"""Topics in memory: lists of messages by partition, and the messages that wait for their time or their producer."""

import itertools
from typing import Final

import msgspec

from braidmq.core.desk.message_views import MessageView, message_view
from braidmq.core.desk.sending import Outgoing, SendResult, house_message
from braidmq.core.desk.topic_views import PartitionView, TopicDetail
from braidmq.core.loads import partition_for
from braidmq.model import DEFAULT_INSTANCE, Message, TopicKind, check_topic_name
from braidmq.model.errors import (
    AlreadyExists,
    EndTooLate,
    HalfEndedOtherwise,
    InvalidPartitions,
    OffsetOutOfRange,
    UnknownHalf,
    UnknownMessage,
    UnknownPartition,
    UnknownTimer,
    UnknownTopic,
)

PARTITIONS: Final = 4
IMMUNITY_MS: Final = 6_000
CHECK_INTERVAL_MS: Final = 1_000


class MemoryTopic:
    """`partitions` holds what there is; nothing is ever removed."""

    def __init__(self, name: str, partitions: int, kind: TopicKind = TopicKind.MIXED) -> None:
        self.name = name
        self.kind = kind
        self.settings: dict[str, str] = {}
        self.partitions: list[list[Message]] = [[] for _ in range(partitions)]
        self._turn = itertools.count()

    def append(self, message: Message, partition: int | None) -> Message:
        """The message at its place. Raises UnknownPartition."""
        index = self._choose(message) if partition is None else partition
        if not 0 <= index < len(self.partitions):
            raise UnknownPartition(f"the topic {self.name!r} has no partition {index}")
        log = self.partitions[index]
        placed = msgspec.structs.replace(message, topic=self.name, partition=index, offset=len(log))
        log.append(placed)
        return placed

    def at(self, partition: int, offset: int) -> Message:
        """Raises UnknownPartition, UnknownMessage."""
        log = self.log(partition)
        if not 0 <= offset < len(log):
            raise UnknownMessage(f"{self.name!r} has no message {offset} in partition {partition}")
        return log[offset]

    def log(self, partition: int) -> list[Message]:
        """Raises UnknownPartition."""
        if not 0 <= partition < len(self.partitions):
            raise UnknownPartition(f"the topic {self.name!r} has no partition {partition}")
        return self.partitions[partition]

    def after(self, partition: int, offset: int) -> list[Message]:
        """Raises UnknownPartition, OffsetOutOfRange."""
        log = self.log(partition)
        if offset > len(log):
            raise OffsetOutOfRange(f"partition {partition} of {self.name!r} ends at {len(log)}, before {offset}")
        return log[offset:]

    def grow(self, partitions: int) -> None:
        """Raises InvalidPartitions."""
        if partitions < len(self.partitions):
            raise InvalidPartitions(f"{self.name!r} has {len(self.partitions)} partitions; they can only grow")
        self.partitions += [[] for _ in range(partitions - len(self.partitions))]

    def detail(self) -> TopicDetail:
        messages = sum(len(log) for log in self.partitions)
        return TopicDetail(
            name=self.name,
            kind=self.kind,
            partitions=len(self.partitions),
            messages=messages,
            size_bytes=sum(len(message.body or b"") for log in self.partitions for message in log),
            rate_in=0.0,
            rate_out=0.0,
            groups=0,
            lag=0,
            internal=self.name.startswith("%"),
            instance=DEFAULT_INSTANCE,
            id=self.name,
            retention_ms=-1,
            retention_bytes=-1,
            settings=self.settings,
        )

    def places(self) -> list[PartitionView]:
        return [
            PartitionView(
                index=index,
                number=index,
                start_offset=0,
                stable_offset=len(log),
                end_offset=len(log),
                size_bytes=sum(len(message.body or b"") for message in log),
                rate_in=0.0,
            )
            for index, log in enumerate(self.partitions)
        ]

    def _choose(self, message: Message) -> int:
        if message.key is not None:
            return partition_for(message.key, len(self.partitions))
        return next(self._turn) % len(self.partitions)


class _Waiting(msgspec.Struct):
    """A message that is in no topic yet: a timer where it has a `due_ms`, a half where it has a `group`."""

    handle: str
    topic: str
    message: Message
    partition: int | None
    due_ms: int = 0
    group: str = ""
    check_ms: int = 0
    immune_ms: int = 0
    checks: int = 0
    ended: str = ""


class MemoryTopics:
    """All topics, with what waits for them."""

    def __init__(self) -> None:
        self.topics: dict[str, MemoryTopic] = {}
        self.timers: dict[str, _Waiting] = {}
        self.halves: dict[str, _Waiting] = {}
        self._handles = itertools.count(1)

    def create(self, name: str, partitions: int = PARTITIONS, kind: TopicKind = TopicKind.MIXED) -> MemoryTopic:
        """Raises AlreadyExists, InvalidName."""
        if check_topic_name(name) in self.topics:
            raise AlreadyExists(f"there is a topic {name!r} already")
        self.topics[name] = MemoryTopic(name, partitions, kind)
        return self.topics[name]

    def topic(self, name: str) -> MemoryTopic:
        """Raises UnknownTopic."""
        if name not in self.topics:
            raise UnknownTopic(f"there is no topic {name!r}")
        return self.topics[name]

    def ensure(self, name: str) -> MemoryTopic:
        """Raises InvalidName."""
        return self.topics.get(name) or self.create(name)

    def send(self, name: str, outgoing: Outgoing, now_ms: int) -> SendResult:
        """Raises InvalidMessage, UnknownPartition."""
        message = house_message(outgoing, now_ms)
        waiting = _Waiting(f"{next(self._handles):032x}", name, message, outgoing.partition)
        if outgoing.transaction is not None:
            waiting.group = outgoing.transaction.group
            immunity_s = outgoing.transaction.immunity_s
            waiting.immune_ms = now_ms + (IMMUNITY_MS if immunity_s is None else immunity_s * 1000)
            waiting.check_ms = waiting.immune_ms
            self.halves[waiting.handle] = waiting
            return SendResult(id=message.id, half=waiting.handle)
        waiting.due_ms = outgoing.deliver_at_ms or (now_ms + outgoing.delay_ms if outgoing.delay_ms else 0)
        if waiting.due_ms > now_ms:
            self.timers[waiting.handle] = waiting
            return SendResult(id=message.id, timer=waiting.handle)
        placed = self.topics[name].append(message, outgoing.partition)
        return SendResult(id=message.id, partition=placed.partition, offset=placed.offset)

    def pass_time(self, now_ms: int) -> None:
        """What is due goes to its topic."""
        for timer in sorted(self.timers.values(), key=lambda each: each.due_ms):
            if timer.due_ms <= now_ms:
                del self.timers[timer.handle]
                self.ensure(timer.topic).append(timer.message, timer.partition)

    def cancel(self, handle: str) -> _Waiting:
        """Raises UnknownTimer."""
        if handle not in self.timers:
            raise UnknownTimer("no message waits under this handle")
        return self.timers.pop(handle)

    def end(self, handle: str, word: str, *, asked: bool, now_ms: int) -> tuple[_Waiting, Message | None, bool]:
        """The half, its place where it counts, and whether the same was said before. Raises UnknownHalf, EndTooLate,
        HalfEndedOtherwise."""
        half = self.halves.get(handle)
        if half is None:
            raise UnknownHalf("no half message is known under this handle")
        if half.ended and half.ended != word:
            raise HalfEndedOtherwise("the half message was ended in the other way before")
        if half.ended:
            return half, None, True
        if not asked and now_ms > half.immune_ms:
            raise EndTooLate("the time for the producer's own word is over")
        half.ended = word
        placed = self.ensure(half.topic).append(half.message, half.partition) if word == "commit" else None
        return half, placed, False

    def questions(self, group: str, now_ms: int) -> list[tuple[str, int, MessageView]]:
        """Halves of the group whose producer is to be asked now."""
        due = [
            half for half in self.halves.values() if half.group == group and not half.ended and half.check_ms <= now_ms
        ]
        for half in due:
            half.check_ms = now_ms + CHECK_INTERVAL_MS
            half.checks += 1
        placed = [(half, msgspec.structs.replace(half.message, topic=half.topic)) for half in due]
        return [(half.handle, half.checks, message_view(message)) for half, message in placed]
