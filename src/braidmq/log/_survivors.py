"""What outlives a compaction, for every log that compacts: of each key the last record, and what is not decided yet.

Two walks over the same batches. The first shows each to `learn`, the second asks `kept` what stays of it. Offsets stay
as they are and a batch keeps the range it had, so gaps appear. Records of aborted transactions go. Deletions (records
without a value) and transaction markers stay until they have been through one compaction and are older than
`delete.retention.ms`, so that a reader who is slow still learns of them.
"""

from collections.abc import Iterable

from braidmq.log._policy import Policy
from braidmq.log._producers import AbortedRange
from braidmq.model.errors import InvalidBatch
from braidmq.records import Batch, Record, build_batch, read_records, with_append_time


def may_be_compacted(policy: Policy, latest_ms: int, now_ms: int) -> bool:
    """Whether a piece of a partition whose newest record has this time is old enough; records may be ahead of time."""
    return policy.lag_min_ms == 0 or latest_ms <= now_ms - policy.lag_min_ms


def is_compaction_due(policy: Policy, new_bytes: int, total_bytes: int, waiting_since_ms: int, now_ms: int) -> bool:
    """Whether enough of what could be compacted never was, or some of it has waited long enough."""
    if new_bytes == 0:
        return False
    return new_bytes >= policy.dirty_ratio * total_bytes or now_ms - waiting_since_ms >= policy.lag_max_ms


class Survivors:
    """One compaction's judgement. What lies before `cleaned_before` has been through a compaction already."""

    def __init__(self, policy: Policy, aborted: Iterable[AbortedRange], cleaned_before: int, now_ms: int) -> None:
        self._cleaned_before = cleaned_before
        self._recent_from_ms = now_ms - policy.delete_retention_ms
        self._newest: dict[bytes, int] = {}
        self._aborted: dict[int, list[AbortedRange]] = {}
        for each in aborted:
            self._aborted.setdefault(each.producer_id, []).append(each)

    @property
    def keys(self) -> int:
        """How many different keys were learnt."""
        return len(self._newest)

    def learn(self, batch: Batch) -> None:
        """Note the last offset of each key; batches come in order."""
        if batch.is_control or self._is_aborted(batch):
            return
        try:
            records = read_records(batch)
        except InvalidBatch:
            # Its producer broke it: it supersedes nothing, and `kept` leaves it as it is.
            return
        for record in records:
            if record.key is not None:
                self._newest[record.key] = record.offset

    def kept(self, batch: Batch) -> Batch | None:
        """What stays of a batch: all, some or nothing of it."""
        if batch.is_control:
            return batch if self._is_recent(batch.base_offset, batch.max_timestamp) else None
        if self._is_aborted(batch):
            return None
        try:
            records = read_records(batch)
        except InvalidBatch:
            # Nobody can open what its producer broke; it is not ours to throw away.
            return batch
        staying = [record for record in records if self._stays(record)]
        if len(staying) == len(records):
            return batch
        return _rebuilt(batch, staying) if staying else None

    def _is_aborted(self, batch: Batch) -> bool:
        if not batch.is_transactional:
            return False
        ranges = self._aborted.get(batch.producer_id, ())
        return any(each.first_offset <= batch.base_offset <= each.marker_offset for each in ranges)

    def _stays(self, record: Record) -> bool:
        if record.key is None:
            return True
        if record.offset < self._newest.get(record.key, -1):
            return False
        return record.value is not None or self._is_recent(record.offset, record.timestamp_ms)

    def _is_recent(self, offset: int, timestamp_ms: int) -> bool:
        return offset >= self._cleaned_before or timestamp_ms >= self._recent_from_ms


def _rebuilt(batch: Batch, records: list[Record]) -> Batch:
    rebuilt = build_batch(
        records,
        codec=batch.codec,
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.is_transactional,
    )
    return with_append_time(rebuilt, batch.max_timestamp) if batch.is_append_time else rebuilt
