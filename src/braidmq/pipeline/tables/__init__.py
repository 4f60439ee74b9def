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
from braidmq.pipeline.tables._files import (
    DataFile,
    FileWriter,
    file_checksum,
    make_folders,
    named_checksum,
    sync_folder,
)
from braidmq.pipeline.tables._layout import VACUUM_LAG, Layout
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
from braidmq.pipeline.tables._table import Commit, LiveFile, Run, State, Table
from braidmq.pipeline.tables._trimming import LOG_LAG

__all__ = [
    "FORMAT",
    "LOG_LAG",
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
    "make_folders",
    "named_checksum",
    "settle_quarantine",
    "sync_folder",
]
