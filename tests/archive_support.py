"""An archive without Spark and without a node: rows as the job would write them, written by the same code."""

import zlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from braidmq.pipeline.archive import ARCHIVED, Folders, messages_table
from braidmq.pipeline.archive._index import write_for_files
from braidmq.pipeline.archive._layout import APP, LOOKED_UP, bucket_of
from braidmq.pipeline.columns import SCHEMA_VERSION
from braidmq.pipeline.tables import FileWriter, Range, Table

TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def row(topic: str, partition: int, offset: int, **changes: Any) -> dict[str, Any]:
    value = changes.pop("value", f"{topic} {partition} {offset}".encode())
    time = changes.pop("store_time", TIME + timedelta(seconds=offset))
    return {
        "instance": "default",
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "message_id": f"{topic}-{partition}-{offset}",
        "keys": [f"k{offset % 5}"],
        "tag": None,
        "store_time": time,
        "born_time": time,
        "headers": [("a", b"1")],
        "key": None,
        "value": value,
        "protocol": "kafka",
        "traffic": "normal",
        "trace_id": None,
        "repeated_headers": None,
        "day": time.date(),
        "bucket": bucket_of(topic),
        "body_crc": None if value is None else zlib.crc32(value),
        "schema_ver": SCHEMA_VERSION,
    } | changes


def of_version_1(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """An archive as the first version of the schema had it: without repeated headers, and without saying so."""
    names = [name for name in ARCHIVED.names if name != "repeated_headers"]
    schema = pa.schema([ARCHIVED.field(name) for name in names])
    statistics = ("topic", "partition", "offset", "store_time", "traffic")
    table = Table(Folders(path).messages, schema, ("day", "bucket"), bloom=("message_id", "trace_id"),
                  statistics=statistics, sort_by=("topic", "partition", "offset"))  # fmt: skip
    writer = FileWriter(table.path, schema, table.layout)
    old = [{name: each[name] for name in names} | {"schema_ver": 1} for each in rows]
    writer.write(pa.RecordBatch.from_pylist(old, schema=schema))
    table.append(writer.close(), ranges_of(rows), APP, table.claim(APP), 0)


class Archived:
    """An archive that tests fill batch by batch."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.table: Table = messages_table(path)
        self.epoch = self.table.claim(APP)
        self.batch = self.table.state(APP).batch + 1

    def add(
        self, rows: Sequence[dict[str, Any]], ranges: Iterable[Range] | None = None, *, indexed: bool = True
    ) -> None:
        writer = FileWriter(self.table.path, ARCHIVED, self.table.layout, keeps=LOOKED_UP)
        if rows:
            writer.write(pa.RecordBatch.from_pylist(list(rows), schema=ARCHIVED))
        files = writer.close()
        if indexed:
            write_for_files(Folders(self.path).index, ((file.path, columns) for file, columns in writer.kept))
        found = list(ranges) if ranges is not None else ranges_of(rows)
        self.table.append(files, found, APP, self.epoch, self.batch)
        self.batch += 1


def ranges_of(rows: Iterable[dict[str, Any]]) -> list[Range]:
    places: dict[tuple[str, int], list[int]] = {}
    for each in rows:
        places.setdefault((each["topic"], each["partition"]), []).append(each["offset"])
    return [
        Range(topic, partition, min(offsets), max(offsets) + 1, len(offsets))
        for (topic, partition), offsets in places.items()
    ]
