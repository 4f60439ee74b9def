"""What a partition remembers of its producers: enough to know a duplicate, a gap, a fenced producer, an open
transaction.

All of it follows from the headers of the batches in the partition, so a log rebuilds it by showing `Producers` every
batch again. Values are immutable and replaced whole: a journal that could not be written is undone by putting the old
ones back.

The rules are Kafka's. A batch of a known producer is one of: a duplicate of one of its last five (answered with the old
offset), the next in sequence (taken), anything else (refused).
"""

from collections.abc import Iterable
from typing import NamedTuple

from braidmq.log._port import AbortedTransaction, ProducerState
from braidmq.model.errors import InvalidProducerEpoch, InvalidTransactionState, OutOfOrderSequence
from braidmq.records import UNUSUAL_BITS, Batch, Marker, read_marker

BATCHES_REMEMBERED = 5
SEQUENCE_MASK = 0x7FFFFFFF

_new = tuple.__new__
"""Makes a named tuple in a third of the time; for what is made for every batch."""


class SentBatch(NamedTuple):
    """A batch that a producer had stored."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    append_ms: int


class Producer(NamedTuple):
    """One producer id as seen by one partition. `transaction_offset` is where its open transaction began, or -1."""

    epoch: int
    sent: tuple[SentBatch, ...]
    transaction_offset: int
    seen_ms: int


class AbortedRange(NamedTuple):
    """A transaction that was aborted: its first record and its marker."""

    producer_id: int
    first_offset: int
    marker_offset: int


class EndedTransaction(NamedTuple):
    """A transaction whose marker is written; it holds the stable offset back until readers can see the marker."""

    first_offset: int
    marker_offset: int


class ProducersBefore(NamedTuple):
    """What one batch changed, to be put back when the batch could not be kept."""

    producer_id: int
    producer: Producer | None
    aborted_count: int
    ended_count: int


class Producers:
    """The producers of one partition."""

    __slots__ = ("_opened", "aborted", "by_id", "ended")

    def __init__(self, by_id: dict[int, Producer] | None = None, aborted: Iterable[AbortedRange] = ()) -> None:
        self.by_id = by_id or {}
        self.aborted = list(aborted)
        self.ended: list[EndedTransaction] = []
        self._opened = {
            producer_id: producer.transaction_offset
            for producer_id, producer in self.by_id.items()
            if producer.transaction_offset >= 0
        }
        """Where open transactions began: few, while producers may be many."""

    def find_duplicate(self, batch: Batch) -> SentBatch | None:
        """The same batch as it was stored before, if it is among the last ones of its producer."""
        producer = self.by_id.get(batch.producer_id)
        if producer is None or producer.epoch != batch.producer_epoch:
            return None
        for sent in producer.sent:
            if sent.first_sequence == batch.base_sequence and sent.last_sequence == batch.last_sequence:
                return sent
        return None

    def check(self, batch: Batch) -> None:
        """Whether the batch may be stored. Raises InvalidProducerEpoch, OutOfOrderSequence, InvalidTransactionState."""
        producer = self.by_id.get(batch.producer_id)
        if producer is None:
            return
        if batch.producer_epoch < producer.epoch:
            raise InvalidProducerEpoch(
                f"producer {batch.producer_id} has epoch {producer.epoch} by now; this batch has {batch.producer_epoch}"
            )
        if batch.is_control:
            return
        if producer.transaction_offset >= 0 and not batch.is_transactional:
            raise InvalidTransactionState(
                f"producer {batch.producer_id} has an open transaction; this batch is not part of it"
            )
        self._check_sequence(producer, batch)

    @staticmethod
    def _check_sequence(producer: Producer, batch: Batch) -> None:
        last = producer.sent[-1].last_sequence if producer.sent and producer.epoch == batch.producer_epoch else -1
        expected = (last + 1) & SEQUENCE_MASK
        if batch.base_sequence != expected:
            raise OutOfOrderSequence(
                f"producer {batch.producer_id} sent sequence {batch.base_sequence}; {expected} is the next"
            )

    def store_next(self, batch: Batch, base_offset: int, append_ms: int) -> ProducersBefore | None:
        """What finding no duplicate, checking and storing do with what most batches are: the next of a known producer,
        outside of transactions. None for any other: then nothing has changed. Hot path."""
        producer_id = batch.producer_id
        producer = self.by_id.get(producer_id)
        if producer is None or batch.attributes & UNUSUAL_BITS or producer.transaction_offset >= 0:
            return None
        epoch, sent = producer.epoch, producer.sent
        sequence = batch.base_sequence
        if not sent or batch.producer_epoch != epoch or sequence != (sent[-1].last_sequence + 1) & SEQUENCE_MASK:
            return None
        delta = batch.last_offset_delta
        last_sequence = (sequence + delta) & SEQUENCE_MASK
        now = _new(SentBatch, (sequence, last_sequence, base_offset, base_offset + delta, append_ms))
        self.by_id[producer_id] = _new(Producer, (epoch, (*sent[1 - BATCHES_REMEMBERED :], now), -1, append_ms))
        return _new(ProducersBefore, (producer_id, producer, len(self.aborted), len(self.ended)))

    def store(self, batch: Batch, base_offset: int, append_ms: int) -> ProducersBefore:
        """Take note of a batch that goes to this offset; what was before is returned, for `undo`."""
        producer = self.by_id.get(batch.producer_id)
        before = ProducersBefore(batch.producer_id, producer, len(self.aborted), len(self.ended))
        if batch.is_control:
            self._end_transaction(batch, producer, base_offset, append_ms)
        else:
            self._put(batch.producer_id, self._with_batch(producer, batch, base_offset, append_ms))
        return before

    def find_again(self, batch: Batch, now_ms: int) -> None:
        """Take note of a batch that lay in the log before this life: the time in it is its producer's to choose, and
        says nothing of when that was seen."""
        self.store(batch, batch.base_offset, max(batch.max_timestamp, 0))
        self._put(batch.producer_id, self.by_id[batch.producer_id]._replace(seen_ms=now_ms))

    def undo(self, before: ProducersBefore) -> None:
        """Put back what `store` changed; the latest change first."""
        if before.producer is None:
            del self.by_id[before.producer_id]
            self._opened.pop(before.producer_id, None)
        else:
            self._put(before.producer_id, before.producer)
        del self.aborted[before.aborted_count :]
        del self.ended[before.ended_count :]

    def _put(self, producer_id: int, producer: Producer) -> None:
        self.by_id[producer_id] = producer
        if producer.transaction_offset >= 0:
            self._opened[producer_id] = producer.transaction_offset
        elif self._opened:
            self._opened.pop(producer_id, None)

    @staticmethod
    def _with_batch(producer: Producer | None, batch: Batch, base_offset: int, append_ms: int) -> Producer:
        sent = SentBatch(
            batch.base_sequence,
            batch.last_sequence,
            base_offset,
            base_offset + batch.last_offset_delta,
            append_ms,
        )
        if producer is None:
            return Producer(batch.producer_epoch, (sent,), base_offset if batch.is_transactional else -1, append_ms)
        earlier = producer.sent[1 - BATCHES_REMEMBERED :] if producer.epoch == batch.producer_epoch else ()
        opened = producer.transaction_offset
        if batch.is_transactional and opened < 0:
            opened = base_offset
        return Producer(batch.producer_epoch, (*earlier, sent), opened, append_ms)

    def _end_transaction(self, batch: Batch, producer: Producer | None, offset: int, append_ms: int) -> None:
        sent = producer.sent if producer is not None and producer.epoch == batch.producer_epoch else ()
        self._put(batch.producer_id, Producer(batch.producer_epoch, sent, -1, append_ms))
        if producer is None or producer.transaction_offset < 0:
            return
        self.ended.append(EndedTransaction(producer.transaction_offset, offset))
        if read_marker(batch) is Marker.ABORT:
            self.aborted.append(AbortedRange(batch.producer_id, producer.transaction_offset, offset))

    def states(self) -> list[ProducerState]:
        """What is known of each producer."""
        return [
            ProducerState(
                producer_id,
                producer.epoch,
                producer.sent[-1].last_sequence if producer.sent else -1,
                producer.transaction_offset,
                producer.seen_ms,
            )
            for producer_id, producer in self.by_id.items()
        ]

    def stable_offset(self, visible_offset: int) -> int:
        """The first offset that an open transaction holds back, or that a marker not yet visible has decided."""
        stable = visible_offset
        if self.ended:
            self.ended = [ended for ended in self.ended if ended.marker_offset >= visible_offset]
            for ended in self.ended:
                stable = min(stable, ended.first_offset)
        for opened in self._opened.values():
            stable = min(stable, opened)
        return stable

    def aborted_between(self, first_offset: int, next_offset: int) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions that have records in this range of offsets."""
        return tuple(
            AbortedTransaction(aborted.producer_id, aborted.first_offset)
            for aborted in self.aborted
            if aborted.marker_offset >= first_offset and aborted.first_offset < next_offset
        )

    def forget(self, before_offset: int, seen_before_ms: int) -> None:
        """Drop aborted transactions whose records are gone, and producers not seen for long without a transaction."""
        self.aborted = [aborted for aborted in self.aborted if aborted.marker_offset >= before_offset]
        self.by_id = {
            producer_id: producer
            for producer_id, producer in self.by_id.items()
            if producer.transaction_offset >= 0 or producer.seen_ms >= seen_before_ms
        }
