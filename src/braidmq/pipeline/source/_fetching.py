"""The messages of a task's ranges, as Arrow. Hot path: the loop runs for every batch of records.

Aborted messages and the markers of transactions are left out, as a consumer that reads committed messages leaves them
out. Every offset of a range is accounted for: it was a message, or it belongs to a gap with a cause.

A batch that cannot be read, say because its producer packed it badly, stops no stream that accounts for its offsets: it
comes as a row of its own, as it lies in the log. Only where decoding fails is it looked for.
"""

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from braidmq.model.errors import InvalidBatch
from braidmq.pipeline._batches import Batches, find_batches
from braidmq.pipeline.columns import UNREADABLE
from braidmq.pipeline.decode import TIME_MAX_MS, Piece, RowFilter, decode, instance_of
from braidmq.pipeline.errors import DataLost, ReadFailed
from braidmq.pipeline.source._cluster import Cluster, Fetched, Place, Wanted
from braidmq.pipeline.source._options import Options
from braidmq.pipeline.source._ranges import Range, lost
from braidmq.records import Batch, Marker, read_marker, read_records

Cause: TypeAlias = Literal["transaction", "compaction", "unknown", "unreadable"]
Gap: TypeAlias = tuple[int, int, Cause]

ROWS: Final = 8192
"""How many rows an Arrow batch has, about."""
BYTES: Final = 16 * 1024 * 1024
"""How many bytes of records, opened, an Arrow batch is made of at most, unless one batch of records has more."""
RANGE: Final = "range"
_SILENCE_LIMIT_S: Final = 120.0
_SAMPLE_BYTES: Final = 64 * 1024
_GUESSED_BYTES: Final = 1024.0
_MARGIN: Final = 1.1
_MARGIN_BYTES: Final = 64 * 1024
_INFLATION: Final = 8
"""What a compressed batch is taken to grow by."""


class Progress:
    """How far the reading of a range has come."""

    def __init__(self, wanted: Range) -> None:
        self.wanted = wanted
        self.position = wanted.first
        self.records = 0
        self.gaps: list[Gap] = []
        self._unreadable: list[tuple[int, int]] = []
        self._average_bytes = _GUESSED_BYTES
        if wanted.lost:
            self.skip_to(wanted.first + wanted.lost, "unknown")

    @property
    def is_done(self) -> bool:
        return self.position >= self.wanted.end

    @property
    def size_bytes(self) -> int:
        """How much is left to be fetched, about, and rather more than less: the rest would be a request of its own."""
        return int((self.wanted.end - self.position) * self._average_bytes * _MARGIN) + _MARGIN_BYTES

    def weigh(self, batches: Batches) -> None:
        """Learn how many bytes an offset takes here."""
        if offsets := batches.offsets:
            self._average_bytes = int(batches.sizes.sum()) / offsets

    def skip_to(self, offset: int, cause: Cause) -> None:
        """Up to before this offset there is no message."""
        end = min(offset, self.wanted.end)
        if end <= self.position:
            return
        if self.gaps and self.gaps[-1][1:] == (self.position, cause):
            self.gaps[-1] = (self.gaps[-1][0], end, cause)
        else:
            self.gaps.append((self.position, end, cause))
        self.position = end

    @property
    def hole(self) -> Cause:
        return "compaction" if self.wanted.compacted else "unknown"

    def account_plain(self, batches: Batches) -> bool:
        """Go on through batches that are all to be read, from the first record to the last. Whether these are such."""
        if not len(batches.at):
            return True
        first, last = int(batches.heads["base_offset"][0]), int(batches.last_offsets[-1])
        if not (first <= self.position <= last < self.wanted.end and batches.are_plain()):
            return False
        self.records += last + 1 - self.position
        self.position = last + 1
        return True

    def account(self, batch: Batch) -> None:
        """The batch's messages were read; where offsets are missing among them, find which."""
        end = min(batch.last_offset + 1, self.wanted.end)
        if batch.record_count == batch.last_offset_delta + 1:
            self.records += end - self.position
        else:
            self._account_sparse(batch, end)
        self.position = end

    def _account_sparse(self, batch: Batch, end: int) -> None:
        try:
            offsets = [record.offset for record in read_records(batch) if self.position <= record.offset < end]
        except InvalidBatch:
            # It is found to be unreadable when it is decoded; until then it counts as if it were whole.
            self.records += end - self.position
            return
        for offset in offsets:
            self.skip_to(offset, "compaction")
            self.position += 1
            self.records += 1
        self.skip_to(end, "compaction")

    def give_up(self, first: int, end: int) -> None:
        """These offsets were accounted for, and cannot be read."""
        if self._unreadable and self._unreadable[-1][1] == first:
            first = self._unreadable.pop()[0]
        self._unreadable.append((first, end))

    def settled(self) -> tuple[int, list[Gap]]:
        """How many offsets are records, and where the others are."""
        records, gaps = self.records, self.gaps
        for first, end in self._unreadable:
            inside = [(max(first, since), min(end, until)) for since, until, _ in gaps if since < end and until > first]
            records -= end - first - sum(until - since for since, until in inside)
            before = [(since, min(until, first), cause) for since, until, cause in gaps if since < first]
            behind = [(max(since, end), until, cause) for since, until, cause in gaps if until > end]
            gaps = [*before, (first, end, UNREADABLE), *behind]
        return records, gaps


