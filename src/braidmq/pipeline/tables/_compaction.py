"""Compaction: many small files become few large ones, sorted, with the same rows.

The rows of a group are put in order in memory: so a group is bounded by what its rows take there, however well they are
compressed. The commit says that no row has changed, so that it never stands in the way of a job's own. What was
replaced stays on disk until `vacuum`, for those who are just reading it; who is killed on the way leaves files that are
part of nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from braidmq.pipeline.tables._errors import FileDamaged, FilesGone
from braidmq.pipeline.tables._rewriting import read_file, write_rows
from braidmq.pipeline.tables._table import LiveFile, Table

COMPACT_APP: Final = "compact"
TARGET_BYTES: Final = 128 * 1024 * 1024
HELD_BYTES: Final = 256 * 1024 * 1024
"""How much of the rows of a group is in memory at once, about."""
_ROW_BYTES: Final = 128
"""What a row takes in memory beside what the file says: texts that repeat lie in it only once."""


class Compacted(msgspec.Struct, frozen=True):
    """What was done."""

    files_before: int = 0
    files_after: int = 0
    rows: int = 0

    def __add__(self, other: "Compacted") -> "Compacted":
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Compacted(*(mine + theirs for mine, theirs in pairs))


def compact(table: Table, *, now: datetime | None = None, target_bytes: int = TARGET_BYTES) -> Compacted:
    """Rewrites the small files that became part of the table before this hour. Files that stand beside a damaged one
    are left as they are, and the others are done before that is said: FileDamaged."""
    before_ms = int(hour_of(now).timestamp() * 1000)
    closed = [file for file in table.files() if file.added_ms < before_ms]
    done, damage = Compacted(), None
    for group in small_groups(table.path, closed, lambda file: file.added_ms, target_bytes):
        try:
            done += _compacted(table, group)
        except FileDamaged as error:
            damage = damage or error
    if damage is not None:
        raise damage
    return done


def _compacted(table: Table, group: list[LiveFile]) -> Compacted:
    rows = pa.concat_tables([read_file(table.path, file, table.schema) for file in group])
    writer = write_rows(table.path, table.layout, rows)
    files = writer.close()
    try:
        table.replace(files, remove=group, app=COMPACT_APP, data_change=False, kind="compact")
    except FilesGone:
        # Others have replaced them: what they left is compacted the next time.
        writer.discard()
        return Compacted()
    return Compacted(len(group), len(files), rows.num_rows)


def hour_of(now: datetime | None) -> datetime:
    """The beginning of the hour that it is."""
    return (now or datetime.now(UTC)).replace(minute=0, second=0, microsecond=0)


def small_groups(
    root: Path, files: Iterable[LiveFile], order: Callable[[LiveFile], Any], target_bytes: int
) -> Iterator[list[LiveFile]]:
    """Files of one partition that are small, in this order, several at a time up to the target's size, and up to what
    may be held in memory."""
    partitions: dict[tuple[object, ...], list[tuple[LiveFile, int]]] = {}
    for file in files:
        if file.size < target_bytes // 2 and (held := _held_bytes(root, file)) < HELD_BYTES // 2:
            partitions.setdefault(tuple(file.partition.values()), []).append((file, held))
    for members in partitions.values():
        group: list[LiveFile] = []
        size = held_size = 0
        for file, held in sorted(members, key=lambda each: (order(each[0]), each[0].path)):
            if size + file.size > target_bytes or held_size + held > HELD_BYTES:
                if len(group) > 1:
                    yield group
                group, size, held_size = [], 0, 0
            group.append(file)
            size += file.size
            held_size += held
        if len(group) > 1:
            yield group


def _held_bytes(root: Path, file: LiveFile) -> int:
    """What its rows take in memory, about. Of a file that cannot be read whoever rewrites it will tell."""
    try:
        found = pq.read_metadata(root / file.path)
    except (OSError, pa.ArrowException):
        return file.size
    sizes = (found.row_group(at).total_byte_size for at in range(found.num_row_groups))
    return int(sum(sizes)) + file.rows * _ROW_BYTES
