"""What `braid bench` measures of a running node: how many messages a second, and how long each takes.

All that is sent and read goes through one of the peers, so that protocols are compared by the same clock.
"""

import asyncio
import statistics
import struct
import time
from collections.abc import Iterator
from typing import Any, Final

from braidmq.cli._api import Api, path_of
from braidmq.cli._errors import NodeRefused
from braidmq.cli._peers import Peer, Sending, connect
from braidmq.cli._progress import Advance
from braidmq.model.errors import InvalidSetting

TOPIC: Final = "braid-bench"
QUIET_S: Final = 20.0
"""So long nothing may come before a reader gives up."""
_STAMP: Final = struct.Struct(">qd")


class Load:
    """What is to be done, by the options of a bench."""

    def __init__(self, *, protocol: str, topic: str, partitions: int, messages: int, size_bytes: int) -> None:
        self.protocol = protocol
        self.topic = topic
        self.partitions = partitions
        self.messages = messages
        self.size_bytes = size_bytes

    def make_topic(self, api: Api, instance: str) -> None:
        """The topic as it is, or a new one. Raises what the node answers."""
        try:
            body = {"name": self.topic, "partitions": self.partitions}
            found = api.post(path_of("topics"), body, instance=instance)
        except NodeRefused as error:
            if error.problem != "already_exists":
                raise
            found = api.get(path_of("topics", self.topic), instance=instance)
        self.partitions = found["partitions"]


async def produce(
    api: Api, instance: str, load: Load, *, batch: int, in_flight: int, advance: Advance
) -> dict[str, Any]:
    """So many senders, each with one batch under way."""
    peer = await connect(load.protocol, api, instance)
    body = bytes(load.size_bytes)
    took_ms: list[float] = []
    shares = _shares(load.messages, batch)

    async def sender() -> None:
        for count in shares:
            begun = time.perf_counter()
            await peer.send(load.topic, [Sending(body)] * count)
            took_ms.append((time.perf_counter() - begun) * 1000)
            advance(min(len(took_ms) * batch, load.messages), load.messages)

    try:
        await peer.send(load.topic, [Sending(body)])  # what connecting costs is not what is measured
        begun = time.perf_counter()
        await asyncio.gather(*(sender() for _ in range(in_flight)))
        elapsed_s = time.perf_counter() - begun
    finally:
        await peer.close()
    return (
        _result("produce", load, load.messages, elapsed_s) | {"batch": batch, "in_flight": in_flight} | _spread(took_ms)
    )


def _shares(total: int, size: int) -> Iterator[int]:
    while total > 0:
        yield min(total, size)
        total -= size


async def consume(api: Api, instance: str, load: Load, *, advance: Advance) -> dict[str, Any]:
    """From the beginning, until so many have come. Raises InvalidSetting where there are not so many."""
    peer = await connect(load.protocol, api, instance)
    seen, size, begun = 0, 0, time.perf_counter()
    heard = begun
    try:
        async for bodies in peer.read(load.topic, load.partitions, earliest=True):
            seen, size = seen + len(bodies), size + sum(map(len, bodies))
            advance(min(seen, load.messages), load.messages)
            now = time.perf_counter()
            heard = now if bodies else heard
            if seen >= load.messages:
                break
            if now - heard > QUIET_S or (not bodies and seen and now - heard > 2):
                raise InvalidSetting(
                    f"{load.topic} has {seen} messages, not {load.messages}; "
                    f"first: braid bench produce --topic {load.topic}"
                )
    finally:
        await peer.close()
    return _result("consume", load, seen, time.perf_counter() - begun) | {"bytes": size}


async def latency(api: Api, instance: str, load: Load, *, rate: float, advance: Advance) -> dict[str, Any]:
    """From before the send to after the receipt, one message after the other at an even pace."""
    peers = await connect(load.protocol, api, instance), await connect(load.protocol, api, instance)
    took_ms: list[float] = []
    reads = asyncio.Event()
    mark = time.time_ns()
    reader = asyncio.create_task(_receive_all(peers[1], load, mark, took_ms, reads, advance))
    try:
        await _first(reads, reader)
        begun = time.perf_counter()
        for number in range(load.messages):
            await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
            stamp = _STAMP.pack(mark, time.perf_counter())
            await peers[0].send(load.topic, [Sending(stamp + bytes(max(0, load.size_bytes - len(stamp))))])
        async with asyncio.timeout(QUIET_S):
            await reader
        elapsed_s = time.perf_counter() - begun
    finally:
        reader.cancel()
        await asyncio.wait((reader,))
        for peer in peers:
            await peer.close()
    return _result("latency", load, load.messages, elapsed_s) | {"rate_asked": rate} | _spread(took_ms)


async def _first(reads: asyncio.Event, reader: "asyncio.Task[None]") -> None:
    """Until the reader reads; what ends it before is raised."""
    waiting = asyncio.create_task(reads.wait())
    await asyncio.wait((waiting, reader), return_when=asyncio.FIRST_COMPLETED)
    if reader.done():
        waiting.cancel()
        reader.result()


async def _receive_all(
    peer: Peer, load: Load, mark: int, took_ms: list[float], reads: asyncio.Event, advance: Advance
) -> None:
    async for bodies in peer.read(load.topic, load.partitions, earliest=False):
        reads.set()
        now = time.perf_counter()
        stamps = (_STAMP.unpack_from(body) for body in bodies if len(body) >= _STAMP.size)
        took_ms += [(now - sent) * 1000 for whose, sent in stamps if whose == mark]
        advance(len(took_ms), load.messages)
        if len(took_ms) >= load.messages:
            return


def _result(what: str, load: Load, messages: int, elapsed_s: float) -> dict[str, Any]:
    return {
        "bench": what,
        "protocol": load.protocol,
        "topic": load.topic,
        "partitions": load.partitions,
        "messages": messages,
        "size_bytes": load.size_bytes,
        "elapsed_s": round(elapsed_s, 3),
        "messages_per_s": round(messages / elapsed_s, 1),
        "mib_per_s": round(messages * load.size_bytes / elapsed_s / (1 << 20), 2),
    }


def _spread(took_ms: list[float]) -> dict[str, Any]:
    """Percentiles, in milliseconds."""
    if len(took_ms) == 1:
        took_ms = took_ms * 2
    cuts = statistics.quantiles(took_ms, n=1000, method="inclusive")
    named = {
        "p50_ms": cuts[499],
        "p90_ms": cuts[899],
        "p99_ms": cuts[989],
        "p999_ms": cuts[998],
        "max_ms": max(took_ms),
    }
    return {name: round(value, 3) for name, value in named.items()}
