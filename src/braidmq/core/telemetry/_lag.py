"""How far groups are behind, for the samples of every ten seconds: only what has changed, and now and then what has not
while a group is behind. So quiet partitions cost a look, and no message.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from braidmq.log import Log
from braidmq.model import BraidError, Partition, Topic
from braidmq.model.names import OWN_TOPIC_PREFIX

AGAIN_TURNS: Final = 60
"""After how many turns a group that is behind is told of although nothing has moved."""
LOOKS: Final = 500
"""How many partitions are looked at before others have their turn."""


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def partition_by_number(self, number: int) -> Partition | None: ...

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...


class Lag(NamedTuple):
    """How far one group has come in one partition."""

    group: str
    topic: Topic
    partition: int
    start: int
    committed: int
    end: int
    members: int


Seen = tuple[int, int, int, int]
"""Start, committed, end, and members of the group."""


class LagSampler:
    """Looks at all groups that have committed something."""

    def __init__(self, catalog: Catalog, log: Log, members_of: Callable[[str], int]) -> None:
        self._catalog = catalog
        self._log = log
        self._members_of = members_of
        self._seen: dict[tuple[str, int], Seen] = {}
        self._looked: dict[tuple[str, int], Seen] = {}
        self._turn = 0

    @property
    def seen(self) -> Mapping[tuple[str, int], Seen]:
        """How every group stood in every partition when it was last looked at."""
        return self._looked

    async def look(self) -> None:
        """Look at all groups without telling of any: what is worth telling stays so."""
        looked: dict[tuple[str, int], Seen] = {}
        looks = 0
        for group in list(self._log.groups_with_offsets()):
            members = self._members_of(group)
            for number, committed in list(self._log.fetch_offsets(group).items()):
                if (looks := looks + 1) % LOOKS == 0:
                    await asyncio.sleep(0)
                now = self._now(number, committed.offset, members)
                if now is not None and self._place(number) is not None:
                    looked[group, number] = now
        self._looked = looked

    async def sample(self) -> AsyncIterator[Lag]:
        """What is worth telling now."""
        self._turn += 1
        seen: dict[tuple[str, int], Seen] = {}
        looks = 0
        for group in list(self._log.groups_with_offsets()):
            members = self._members_of(group)
            for number, committed in list(self._log.fetch_offsets(group).items()):
                if (looks := looks + 1) % LOOKS == 0:
                    await asyncio.sleep(0)
                now = self._now(number, committed.offset, members)
                if now is None:
                    continue
                before = self._seen.get((group, number))
                is_due = self._turn % AGAIN_TURNS == 0 and now[2] > now[1]
                if before == now and not is_due:
                    seen[group, number] = now
                elif (place := self._place(number)) is not None:
                    seen[group, number] = now
                    yield Lag(group, *place, *now)
        self._seen = self._looked = seen

    def _now(self, number: int, committed: int, members: int) -> Seen | None:
        try:
            bounds = self._log.bounds(number)
        except BraidError:
            return None  # it went away meanwhile
        return bounds.start, committed, bounds.end, members

    def _place(self, number: int) -> tuple[Topic, int] | None:
        partition = self._catalog.partition_by_number(number)
        topic = None if partition is None else self._catalog.topic_by_id(partition.topic_id)
        if partition is None or topic is None or topic.deleting or topic.name.startswith(OWN_TOPIC_PREFIX):
            return None
        return topic, partition.index
