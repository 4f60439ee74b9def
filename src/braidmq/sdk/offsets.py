"""Where a broadcast reader keeps how far it is: in memory, in a file, or wherever the user's own class puts it."""

import os
import threading
from pathlib import Path
from typing import Protocol

import msgspec


class Offsets(Protocol):
    """How far one reader is, by topic and partition."""

    def load(self, topic: str, partition: int) -> int | None:
        """The offset to go on at; None where there is none yet."""

    def save(self, topic: str, partition: int, offset: int) -> None:
        """The reader is done with everything before this offset."""


class MemoryOffsets:
    """Gone with the process: the reader begins anew each time."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}

    def load(self, topic: str, partition: int) -> int | None:
        return self._offsets.get(f"{topic}/{partition}")

    def save(self, topic: str, partition: int, offset: int) -> None:
        self._offsets[f"{topic}/{partition}"] = offset


class FileOffsets:
    """In a small JSON file, which is replaced as a whole: it is never half written."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises OSError and msgspec.DecodeError where the file cannot be read."""
        self._path = Path(path)
        self._lock = threading.Lock()
        content = self._path.read_bytes() if self._path.exists() else b"{}"
        self._offsets = msgspec.json.decode(content, type=dict[str, int])

    def load(self, topic: str, partition: int) -> int | None:
        return self._offsets.get(f"{topic}/{partition}")

    def save(self, topic: str, partition: int, offset: int) -> None:
        with self._lock:
            self._offsets[f"{topic}/{partition}"] = offset
            beside = self._path.with_name(self._path.name + ".new")
            beside.write_bytes(msgspec.json.encode(self._offsets))
            os.replace(beside, self._path)
