"""Spark's filters, as far as they help to read less: which partitions, which offsets, and which rows are worth making.

They only ever leave out what Spark would leave out anyway. A filter that is not understood here leaves out nothing.
"""

import datetime
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from braidmq.pipeline._fields import Flags
from braidmq.pipeline.decode import Chunk, RowFilter
from braidmq.pipeline.source._cluster import Place

_TEXTS: Final = {"tag", "message_id", "trace_id"}
_BYTES: Final = {"key"}
_SERVED: Final = {"tag", "key"}
"""By these a node itself leaves messages out; by `key` it takes the words of KEYS for keys, too, and so gives more."""
_SERVED_VALUES_MAX: Final = 100
_SERVED_LENGTH_MAX: Final = 700
"""A name with a filter has at most 1,000 characters."""
_OFFSET_MAX: Final = (1 << 63) - 1


class Filters(msgspec.Struct, frozen=True):
    """What must hold of every row: for a column, one of these values; for offsets and store times, these bounds."""

    values: dict[str, tuple[Any, ...]] = {}
    first_offset: int = 0
    end_offset: int = _OFFSET_MAX
    first_ms: int | None = None
    last_ms: int | None = None

    @classmethod
    def of(cls, filters: Sequence[Filter]) -> "Filters":
        made = cls()
        for each in filters:
            made = made._with(each)
        return made

    def _with(self, given: Filter) -> "Filters":
        match given:
            case EqualTo(attribute=(name,), value=value):
                return self._one_of(name, (value,))
            case In(attribute=(name,), value=values):
                return self._one_of(name, tuple(values))
            case GreaterThan(attribute=("offset",), value=int(value)):
                return self._from(value + 1)
            case GreaterThanOrEqual(attribute=("offset",), value=int(value)):
                return self._from(value)
            case LessThan(attribute=("offset",), value=int(value)):
                return self._before(value)
            case LessThanOrEqual(attribute=("offset",), value=int(value)):
                return self._before(value + 1)
            case (
                GreaterThan(attribute=("store_time",), value=datetime.datetime() as value)
                | GreaterThanOrEqual(attribute=("store_time",), value=datetime.datetime() as value)
            ):
                return msgspec.structs.replace(self, first_ms=max(_ms(value), self.first_ms or 0))
            case (
                LessThan(attribute=("store_time",), value=datetime.datetime() as value)
                | LessThanOrEqual(attribute=("store_time",), value=datetime.datetime() as value)
            ):
                last_ms = _ms(value) if self.last_ms is None else min(_ms(value), self.last_ms)
                return msgspec.structs.replace(self, last_ms=last_ms)
            case _:
                return self

    def _one_of(self, name: str, values: tuple[Any, ...]) -> "Filters":
        if name == "offset":
            return self._from(min(values))._before(max(values) + 1)
        if name in {"topic", "partition"} | _TEXTS | _BYTES:
            both = tuple(value for value in values if value in self.values.get(name, values))
            return msgspec.structs.replace(self, values=self.values | {name: both})
        return self

    def _from(self, offset: int) -> "Filters":
        return msgspec.structs.replace(self, first_offset=max(offset, self.first_offset))

    def _before(self, offset: int) -> "Filters":
        return msgspec.structs.replace(self, end_offset=min(offset, self.end_offset))

    def places(self, places: Iterable[Place]) -> list[Place]:
        """Those that may hold such rows."""
        topics, partitions = self.values.get("topic"), self.values.get("partition")
        return [
            place
            for place in places
            if (topics is None or place.topic in topics) and (partitions is None or place.partition in partitions)
        ]

    def narrowed(self, first: int, end: int) -> tuple[int, int] | None:
        """The part of a range of offsets that may hold such rows; None for no part of it."""
        first, end = max(first, self.first_offset), min(end, self.end_offset)
        return (first, end) if first < end else None

    def through(self) -> str:
        """What a node reads behind a topic's name as a filter that these rows pass; empty where there is none."""
        for name, values in self.values.items():
            if name in _SERVED and (text := _spelled(name, values)):
                return text
        return ""

    def row_filter(self) -> RowFilter | None:
        """Looks at the columns that are cheap to make, before the others are made."""
        tests: list[Callable[[Chunk], Flags]] = []
        for name, values in self.values.items():
            if name in _TEXTS | _BYTES:
                tests.append(_value_test(name, values))
        if self.first_ms is not None or self.last_ms is not None:
            tests.append(self._time_test)
        return _all_of(tests) if tests else None

    def _time_test(self, chunk: Chunk) -> Flags:
        times = chunk.store_times()
        kept = np.ones(chunk.rows, np.bool_)
        if self.first_ms is not None:
            kept &= times >= self.first_ms
        if self.last_ms is not None:
            kept &= times <= self.last_ms
        return kept


def _spelled(name: str, values: Sequence[Any]) -> str:
    """Empty where it cannot be spelled, or could leave out too much: what is no UTF-8 is shown with U+FFFD."""
    octets = [value.encode() if isinstance(value, str) else bytes(value) for value in values if value is not None]
    if not 0 < len(octets) <= _SERVED_VALUES_MAX or not all(octets):
        return ""
    if name == "tag" and any("\ufffd".encode() in each for each in octets):
        return ""
    text = f"?{name}=" + "||".join(quote(each, safe="") for each in octets)
    return text if len(text) <= _SERVED_LENGTH_MAX else ""


def _value_test(name: str, values: tuple[Any, ...]) -> Callable[[Chunk], Flags]:
    kind = pa.binary() if name in _BYTES else pa.string()
    wanted = [bytes(value) if name in _BYTES else value for value in values if value is not None]

    def test(chunk: Chunk) -> Flags:
        found: Flags = pc.is_in(chunk.column(name, kind), pa.array(wanted, kind)).to_numpy(zero_copy_only=False)
        return found

    return test


def _all_of(tests: Sequence[Callable[[Chunk], Flags]]) -> RowFilter:
    def test(chunk: Chunk) -> Flags | None:
        kept: Flags = np.logical_and.reduce([each(chunk) for each in tests])
        return None if kept.all() else kept

    return test


def _ms(moment: datetime.datetime) -> int:
    """Rounded down: a bound may let through a little too much."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return int(moment.timestamp() * 1000 // 1)
