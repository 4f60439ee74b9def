"""Producer ids: given out from blocks, so that most producers need not wait for the database."""

import asyncio
from typing import Protocol

BLOCK = 1000


class IdSource(Protocol):
    """Where the blocks come from; ids that were taken are never given again."""

    async def take_producer_ids(self, count: int) -> range: ...


class ProducerIds:
    """Never gives an id twice: a block is taken for good before its first id leaves, so that a stop only wastes ids."""

    def __init__(self, source: IdSource) -> None:
        self._source = source
        self._left = iter(range(0))
        self._taking = asyncio.Lock()

    async def next(self) -> int:
        """Raises StoreFailed."""
        if (given := next(self._left, None)) is not None:
            return given
        async with self._taking:
            while (given := next(self._left, None)) is None:
                self._left = iter(await self._source.take_producer_ids(BLOCK))
        return given
