"""Fetch sessions: what a consumer reads from, remembered between its fetches, so that a fetch and its answer only name
what has changed.

A session is made when a client asks for one, and ends when the client says so or when too many newer ones were made: a
client that names a session which is gone makes a new one.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable

from braidmq.protocols.kafka.codec import ErrorCode, Uuid

SESSIONS_MAX = 10_000
FINAL_EPOCH = -1
INITIAL_EPOCH = 0

PartitionKey = tuple[str, Uuid, int]
"""Topic name, topic id (one of the two is empty) and partition index."""


class Interest:
    """One partition that a client reads from, and what it was last told of it."""

    __slots__ = ("bytes_max", "index", "leader_epoch", "offset", "told_end", "told_start", "topic", "topic_id")

    def __init__(self, topic: str, topic_id: Uuid, index: int, offset: int, bytes_max: int, leader_epoch: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.offset = offset
        self.bytes_max = bytes_max
        self.leader_epoch = leader_epoch
        self.told_end = -1
        self.told_start = -1

    @property
    def key(self) -> PartitionKey:
        return self.topic, self.topic_id, self.index


class FetchSession:
    """All that one client reads from, in the order in which it is served."""

    __slots__ = ("epoch", "id", "interests")

    def __init__(self, id: int) -> None:
        self.id = id
        self.epoch = 1
        self.interests: OrderedDict[PartitionKey, Interest] = OrderedDict()

    def update(self, interest: Interest) -> None:
        """Take a partition's new position; it keeps its turn and what its client was told."""
        known = self.interests.get(interest.key)
        if known is None:
            self.interests[interest.key] = interest
            return
        known.offset = interest.offset
        known.bytes_max = interest.bytes_max
        known.leader_epoch = interest.leader_epoch

    def served(self, interest: Interest) -> None:
        """Who got data goes to the end of the line."""
        if interest.key in self.interests:
            self.interests.move_to_end(interest.key)


class FetchSessions:
    """The sessions of one listener."""

    def __init__(self, draw: Callable[[], int] = lambda: 1 + secrets.randbelow((1 << 31) - 1)) -> None:
        self._draw = draw
        self._by_id: OrderedDict[int, FetchSession] = OrderedDict()

    def open(self) -> FetchSession:
        while len(self._by_id) >= SESSIONS_MAX:
            self._by_id.popitem(last=False)
        session_id = self._draw()
        while session_id in self._by_id:
            session_id = self._draw()
        session = self._by_id[session_id] = FetchSession(session_id)
        return session

    def resume(self, session_id: int, epoch: int) -> FetchSession | ErrorCode:
        """The session, one step further; or why not."""
        session = self._by_id.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if epoch != session.epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        session.epoch = 1 if session.epoch == (1 << 31) - 1 else session.epoch + 1
        self._by_id.move_to_end(session_id)
        return session

    def close(self, session_id: int) -> None:
        self._by_id.pop(session_id, None)

    def __len__(self) -> int:
        return len(self._by_id)
