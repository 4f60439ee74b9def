"""Looking through a topic, partition after partition, a bounded piece at a time, and saying how far that went."""

from typing import Final, NamedTuple

from braidmq.core.filters import Everything, Filter
from braidmq.core.pull import Pulled, Puller
from braidmq.model import Message, Topic
from braidmq.model.errors import OffsetOutOfRange, UnknownPartition
from braidmq.records import Record, record_message

SCAN_MESSAGES: Final = 50_000
SCAN_BYTES: Final = 32 << 20
"""How much one search looks through before it says how far it came."""
PIECE_MESSAGES: Final = 500
PIECE_BYTES: Final = 1 << 20


class Stretch(NamedTuple):
    """Offsets of one partition, from `begin` up to `end`, which is not included."""

    partition: int
    begin: int
    end: int


class Stop(NamedTuple):
    """Where a search goes on."""

    partition: int
    offset: int


class Scan:
    """One search: what it found, and how much it looked through."""

    def __init__(self, puller: Puller, topic: Topic, chosen: Filter, limit: int, *, times_ms: tuple[int, int]) -> None:
        self._puller = puller
        self._topic = topic
        self._chosen = chosen
        self._limit = limit
        self._from_ms, self._until_ms = times_ms
        self.found: list[Message] = []
        self.messages = 0
        self.bytes = 0

    async def through(self, stretch: Stretch) -> Stop | None:
        """Look through the stretch; where the search has had enough, or None at the stretch's end."""
        number = self._topic.partition_numbers[stretch.partition]
        at = stretch.begin
        try:
            while at < stretch.end:
                if self._has_enough:
                    return Stop(stretch.partition, at)
                following = self._take(stretch, await self._piece(number, at))
                if following <= at:
                    return None
                at = following
        except (OffsetOutOfRange, UnknownPartition):
            return None  # deleted meanwhile; what was found before is no less true
        return None

    @property
    def _has_enough(self) -> bool:
        return len(self.found) >= self._limit or self.messages >= SCAN_MESSAGES or self.bytes >= SCAN_BYTES

    async def _piece(self, number: int, at: int) -> Pulled:
        return await self._puller.pull(number, at, Everything(), count_max=PIECE_MESSAGES, bytes_max=PIECE_BYTES)

    def _take(self, stretch: Stretch, pulled: Pulled) -> int:
        """Keep what is wanted; the offset at which to go on."""
        for record in pulled.records:
            if record.offset >= stretch.end:
                return stretch.end
            if len(self.found) >= self._limit:
                return record.offset
            self.messages += 1
            self.bytes += len(record.value or b"")
            if self._wants(record):
                self.found.append(record_message(record, self._topic.name, stretch.partition))
        return pulled.next_offset

    def _wants(self, record: Record) -> bool:
        return self._from_ms <= record.timestamp_ms <= self._until_ms and self._chosen.matches(record)
