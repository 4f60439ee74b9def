"""The log as lists: what a partition must hold, and what it may have given up."""

from typing import NamedTuple

from braidmq.log import GroupOffset
from braidmq.model import Topic
from braidmq.records import Batch, Marker, Record, read_records


class Entry(NamedTuple):
    """A batch as the partition took it."""

    base_offset: int
    batch: Batch

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.batch.last_offset_delta

    @property
    def payload(self) -> bytes:
        """All but the part that the log writes itself."""
        return bytes(self.batch.data)[16:]

    def records(self) -> list[Record]:
        return [
            record._replace(offset=self.base_offset + delta) for delta, record in enumerate(read_records(self.batch))
        ]


class ModelProducer:
    """One producer of one partition."""

    def __init__(self) -> None:
        self.next_sequence = 0
        self.opened_at = -1
        self.last: Entry | None = None


class ModelPartition:
    """One partition. `is_thinned`: compaction may have taken what was superseded."""

    def __init__(self, topic: Topic, number: int) -> None:
        self.topic = topic
        self.number = number
        self.start = 0
        self.entries: list[Entry] = []
        self.producers: dict[int, ModelProducer] = {}
        self.aborted: list[tuple[int, int, int]] = []
        self.is_thinned = False

    @property
    def end(self) -> int:
        return self.entries[-1].last_offset + 1 if self.entries else 0

    @property
    def stable(self) -> int:
        opened = [producer.opened_at for producer in self.producers.values() if producer.opened_at >= 0]
        return max(self.start, min([self.end, *opened]))

    def producer(self, id: int) -> ModelProducer:
        return self.producers.setdefault(id, ModelProducer())

    def take(self, batch: Batch, kind: Marker | None = None) -> Entry:
        """The batch is in the log."""
        entry = Entry(self.end, batch)
        self.entries.append(entry)
        if batch.producer_id >= 0:
            self._note_producer(self.producer(batch.producer_id), entry, kind)
        return entry

    def _note_producer(self, producer: ModelProducer, entry: Entry, kind: Marker | None) -> None:
        if kind is None:
            producer.next_sequence += entry.batch.record_count
            producer.last = entry
            if entry.batch.is_transactional and producer.opened_at < 0:
                producer.opened_at = entry.base_offset
            return
        if kind is Marker.ABORT and producer.opened_at >= 0:
            self.aborted.append((entry.batch.producer_id, producer.opened_at, entry.base_offset))
        producer.opened_at = -1

    def is_aborted(self, entry: Entry) -> bool:
        return entry.batch.is_transactional and any(
            producer_id == entry.batch.producer_id and first <= entry.base_offset <= marker
            for producer_id, first, marker in self.aborted
        )

    def check_content(self, found: list[Batch], offset: int) -> None:
        """Whether this is what a reader from the offset on must see."""
        if self.is_thinned:
            self._check_thinned(found, offset)
            return
        expected = [entry for entry in self.entries if entry.last_offset >= offset]
        assert [(batch.base_offset, bytes(batch.data)[16:]) for batch in found] == [
            (entry.base_offset, entry.payload) for entry in expected
        ]

    def _check_thinned(self, found: list[Batch], offset: int) -> None:
        """Nothing that was not written; and of what was, all that compaction may not take."""
        seen = {record.offset: record for batch in found if not batch.is_control for record in read_records(batch)}
        written: dict[int, Record] = {}
        needed: set[int] = set()
        latest: dict[bytes, Record] = {}
        for entry in self.entries:
            if entry.batch.is_control:
                continue
            for record in entry.records():
                written[record.offset] = record
                if record.key is None or entry.base_offset >= self.stable:
                    needed.add(record.offset)
                elif not self.is_aborted(entry):
                    latest[record.key] = record
        needed |= {record.offset for record in latest.values() if record.value is not None}
        assert all(written[at] == record for at, record in seen.items())
        assert {at for at in needed if at >= offset} <= set(seen)


class Model:
    """All of it."""

    def __init__(self) -> None:
        self.topics: list[Topic] = []
        self.partitions: dict[int, ModelPartition] = {}
        self.groups: dict[str, dict[int, GroupOffset]] = {}
        self.next_number = 1

    def add(self, topic: Topic) -> None:
        self.topics = [each for each in self.topics if each.id != topic.id] + [topic]
        for number in topic.partition_numbers:
            self.partitions.setdefault(number, ModelPartition(topic, number)).topic = topic

    def drop(self, topic: Topic) -> None:
        self.topics.remove(topic)
        for number in topic.partition_numbers:
            del self.partitions[number]
            for offsets in self.groups.values():
                offsets.pop(number, None)
        self.groups = {group: offsets for group, offsets in self.groups.items() if offsets}
