"""Tables in the Delta protocol that batches are written to exactly once.

    table = Table("/data/usage", schema, ["day"], statistics=["minute"])
    run = table.begin("usage", "/data/checkpoints")
    frame.writeStream.format("braid-table").options(path="/data/usage", **run.options()) \\
        .option("checkpointLocation", run.checkpoint)...

Every table can be read by whatever reads Delta tables: reader version 1, writer version 2, no deletion vectors, no
column mapping.
"""

from braidmq.pipeline.tables._compaction import COMPACT_APP, TARGET_BYTES, Compacted, compact, hour_of, small_groups
from braidmq.pipeline.tables._errors import (
    BusyTable,
    CoverageBroken,
    Fenced,
    FileDamaged,
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
from braidmq.pipeline.tables._rewriting import read_file, write_rows
from braidmq.pipeline.tables._sink import (
    FORMAT,
    REASON,
    SinkOptions,
    TableSink,
    TableStreamWriter,
    Task,
    Writing,
    Written,
    fitted,
    settle_quarantine,
)
from braidmq.pipeline.tables._table import Commit, LiveFile, Run, State, Table
from braidmq.pipeline.tables._trimming import LOG_LAG

__all__ = [
    "COMPACT_APP",
    "FORMAT",
    "LOG_LAG",
    "RANGE_OFFSET",
    "RANGE_PROTOCOL",
    "REASON",
    "TARGET_BYTES",
    "VACUUM_LAG",
    "BusyTable",
    "Commit",
    "Compacted",
    "CoverageBroken",
    "Covered",
    "DataFile",
    "Fenced",
    "FileDamaged",
    "FileWriter",
    "FilesGone",
    "Layout",
    "LiveFile",
    "NewerTable",
    "Range",
    "Run",
    "SinkOptions",
    "State",
    "Table",
    "TableError",
    "TableSink",
    "TableStreamWriter",
    "Task",
    "TopicPartition",
    "UnlikeTable",
    "Writing",
    "Written",
    "compact",
    "file_checksum",
    "fitted",
    "hour_of",
    "joined",
    "make_folders",
    "named_checksum",
    "read_file",
    "settle_quarantine",
    "small_groups",
    "sync_folder",
    "write_rows",
]
