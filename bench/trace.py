"""What taking note of messages costs: `./braid bench trace [--rounds N] [--write]`

Two nodes in turn, one without the trace and one with it, do the same work: plain messages, delayed ones that fall due
meanwhile, transactional ones, and groups that read by RocketMQ's protocol and say after each answer how far they are.
That is the most that the trace can have to note of readers: clients say it every five seconds.
"""

import argparse
import asyncio
import itertools
import struct
import tempfile
import time
from pathlib import Path

from deferred import BODY, ROUNDS, WORKS, Work, compared, figure, prepared, settings_for
from msgspec.structs import replace
from report import Figure, print_figures, write_figures

from braidmq.model import Message, Topic
from braidmq.node import Node
from braidmq.protocols.listener import Address, Endpoint
from braidmq.protocols.rocketmq.codec import (
    ONEWAY_FLAG,
    Command,
    RequestCode,
    ResponseCode,
    decode_command,
    encode_command,
)
from braidmq.settings import RocketMQSettings, Settings, TraceSettings

WANTED = 0.9
READERS, PULLS, AT_A_TIME = 16, 100, 32

_groups = itertools.count()


async def _reader(node: Node, topic: Topic, partition: int) -> None:
    """A group of its own, from the start of a partition on."""
    address = node.addresses["rocketmq"][0]
    reader, writer = await asyncio.open_connection(address.host, address.port)
    place = {"consumerGroup": f"readers-{next(_groups)}", "topic": topic.name, "queueId": str(partition)}
    said = {"maxMsgNums": str(AT_A_TIME), "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0"}
    said |= {"subscription": "*", "subVersion": "0", "expressionType": "TAG"}

    def tell(code: RequestCode, fields: dict[str, str], flag: int = 0) -> None:
        writer.write(encode_command(Command(code=code, opaque=1, flag=flag, fields=place | fields)))

    async def ask(code: RequestCode, fields: dict[str, str]) -> Command:
        tell(code, fields)
        (size_bytes,) = struct.unpack(">i", await reader.readexactly(4))
        answer = decode_command(await reader.readexactly(size_bytes))
        if answer.code != ResponseCode.SUCCESS:
            raise RuntimeError(f"{code.name} was refused: {answer.remark}")
        return answer

    offset = "0"
    for _ in range(PULLS):
        offset = (await ask(RequestCode.PULL_MESSAGE, said | {"queueOffset": offset})).fields["nextBeginOffset"]
        tell(RequestCode.UPDATE_CONSUMER_OFFSET, {"commitOffset": offset}, ONEWAY_FLAG)  # as clients do
    await ask(RequestCode.QUERY_CONSUMER_OFFSET, {})
    writer.close()


async def _fill(node: Node, topic: Topic, partition: int) -> None:
    """Enough for every reader, in batches as producers make them."""
    while node.log.bounds(topic.partition_numbers[partition]).end < PULLS * AT_A_TIME:
        await node.publisher.published(topic, [Message.create(BODY, id="read")] * AT_A_TIME, partition=partition)


async def read(node: Node, topic: Topic) -> float:
    """Messages that groups side by side were given and acknowledged, a second."""
    partitions = len(topic.partition_numbers)
    await asyncio.gather(*(_fill(node, topic, partition) for partition in range(partitions)))
    began = time.perf_counter()
    await asyncio.gather(*(_reader(node, topic, nth % partitions) for nth in range(READERS)))
    return READERS * PULLS * AT_A_TIME / (time.perf_counter() - began)


def _works() -> dict[str, Work]:
    return {what: work for what, (work, _) in WORKS.items()} | {"messages pulled and acknowledged": read}


def _settings(folder: Path) -> Settings:
    listening = RocketMQSettings(listen=(Endpoint(Address("127.0.0.1", 0)),), vip="off")
    return replace(settings_for(folder), rocketmq=listening)


async def measure(rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        places = [replace(_settings(Path(folder) / "off"), trace=TraceSettings(events="off"))]
        places.append(_settings(Path(folder) / "on"))
        found = await compared(places, [await prepared(each) for each in places], rounds, "trace", _works())
    return [figure(what, *found[what], WANTED, "with the trace") for what in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    asked = parser.parse_args()
    figures = asyncio.run(measure(asked.rounds))
    print_figures(figures)
    if asked.write:
        write_figures("trace", "With and without the trace", "./braid bench trace --write", figures)


if __name__ == "__main__":
    main()
