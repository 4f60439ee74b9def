"""The cursors of all groups, each at its place: made when a group first comes, moved when somebody wants it elsewhere,
dropped with its group or topic; and how many messages each group has open."""

from collections.abc import Iterable, Mapping

from braidmq.core.cursors._cursor import Cursor
from braidmq.core.cursors._figures import Tally
from braidmq.core.cursors._keeping import Keeping, Kept, Place
from braidmq.core.cursors._parts import Part
from braidmq.core.cursors._words import Ask, Beginning, CursorLimits
from braidmq.core.group_offsets import ResetBoard
from braidmq.core.lookup import is_young
from braidmq.log import Log


class Shelf:
    """`tally` is told of messages that the log let go of before their group had done them."""

    def __init__(self, log: Log, resets: ResetBoard, keeping: Keeping, limits: CursorLimits, tally: Tally) -> None:
        self._log = log
        self._resets = resets
        self._keeping = keeping
        self._limits = limits
        self._tally = tally
        self._open_counts: dict[str, int] = {}

    async def load(self) -> None:
        """Take up what the last life has left."""
        await self._keeping.load(renewal_ms=self._limits.renewal_ms)
        for place, kept in self._keeping.kept.items():
            self.count_open(place.group, kept.cursor.open_count)

    @property
    def open_counts(self) -> Mapping[str, int]:
        """How many messages are open, by group."""
        return self._open_counts

    def is_full(self, group: str) -> bool:
        """Whether the group has as many messages open as it may."""
        return self._open_counts.get(group, 0) >= self._limits.open_max

    def count_open(self, group: str, change: int) -> None:
        """So many more are open, or fewer."""
        count = self._open_counts.get(group, 0) + change
        if count:
            self._open_counts[group] = count
        else:
            self._open_counts.pop(group, None)

    def cursor(self, ask: Ask, part: Part) -> Kept:
        """The group's cursor, made now if there is none, and moved to where somebody wants the group to be."""
        place = Place(ask.group, part.number)
        beginning = Beginning.START if part.is_retry else ask.beginning
        bounds = self._log.bounds(place.number)
        committed = self._keeping.committed(place)
        moved_to = self._resets.pending(*place)
        if moved_to is not None:
            self._resets.withdraw(*place)
        kept = self._keeping.kept.get(place)
        if kept is not None and moved_to is None and committed not in (kept.committed, kept.committing):
            moved_to = committed if committed is not None else self._first_offset(beginning, place.number)
        if kept is None or moved_to is not None:
            offset = moved_to if moved_to is not None else committed
            if offset is None:
                offset = self._first_offset(beginning, place.number)
            kept = self._set(place, min(max(offset, bounds.start), bounds.end), committed)
        elif kept.cursor.next > bounds.end:  # the log has lost its end with the power
            kept = self._set(place, min(kept.cursor.floor, bounds.end), committed)
        kept.topic_id = part.topic.id
        kept.owner = part.topic.instance, place.group
        if kept.cursor.floor < bounds.start:
            self._drop_below(place, kept, bounds.start)
        return kept

    def forget(self, places: Iterable[Place]) -> None:
        """Where these groups were, and what their receivers have, counts no more."""
        for place in places:
            kept = self._keeping.forget(place)
            self.count_open(place.group, -kept.cursor.open_count)

    def _drop_below(self, place: Place, kept: Kept, start: int) -> None:
        gone = kept.cursor.drop_below(start)
        self._tally.lost[kept.owner] += gone
        self.count_open(place.group, -gone)
        self._keeping.changed(place, kept)

    def _set(self, place: Place, offset: int, committed: int | None) -> Kept:
        before = self._keeping.kept.get(place)
        if before is not None:
            self.count_open(place.group, -before.cursor.open_count)
        kept = self._keeping.kept[place] = Kept(Cursor(offset, renewal_ms=self._limits.renewal_ms), committed)
        self._keeping.changed(place, kept)
        return kept

    def _first_offset(self, beginning: Beginning, number: int) -> int:
        bounds = self._log.bounds(number)
        if beginning is Beginning.START or (beginning is Beginning.YOUNG and is_young(self._log, number)):
            return bounds.start
        return bounds.stable
