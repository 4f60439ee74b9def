"""Tables in the Delta protocol that batches are written to exactly once.

    table = Table("/data/usage", schema, ["day"], statistics=["minute"])
    run = table.begin("usage", "/data/checkpoints")
    frame.writeStream.format("braid-table").options(path="/data/usage", **run.options()) \\
        .option("checkpointLocation", run.checkpoint)...

Every table can be read by whatever reads Delta tables: reader version 1, writer version 2, no deletion vectors, no
column mapping.
"""

from braidmq.pipeline.tables._errors import (
    BusyTable,
    CoverageBroken,
    Fenced,
    FilesGone,
    NewerTable,
    TableError,
    UnlikeTable,
)
from braidmq.pipeline.tables._files import DataFile, FileWriter, file_checksum, named_checksum
from braidmq.pipeline.tables._layout import Layout
from braidmq.pipeline.tables._ranges import RANGE_OFFSET, RANGE_PROTOCOL, Covered, Range, TopicPartition, joined
from braidmq.pipeline.tables._sink import (
    FORMAT,
    REASON,
    TableSink,
    TableStreamWriter,
    Written,
    fitted,
    settle_quarantine,
)
from braidmq.pipeline.tables._table import VACUUM_LAG, Commit, LiveFile, Run, State, Table

__all__ = [
    "FORMAT",
    "RANGE_OFFSET",
    "RANGE_PROTOCOL",
    "REASON",
    "VACUUM_LAG",
    "BusyTable",
    "Commit",
    "CoverageBroken",
    "Covered",
    "DataFile",
    "Fenced",
    "FileWriter",
    "FilesGone",
    "Layout",
    "LiveFile",
    "NewerTable",
    "Range",
    "Run",
    "State",
    "Table",
    "TableError",
    "TableSink",
    "TableStreamWriter",
    "TopicPartition",
    "UnlikeTable",
    "Written",
    "file_checksum",
    "fitted",
    "joined",
    "named_checksum",
    "settle_quarantine",
]
