"""What outlives the process of all cursors: their changes, a moment after they were made, and how far groups have come.

Changes of one moment are one write. A cursor is a list of changes, and when the list has become longer than a whole
picture would be, that takes its place: so what is written grows with what happens, and not with what is open. A large
picture is made in steps, between which others are served. How far a group has come without a gap is committed as its
offset, where somebody else has not moved that.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from braidmq.core.cursors._cursor import Cursor
from braidmq.core.timing import Clock
from braidmq.log import GroupOffset
from braidmq.logger import get_logger
from braidmq.model import DEFAULT_INSTANCE, BraidError
from braidmq.store import CursorChange

KEEP_AFTER_MS: Final = 50
COMMIT_EVERY_MS: Final = 1000
CHANGES_MAX: Final = 100
"""After so many changes of a cursor a whole picture is kept instead, if it is no larger than they are."""
CHANGES_LIMIT: Final = 10_000
"""After so many, however large it is."""

_logger = get_logger(__name__)


class Offsets(Protocol):
    """Who keeps offsets of groups; see `core.groups.Groups`."""

    async def commit(
        self, group: str, member: None, offsets: Mapping[int, GroupOffset], *, client: str = ""
    ) -> None: ...

    def offsets(self, group: str) -> Mapping[int, GroupOffset]: ...


class Rows(Protocol):
    """Where cursors outlive the process; see `store.CursorRows`."""

    async def load(self) -> Mapping[tuple[str, int], Sequence[bytes]]: ...

    async def keep(self, changes: Sequence[CursorChange]) -> None: ...


class Place(NamedTuple):
    """A group in a partition."""

    group: str
    number: int


Owner = tuple[str, str]
"""An instance, and the name of a group in it: groups of one name in two instances are two."""


class Kept:
    """What surrounds a cursor."""

    __slots__ = (
        "changes",
        "committed",
        "committed_ms",
        "committing",
        "cursor",
        "entries",
        "is_reading",
        "owner",
        "topic_id",
    )

    def __init__(self, cursor: Cursor, committed: int | None) -> None:
        self.cursor = cursor
        self.committed = committed
        """The group's offset as it was when we looked last, or as we set it."""
        self.committing: int | None = None
        """What it is being set to by us."""
        self.committed_ms = 0.0
        self.changes = CHANGES_LIMIT
        """How many were kept since the last whole picture; a new cursor begins with one."""
        self.entries = 0
        """How many messages they were about."""
        self.is_reading = False
        self.topic_id: UUID | None = None
        self.owner: Owner = DEFAULT_INSTANCE, ""

    @property
    def needs_picture(self) -> bool:
        count = self.changes
        return count >= CHANGES_LIMIT or (count >= CHANGES_MAX and self.entries >= self.cursor.open_count)


