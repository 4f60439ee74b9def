"""What a cluster knows and shows to nobody."""

import os

import sqlalchemy as sa

from braidmq.store import _tables as tables
from braidmq.store._store import Store


async def cluster_secret(store: Store, name: str, size_bytes: int) -> bytes:
    """What was drawn under this name once, by whichever node was first. Raises StoreFailed."""
    table = tables.secrets

    def work(connection: sa.Connection) -> bytes:
        kept = connection.execute(sa.select(table.c.content).where(table.c.name == name)).scalar_one_or_none()
        if kept is None:
            kept = os.urandom(size_bytes)
            connection.execute(sa.insert(table), {"name": name, "content": kept})
        return bytes(kept)

    return await store.write(work)
