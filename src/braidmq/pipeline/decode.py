"""Record batches into Arrow columns. Hot path: runs for every message that Spark reads.

No message becomes an object of Python. The records of many batches are laid into one buffer; `_fields` finds where each
field of all of them lies, and a column of bytes is the spans of that buffer, copied together. What is in the headers
(tag, keys, id and so on) is found by their names, all of one name at a time.

A record that says something odd (a text that is not UTF-8, a time that no calendar has) never stops a job: it is shown
as well as it can be. A batch that is broken raises InvalidBatch.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braidmq.model import (
    BORN_HEADER,
    DEFAULT_INSTANCE,
    HTTP_HEADER,
    ID_HEADER,
    KEYS_HEADER,
    PRESSURE_HEADER,
    ROCKETMQ_HEADER,
    TAG_HEADER,
    TRACE_PARENT_HEADER,
)
from braidmq.model.errors import InvalidBatch
from braidmq.pipeline._batches import APPEND_TIME_BIT, CODEC_BITS, Batches, Heads
from braidmq.pipeline._fields import Buffer, Flags, HeaderFields, Integers, Octets, read_fields
from braidmq.records import BATCH_HEADER_BYTES, RECORDS_BYTES_MAX, decompress

PROTOCOL_HEADERS: Final = {ROCKETMQ_HEADER: "rocketmq", "__mqtt": "mqtt", HTTP_HEADER: "http"}
"""Each protocol but Kafka's marks its messages with a header of its own."""
_KAFKA: Final = "kafka"
_NORMAL: Final = "normal"
_PRESSURE: Final = "pressure"
_TRUE: Final = "true"
_STORE_TIME_AT: Final = 9
"""Where RocketMQ's own header has the time of storing, 8 bytes of it."""
TIME_MAX_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999, the last that Spark shows."""
_BITS: Final = 32
"""How many names of headers are told apart by the bits of a number: the other half of it is for their sum."""
_OFFSET_MAX: Final = 2**31 - 1
_Number = TypeVar("_Number", np.int32, np.int64)
_TRACE_PARENT: Final = r"^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"


class Piece(NamedTuple):
    """Batches of one partition, of which the records from `first` up to before `end` are wanted."""

    topic: str
    partition: int
    first: int
    end: int
    batches: Batches


RowFilter: TypeAlias = Callable[["Chunk"], Flags | None]
"""Which rows to keep; None for all."""


def decode(pieces: Sequence[Piece], schema: pa.Schema, row_filter: RowFilter | None = None) -> pa.RecordBatch:
    """The rows of the pieces, in order, with the columns of the schema. Raises InvalidBatch."""
    chunk = Chunk(pieces)
    if row_filter is not None and (kept := row_filter(chunk)) is not None:
        chunk = chunk.chosen(kept)
    arrays = [chunk.column(field.name, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _Headers(NamedTuple):
    """All headers of all rows, in order: the row each belongs to, its name as a number, and where its value lies."""

    rows: Integers
    codes: Integers
    names: list[str]
    starts: Integers
    sizes: Integers

    def chosen(self, places: Integers) -> "_Headers":
        return _Headers(self.rows[places], self.codes[places], self.names, self.starts[places], self.sizes[places])


class Chunk:
    """The records of some pieces, parsed but not yet columns."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._heads: Heads = np.concatenate([piece.batches.heads for piece in pieces])
        self._buffer, spans = _laid_out([piece.batches for piece in pieces])
        self._octets: Octets = np.frombuffer(self._buffer, np.uint8)
        self._lasts: Integers | None = None
        counts = self._heads["record_count"].astype(np.int64)
        fields, headers = read_fields(self._buffer, spans, counts)
        self._deltas, self._time_deltas = fields.offsets, fields.times
        self._key_starts, self._key_sizes = fields.key_starts, fields.key_sizes
        self._value_starts, self._value_sizes = fields.value_starts, fields.value_sizes
        self._headers = _named(self._buffer, headers)
        self._batch_of_row: Integers = np.repeat(np.arange(len(counts)), counts)
        self._cut()

    def _cut(self) -> None:
        """Leave out the records before and behind what is wanted of the first and last batches."""
        if all(
            piece.first <= piece.batches.heads["base_offset"][0] and piece.batches.last_offsets[-1] < piece.end
            for piece in self._pieces
        ):
            return
        offsets = self._offsets()
        firsts = self._of_pieces(np.array([piece.first for piece in self._pieces]))
        ends = self._of_pieces(np.array([piece.end for piece in self._pieces]))
        self._keep((offsets >= firsts) & (offsets < ends))

    @property
    def rows(self) -> int:
        return len(self._batch_of_row)

    def chosen(self, kept: Flags) -> "Chunk":
        """Only these rows, from now on; the columns made before stay as they are."""
        self._keep(kept)
        return self

    def _keep(self, kept: Flags) -> None:
        for name in ("_batch_of_row", "_deltas", "_time_deltas", "_key_starts", "_key_sizes",
                     "_value_starts", "_value_sizes"):  # fmt: skip
            setattr(self, name, getattr(self, name)[kept])
        rows, codes, names, starts, sizes = self._headers
        if len(rows):
            stays = kept[rows]
            numbers = np.cumsum(kept) - 1
            self._headers = _Headers(numbers[rows[stays]], codes[stays], names, starts[stays], sizes[stays])
            self._lasts = None

    def column(self, name: str, kind: pa.DataType) -> pa.Array:
        made: pa.Array = _COLUMNS[name](self, kind)
        return made

    # One function for each column.

    def _instance(self, kind: pa.DataType) -> pa.Array:
        return self._by_piece([instance_of(piece.topic) for piece in self._pieces], kind)

    def _topic(self, kind: pa.DataType) -> pa.Array:
        return self._by_piece([piece.topic for piece in self._pieces], kind)

    def _partition(self, kind: pa.DataType) -> pa.Array:
        return pa.array(self._of_pieces(np.array([piece.partition for piece in self._pieces], np.int32)), kind)

    def _offset(self, kind: pa.DataType) -> pa.Array:
        return pa.array(self._offsets(), kind)

    def _message_id(self, _: pa.DataType) -> pa.Array:
        return self._header_text(ID_HEADER)

    def _tag(self, _: pa.DataType) -> pa.Array:
        return self._header_text(TAG_HEADER)

    def _key(self, _: pa.DataType) -> pa.Array:
        return _spans(self._buffer, self._key_starts, self._key_sizes)

    def _value(self, _: pa.DataType) -> pa.Array:
        return _spans(self._buffer, self._value_starts, self._value_sizes)

    def _store_time(self, kind: pa.DataType) -> pa.Array:
        return _timestamps(self.store_times(), kind)

    def store_times(self) -> Integers:
        """Milliseconds: when each row was stored, where that is known, else the record's own time."""
        times = self._times()
        own = self._index_of(ROCKETMQ_HEADER)
        if own is None:
            return times
        headers = self._headers
        told = (own >= 0) & ~self._is_append_time()
        if (later := self._index_of(BORN_HEADER)) is not None:
            # It came to its topic later than it was sent: its record has the time of its coming.
            told &= later < 0
        told[told] = headers.sizes[own[told]] >= _STORE_TIME_AT + 8
        places = headers.starts[own[told]][:, None] + np.arange(_STORE_TIME_AT, _STORE_TIME_AT + 8)
        times[told] = self._octets[places].reshape(-1, 8).view(">i8").ravel()
        return times

    def _born_time(self, kind: pa.DataType) -> pa.Array:
        times = self._times()
        unknown = times < 0
        if self._has_append_time():
            unknown |= self._is_append_time()
        if (later := self._index_of(BORN_HEADER)) is not None:
            rows = np.flatnonzero(later >= 0)
            for row, text in zip(rows.tolist(), self._values(later[rows]).to_pylist(), strict=True):
                if text is not None and len(text) < 16 and text.isdigit():
                    times[row], unknown[row] = int(text), False
        return _timestamps(times, kind, unknown if unknown.any() else None)

    def _protocol(self, kind: pa.DataType) -> pa.Array:
        if not any(header in self._headers.names for header in PROTOCOL_HEADERS):
            return _repeated(_KAFKA.encode(), self.rows, kind)
        chosen = np.zeros(self.rows, np.int8)
        for number, header in enumerate(PROTOCOL_HEADERS, 1):
            if (index := self._index_of(header)) is not None:
                chosen[index >= 0] = number
        return _of_few([_KAFKA, *PROTOCOL_HEADERS.values()], chosen)

    def _traffic(self, kind: pa.DataType) -> pa.Array:
        if PRESSURE_HEADER not in self._headers.names:
            return _repeated(_NORMAL.encode(), self.rows, kind)
        says_so = pc.equal(self._header_text(PRESSURE_HEADER), _TRUE)
        marked = pc.fill_null(says_so, False).to_numpy(zero_copy_only=False)
        return _of_few([_NORMAL, _PRESSURE], marked.astype(np.int8))

    def _trace_id(self, _: pa.DataType) -> pa.Array:
        if self._index_of(TRACE_PARENT_HEADER) is None:
            return pa.nulls(self.rows, pa.string())
        text = self._header_text(TRACE_PARENT_HEADER)
        return pc.if_else(pc.match_substring_regex(text, _TRACE_PARENT), pc.utf8_slice_codeunits(text, 3, 35), None)

    def _keys(self, kind: pa.DataType) -> pa.Array:
        """The words of KEYS; without that header, the record's key; null where there is neither."""
        named = self._index_of(KEYS_HEADER)
        alone = self._key_sizes >= 0
        if named is None and not alone.any():
            return pa.nulls(self.rows, kind)
        if named is not None:
            has_words = named >= 0
            has_words[has_words] = self._headers.sizes[named[has_words]] >= 0
            alone &= ~has_words
        texts = _text(_spans(self._buffer, self._key_starts[alone], self._key_sizes[alone]))
        single = _lists(kind, alone.astype(np.int64), texts)
        if named is None:
            return single
        rows = np.flatnonzero(has_words)
        trimmed = pc.utf8_trim_whitespace(_text(self._values(named[rows])))
        words = pc.utf8_split_whitespace(trimmed)
        sizes = np.where(pc.equal(trimmed, "").to_numpy(zero_copy_only=False), 0, pc.list_value_length(words))
        several = _lists(kind, sizes.astype(np.int64), pc.filter(words.flatten(), pc.not_equal(words.flatten(), "")))
        places = np.arange(self.rows)
        places[rows] = self.rows + np.arange(len(rows))
        return pa.concat_arrays([single, several]).take(pa.array(places))

    def _headers_map(self, kind: pa.DataType) -> pa.Array:
        """A name that comes twice keeps its last value, as everywhere in the house. Null where there are none."""
        if not len(self._headers.rows):
            return pa.nulls(self.rows, kind)
        lasts = self._last_headers()
        headers = self._headers if len(lasts) == len(self._headers.rows) else self._headers.chosen(lasts)
        entries = self._entries(headers, pa.struct([kind.key_field, kind.item_field]))
        return _lists(kind, np.bincount(headers.rows, minlength=self.rows), entries)

    def _repeated_headers(self, kind: pa.DataType) -> pa.Array:
        """All headers of the rows in which a name comes twice; most rows are none of these."""
        lasts = self._last_headers()
        if len(lasts) == len(self._headers.rows):
            return pa.nulls(self.rows, kind)
        repeats = np.ones(len(self._headers.rows), np.bool_)
        repeats[lasts] = False
        has_repeats = np.zeros(self.rows, np.bool_)
        has_repeats[self._headers.rows[repeats]] = True
        headers = self._headers.chosen(np.flatnonzero(has_repeats[self._headers.rows]))
        return _lists(kind, np.bincount(headers.rows, minlength=self.rows), self._entries(headers, kind.value_type))

    def _last_headers(self) -> Integers:
        """The places of the headers that no later one of the same row and name follows."""
        if self._lasts is None:
            self._lasts = _without_repeats(self._headers)
        return self._lasts

    def _entries(self, headers: "_Headers", kind: pa.DataType) -> pa.Array:
        names = pa.array(headers.names, pa.string()).take(pa.array(headers.codes))
        values = _spans(self._buffer, headers.starts, headers.sizes)
        return pa.Array.from_buffers(kind, len(names), [None], children=[names, values])

    # What the columns are made with.

    def _of_pieces(self, each: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """What was given for each piece, for each row."""
        if len(each) == 1:
            return np.full(self.rows, each[0])
        return np.repeat(each, [len(piece.batches.at) for piece in self._pieces])[self._batch_of_row]

    def _of_batches(self, name: str) -> Integers:
        """A field of the batches' headers, for each row."""
        return self._heads[name].astype(np.int64)[self._batch_of_row]

    def _offsets(self) -> Integers:
        return self._of_batches("base_offset") + self._deltas

    def _times(self) -> Integers:
        """Milliseconds: of the record, or, in a topic with append time, of its batch."""
        times = self._of_batches("base_timestamp") + self._time_deltas
        if not self._has_append_time():
            return times
        return np.where(self._is_append_time(), self._of_batches("max_timestamp"), times)

    def _has_append_time(self) -> bool:
        return bool((self._heads["attributes"] & APPEND_TIME_BIT).any())

    def _is_append_time(self) -> Flags:
        found: Flags = (self._heads["attributes"] & APPEND_TIME_BIT != 0)[self._batch_of_row]
        return found

    def _by_piece(self, texts: Sequence[str], kind: pa.DataType) -> pa.Array:
        if len(distinct := list(dict.fromkeys(texts))) == 1:
            return _repeated(distinct[0].encode(), self.rows, kind)
        numbers = {text: number for number, text in enumerate(distinct)}
        return _of_few(distinct, self._of_pieces(np.array([numbers[text] for text in texts])))

    def _index_of(self, name: str) -> Integers | None:
        """For each row the place of its last header of this name, or -1; None where no row has one."""
        headers = self._headers
        if name not in headers.names:
            return None
        places = np.flatnonzero(headers.codes == headers.names.index(name))
        index = np.full(self.rows, -1, np.int64)
        index[headers.rows[places]] = places
        return index

    def _values(self, places: Integers) -> pa.Array:
        return _spans(self._buffer, self._headers.starts[places], self._headers.sizes[places])

    def _header_text(self, name: str) -> pa.Array:
        index = self._index_of(name)
        if index is None:
            return pa.nulls(self.rows, pa.string())
        has = index >= 0
        values = _text(self._values(index[has]))
        return values.take(pa.array(np.cumsum(has) - 1, mask=~has))


_COLUMNS: Final[dict[str, Callable[[Chunk, pa.DataType], pa.Array]]] = {
    "instance": Chunk._instance,
    "topic": Chunk._topic,
    "partition": Chunk._partition,
    "offset": Chunk._offset,
    "message_id": Chunk._message_id,
    "keys": Chunk._keys,
    "tag": Chunk._tag,
    "store_time": Chunk._store_time,
    "born_time": Chunk._born_time,
    "headers": Chunk._headers_map,
    "key": Chunk._key,
    "value": Chunk._value,
    "protocol": Chunk._protocol,
    "traffic": Chunk._traffic,
    "trace_id": Chunk._trace_id,
    "repeated_headers": Chunk._repeated_headers,
}


def instance_of(topic: str) -> str:
    """The instance that a physical name (`INSTANCE|CELL%TOPIC`) tells, else the one that is always there. Names that
    begin with % are the house's own, such as those of lite topics, whose bar parts something else."""
    instance, bar, _ = topic.partition("|")
    return instance if bar and instance and not topic.startswith("%") else DEFAULT_INSTANCE


def _laid_out(pieces: Sequence[Batches]) -> tuple[Buffer, Integers]:
    """A buffer with the plain records of all batches, in order, and where in it those of each lie. Batches that came
    uncompressed in one answer are left where they are."""
    buffer = pieces[0].buffer
    if all(batches.buffer is buffer and not batches.is_compressed.any() for batches in pieces):
        at = np.concatenate([batches.at for batches in pieces])
        sizes = np.concatenate([batches.sizes for batches in pieces])
        return buffer, np.stack([at + BATCH_HEADER_BYTES, at + sizes], axis=1)
    opened = [
        decompress(codec, bytes(batches.buffer[at + BATCH_HEADER_BYTES : at + size]), RECORDS_BYTES_MAX)
        for batches in pieces
        for at, size, codec in zip(
            batches.at.tolist(),
            batches.sizes.tolist(),
            (batches.column("attributes") & CODEC_BITS).tolist(),
            strict=True,
        )
    ]
    edges = np.array(list(itertools.accumulate(map(len, opened), initial=0)), np.int64)
    return b"".join(opened), np.stack([edges[:-1], edges[1:]], axis=1)


def _named(buffer: Buffer, found: HeaderFields) -> _Headers:
    if not len(found.rows):
        return _Headers(found.rows, found.rows, [], found.starts, found.sizes)
    names = _text(_spans(buffer, found.name_starts, found.name_sizes)).dictionary_encode()
    codes = names.indices.to_numpy().astype(np.int64)
    return _Headers(found.rows, codes, names.dictionary.to_pylist(), found.starts, found.sizes)


def _without_repeats(headers: _Headers) -> Integers:
    """The places of the headers that stay when a name may come only once in a row: the last."""
    if not _has_repeats(headers):
        return np.arange(len(headers.rows))
    pairs = headers.rows * len(headers.names) + headers.codes
    _, last_from_behind = np.unique(pairs[::-1], return_index=True)
    return np.sort(len(pairs) - 1 - last_from_behind)


def _has_repeats(headers: _Headers) -> bool:
    """Names are counted in the bits of a number for each row: where one comes twice, the sum is not the union."""
    if len(headers.rows) < 2:
        return False
    if len(headers.names) > _BITS:
        return True  # they may, and whoever asks looks closer
    bits = np.left_shift(1, headers.codes)
    begins = np.flatnonzero(np.diff(headers.rows, prepend=-1))
    return not np.array_equal(np.add.reduceat(bits, begins), np.bitwise_or.reduceat(bits, begins))


def _repeated(text: bytes, count: int, kind: pa.DataType) -> pa.Array:
    """The same text for all rows, without a loop: some ten times as fast as `pa.repeat`."""
    if count * len(text) > _OFFSET_MAX:
        return pa.repeat(pa.scalar(text.decode(), kind), count)
    edges = np.arange(count + 1, dtype=np.int32) * np.int32(len(text))
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(edges), pa.py_buffer(text * count)])


