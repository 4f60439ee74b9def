"""One group in one partition, message by message. Hot path; no input or output.

One idea: what is remembered is what is *not* done. Every message below `next` that is not open is done: acknowledged,
not wanted by the group's filter, or in its dead letters. So a million acknowledgements in any order cost nothing, and
memory is bounded by how many messages may be open at a time.

An open message is in one of two states:

    ready      to be given to somebody, as soon as anybody asks
    out        with a receiver until its deadline; or waiting, with nobody, for the end of a delay

Both ends of `out` are the same moment, `due_ms`: the message is ready again. A number, `serial`, that grows with every
change tells the receipt of a message from those that were given out for it before.

Messages of one lane (those of one sharding key, where the group reads in order) are given out together and in order,
and none of them while another is out. What is acknowledged before a message that came before it is only answered: it is
done when that one is, and comes again behind it when that one comes again. Messages of lane 0 know no order.

In a group's retry topic messages of several topics lie side by side, and are wanted by different receivers. There each
one is known by its origin, the topic that it was sent to first, and what is ready is kept apart by that.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final, NamedTuple, Protocol

from braidmq.core.cursors._changes import read_changes, write_change
from braidmq.core.cursors._dues import Dues

NO_LANE: Final = 0
EXPIRED_MAX: Final = 1_000
"""How many messages are looked at in one go: nobody else is served meanwhile."""
PICTURE_STEP: Final = 5_000
"""How many messages are in one part of a picture, for the same reason."""
DONE_MAX: Final = 1_000
"""So many offsets that are done are remembered among the open ones, and as many as there are open ones."""


class Holder(Protocol):
    """Who was given messages that are renewed for it while it lives."""

    @property
    def is_alive(self) -> bool: ...


class OpenMessage:
    """A message that is not done."""

    __slots__ = (
        "attempts",
        "due_ms",
        "earlier",
        "holder",
        "is_answered",
        "is_out",
        "lane",
        "offset",
        "origin",
        "renewed_until_ms",
        "serial",
    )

    def __init__(self, offset: int, lane: int, attempts: int = 0, serial: int = 0, due_ms: int = 0) -> None:
        self.offset = offset
        self.lane = lane
        self.attempts = attempts
        """How often it was given out."""
        self.earlier = 0
        """How often it was, in vain, before it came to this partition."""
        self.origin = ""
        self.serial = serial
        self.due_ms = due_ms
        self.is_out = due_ms > 0
        self.is_answered = False
        """Acknowledged before another one of its lane that came before it."""
        self.holder: Holder | None = None
        self.renewed_until_ms = 0


class Found(NamedTuple):
    """A message that the group wants, and its lane."""

    offset: int
    lane: int = NO_LANE
    origin: str = ""
    earlier: int = 0


class Cursor:
    """The state of one group in one partition. Times are the caller's: milliseconds of the day."""

    def __init__(self, next_offset: int, *, renewal_ms: int) -> None:
        self.next = next_offset
        """The first offset that nobody has looked at yet."""
        self._renewal_ms = renewal_ms
        self._open: dict[int, OpenMessage] = {}
        self._order: deque[int] = deque()
        """Open offsets in order; those that are done meanwhile are taken off when they come to the front, or when
        there are very many of them."""
        self._ready: dict[str, list[int]] = {}
        """By origin."""
        self.is_named = True
        """Whether the origins of all open messages are known; they are not kept with the rest."""
        self._dues = Dues()
        """When what is out is ready again."""
        self._lanes: dict[int, dict[int, None]] = {}
        """The open offsets of each lane, in order."""
        self._lanes_out: dict[int, int] = {}
        """How many messages of a lane are with receivers."""
        self._changed: set[int] = set()

    # What it looks like.

    @property
    def floor(self) -> int:
        """Everything below is done."""
        order, still_open = self._order, self._open
        while order and order[0] not in still_open:
            order.popleft()
        return order[0] if order else self.next

    @property
    def open_count(self) -> int:
        return len(self._open)

    @property
    def out_count(self) -> int:
        return len(self._dues)

    @property
    def changed_count(self) -> int:
        """How many messages the next changes are about."""
        return len(self._changed)

    @property
    def has_ready(self) -> bool:
        return self.first_ready() is not None

    def first_ready(self, origin: str | None = None) -> int | None:
        """The oldest message, of this origin or of any, that may be given out now."""
        if origin is not None:
            return self._first_of(origin)
        firsts = [first for each in self._ready if (first := self._first_of(each)) is not None]
        return min(firsts) if firsts else None

    @property
    def next_due_ms(self) -> int | None:
        """When something that is out is ready again, if nothing happens before."""
        return self._dues.first_ms

    def find(self, offset: int) -> OpenMessage | None:
        return self._open.get(offset)

    # Messages come.

    def look(self, until: int, found: Iterable[Found]) -> None:
        """All below `until` was looked at; these are wanted, in order. The others are done."""
        for offset, lane, origin, earlier in found:
            message = OpenMessage(offset, lane)
            message.origin, message.earlier = origin, earlier
            self._add(message)
            self._changed.add(offset)
        self.next = until

    def _add(self, message: OpenMessage) -> None:
        offset, lane = message.offset, message.lane
        self._open[offset] = message
        self._order.append(offset)
        if lane:
            self._lanes.setdefault(lane, {})[offset] = None
        if message.is_out:
            if lane:
                self._lanes_out[lane] = self._lanes_out.get(lane, 0) + 1
            self._dues.add(message.due_ms, offset)
        else:
            self._offer(offset)

    def unnamed(self) -> list[OpenMessage]:
        """Open messages whose origins are not known."""
        return [] if self.is_named else [message for message in self._open.values() if not message.origin]

    def name(self, message: OpenMessage, origin: str, earlier: int) -> None:
        """Tell a message's origin."""
        message.origin, message.earlier = origin, earlier
        if message.offset in self._open and not message.is_out:
            self._offer(message.offset)

    # Messages are given out.

    def take_ready(self, origin: str | None = None) -> OpenMessage | None:
        """The oldest message, of this origin or of any, that may be given out now, which is to be given out at once;
        None if there is none."""
        offset = self.first_ready(origin)
        if offset is None:
            return None
        message = self._open[offset]
        heapq.heappop(self._ready[message.origin])
        return message

    def together(self, first: OpenMessage, count_max: int) -> list[OpenMessage]:
        """What may be given out with a message that was taken: those of its lane that follow it, in order. What was
        answered before its turn comes again, too, and the time before does not count as an attempt."""
        if not first.lane:
            return [first]
        given: list[OpenMessage] = []
        for message in (self._open[offset] for offset in self._lanes[first.lane]):
            if len(given) >= count_max and not message.attempts:
                break  # nobody has seen what follows
            if message.is_answered:
                message.is_answered = False
                message.attempts -= 1
            if not message.is_out and len(given) < count_max:
                given.append(message)
        return given

    def give(
        self, message: OpenMessage, due_ms: int, *, holder: Holder | None = None, renewed_until_ms: int = 0
    ) -> None:
        """The message is with a receiver until then."""
        message.attempts += 1
        message.holder = holder
        message.renewed_until_ms = renewed_until_ms
        self._send_out(message, due_ms)

    def _send_out(self, message: OpenMessage, due_ms: int) -> None:
        if message.is_out:
            self._dues.remove(message.due_ms, message.offset)
        elif message.lane:
            self._lanes_out[message.lane] = self._lanes_out.get(message.lane, 0) + 1
        message.is_out = True
        message.serial += 1
        message.due_ms = due_ms
        self._dues.add(due_ms, message.offset)
        self._changed.add(message.offset)

    # Messages come back, or are done.

    def extend(self, message: OpenMessage, due_ms: int) -> None:
        """A message that is out stays so until then, under a new serial: with its receiver, or with nobody."""
        message.holder = None
        self._send_out(message, due_ms)

    def suspend(self, message: OpenMessage, due_ms: int) -> None:
        """As `extend`; and the time that it was out does not count as an attempt."""
        message.attempts -= 1
        self.extend(message, due_ms)

    def acknowledge(self, message: OpenMessage) -> None:
        """Done; in a lane, only when all are that came before it."""
        first = self._open[next(iter(self._lanes[message.lane]))] if message.lane else message
        if first is message:
            self.finish(message)
            return
        message.is_answered = True
        message.serial += 1  # nobody has a receipt for it any more
        self._dues.remove(message.due_ms, message.offset)
        self._be_ready(message)

    def finish(self, message: OpenMessage) -> None:
        """Done for good."""
        self._finish(message)
        lane = self._lanes.get(message.lane)
        while lane and (following := self._open[next(iter(lane))]).is_answered:
            self._finish(following)

    def _finish(self, message: OpenMessage) -> None:
        del self._open[message.offset]
        self._changed.add(message.offset)
        if message.is_out:
            self._dues.remove(message.due_ms, message.offset)
        if message.lane:
            self._leave_lane(message)
        if len(self._order) > 2 * len(self._open) + DONE_MAX:
            self._order = deque(self._open)

    def _leave_lane(self, message: OpenMessage) -> None:
        lane = self._lanes[message.lane]
        del lane[message.offset]
        if not lane:
            del self._lanes[message.lane]
        if message.is_out:
            self._came_back_to_lane(message.lane)
        else:
            self._offer_first_of(message.lane)

    def _came_back_to_lane(self, lane: int) -> None:
        left = self._lanes_out[lane] - 1
        if left:
            self._lanes_out[lane] = left
            return
        del self._lanes_out[lane]
        self._offer_first_of(lane)

    def _offer_first_of(self, lane: int) -> None:
        if lane in self._lanes:
            self._offer(next(iter(self._lanes[lane])))

    def expire(self, now_ms: int) -> int:
        """Let those be ready again whose time is over, but for what is renewed for its holder; how many that were. Of
        very many it is some: the others are as due when it is called again."""
        count = 0
        for offset in self._dues.take(now_ms, EXPIRED_MAX):
            message = self._open[offset]
            if self.is_renewed(message, now_ms):
                message.due_ms = now_ms + self._renewal_ms
                self._dues.add(message.due_ms, offset)
            else:
                self._be_ready(message)
                count += 1
        return count

    def is_renewed(self, message: OpenMessage, now_ms: int) -> bool:
        """Whether it stays with its holder although its time is over."""
        return message.holder is not None and now_ms < message.renewed_until_ms and message.holder.is_alive

    def _be_ready(self, message: OpenMessage) -> None:
        """One that is not due any more."""
        message.is_out = False
        message.due_ms = 0
        message.holder = None
        self._changed.add(message.offset)
        if message.lane:
            self._came_back_to_lane(message.lane)
        else:
            self._offer(message.offset)

    def drop_below(self, start: int) -> int:
        """The log has let go of these: they are done, for want of anything to give; how many were open."""
        before = len(self._open)
        for offset in list(takewhile(lambda each: each < start, self._order)):
            if (message := self._open.get(offset)) is not None:
                self.finish(message)
        self.next = max(self.next, start)
        return before - len(self._open)

    # What outlives the process.

    def take_changes(self) -> bytes:
        """What has changed since this was called last, to be kept."""
        changed, self._changed = self._changed, set()
        return write_change(self.next, sorted(changed), self._open)

    def picture(self) -> Iterator[bytes]:
        """All of it, as changes that are to be kept together. The cursor may go on between two of them: what changes
        meanwhile is among its next changes, too."""
        self._changed.clear()
        next_offset, offsets = self.next, list(self._open)
        for first in range(0, max(len(offsets), 1), PICTURE_STEP):
            yield write_change(next_offset, offsets[first : first + PICTURE_STEP], self._open)

    @classmethod
    def restored(cls, changes: Iterable[bytes], *, renewal_ms: int) -> "Cursor":
        """A cursor from its changes, in the order in which they were kept."""
        next_offset, entries = read_changes(changes)
        cursor = cls(next_offset, renewal_ms=renewal_ms)
        for entry in entries:
            cursor._add(OpenMessage(*entry))
        cursor.is_named = not entries
        return cursor

    # How it is kept.

    def _offer(self, offset: int) -> None:
        heapq.heappush(self._ready.setdefault(self._open[offset].origin, []), offset)

    def _first_of(self, origin: str) -> int | None:
        ready = self._ready.get(origin)
        while ready:
            message = self._open.get(ready[0])
            if message is not None and message.origin == origin and self._may_be_given(message):
                return ready[0]
            heapq.heappop(ready)
        return None

    def _may_be_given(self, message: OpenMessage) -> bool:
        return not message.is_out and self._is_first_of_free_lane(message)

    def _is_first_of_free_lane(self, message: OpenMessage) -> bool:
        lane = message.lane
        return not lane or (lane not in self._lanes_out and next(iter(self._lanes[lane])) == message.offset)
