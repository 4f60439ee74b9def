"""How many partitions may be made and deleted, where a quota says so (KIP-599).

Newer clients are refused, and told when to come again; the others get what they asked for, and rest afterwards.
"""

from typing import Any

from braidmq.model.limits import Limit
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import QuotaExceeded


class ChangedPartitions:
    """What one request changes. `strict_since` is the version from which on clients can be refused."""

    __slots__ = ("_call", "_is_strict", "wait_ms")

    def __init__(self, call: Call[Any], *, strict_since: int) -> None:
        self._call = call
        self._is_strict = call.version >= strict_since
        self.wait_ms = 0
        """For how long the client is to rest; for the answer."""

    def take(self, partitions: int) -> None:
        """Change so many. Raises QuotaExceeded before anything is."""
        quotas = self._call.services.quotas
        if not quotas.on:
            return
        use = quotas.use_if_free if self._is_strict else quotas.use
        wait_ms = use(Limit.CHANGED_PARTITIONS, self._call.client.user, self._call.client_id, partitions)
        self.wait_ms = max(self.wait_ms, round(wait_ms))
        if wait_ms and self._is_strict:
            raise QuotaExceeded("The throttling quota has been exceeded.")
