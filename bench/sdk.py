"""How fast the Python SDK is over HTTP: sends in a second, and messages received and acknowledged in a second.

    python bench/sdk.py URL [--messages 5000]

One process beside a running node (`braid up`), bodies of 200 bytes. `send` waits for each answer, so it measures the
round trip; `send_async` is the rate of the buffer; handlers do nothing.
"""

import argparse
import asyncio
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from braidmq.sdk import AsyncConsumer, AsyncProducer, Consumer, Producer

BODY = "x" * 200


@contextmanager
def timed(what: str, count: int) -> Iterator[None]:
    begun_s = time.perf_counter()
    yield
    print(f"{what:40} {count / (time.perf_counter() - begun_s):>10,.0f} messages/s")


def blocking(url: str, topic: str, count: int) -> None:
    with Producer(url) as producer:
        with timed("blocking send", count // 10):
            for _ in range(count // 10):
                producer.send(topic, BODY)
        with timed("blocking send_async and flush", count):
            for _ in range(count):
                producer.send_async(topic, BODY)
            producer.flush()
        with timed("blocking send_many", count):
            producer.send_many(topic, [BODY] * count)
    left, lock = count, threading.Lock()

    def handle(_: object) -> None:
        nonlocal left
        with lock:
            left -= 1
            if left == 0:
                consumer.stop()

    consumer = Consumer(url, group=f"{topic}-blocking", topics=topic, prefetch=256, with_retries=False)
    with timed("blocking receive and acknowledge, 8", count), consumer:
        consumer.run(handle, concurrency=8)


async def asynchronous(url: str, topic: str, count: int) -> None:
    async with AsyncProducer(url) as producer:
        with timed("async send", count // 10):
            for _ in range(count // 10):
                await producer.send(topic, BODY)
        with timed("async send_async and flush", count):
            for _ in range(count):
                await producer.send_async(topic, BODY)
            await producer.flush()
    left = count

    async def handle(_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            await consumer.stop()

    with timed("async receive and acknowledge, 64", count):
        consumer = AsyncConsumer(url, group=f"{topic}-async", topics=topic, prefetch=256, with_retries=False)
        async with consumer:
            await consumer.run(handle, concurrency=64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--messages", type=int, default=5_000)
    options = parser.parse_args()
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    blocking(options.url, topic, options.messages)
    asyncio.run(asynchronous(options.url, f"{topic}-2", options.messages))


if __name__ == "__main__":
    main()
