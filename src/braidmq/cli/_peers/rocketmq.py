"""RocketMQ's remoting protocol, by the codec of the house: sends and pulls over one connection."""

import asyncio
import contextlib
import itertools
import struct
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from braidmq.cli._errors import NodeRefused, Unreachable
from braidmq.cli._peers import Sending
from braidmq.protocols.rocketmq.codec import (
    RESPONSE_FLAG,
    Command,
    RequestCode,
    ResponseCode,
    decode_body,
    decode_command,
    encode_command,
)
from braidmq.protocols.rocketmq.codec.bodies import TopicRouteData
from braidmq.protocols.rocketmq.codec.messages import decode_messages, write_properties

LIMIT_S: Final = 60.0
PULL_MAX: Final = 512
GROUP: Final = "braid-cli"
_NOTHING_THERE: Final = frozenset({ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY})


class RocketPeer:
    """Answers come in any order; each finds its request by number."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._turns = itertools.count()
        self._asked: dict[int, asyncio.Future[Command]] = {}
        self._queues: dict[str, int] = {}
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def connect(cls, place: str) -> "RocketPeer":
        host, _, port = place.rpartition(":")
        try:
            return cls(*await asyncio.open_connection(host.strip("[]"), int(port)))
        except OSError as error:
            raise Unreachable(f"no RocketMQ broker answers at {place}: {error.strerror}") from error

    async def send(self, topic: str, messages: Sequence[Sending]) -> None:
        """All at once, each with its own answer."""
        await asyncio.gather(*(self._send(topic, each) for each in messages))

    async def read(self, topic: str, partitions: int, *, earliest: bool) -> AsyncIterator[list[bytes]]:
        """Queue by queue; waits where there is only one."""
        code = RequestCode.GET_MIN_OFFSET if earliest else RequestCode.GET_MAX_OFFSET
        offsets = {}
        for queue in range(partitions):
            answer = await self._ask(code, {"topic": topic, "queueId": queue})
            offsets[queue] = int(answer.fields["offset"])
        yield []
        while True:
            for queue in range(partitions):
                answer = await self._pull(topic, queue, offsets[queue], wait_ms=5000 if partitions == 1 else 0)
                offsets[queue] = int(answer.fields.get("nextBeginOffset", offsets[queue]))
                found = answer.code == ResponseCode.SUCCESS
                yield [each.body for each in decode_messages(answer.body)] if found else []

    async def close(self) -> None:
        self._writer.close()
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await self._listening

    async def _send(self, topic: str, message: Sending) -> None:
        said = dict(message.headers) | ({"TAGS": message.tag} if message.tag else {})
        if message.key:
            said["KEYS"] = message.key
        queues = await self._queues_of(topic)
        fields = {
            "producerGroup": GROUP,
            "topic": topic,
            "defaultTopic": "TBW102",
            "defaultTopicQueueNums": 4,
            "queueId": next(self._turns) % queues,
            "sysFlag": 0,
            "bornTimestamp": time.time_ns() // 1_000_000,
            "flag": 0,
            "properties": write_properties(said),
        }
        await self._ask(RequestCode.SEND_MESSAGE, fields, message.body)

    async def _queues_of(self, topic: str) -> int:
        """How many there are to send to, asked once."""
        if topic not in self._queues:
            answer = await self._ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
            route = decode_body(TopicRouteData, answer.body)
            self._queues[topic] = max(1, sum(each.write_queue_nums for each in route.queue_datas))
        return self._queues[topic]

    async def _pull(self, topic: str, queue: int, offset: int, *, wait_ms: int) -> Command:
        fields = {
            "consumerGroup": GROUP,
            "topic": topic,
            "queueId": queue,
            "queueOffset": offset,
            "maxMsgNums": PULL_MAX,
            "sysFlag": 4 | (2 if wait_ms else 0),
            "commitOffset": 0,
            "suspendTimeoutMillis": wait_ms,
            "subscription": "*",
            "subVersion": 0,
            "expressionType": "TAG",
        }
        return await self._ask(RequestCode.PULL_MESSAGE, fields, also=_NOTHING_THERE)

    async def _ask(
        self,
        code: RequestCode,
        fields: Mapping[str, object],
        body: bytes = b"",
        also: frozenset[ResponseCode] = frozenset(),
    ) -> Command:
        number = next(self._numbers)
        texts = {name: str(value) for name, value in fields.items()}
        answered: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        self._asked[number] = answered
        self._writer.write(encode_command(Command(code=code, opaque=number, fields=texts, body=body)))
        await self._writer.drain()
        async with asyncio.timeout(LIMIT_S):
            answer = await answered
        if answer.code != ResponseCode.SUCCESS and answer.code not in also:
            raise NodeRefused(f"RocketMQ: {answer.remark or answer.code}")
        return answer

    async def _listen(self) -> None:
        try:
            while True:
                (size,) = struct.unpack(">i", await self._reader.readexactly(4))
                command = decode_command(await self._reader.readexactly(size))
                if command.flag & RESPONSE_FLAG and (asked := self._asked.pop(command.opaque, None)):
                    asked.set_result(command)
        except (asyncio.IncompleteReadError, OSError):
            lost = Unreachable("the node has closed the RocketMQ connection")
            for asked in self._asked.values():
                asked.set_exception(lost)
            self._asked.clear()
