"""Reads files of the archive to write them anew, with their index: for compaction, and for what has passed its time."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from braidmq.pipeline import tables
from braidmq.pipeline.archive._index import write_for_files
from braidmq.pipeline.archive._layout import ARCHIVED, LOOKED_UP, Folders
from braidmq.pipeline.tables import DataFile, Layout, LiveFile


def read_file(root: Path, file: LiveFile, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of a file, with the partition's own columns; columns that it lacks are null. Raises FileDamaged."""
    wanted = ARCHIVED if columns is None else pa.schema([ARCHIVED.field(name) for name in columns])
    return tables.read_file(root, file, wanted)


class Rewritten(msgspec.Struct):
    """What was written in the place of some files; not yet part of the table."""

    files: list[DataFile] = []
    segment: str | None = None
    damage: str = ""
    """Why nothing was written."""


def write_rows(folders: Folders, layout: Layout, rows: pa.Table) -> Rewritten:
    """Sorted files of these rows, with their index."""
    writer = tables.write_rows(folders.messages, layout, rows, keeps=LOOKED_UP)
    segment = write_for_files(folders.index, ((file.path, columns) for file, columns in writer.kept))
    return Rewritten(writer.close(), None if segment is None else str(segment))


def discard(folders: Folders, rewritten: Rewritten) -> None:
    """Takes away what was written in vain."""
    if rewritten.segment is not None:
        Path(rewritten.segment).unlink(missing_ok=True)
    for file in rewritten.files:
        (folders.messages / file.path).unlink(missing_ok=True)
