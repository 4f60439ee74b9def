"""The archive's tables: which columns they have, and where they lie.

`messages` is cut by day and by a bucket of the topic, never by topic: a thousand quiet topics must not make a thousand
files a day.
"""

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyarrow as pa

from braidmq.model import DEFAULT_INSTANCE
from braidmq.pipeline._folders import local_folder
from braidmq.pipeline.columns import ADDED, MESSAGE, SCHEMA_VERSION
from braidmq.pipeline.tables import REASON, LiveFile, Table

APP: Final = "archive"
MARK_GROUP: Final = "__braid.archive"
"""The group whose offsets say up to where a partition is safe in the archive."""
BUCKETS: Final = 16
LOOKED_UP: Final = ("message_id", "keys")
"""The columns that the index is made of."""

STATISTICS: Final = ("topic", "partition", "offset", "store_time", "traffic", "schema_ver")

ARCHIVED: Final = pa.schema(
    [
        *MESSAGE,
        pa.field("day", pa.date32(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("body_crc", pa.int64()),
        pa.field("schema_ver", pa.int32(), nullable=False),
    ]
)
"""`day` is of the store time, in UTC; `body_crc` is the CRC-32 of the value, null where there is none."""
QUARANTINED: Final = pa.schema([*ARCHIVED, pa.field(REASON, pa.string(), nullable=False)])


def bucket_of(topic: str, instance: str = DEFAULT_INSTANCE) -> int:
    """In which of the buckets a topic lies."""
    return zlib.crc32(f"{instance}\0{topic}".encode()) % BUCKETS


def by_schema(files: Iterable[LiveFile]) -> tuple[list[LiveFile], list[LiveFile]]:
    """Files whose rows have all columns, and those of older versions, which may lack those that were added since."""
    new: list[LiveFile] = []
    old: list[LiveFile] = []
    for file in files:
        (new if (file.high.get("schema_ver") or 1) >= max(ADDED.values()) else old).append(file)
    return new, old


class Folders:
    """Where everything of one archive lies."""

    def __init__(self, path: str | Path) -> None:
        self.root = local_folder(path)
        self.messages = self.root / "messages"
        self.quarantine = self.root / "quarantine"
        self.index = self.root / "index"
        self.checkpoints = self.root / "checkpoints"


def messages_table(path: str | Path) -> Table:
    """The table of messages, made where there is none."""
    return Table(
        Folders(path).messages,
        ARCHIVED,
        ("day", "bucket"),
        bloom=("message_id", "trace_id"),
        statistics=STATISTICS,
        sort_by=("topic", "partition", "offset"),
        schema_version=SCHEMA_VERSION,
    )


def quarantine_table(path: str | Path) -> Table:
    return Table(
        Folders(path).quarantine,
        QUARANTINED,
        statistics=STATISTICS,
        schema_version=SCHEMA_VERSION,
    )
