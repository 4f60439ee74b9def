"""Telling consumers that their group has changed, and striking those that are silent."""

import asyncio
from collections.abc import Iterable
from typing import Final

from braidmq.core.members import Member
from braidmq.protocols.rocketmq._connection import Connection
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode

_EXPIRE_S: Final = 10.0


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
