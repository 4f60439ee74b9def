"""Adds to a table of samples and compacts it, again and again, to be killed: `samples_writer.py PATH`."""

import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from braidmq.pipeline.tables import FileWriter, Range, Table, compact

SCHEMA = pa.schema([("offset", pa.int64()), ("day", pa.date32())])


def main(path: str) -> None:
    table = Table(Path(path), SCHEMA, ["day"], statistics=["offset"], sort_by=["offset"])
    epoch = table.claim("samples")
    state = table.state("samples")
    offset, batch = state.covered.ends().get(("samples", 0), 0), state.batch + 1
    while True:
        writer = FileWriter(table.path, SCHEMA, table.layout)
        rows = [{"offset": at, "day": date(2026, 1, 2)} for at in range(offset, offset + 5)]
        writer.write(pa.RecordBatch.from_pylist(rows, schema=SCHEMA))
        table.append(writer.close(), [Range("samples", 0, offset, offset + 5, 5)], "samples", epoch, batch)
        offset, batch = offset + 5, batch + 1
        done = compact(table, now=datetime.now(UTC) + timedelta(hours=2))
        table.vacuum(timedelta(0))
        print(offset, done.files_before, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
