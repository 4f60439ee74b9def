"""The outbox inside the transactions of an async SQLAlchemy engine, on PostgreSQL."""

from collections.abc import AsyncIterator

import pytest_asyncio
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from braidmq.sdk import Admin, AsyncConsumer, AsyncOutbox, AsyncOutboxRelay, AsyncProducer
from braidmq.testing import MemoryBroker


@pytest_asyncio.fixture
async def engine(postgres_url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(postgres_url.replace("postgresql://", "postgresql+asyncpg://"))
    yield engine
    await engine.dispose()


async def test_messages_go_out_with_the_transactions_of_an_async_engine_and_only_then(engine: AsyncEngine) -> None:
    broker, outbox = MemoryBroker(), AsyncOutbox()
    with Admin(broker) as admin:
        admin.create_topic("orders", partitions=1)
    async with engine.begin() as connection:
        await outbox.create_table(connection)
        await outbox.add(connection, "orders", "of a connection")
    async with AsyncSession(engine) as session:
        await outbox.add(session, "orders", "of a session")
        await session.commit()
        await outbox.add(session, "orders", "rolled back")
        await session.rollback()
    async with AsyncProducer(broker) as producer:
        assert await AsyncOutboxRelay(engine.connect, producer).run_once() == 2
    async with AsyncConsumer(broker, group="readers", topics="orders", wait_s=0.2) as consumer:
        messages = await consumer.receive("orders")
        assert [message.text for message in messages] == ["of a connection", "of a session"]
        await consumer.acknowledge(messages)
    async with engine.connect() as connection:
        assert await outbox.parked(connection) == []