def _spans(buffer: Buffer, starts: Integers, sizes: Integers) -> pa.Array:
    """The bytes of each span; null where the size is negative. Spans lie in order and do not overlap."""
    if not len(sizes):
        return pa.array([], pa.binary())
    smallest, largest = int(sizes.min()), int(sizes.max())
    if largest < 0:
        return pa.nulls(len(sizes), pa.binary())
    return _even_spans(buffer, starts, largest) if smallest == largest > 0 else _any_spans(buffer, starts, sizes)


def _even_spans(buffer: Buffer, starts: Integers, size: int) -> pa.Array:
    """All spans have this size, and are the items of an array that lies on the buffer, one for each place."""
    if starts[0] < 0 or starts[-1] + size > len(buffer):
        raise InvalidBatch("a record claims more bytes than there are")
    data = np.ndarray(len(buffer) - size + 1, f"V{size}", buffer, strides=(1,))[starts]
    edges = np.arange(0, len(starts) * size + 1, size, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), len(starts), [None, pa.py_buffer(edges), pa.py_buffer(data)])


def _any_spans(buffer: Buffer, starts: Integers, sizes: Integers) -> pa.Array:
    """An array of the spans and what is between them lies on the buffer as it is, and Arrow copies every second of them
    together."""
    count = len(starts)
    edges = np.empty(2 * count, np.int32)
    edges[0::2] = starts
    edges[1::2] = starts + np.maximum(sizes, 0)
    if edges[-1] > len(buffer) or edges[0] < 0 or (np.diff(edges) < 0).any():
        raise InvalidBatch("a record claims more bytes than there are")
    whole = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(edges), pa.py_buffer(buffer)])
    places = np.arange(0, 2 * count, 2, dtype=np.int32)
    nulls = sizes < 0
    return whole.take(pa.array(places, mask=nulls) if nulls.any() else pa.array(places))


def _text(column: pa.Array) -> pa.Array:
    """Bytes as text; what is no UTF-8 is shown with U+FFFD."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if each is None else each.decode(errors="replace") for each in column.to_pylist()],
                        pa.string())  # fmt: skip


def _timestamps(times: Integers, kind: pa.DataType, unknown: Flags | None = None) -> pa.Array:
    return pa.array(np.clip(times, 0, TIME_MAX_MS) * 1000, pa.int64(), mask=unknown).view(kind)


def _of_few(texts: Sequence[str], numbers: npt.NDArray[Any]) -> pa.Array:
    return pa.array(texts, pa.string()).take(pa.array(numbers))


def _lists(kind: pa.DataType, sizes: Integers, items: pa.Array) -> pa.Array:
    """A list or map of so many items for each row; null where there are none, which costs Spark less than an empty
    one, and is what its own connector gives."""
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    present = sizes > 0
    are_present = None if present.all() else pa.array(present, pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(kind, len(sizes), [are_present, pa.py_buffer(offsets)], children=[items])
