"""Unique ids for messages whose clients gave none."""

import os
import time

from braidmq.protocols.rocketmq.codec.ids import Host, UniqueId, ms_of_month, write_unique_id


class UniqueIds:
    """Ids as RocketMQ's clients make them: of an address, a process, a time and a count."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loader = int.from_bytes(os.urandom(4))
        self._count = 0

    def next(self, host: Host) -> str:
        self._count += 1
        now_ms = time.time_ns() // 1_000_000
        return write_unique_id(UniqueId(host.ip, self._process, self._loader, ms_of_month(now_ms), self._count))