class Keeping:
    """All cursors, and what is not kept of them yet."""

    def __init__(self, rows: Rows, offsets: Offsets, clock: Clock) -> None:
        self._rows = rows
        self._offsets = offsets
        self._clock = clock
        self.kept: dict[Place, Kept] = {}
        self._unsaved: set[Place] = set()
        self._uncommitted: set[Place] = set()
        """Whose floor has changed since it was committed, perhaps."""
        self._forgotten: set[Place] = set()
        self._saving: asyncio.Task[None] | None = None
        self._pausing = asyncio.Event()
        self._closing = False

    async def load(self, *, renewal_ms: int) -> None:
        """Take up what the last life has left."""
        for (group, number), changes in (await self._rows.load()).items():
            place = Place(group, number)
            kept = Kept(Cursor.restored(changes, renewal_ms=renewal_ms), self.committed(place))
            kept.changes = len(changes)
            self.kept[place] = kept
            await asyncio.sleep(0)

    async def close(self) -> None:
        """All is kept when this returns, or the store has failed."""
        self._closing = True
        self._pausing.set()
        if self._saving is not None:
            await asyncio.wait((self._saving,))
        await self._save()

    def committed(self, place: Place) -> int | None:
        """The group's offset, as everybody sees it."""
        found = self._offsets.offsets(place.group).get(place.number)
        return None if found is None else found.offset

    def changed(self, place: Place, kept: Kept) -> None:
        """Something is to be kept of it, unless another cursor has taken its place. Hot path."""
        if self.kept.get(place) is kept:
            self._forgotten.discard(place)
            self._unsaved.add(place)
            self._save_soon()

    def forget(self, place: Place) -> Kept:
        """What is not there any more."""
        kept = self.kept.pop(place)
        self._unsaved.discard(place)
        self._forgotten.add(place)
        self._save_soon()
        return kept

    def _save_soon(self) -> None:
        if self._saving is None and not self._closing:
            self._saving = asyncio.create_task(self._save_in_a_moment())

    async def _save_in_a_moment(self) -> None:
        try:
            while (self._unsaved or self._forgotten or self._uncommitted) and not self._closing:
                await self._pause()
                await self._save()
        finally:
            self._saving = None

    async def _pause(self) -> None:
        """A moment, in which more comes together."""
        self._pausing = asyncio.Event()
        timer = self._clock.call_later(KEEP_AFTER_MS, self._pausing.set)
        await self._pausing.wait()
        timer.cancel()

    async def _save(self) -> None:
        places, self._unsaved = self._unsaved, set()
        forgotten, self._forgotten = self._forgotten, set()
        changes = [CursorChange(*place, None) for place in forgotten]
        saved = [(place, self.kept[place]) for place in places if place in self.kept]
        for place, kept in saved:
            changes += await self._changes_of(place, kept)
        self._uncommitted |= places
        try:
            if changes:
                await self._rows.keep(changes)
        except BraidError as error:
            _logger.warning("cursors_not_kept", code=error.code, reason=error.message)
            self._forgotten |= forgotten
            for place, kept in saved:
                kept.changes = CHANGES_LIMIT  # what was not kept is in the next whole picture
                self._unsaved.add(place)
            return
        await self._commit(self._due_commits())

    async def _changes_of(self, place: Place, kept: Kept) -> list[CursorChange]:
        cursor = kept.cursor
        if not kept.needs_picture:
            kept.changes += 1
            kept.entries += cursor.changed_count
            return [CursorChange(*place, cursor.take_changes())]
        kept.changes, kept.entries = 1, 0
        changes: list[CursorChange] = []
        for content in cursor.picture():
            changes.append(CursorChange(*place, content, is_whole=not changes))
            await asyncio.sleep(0)
        return changes

    def _due_commits(self) -> list[tuple[Place, Kept]]:
        self._uncommitted &= self.kept.keys()
        before_ms = self._clock.passed_ms() - COMMIT_EVERY_MS
        found = [(place, self.kept[place]) for place in self._uncommitted]
        return [each for each in found if self._closing or each[1].committed_ms <= before_ms]

    async def _commit(self, saved: Iterable[tuple[Place, Kept]]) -> None:
        """Tell how far groups have come, where that has changed."""
        by_group: dict[str, dict[int, Kept]] = {}
        for place, kept in saved:
            self._uncommitted.discard(place)
            if self.committed(place) == kept.committed != kept.cursor.floor:
                kept.committing = kept.cursor.floor
                kept.committed_ms = self._clock.passed_ms()
                by_group.setdefault(place.group, {})[place.number] = kept
        for group, cursors in by_group.items():
            offsets = {number: GroupOffset(kept.committing or 0) for number, kept in cursors.items()}
            try:
                await self._offsets.commit(group, None, offsets)
            except BraidError as error:  # such as a group whose members hold its offsets; the cursors go on without
                _logger.info("how far a group has come was not committed", group=group, reason=error.message)
            finally:
                for number, kept in cursors.items():
                    kept.committed, kept.committing = self.committed(Place(group, number)), None
