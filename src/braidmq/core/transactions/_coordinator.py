"""The transaction coordinator."""

from braidmq.core.transactions._ids import ProducerIds
from braidmq.store import TransactionRows


class Transactions:
    """All producers that this node knows by name."""

    def __init__(self, rows: TransactionRows) -> None:
        self._rows = rows
        self._ids = ProducerIds(rows)

    async def new_producer_id(self) -> int:
        """An id for a producer without a name. Raises StoreFailed."""
        return await self._ids.next()
