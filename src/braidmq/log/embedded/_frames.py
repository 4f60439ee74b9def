"""Frames: how the journal and the manifest lie on disk. A frame is there whole, or it is not there.

    salt 8 bytes | crc u32 | sequence u64 | durable u64 | floor u64 | size u32 | payload | zeroes up to the next page

The CRC-32C covers everything behind itself. The salt was drawn when the log was made, so that no message, however it
was composed, can be taken for a frame. Sequence numbers rise by one from frame to frame, so what an earlier life of a
recycled file left behind is never taken for its continuation. `durable` is the last sequence that was known to be on
disk when the frame was written: a frame at or below it that cannot be read was not torn, it was damaged. It is 0 where
nothing is promised to be on disk. `floor` is the first sequence that anybody could still need: files with frames below
it are reused. A frame begins on a page of its own, so that writing one never touches another that is on its way to the
disk.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from braidmq.log.embedded._disk import File
from braidmq.records import checksum
from braidmq.records import extend_checksum as extend

PAGE_BYTES = 4096
SALT_BYTES = 8
_CHECKED = struct.Struct(">QQQI")
_CRC = struct.Struct(">I")
_CHECKED_AT = SALT_BYTES + _CRC.size
HEADER_BYTES = _CHECKED_AT + _CHECKED.size
_SCAN_BYTES = 1024 * 1024

FIRST_SEQUENCE = 1
"""What a new journal counts on from. So `durable` is 0 only in frames that promise nothing."""


class Frame(NamedTuple):
    """A frame that was found whole; its payload is read again when it is needed."""

    sequence: int
    durable: int
    floor: int
    position: int
    size: int

    @property
    def next_position(self) -> int:
        return self.position + padded(HEADER_BYTES + self.size)

    def payload(self, file: File) -> bytes:
        return file.read(self.size, self.position + HEADER_BYTES)


def padded(size: int) -> int:
    """The next multiple of a page."""
    return (size + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES


class FrameFormat:
    """Writes and reads the frames of one log."""

    def __init__(self, salt: bytes) -> None:
        assert len(salt) == SALT_BYTES
        self._salt = salt

    def encode(
        self, sequence: int, durable: int, floor: int, parts: Sequence[bytes | memoryview]
    ) -> tuple[list[bytes | memoryview], int]:
        """The buffers to write, and their size together. Hot path: once for each group commit."""
        size = sum(map(len, parts))
        checked = _CHECKED.pack(sequence, durable, floor, size)
        crc = checksum(checked)
        for part in parts:
            crc = extend(crc, part)
        total = padded(HEADER_BYTES + size)
        return [self._salt, _CRC.pack(crc), checked, *parts, bytes(total - HEADER_BYTES - size)], total

    def read(self, file: File, position: int) -> Frame | None:
        """The frame at the position, or None where there is none that is whole."""
        header = file.read(HEADER_BYTES, position)
        if len(header) < HEADER_BYTES or not header.startswith(self._salt):
            return None
        (crc,) = _CRC.unpack_from(header, SALT_BYTES)
        sequence, durable, floor, size = _CHECKED.unpack_from(header, _CHECKED_AT)
        if position + HEADER_BYTES + size > file.size():
            return None
        frame = Frame(sequence, durable, floor, position, size)
        if checksum(frame.payload(file), checksum(header[_CHECKED_AT:])) != crc:
            return None
        return frame

    def run(self, file: File, position: int = 0) -> list[Frame]:
        """The frames that follow each other without a gap from the position on."""
        found: list[Frame] = []
        while (frame := self.read(file, position)) is not None:
            if found and frame.sequence != found[-1].sequence + 1:
                break
            found.append(frame)
            position = frame.next_position
        return found

    def find(self, file: File, position: int) -> Iterator[Frame]:
        """Every whole frame behind the position, wherever it begins: what is left behind a damaged one."""
        size = file.size()
        position = padded(position)
        while position < size:
            window = file.read(_SCAN_BYTES, position)
            for start in range(0, len(window), PAGE_BYTES):
                if window.startswith(self._salt, start):
                    frame = self.read(file, position + start)
                    if frame is not None:
                        yield frame
            position += max(len(window), PAGE_BYTES)
