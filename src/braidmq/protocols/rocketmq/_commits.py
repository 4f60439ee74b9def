"""How far groups have come, as their members say.

Members do not wait until their word is kept, and may ask at once how far their group has come, on another connection
even: whoever asks waits for what was said before. What a member says by the way, with every pull, is kept together a
moment later, the last word for each partition: after a crash the group comes to those messages again, as it does to
all that it had not committed.
"""

import asyncio
from typing import Final, NamedTuple

from braidmq.log import GroupOffset
from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.model.errors import OffsetOutOfRange, PartitionTaken
from braidmq.model.names import check_group_name
from braidmq.protocols.rocketmq._services import RocketMQServices

KEEP_AFTER_S: Final = 0.5
GIVEN_MAX: Final = 50_000
"""Of so many groups and partitions it is known how far members were given them."""

_logger = get_logger(__name__)


class _Place(NamedTuple):
    group: str
    number: int


class _Word(NamedTuple):
    services: RocketMQServices
    client_id: str
    offset: int


class Commits:
    """The commits that are under way, and those that were noted and are not kept yet; and how far members were given
    partitions, of which they will speak later."""

    def __init__(self) -> None:
        self._latest: dict[_Place, asyncio.Future[None]] = {}
        self._noted: dict[_Place, _Word] = {}
        self._given: dict[tuple[str, int], int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def settled(self, group: str, number: int) -> None:
        """When all that was said of this group and partition before is kept, or refused."""
        place = _Place(group, number)
        if place in self._noted:
            await self._keep(place)
        if (latest := self._latest.get(place)) is not None:
            await asyncio.wait((latest,))

    async def commit(self, services: RocketMQServices, client_id: str, group: str, number: int, offset: int) -> None:
        """Keep a member's word, unless it does not know yet that an operator has set the group elsewhere. Raises
        InvalidName, OffsetOutOfRange, PartitionTaken, and what `Groups.commit` raises."""
        check_group_name(group)
        if offset < 0:
            raise OffsetOutOfRange(f"offset {offset} is below 0")
        place = _Place(group, number)
        self._noted.pop(place, None)
        if services.resets.ignores(group, number, offset):
            return
        if client_id and not services.locks.speaks(group, number, client_id):
            raise PartitionTaken(_taken(services, client_id, group, number))
        done = self._begin(place)
        try:
            await services.groups.commit(group, None, {number: GroupOffset(offset)}, client=client_id)
        finally:
            self._end(place, done)

    def note(self, services: RocketMQServices, client_id: str, group: str, number: int, offset: int) -> None:
        """The same, a moment later, for a word that nobody waits for. Such a word moves no group back: a client may
        have said something newer while it was on its way. Hot path."""
        known = services.groups.offsets(group).get(number)
        if known is not None and known.offset >= offset:
            return
        self._noted[_Place(group, number)] = _Word(services, client_id, offset)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEEP_AFTER_S, self._keep_noted)

    def gave(self, group: str, number: int, next_offset: int) -> None:
        """A member was given what lies before this offset. Hot path."""
        given = self._given
        given[group, number] = next_offset
        if len(given) > GIVEN_MAX:
            del given[next(iter(given))]

    def given(self, group: str, number: int, committed: int) -> int:
        """How far members of the group were given a partition since the start; no less than what is committed."""
        return max(committed, self._given.get((group, number), 0))

    async def close(self) -> None:
        """Keep what was noted."""
        if self._timer is not None:
            self._timer.cancel()
            self._keep_noted()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _keep_noted(self) -> None:
        self._timer = None
        for place in list(self._noted):
            task = asyncio.create_task(self._keep(place))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _keep(self, place: _Place) -> None:
        word = self._noted.pop(place, None)
        if word is None:
            return
        try:
            await self.commit(word.services, word.client_id, place.group, place.number, word.offset)
        except PartitionTaken:
            pass  # said with a pull: the member learns it when it asks for its lock again
        except BraidError as error:
            _logger.info("how far a group has come was not kept", group=place.group, reason=error.message)

    def _begin(self, place: _Place) -> "asyncio.Future[None]":
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._latest[place] = done
        return done

    def _end(self, place: _Place, done: "asyncio.Future[None]") -> None:
        done.set_result(None)
        if self._latest.get(place) is done:
            del self._latest[place]


def _taken(services: RocketMQServices, client_id: str, group: str, number: int) -> str:
    partition = services.catalog.partition_by_number(number)
    topic = None if partition is None else services.catalog.topic_by_id(partition.topic_id)
    queue = f"partition number {number}"
    if partition is not None and topic is not None:
        queue = f"queue {partition.index} of {topic.name}"
    if (holder := services.locks.holder(group, number)) is not None:
        return f"member {holder} of group {group} works on {queue}: only what it says counts"
    return (
        f"another member of group {group} had {queue} after {client_id}, which has to lock it again before it may speak"
    )
