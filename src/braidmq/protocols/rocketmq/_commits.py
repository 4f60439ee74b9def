"""How far a group has come, as its members say."""

from typing import Any

from braidmq.log import GroupOffset
from braidmq.model.errors import OffsetOutOfRange
from braidmq.protocols.rocketmq._call import Call


async def commit_offset(call: Call[Any], group: str, number: int, offset: int) -> None:
    """Keep a member's word, unless it does not know yet that an operator has set the group elsewhere, or another member
    holds the queue. Raises OffsetOutOfRange, and what `Groups.commit` raises."""
    services = call.services
    if offset < 0:
        raise OffsetOutOfRange(f"offset {offset} is below 0")
    if services.resets.ignores(group, number, offset):
        return
    holder = services.locks.holder(group, number)
    if holder is not None and call.connection.client_id and holder != call.connection.client_id:
        return
    await services.groups.commit(group, None, {number: GroupOffset(offset)}, client=call.connection.client_id)
