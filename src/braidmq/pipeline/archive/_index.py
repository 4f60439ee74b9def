"""The index of message ids and keys: sorted hashes, each with the file and the row where its message lies.

A segment is one file that never changes: the paths of the data files that it covers, then three columns. It is written
with the data files, before their commit, so that a message is found as soon as it is in the table. The table decides
what counts: an entry of a file that is not part of the table is not seen, and a file that no segment covers is searched
itself. So the index can be lost, and can be behind, without a wrong answer. Small segments are merged now and then.
"""

import os
import secrets
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braidmq.pipeline.archive._hashing import ID, KEY, Hashes, hashes
from braidmq.pipeline.tables import make_folders, sync_folder

SUFFIX: Final = ".index"
VERSION: Final = 1
_MAGIC: Final = b"BRAIDIDX"
_ALIGN: Final = 64
_ENTRY_BYTES: Final = 16
MERGE_SEGMENTS_MIN: Final = 16
MERGE_BYTES_MAX: Final = 512 * 1024 * 1024
YOUNG_S: Final = 600.0
"""A segment with files that are not part of the table may, for so long, belong to a batch on its way."""

Numbers: TypeAlias = npt.NDArray[np.uint32]


class _Header(msgspec.Struct, frozen=True):
    version: int
    entries: int
    files: list[str]


class Entries(msgspec.Struct):
    """The columns of a segment: `files` are numbers in a list of paths."""

    hashes: Hashes
    files: Numbers
    rows: Numbers

    def __len__(self) -> int:
        return len(self.hashes)


def entries_of(file: int, columns: pa.Table) -> Entries:
    """The entries of one file's ids and keys, in the order of its rows."""
    found: list[tuple[Hashes, Numbers]] = []
    row = 0
    for batch in columns.to_batches():
        numbers = np.arange(row, row + batch.num_rows, dtype=np.uint32)
        row += batch.num_rows
        ids = batch.column("message_id")
        present = ids.is_valid().to_numpy(zero_copy_only=False)
        found.append((hashes(ids, ID)[present], numbers[present]))
        keys = batch.column("keys")
        parents = keys.value_parent_indices().to_numpy()
        flat = keys.flatten()
        valid = flat.is_valid().to_numpy(zero_copy_only=False)
        found.append((hashes(flat, KEY)[valid], numbers[parents][valid]))
    if not found:
        return _joined([])
    result = np.concatenate([each[0] for each in found])
    return Entries(result, np.full(len(result), file, dtype=np.uint32), np.concatenate([each[1] for each in found]))


def _joined(parts: Iterable[Entries]) -> Entries:
    all_parts = list(parts)
    if not all_parts:
        return Entries(np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.uint32))
    return Entries(
        np.concatenate([part.hashes for part in all_parts]),
        np.concatenate([part.files for part in all_parts]),
        np.concatenate([part.rows for part in all_parts]),
    )


def write_segment(folder: Path, files: list[str], parts: Iterable[Entries]) -> Path:
    """Sorts the entries and writes them; the segment is whole and on disk when it has its name."""
    entries = _joined(parts)
    order = np.argsort(entries.hashes, kind="stable")
    make_folders(folder.parent, folder)
    header = msgspec.json.encode(_Header(VERSION, len(entries), files))
    begin = _MAGIC + len(header).to_bytes(8, "little") + header
    temporary = folder / f".{secrets.token_hex(8)}.writing"
    target = folder / f"{secrets.token_hex(12)}{SUFFIX}"
    with temporary.open("wb") as out:
        out.write(begin + bytes(-len(begin) % _ALIGN))
        for column in (entries.hashes, entries.files, entries.rows):
            out.write(np.ascontiguousarray(column[order]).data)
        out.flush()
        os.fsync(out.fileno())
    temporary.rename(target)
    sync_folder(folder)
    return target


def write_for_files(folder: Path, kept: Iterable[tuple[str, pa.Table]]) -> Path | None:
    """One segment for some files that were just written."""
    pairs = list(kept)
    if not pairs:
        return None
    parts = (entries_of(number, columns) for number, (_, columns) in enumerate(pairs))
    return write_segment(folder, [path for path, _ in pairs], parts)


