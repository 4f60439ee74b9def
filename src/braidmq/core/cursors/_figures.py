"""What operators see of groups that take messages one by one: what was done since the node began, and what is left."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from braidmq.core.cursors._keeping import Kept, Owner, Place
from braidmq.core.lookup import batch_time_at, time_at
from braidmq.core.metrics import Metric, MetricKind
from braidmq.log import Log
from braidmq.model import BraidError
from braidmq.model.errors import UnknownPartition

LOOKS_MAX: Final = 1_000
"""In how many partitions one reading of the metrics looks at the oldest message: nobody else is served meanwhile."""
READ_MAX: Final = 500
"""In how many partitions the oldest message is read from the disk at a time."""

COUNTERS: Final = {
    "delivered": "Messages that were given to receivers.",
    "redelivered": "Messages that were given to receivers again.",
    "acknowledged": "Messages that receivers have acknowledged.",
    "buried": "Messages that went to dead letters after their last attempt, or at a receiver's word.",
    "lost": "Messages that the log let go of before their group had done them.",
}
_LEFT: Final = {
    "lag": "Messages that the group has not done, those that nobody has looked at among them.",
    "open": "Messages that the group has looked at and not done.",
    "out": "Messages that are with receivers, or wait for the end of a delay.",
    "oldest_seconds": "The age of the oldest message that the group has not done.",
}


class Tally:
    """What was done for each group on this node, since it began."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[Owner]] = {name: Counter() for name in COUNTERS}
        self.delivered = self._counts["delivered"]
        self.redelivered = self._counts["redelivered"]
        self.acknowledged = self._counts["acknowledged"]
        self.buried = self._counts["buried"]
        self.lost = self._counts["lost"]

    def forget(self, owner: Owner) -> None:
        """The group is gone."""
        for counts in self._counts.values():
            counts.pop(owner, None)

    def metrics(self) -> Iterator[Metric]:
        """A counter for each group that was served."""
        for name, text in COUNTERS.items():
            for owner, count in self._counts[name].items():
                yield Metric(f"braid_cursors_{name}", MetricKind.COUNTER, text, count, _labels(owner))


class _Left:
    """What a group has left to do."""

    __slots__ = ("lag", "oldest_seconds", "open", "out")

    def __init__(self) -> None:
        self.lag = self.open = self.out = 0
        self.oldest_seconds = 0.0


class Remains:
    """What groups have left to do. Where the age of a message has to come from the disk it is read beside, and told
    from the next time on; until then counts what was the oldest when it was read last."""

    def __init__(self, log: Log, kept: Mapping[Place, Kept]) -> None:
        self._log = log
        self._kept = kept
        self._times: dict[Place, tuple[int, int]] = {}
        """The oldest message that was not done, and its time."""
        self._reading: asyncio.Task[None] | None = None
        self._looks_left = 0

    async def close(self) -> None:
        """Read nothing any more."""
        if (reading := self._reading) is not None:
            reading.cancel()
            await asyncio.wait([reading])

    def metrics(self, now_ms: int) -> Iterator[Metric]:
        """For each group, over all partitions in which it takes messages one by one."""
        groups: dict[Owner, _Left] = {}
        wanted: list[Place] = []
        self._looks_left = LOOKS_MAX
        for place, kept in self._kept.items():
            try:
                lag = lag_of(self._log, place.number, kept)
            except UnknownPartition:
                continue  # its topic is on its way out
            left = groups.setdefault(kept.owner, _Left())
            left.lag += lag
            left.open += kept.cursor.open_count
            left.out += kept.cursor.out_count
            if not lag:
                self._times.pop(place, None)
            elif (at_ms := self._time_at(place, kept.cursor.floor, wanted)) is not None:
                left.oldest_seconds = max(left.oldest_seconds, (now_ms - at_ms) / 1000)
        if wanted and self._reading is None:
            self._reading = asyncio.create_task(self._read(wanted))
        for name, text in _LEFT.items():
            for owner, left in groups.items():
                yield Metric(f"braid_cursors_{name}", MetricKind.GAUGE, text, getattr(left, name), _labels(owner))

    def _time_at(self, place: Place, floor: int, wanted: list[Place]) -> int | None:
        offset, at_ms = self._times.get(place, (None, None))
        if offset == floor:
            return at_ms
        if self._looks_left:
            self._looks_left -= 1
            now_at_ms = batch_time_at(self._log, place.number, floor)
            if now_at_ms is not None:
                self._times[place] = floor, now_at_ms
                return now_at_ms
        if len(wanted) < READ_MAX:
            wanted.append(place)
        return at_ms

    async def _read(self, places: Iterable[Place]) -> None:
        try:
            for place in places:
                if (kept := self._kept.get(place)) is None:
                    continue
                floor = kept.cursor.floor
                with suppress(BraidError):  # what cannot be read is told by the log, and waits all the same
                    if (at_ms := await time_at(self._log, place.number, floor)) is not None:
                        self._times[place] = floor, at_ms
            for gone in self._times.keys() - self._kept.keys():
                del self._times[gone]
        finally:
            self._reading = None


def _labels(owner: Owner) -> dict[str, str]:
    """Prometheus calls what it asks an instance, so ours is named in full."""
    instance, group = owner
    return {"group": group, "braid_instance": instance}


def lag_of(log: Log, number: int, kept: Kept) -> int:
    """How many messages of the partition are not done; see `CursorView.lag`."""
    return kept.cursor.open_count + max(log.bounds(number).stable - kept.cursor.next, 0)
