"""What a table is: its columns, how it is cut into folders, which filters and statistics its files carry.

The layout lies in the table's own metadata, so that whoever opens a table needs to know nothing but its path.
"""

from datetime import timedelta
from typing import Final

import msgspec
import pyarrow as pa

FORMAT_VERSION: Final = 1
"""The version of the metadata in commits. A table of a newer one is refused."""

ROW_GROUP_BYTES: Final = 4 * 1024 * 1024
"""Small, because who looks a message up reads one row group."""
ROW_GROUP_ROWS: Final = 4_096
FILE_BYTES: Final = 128 * 1024 * 1024
ZSTD_LEVEL: Final = 3
VACUUM_LAG: Final = timedelta(days=7)
"""How long files that were replaced stay. A checkpoint remembers when they were replaced for as long."""


class Layout(msgspec.Struct, frozen=True):
    """How the rows lie in files."""

    partition_by: tuple[str, ...] = ()
    bloom: tuple[str, ...] = ()
    """Columns of text with many values, in which one value is looked for."""
    statistics: tuple[str, ...] = ()
    """Columns whose smallest and largest value each file's entry carries."""
    sort_by: tuple[str, ...] = ()
    """The order within a compacted file."""
    schema_version: int = 1

    def stored(self, schema: pa.Schema) -> pa.Schema:
        """The columns that lie in a file: the partition's own values lie in the table's log."""
        return pa.schema([field for field in schema if field.name not in self.partition_by])


def to_configuration(layout: Layout) -> dict[str, str]:
    return {
        "braid.format": str(FORMAT_VERSION),
        "braid.layout": msgspec.json.encode(layout).decode(),
        "delta.checkpointInterval": "50",
        "delta.deletedFileRetentionDuration": f"interval {VACUUM_LAG.days} days",
        # The log is cut by `trim`, which keeps what the commits said; nobody else may.
        "delta.enableExpiredLogCleanup": "false",
    }