class Segment:
    """A segment that is there, read through the page cache."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
            size = int.from_bytes(file.read(8), "little")
            if magic != _MAGIC:
                raise ValueError(f"{path} is not a segment of the index")
            header = msgspec.json.decode(file.read(size), type=_Header)
        if header.version != VERSION:
            raise ValueError(f"{path} has version {header.version} of the index")
        self.files = header.files
        start = -(-(len(_MAGIC) + 8 + size) // _ALIGN) * _ALIGN
        count = header.entries
        self.size = start + count * _ENTRY_BYTES
        if path.stat().st_size != self.size:
            raise ValueError(f"{path} is not whole")
        if count == 0:
            self.entries = _joined([])
            return
        whole = np.memmap(path, dtype=np.uint8, mode="r")
        ends = [start, start + 8 * count, start + 12 * count, start + 16 * count]
        self.entries = Entries(
            whole[ends[0] : ends[1]].view(np.uint64),
            whole[ends[1] : ends[2]].view(np.uint32),
            whole[ends[2] : ends[3]].view(np.uint32),
        )

    def find(self, wanted: np.uint64) -> list[tuple[str, int]]:
        """The files and rows that may hold it."""
        found = self.entries
        low = int(np.searchsorted(found.hashes, wanted, side="left"))
        high = int(np.searchsorted(found.hashes, wanted, side="right"))
        return [(self.files[found.files[at]], int(found.rows[at])) for at in range(low, high)]


class Index:
    """All segments of an archive, as they are now."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segments: dict[str, Segment] = {}
        self._broken: set[str] = set()

    def refresh(self) -> None:
        """Looks for new segments. One that cannot be read is left out: its files are then searched themselves."""
        try:
            names = {name for name in os.listdir(self._folder) if name.endswith(SUFFIX)}
        except FileNotFoundError:
            names = set()
        for name in self._segments.keys() - names:
            del self._segments[name]
        for name in names - self._segments.keys() - self._broken:
            try:
                self._segments[name] = Segment(self._folder / name)
            except FileNotFoundError:
                continue
            except (ValueError, msgspec.DecodeError):
                self._broken.add(name)

    @property
    def segments(self) -> list[Segment]:
        return list(self._segments.values())

    @property
    def broken(self) -> set[str]:
        return self._broken

    def covered(self) -> set[str]:
        return {path for segment in self._segments.values() for path in segment.files}

    def find(self, wanted: np.uint64) -> set[tuple[str, int]]:
        return {place for segment in self._segments.values() for place in segment.find(wanted)}


def merge_segments(folder: Path, live: Collection[str], *, at_least: int = MERGE_SEGMENTS_MIN) -> int:
    """Puts small segments together, without the entries of files that are gone; says how many there were."""
    index = Index(folder)
    index.refresh()
    present = set(live)
    small: list[Segment] = []
    size = 0
    young_s = time.time() - YOUNG_S
    settled = [each for each in index.segments if present.issuperset(each.files) or each.path.stat().st_mtime < young_s]
    for segment in sorted(settled, key=lambda each: each.size):
        if size + segment.size > MERGE_BYTES_MAX:
            break
        small.append(segment)
        size += segment.size
    if len(small) < at_least:
        return 0
    files = sorted({path for segment in small for path in segment.files} & present)
    numbers = {path: number for number, path in enumerate(files)}
    write_segment(folder, files, _only_live(small, numbers))
    for segment in small:
        segment.path.unlink(missing_ok=True)
    return len(small)


def _only_live(segments: Iterable[Segment], numbers: dict[str, int]) -> Iterable[Entries]:
    taken: set[str] = set()
    for segment in segments:
        # A file that two segments cover, after a merge that was cut off, is taken from the first.
        wanted = {path for path in segment.files if path in numbers and path not in taken}
        taken |= wanted
        renumbered = np.array([numbers[path] if path in wanted else -1 for path in segment.files] or [-1], np.int64)
        files = renumbered[segment.entries.files] if len(segment.entries) else np.empty(0, np.int64)
        kept = files >= 0
        yield Entries(segment.entries.hashes[kept], files[kept].astype(np.uint32), segment.entries.rows[kept])


def drop_dead_segments(folder: Path, live: Collection[str], *, older_than_s: float, now_s: float) -> int:
    """Removes segments none of whose files is part of the table; says how many. Those that are young may belong to a
    batch that is about to be committed."""
    index = Index(folder)
    index.refresh()
    present = set(live)
    count = 0
    for segment in index.segments:
        if not present & set(segment.files) and now_s - segment.path.stat().st_mtime > older_than_s:
            segment.path.unlink(missing_ok=True)
            count += 1
    for left in folder.glob(".*.writing"):
        if now_s - left.stat().st_mtime > older_than_s:
            left.unlink(missing_ok=True)
    return count
