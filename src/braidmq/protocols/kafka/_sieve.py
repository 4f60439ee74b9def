"""What a fetch through a filter takes out of a partition. Hot path of filtered topics: every record is looked at.

Batches go out as they came where all of their records are chosen, and built anew where some are. Offsets stay as they
are. Where none is chosen, one batch without records stands for the whole stretch of offsets, as compaction leaves such
batches too: by it the client's position moves on, and what was looked at once is not looked at again. Transaction
markers stay, so that readers of committed records know whose records to skip.
"""

from typing import Final

from braidmq.core.filters import Filter
from braidmq.log import AbortedTransaction, Fetched
from braidmq.model.errors import InvalidBatch
from braidmq.protocols.kafka.codec import Buffer
from braidmq.records import (
    Batch,
    Record,
    batch_prefix,
    batches_in,
    build_batch,
    parse_batch,
    read_records,
    with_append_time,
)

LOOKED_AT_BYTES_MAX: Final = 32 << 20
"""How much one fetch goes through without finding enough, before its client is told how far it came."""
_STRETCH_MAX: Final = (1 << 31) - 1
"""How many offsets one batch can stand for."""


class Sieve:
    """One partition, in one fetch."""

    __slots__ = (
        "_aborted",
        "_chosen",
        "_leader_epoch",
        "_looked_at_bytes",
        "_pieces",
        "_skipped",
        "kept_bytes",
        "offset",
        "size_bytes",
    )

    def __init__(self, chosen: Filter, offset: int) -> None:
        self._chosen = chosen
        self._pieces: list[Buffer] = []
        self._aborted: dict[AbortedTransaction, None] = {}
        self._leader_epoch = -1
        self._looked_at_bytes = 0
        self._skipped: tuple[int, int] | None = None
        """The offsets, first and last, that nothing was chosen of since the last piece."""
        self.offset = offset
        """Where to read on."""
        self.size_bytes = 0
        """Of all that goes to the client."""
        self.kept_bytes = 0
        """Of batches with chosen records: what a client that waits for data waits for."""

    @property
    def is_tired(self) -> bool:
        """Whether the client is to be answered, found or not."""
        return self._looked_at_bytes >= LOOKED_AT_BYTES_MAX

    def take(self, fetched: Fetched) -> None:
        """Look through what was read at `offset`."""
        self._aborted.update(dict.fromkeys(fetched.aborted))
        self._looked_at_bytes += len(fetched.data)
        for batch in batches_in(fetched.data):
            self.offset = batch.last_offset + 1
            self._leader_epoch = batch.leader_epoch
            self._take_batch(batch)

    def result(self) -> Fetched:
        """All that goes to the client so far."""
        pieces = [*self._pieces, *self._stretch()]
        return Fetched(b"".join(pieces), tuple(self._aborted))

    def _take_batch(self, batch: Batch) -> None:
        if batch.is_control:
            self._add(batch)
            return
        try:
            records = read_records(batch)
        except InvalidBatch:
            # Its producer broke it. The client meets it as it would without a filter; it is not ours to hide.
            self._keep(batch)
            return
        matches = self._chosen.matches
        kept = [record for record in records if matches(record)]
        if kept:
            self._keep(batch if len(kept) == len(records) else _with_only(batch, kept))
        else:
            self._skip(batch)

    def _keep(self, batch: Batch) -> None:
        self.kept_bytes += batch.size_bytes
        self._add(batch)

    def _add(self, batch: Batch) -> None:
        self._end_stretch()
        self._pieces.append(batch.data)
        self.size_bytes += batch.size_bytes

    def _skip(self, batch: Batch) -> None:
        if self._skipped is not None and batch.last_offset - self._skipped[0] >= _STRETCH_MAX:
            self._end_stretch()
        first = batch.base_offset if self._skipped is None else self._skipped[0]
        self._skipped = first, batch.last_offset

    def _end_stretch(self) -> None:
        for piece in self._stretch():
            self._pieces.append(piece)
            self.size_bytes += len(piece)
        self._skipped = None

    def _stretch(self) -> list[Buffer]:
        if self._skipped is None:
            return []
        first, last = self._skipped
        return [_bytes_of(build_batch([], base_offset=first, last_offset=last), self._leader_epoch)]


def _with_only(batch: Batch, records: list[Record]) -> Batch:
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
    if batch.is_append_time:
        rebuilt = with_append_time(rebuilt, batch.max_timestamp)
    return parse_batch(_bytes_of(rebuilt, batch.leader_epoch))


def _bytes_of(batch: Batch, leader_epoch: int) -> bytes:
    prefix = batch_prefix(batch.base_offset, batch.length, leader_epoch)
    return prefix + bytes(batch.data[len(prefix) :])