def read_ranges(
    cluster: Cluster,
    ranges: Sequence[Range],
    options: Options,
    schema: pa.Schema,
    row_filter: RowFilter | None,
    through: str = "",
) -> Iterator[pa.RecordBatch]:
    """All messages of the ranges, and then, where the options ask for it, a row for each that says what was there. The
    server leaves out what does not pass the filter that `through` spells behind the topics' names.

    Raises DataLost, ReadFailed, BrokerUnreachable.
    """
    all_progress = [Progress(each) for each in ranges]
    for answered in _answers(cluster, all_progress, options, through):
        for pieces in _groups(answered):
            try:
                found: Iterable[pa.RecordBatch] = (decode(pieces, schema, row_filter),)
            except InvalidBatch:
                found = _each_alone(pieces, all_progress, options, schema, row_filter)
            for rows in found:
                if rows.num_rows:
                    yield rows
    if options.with_ranges and all_progress:
        yield range_rows(all_progress, schema)


def _each_alone(
    pieces: Sequence[Piece],
    all_progress: Sequence[Progress],
    options: Options,
    schema: pa.Schema,
    row_filter: RowFilter | None,
) -> Iterator[pa.RecordBatch]:
    """One batch after the other, with a row for each that cannot be read. Where nobody hears of gaps, it is an error,
    unless data loss is allowed."""
    for piece in pieces:
        for number in range(len(piece.batches.at)):
            alone = piece._replace(batches=piece.batches.chosen(slice(number, number + 1)))
            try:
                rows = decode([alone], schema, row_filter)
            except InvalidBatch as error:
                if not options.with_ranges:
                    lost(options, f"{piece.topic}/{piece.partition}: {error.message}", ReadFailed)
                    continue
                first = max(piece.first, int(alone.batches.heads["base_offset"][0]))
                end = min(piece.end, int(alone.batches.last_offsets[-1]) + 1)
                place = Place(piece.topic, piece.partition)
                next(each for each in all_progress if each.wanted.place == place).give_up(first, end)
                rows = unreadable_row(alone, first, schema)
            yield rows


