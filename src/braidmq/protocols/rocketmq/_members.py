"""Clients as members of groups: who they are, telling them that their group has changed, striking the silent."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from braidmq.core.members import Member
from braidmq.protocols.rocketmq._call import Call
from braidmq.protocols.rocketmq._connection import Connection
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode

_EXPIRE_S: Final = 10.0


def member_of(call: Call[Any], client_id: str, group: str) -> Member:
    """The client behind this call, in a group."""
    return Member(
        id=client_id,
        group=group,
        address=str(call.connection.peer),
        channel=call.connection,
        language=call.command.language.name,
        version=call.command.version,
    )


def dividers(services: RocketMQServices, group: str) -> list[str]:
    """The members that divide queues among themselves. Those on other wires take messages one by one, and would let
    queues lie that are counted as theirs."""
    members = services.members.consumers(group)
    return [member.id for member in members if isinstance(member.channel, Connection)]


def note_asker(call: Call[Any], client_id: str, group: str) -> None:
    """A producer that waits for a reply can be reached at once: its first heartbeat may come after the reply."""
    members = call.services.members
    if client_id and members.producer_named(client_id) is None:
        members.add_producer(member_of(call, client_id, group))


class MemberNotices:
    """One for each listener."""

    def __init__(self, services: RocketMQServices) -> None:
        self._members = services.members
        self._members.when_changed(self._tell)
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_EXPIRE_S, self._expire)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tell(self, group: str, members: Iterable[Member]) -> None:
        for member in members:
            if isinstance(member.channel, Connection):
                member.channel.tell(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": group})

    def _expire(self) -> None:
        self._members.expire()
        self.start()
