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
and none of them while another is out. Messages of lane 0 know no order.
"""

import heapq
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple, Protocol

import msgspec

NO_LANE: Final = 0

_DELTA_DECODER: Final = msgspec.msgpack.Decoder(tuple[int, list[tuple[int, int, int, int, int]], list[tuple[int, int]]])
_encode: Final = msgspec.msgpack.Encoder().encode


class Holder(Protocol):
    """Who was given messages that are renewed for it while it lives."""

    @property
    def is_alive(self) -> bool: ...


class OpenMessage:
    """A message that is not done."""

    __slots__ = ("attempts", "due_ms", "holder", "is_out", "lane", "offset", "renewed_until_ms", "serial")

    def __init__(self, offset: int, lane: int, attempts: int = 0, serial: int = 0, due_ms: int = 0) -> None:
        self.offset = offset
        self.lane = lane
        self.attempts = attempts
        """How often it was given out."""
        self.serial = serial
        self.due_ms = due_ms
        self.is_out = due_ms > 0
        self.holder: Holder | None = None
        self.renewed_until_ms = 0


class Found(NamedTuple):
    """A message that the group wants, and its lane."""

    offset: int
    lane: int = NO_LANE


class Cursor:
    """The state of one group in one partition. Times are the caller's: milliseconds of the day."""

    def __init__(self, next_offset: int, *, renewal_ms: int) -> None:
        self.next = next_offset
        """The first offset that nobody has looked at yet."""
        self._renewal_ms = renewal_ms
        self._open: dict[int, OpenMessage] = {}
        self._order: deque[int] = deque()
        """Open offsets in order; those that are done meanwhile are taken off when they come to the front."""
        self._ready: list[int] = []
        self._due: list[tuple[int, int, int]] = []
        """When what is out is ready again: time, offset, serial. Entries of an older serial mean nothing."""
        self._lanes: dict[int, dict[int, None]] = {}
        """The open offsets of each lane, in order."""
        self._lanes_out: dict[int, int] = {}
        """How many messages of a lane are with receivers."""
        self._changed: set[int] = set()
        self._saved_next = next_offset
        self.redelivered = 0

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
        return sum(message.is_out for message in self._open.values())

    @property
    def has_ready(self) -> bool:
        return self._first_ready() is not None

    @property
    def next_due_ms(self) -> int | None:
        """When something that is out is ready again, if nothing happens before."""
        due = self._due
        while due and not self._is_due_entry(due[0]):
            heapq.heappop(due)
        return due[0][0] if due else None

    def find(self, offset: int) -> OpenMessage | None:
        return self._open.get(offset)

    # Messages come.

    def look(self, until: int, found: Iterable[Found]) -> None:
        """All below `until` was looked at; these are wanted, in order. The others are done."""
        for offset, lane in found:
            self._add(OpenMessage(offset, lane))
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
            heapq.heappush(self._due, (message.due_ms, offset, message.serial))
        else:
            heapq.heappush(self._ready, offset)

    # Messages are given out.

    def take_ready(self) -> OpenMessage | None:
        """The oldest message that may be given out now, which is to be given out at once; None if there is none."""
        offset = self._first_ready()
        if offset is None:
            return None
        heapq.heappop(self._ready)
        return self._open[offset]

    def together(self, first: OpenMessage, count_max: int) -> list[OpenMessage]:
        """What may be given out with a message that was taken: those of its lane that follow it, in order."""
        if not first.lane:
            return [first]
        waiting = (self._open[offset] for offset in self._lanes[first.lane])
        return list(islice((message for message in waiting if not message.is_out), count_max))

    def give(
        self, message: OpenMessage, due_ms: int, *, holder: Holder | None = None, renewed_until_ms: int = 0
    ) -> None:
        """The message is with a receiver until then."""
        if message.attempts:
            self.redelivered += 1
        message.attempts += 1
        message.holder = holder
        message.renewed_until_ms = renewed_until_ms
        self._send_out(message, due_ms)

    def _send_out(self, message: OpenMessage, due_ms: int) -> None:
        if message.lane and not message.is_out:
            self._lanes_out[message.lane] = self._lanes_out.get(message.lane, 0) + 1
        message.is_out = True
        message.serial += 1
        message.due_ms = due_ms
        heapq.heappush(self._due, (due_ms, message.offset, message.serial))
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

    def finish(self, message: OpenMessage) -> None:
        """Done for good."""
        del self._open[message.offset]
        self._changed.add(message.offset)
        if message.lane:
            self._leave_lane(message)

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
            heapq.heappush(self._ready, next(iter(self._lanes[lane])))

    def expire(self, now_ms: int) -> int:
        """Let all be ready again whose time is over, but for what is renewed for its holder; how many that were."""
        count = 0
        due = self._due
        while due and due[0][0] <= now_ms:
            entry = heapq.heappop(due)
            if not self._is_due_entry(entry):
                continue
            message = self._open[entry[1]]
            if self.is_renewed(message, now_ms):
                message.due_ms = now_ms + self._renewal_ms
                heapq.heappush(due, (message.due_ms, message.offset, message.serial))
                continue
            self._be_ready(message)
            count += 1
        return count

    def is_renewed(self, message: OpenMessage, now_ms: int) -> bool:
        """Whether it stays with its holder although its time is over."""
        return message.holder is not None and now_ms < message.renewed_until_ms and message.holder.is_alive

    def _be_ready(self, message: OpenMessage) -> None:
        message.is_out = False
        message.due_ms = 0
        message.holder = None
        self._changed.add(message.offset)
        if message.lane:
            self._came_back_to_lane(message.lane)
        else:
            heapq.heappush(self._ready, message.offset)

    def drop_below(self, start: int) -> int:
        """The log has let go of these: they are done, for want of anything to give; how many were open."""
        gone = [message for offset, message in self._open.items() if offset < start]
        for message in gone:
            self.finish(message)
        self.next = max(self.next, start)
        return len(gone)

    # What outlives the process.

    def take_changes(self) -> bytes:
        """What has changed since this was called last, to be kept."""
        changed, self._changed = self._changed, set()
        self._saved_next = self.next
        return self._delta(sorted(changed))

    def snapshot(self) -> bytes:
        """All of it, as one change."""
        self._changed.clear()
        self._saved_next = self.next
        return self._delta(sorted(self._open))

    def _delta(self, offsets: Iterable[int]) -> bytes:
        kept: list[tuple[int, int, int, int, int]] = []
        gone: list[list[int]] = []
        for offset in offsets:
            message = self._open.get(offset)
            if message is not None:
                kept.append((offset, message.lane, message.attempts, message.serial, message.due_ms))
            elif gone and gone[-1][1] == offset:
                gone[-1][1] = offset + 1
            else:
                gone.append([offset, offset + 1])
        return _encode((self.next, kept, gone))

    @classmethod
    def restored(cls, changes: Iterable[bytes], *, renewal_ms: int) -> "Cursor":
        """A cursor from its changes, in the order in which they were kept."""
        messages: dict[int, tuple[int, int, int, int, int]] = {}
        next_offset = 0
        for change in changes:
            next_offset, kept, gone = _DELTA_DECODER.decode(change)
            for first, until in gone:
                for offset in range(first, until):
                    messages.pop(offset, None)
            messages.update((entry[0], entry) for entry in kept)
        cursor = cls(next_offset, renewal_ms=renewal_ms)
        for offset, lane, attempts, serial, due_ms in sorted(messages.values()):
            cursor._add(OpenMessage(offset, lane, attempts, serial, due_ms))
        return cursor

    # How it is kept.

    def _first_ready(self) -> int | None:
        ready = self._ready
        while ready:
            message = self._open.get(ready[0])
            if message is not None and not message.is_out and self._is_first_of_free_lane(message):
                return ready[0]
            heapq.heappop(ready)
        return None

    def _is_first_of_free_lane(self, message: OpenMessage) -> bool:
        lane = message.lane
        return not lane or (lane not in self._lanes_out and next(iter(self._lanes[lane])) == message.offset)

    def _is_due_entry(self, entry: tuple[int, int, int]) -> bool:
        message = self._open.get(entry[1])
        return message is not None and message.is_out and (message.serial, message.due_ms) == (entry[2], entry[0])
