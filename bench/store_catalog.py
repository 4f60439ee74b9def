"""What the catalog costs: `python bench/store_catalog.py [DATABASE_URL]` (an empty database; a SQLite file by default).

Measured on 2 shared cores, Python 3.11, PostgreSQL 18 on a local socket without fsync:

| | SQLite | PostgreSQL |
|---|---|---|
| create 1,000 topics of 10 partitions, one after the other | 330/s | 120/s |
| the same, all at once | 400-650/s | 150-200/s |
| open a catalog of 20,000 partitions | 100-160 ms | 180-250 ms |
| memory of it | 2.5 MB | 2.8 MB |
| writes, 2,000 at once | 10,000/s | 1,000-1,400/s |
"""

import asyncio
import gc
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable

import sqlalchemy as sa

from braidmq.store import Catalog, Store

TOPICS = 1_000
PARTITIONS = 10
WRITES = 2_000


async def timed(what: str, work: Awaitable[object], count: int = 1) -> None:
    begun = time.perf_counter()
    await work
    took_s = time.perf_counter() - begun
    print(f"{what:<60} {took_s * 1000:9.1f} ms {f'{count / took_s:9.0f}/s' if count > 1 else ''}")


async def one_by_one(catalog: Catalog) -> None:
    for number in range(TOPICS):
        await catalog.create_topic(f"one-{number}", partitions=PARTITIONS)


async def all_at_once(catalog: Catalog) -> None:
    await asyncio.gather(*(catalog.create_topic(f"all-{number}", partitions=PARTITIONS) for number in range(TOPICS)))


def write_little(connection: sa.Connection) -> None:
    connection.execute(sa.text("UPDATE counters SET value = value + 1 WHERE name = 'partition_number'"))


async def main(url: str) -> None:
    store = await Store.open(url)
    catalog = await Catalog.open(store)
    await timed("create 1,000 topics of 10 partitions, one after the other", one_by_one(catalog), TOPICS)
    await timed("the same, all at once", all_at_once(catalog), TOPICS)
    await timed("open a catalog of 20,000 partitions", Catalog.open(store))
    tracemalloc.start()
    opened = await Catalog.open(store)
    gc.collect()
    print(f"{'memory of it':<60} {tracemalloc.get_traced_memory()[0] / 1e6:9.1f} MB")
    tracemalloc.stop()
    assert len(opened.topics()) == 2 * TOPICS
    await timed("writes, 2,000 at once", asyncio.gather(*(store.write(write_little) for _ in range(WRITES))), WRITES)
    await store.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{folder}/store.db"))
