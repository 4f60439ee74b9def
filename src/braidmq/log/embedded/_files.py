"""Which segments are open. Files are opened when they are needed and closed when they were idle or are too many.

Where the process has as many files open as it may, most of them may be clients' connections: segments are closed then,
and opened again when they are needed.

A file that is closed before it was synced is opened again for the sync; the kernel reports an error of the write to
whoever opens the file next.
"""

from braidmq.log.embedded._disk import Disk, File
from braidmq.log.embedded._health import is_out_of_files
from braidmq.log.embedded._segment import Segment

CLOSE_SHARE = 8


class OpenFiles:
    """`tick` rises with time; a segment remembers the tick at which it was last used."""

    def __init__(self, disk: Disk, files_max: int) -> None:
        self._disk = disk
        self._files_max = files_max
        self._open: dict[Segment, None] = {}
        self.tick = 0

    def __len__(self) -> int:
        return len(self._open)

    def room(self) -> int:
        """How many more may be opened without closing others."""
        return max(0, self._files_max - len(self._open))

    def open(self, segment: Segment, *, create: bool = False) -> File:
        """The segment's file."""
        if segment.file is not None:
            return segment.file
        if len(self._open) >= self._files_max:
            self.make_room()
        try:
            segment.file = self._disk.open(segment.name, create=create)
        except OSError as error:
            if not is_out_of_files(error) or not self.make_room():
                raise
            segment.file = self._disk.open(segment.name, create=create)
        segment.touched = self.tick
        self._open[segment] = None
        return segment.file

    def adopt(self, segment: Segment, file: File) -> None:
        """Keep a file that another thread opened for the segment."""
        if segment.file is not None:
            file.close()
            return
        segment.file = file
        self._open[segment] = None

    def make_room(self) -> bool:
        """Close some of those that were not used for longest; False where all are in use."""
        unpinned = sorted((s for s in self._open if not s.pins), key=lambda segment: segment.touched)
        for segment in unpinned[: max(1, len(unpinned) // CLOSE_SHARE)]:
            self.close(segment)
        return bool(unpinned)

    def close_idle(self, ticks: int) -> None:
        """Close what was not used for so many ticks."""
        for segment in [s for s in self._open if not s.pins and self.tick - s.touched >= ticks]:
            self.close(segment)
            segment.let_marks_go()

    def close(self, segment: Segment) -> None:
        if segment.file is not None:
            segment.file.close()
            segment.file = None
            self._open.pop(segment, None)

    def close_all(self) -> None:
        for segment in list(self._open):
            self.close(segment)
