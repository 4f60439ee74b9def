"""What commits said of offsets and rows, kept when the table's log is cut: `_ledger` beside the log.

A pack is one file for a run of versions, written once and never changed: a line for each commit that said something
that an audit or a quarantine needs, compressed. Its name tells the first version, the one behind the last, and the
CRC-32C of its bytes. So the log may lose what the ledger has, and nothing else.
"""

import os
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import cramjam
import google_crc32c
import msgspec

from braidmq.pipeline.tables._errors import TableError
from braidmq.pipeline.tables._files import sync_folder

FOLDER: Final = "_ledger"
"""Readers of Delta tables, and what removes old files from them, leave names alone that begin so."""
PACK_VERSIONS_MAX: Final = 4_096
_NAME: Final = re.compile(r"(\d{20})-(\d{20})\.([0-9a-f]{8})\.jsonl\.zst")
_KEPT: Final = ("kind", "app", "epoch", "lineage", "batch", "ranges", "notes")
_SAYS: Final = ("ranges", "notes")


class _Pack(NamedTuple):
    start: int
    end: int
    path: Path
    checksum: int


class Ledger:
    """The ledger of one table."""

    def __init__(self, table: Path) -> None:
        self._table = table
        self._folder = table / FOLDER

    def runs(self) -> list[tuple[int, int]]:
        """The versions that it has: first, and the one behind the last, for each pack in order."""
        return [(pack.start, pack.end) for pack in self._packs()]

    def end(self) -> int:
        """The first version that it does not have yet."""
        return max((pack.end for pack in self._packs()), default=0)

    def add(self, start: int, commits: Iterable[tuple[int, dict[str, Any]]], end: int) -> None:
        """Keeps what the commits of these versions said; it is on disk when this returns."""
        lines = [
            msgspec.json.encode([version, {name: metadata[name] for name in _KEPT if name in metadata}])
            for version, metadata in commits
            if any(metadata.get(name) for name in _SAYS)
        ]
        data = bytes(cramjam.zstd.compress(b"\n".join(lines)))
        self._folder.mkdir(exist_ok=True)
        temporary = self._folder / f".{secrets.token_hex(8)}.writing"
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(self._folder / f"{start:020d}-{end:020d}.{google_crc32c.value(data):08x}.jsonl.zst")
        sync_folder(self._folder)
        sync_folder(self._table)

    def read(self, since: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
        """What it has from this version on, oldest first, each once. Raises TableError for a pack that is damaged."""
        following = since
        for pack in self._packs():
            if pack.end <= following:
                continue
            for version, metadata in self._lines(pack):
                if version >= following:
                    yield version, metadata
            following = pack.end

    def _packs(self) -> list[_Pack]:
        try:
            found = [(match, name) for name in os.listdir(self._folder) if (match := _NAME.fullmatch(name))]
        except FileNotFoundError:
            return []
        return sorted(
            _Pack(int(match[1]), int(match[2]), self._folder / name, int(match[3], 16)) for match, name in found
        )

    def _lines(self, pack: _Pack) -> list[tuple[int, dict[str, Any]]]:
        data = pack.path.read_bytes()
        if google_crc32c.value(data) != pack.checksum:
            raise TableError(f"{pack.path} is not what was written: the table's past from it is not known")
        lines = bytes(cramjam.zstd.decompress(data)).splitlines()
        return [msgspec.json.decode(line, type=tuple[int, dict[str, Any]]) for line in lines]