def _groups(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The batches in groups, each for an Arrow batch. A batch goes into the group that is not full before it."""
    group: list[Piece] = []
    number, filled = 0, 0.0
    for piece in pieces:
        batches = piece.batches
        sizes_bytes = np.where(batches.is_compressed, _INFLATION, 1) * batches.sizes
        shares = np.maximum(batches.column("record_count") / ROWS, sizes_bytes / BYTES)
        ends = filled + np.cumsum(shares)
        filled = float(ends[-1])
        numbers = (ends - shares).astype(np.int64)
        edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        for start, end in itertools.pairwise(edges):
            if group and number != numbers[start]:
                yield group
                group = []
            number = int(numbers[start])
            group.append(piece._replace(batches=batches.chosen(slice(start, end))))
    if group:
        yield group


def _answers(
    cluster: Cluster, all_progress: Sequence[Progress], options: Options, through: str
) -> Iterator[list[Piece]]:
    """The batches of one answer after the other. They lie in the buffer that the next answer is received into."""
    pending = {_seen(each.wanted.place, through): each for each in all_progress if not each.is_done}
    heard = time.monotonic()
    fetch = cluster.begin_fetch(_wanted(pending)) if pending else None
    try:
        while fetch is not None:
            answer = cluster.end_fetch(fetch)
            found = [piece for fetched in answer for piece in _absorbed(fetched, pending, options)]
            if not any(fetched.start < fetched.end for fetched in answer):
                _absorb_silence(answer, pending)
            pending = {place: progress for place, progress in pending.items() if not progress.is_done}
            # The next answer comes while this one is decoded.
            fetch = cluster.begin_fetch(_wanted(pending)) if pending else None
            if found:
                heard = time.monotonic()
            elif pending and time.monotonic() - heard > _SILENCE_LIMIT_S:
                raise ReadFailed(f"nothing came of {', '.join(map(str, pending))} for {_SILENCE_LIMIT_S:.0f} s")
            yield found
    finally:
        if fetch is not None:
            cluster.give_up(fetch)


def _seen(place: Place, through: str) -> Place:
    return place._replace(topic=f"{place.topic}{through}") if through else place


def _wanted(pending: dict[Place, Progress]) -> dict[Place, Wanted]:
    return {place: Wanted(progress.position, progress.size_bytes) for place, progress in pending.items()}


def _absorbed(fetched: Fetched, pending: dict[Place, Progress], options: Options) -> list[Piece]:
    progress = pending[fetched.place]
    if fetched.out_of_range:
        what = f"{fetched.place} does not have offset {progress.position} any more"
        if options.fail_on_data_loss:
            raise DataLost(f"{what}. To go on without it, set failOnDataLoss to false")
        progress.skip_to(progress.wanted.end, "unknown")
        return []
    batches = find_batches(fetched.buffer, fetched.start, fetched.end)
    first = progress.position
    progress.weigh(batches)
    if not progress.account_plain(batches):
        batches = batches.chosen(_account_each(batches, fetched, progress))
    if (offset := batches.damaged()) is not None:
        raise ReadFailed(f"{fetched.place}: the batch at offset {offset} does not match its checksum")
    wanted = progress.wanted
    return [Piece(*wanted.place, first, wanted.end, batches)] if len(batches.at) else []


def _account_each(batches: Batches, fetched: Fetched, progress: Progress) -> list[int]:
    """Go on through the batches one by one. Gives the numbers of those that are to be read."""
    kept: list[int] = []
    aborted = sorted(fetched.aborted, key=lambda each: each[1], reverse=True)
    aborting: set[int] = set()
    for number, batch in enumerate(batches.each()):
        while aborted and aborted[-1][1] <= batch.last_offset:
            aborting.add(aborted.pop()[0])
        if batch.last_offset < progress.position:
            continue
        if batch.base_offset >= progress.wanted.end:
            progress.skip_to(progress.wanted.end, progress.hole)
            break
        progress.skip_to(batch.base_offset, progress.hole)
        if batch.is_control:
            if read_marker(batch) is Marker.ABORT:
                aborting.discard(batch.producer_id)
            progress.skip_to(batch.last_offset + 1, "transaction")
        elif batch.is_transactional and batch.producer_id in aborting:
            progress.skip_to(batch.last_offset + 1, "transaction")
        else:
            if batch.record_count > 0:
                kept.append(number)
            progress.account(batch)
        if batch.last_offset >= progress.wanted.end:
            break
    return kept


def _absorb_silence(answer: Sequence[Fetched], pending: dict[Place, Progress]) -> None:
    """A broker that could give up to the end of a range, and gives nothing, has nothing there."""
    for fetched in answer:
        progress = pending[fetched.place]
        if fetched.readable_to >= progress.wanted.end:
            progress.skip_to(progress.wanted.end, progress.hole)


def average_bytes(cluster: Cluster, positions: Mapping[Place, int]) -> float:
    """How many bytes of the log an offset takes, about, from these positions on."""
    sampled = {place: Wanted(position, _SAMPLE_BYTES) for place, position in positions.items()}
    answer = cluster.end_fetch(cluster.begin_fetch(sampled))
    found = [find_batches(fetched.buffer, fetched.start, fetched.end) for fetched in answer]
    offsets = sum(batches.offsets for batches in found)
    return sum(int(batches.sizes.sum()) for batches in found) / offsets if offsets else _GUESSED_BYTES


def range_rows(all_progress: Sequence[Progress], schema: pa.Schema) -> pa.RecordBatch:
    """A row for each range: no message, but what is known of all its offsets."""
    rows = [(*each.wanted.place, -1, 0, _told(each), RANGE) for each in all_progress]
    return _rows_of_ours(rows, schema)


def unreadable_row(alone: Piece, offset: int, schema: pa.Schema) -> pa.RecordBatch:
    """A row for a batch that cannot be read, and nothing else: its bytes, as they lie in the log. It comes alone, so
    that whoever looks for such rows need not look at others."""
    batches = alone.batches
    at, size = int(batches.at[0]), int(batches.sizes[0])
    time_ms = min(max(int(batches.column("max_timestamp")[0]), 0), TIME_MAX_MS)
    raw = bytes(batches.buffer[at : at + size])
    return _rows_of_ours([(alone.topic, alone.partition, offset, time_ms * 1000, raw, UNREADABLE)], schema)


_OUR_COLUMNS: Final = ("topic", "partition", "offset", "store_time", "value", "protocol")


def _rows_of_ours(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows that are no messages, of these columns; store times are in microseconds."""
    columns = dict(zip(_OUR_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    columns["instance"] = [instance_of(str(topic)) for topic in columns["topic"]]
    columns["traffic"] = ["normal"] * len(rows)
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _told(progress: Progress) -> bytes:
    topic, partition = progress.wanted.place
    records, gaps = progress.settled()
    return msgspec.json.encode(
        {
            "topic": topic,
            "partition": partition,
            "from": progress.wanted.first,
            "to": progress.wanted.end,
            "records": records,
            "gaps": gaps,
        }
    )
