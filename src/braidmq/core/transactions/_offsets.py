"""What transactions need of groups: offsets that count only when the transaction does."""

from collections.abc import Mapping
from typing import Protocol

from braidmq.core.groups import MemberIdentity
from braidmq.log import GroupOffset


class PendingOffsets(Protocol):
    """Group offsets inside of transactions, by the producer that sends them."""

    async def commit_in_transaction(
        self, group: str, producer_id: int, member: MemberIdentity | None, offsets: Mapping[int, GroupOffset]
    ) -> None:
        """Keep the offsets, durably, until the producer's transaction ends. Raises what a plain commit does."""
        ...

    async def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """Make all that the producer's transaction holds count, or forget it. Doing it again changes nothing."""
        ...
