"""How far groups have come, as their members say.

Members do not wait until their word is kept, and may ask at once how far their group has come, on another connection
even: whoever asks waits for what was said before.
"""

import asyncio
from typing import Any

from braidmq.log import GroupOffset
from braidmq.model.errors import OffsetOutOfRange
from braidmq.model.names import check_group_name
from braidmq.protocols.rocketmq._call import Call

_Place = tuple[str, int]


class Commits:
    """The commits that are under way."""

    def __init__(self) -> None:
        self._latest: dict[_Place, asyncio.Future[None]] = {}

    async def settled(self, group: str, number: int) -> None:
        """When all that was said of this group and partition before is kept, or refused."""
        if (latest := self._latest.get((group, number))) is not None:
            await asyncio.wait((latest,))

    async def commit(self, call: Call[Any], group: str, number: int, offset: int) -> None:
        """Keep a member's word, unless it does not know yet that an operator has set the group elsewhere, or another
        member holds the queue. Raises InvalidName, OffsetOutOfRange, and what `Groups.commit` raises."""
        services, client_id = call.services, call.connection.client_id
        check_group_name(group)
        if offset < 0:
            raise OffsetOutOfRange(f"offset {offset} is below 0")
        holder = services.locks.holder(group, number)
        if services.resets.ignores(group, number, offset) or (client_id and holder not in (None, client_id)):
            return
        done = self._begin((group, number))
        try:
            await services.groups.commit(group, None, {number: GroupOffset(offset)}, client=client_id)
        finally:
            self._end((group, number), done)

    def _begin(self, place: _Place) -> "asyncio.Future[None]":
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._latest[place] = done
        return done

    def _end(self, place: _Place, done: "asyncio.Future[None]") -> None:
        done.set_result(None)
        if self._latest.get(place) is done:
            del self._latest[place]
