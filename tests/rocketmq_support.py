"""What tests of the RocketMQ protocol share: a raw connection that asks, and answers what it is asked."""

import asyncio
import contextlib
import struct
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping

from braidmq.protocols.rocketmq.codec import (
    ONEWAY_FLAG,
    RESPONSE_FLAG,
    Command,
    RequestCode,
    ResponseCode,
    decode_command,
    encode_body,
    encode_command,
    write_header,
)
from braidmq.protocols.rocketmq.codec.bodies import (
    Body,
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
    SubscriptionData,
)
from braidmq.protocols.rocketmq.codec.headers import CustomHeader
from braidmq.protocols.rocketmq.codec.messages import write_properties

LIMIT_S = 10.0
Fields = CustomHeader | Mapping[str, object] | None


class RawClient:
    """Sends commands, takes the answers as they come, and keeps what the server asks by itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._opaque = 0
        self._asked: dict[int, asyncio.Future[Command]] = {}
        self.heard: list[Command] = []
        """What the server asked, in order."""
        self.answer: Callable[[Command], Command | None] = lambda _: None
        """How what the server asks is answered."""
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def connect(cls, host: str, port: int) -> "RawClient":
        return cls(*await asyncio.open_connection(host, port))

    async def ask(self, code: RequestCode, header: Fields = None, body: bytes | Body = b"") -> Command:
        """The answer to a request."""
        self._opaque += 1
        command = Command(code=code, opaque=self._opaque, fields=fields_of(header), body=_bytes(body))
        answered: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        self._asked[self._opaque] = answered
        self._writer.write(encode_command(command))
        async with asyncio.timeout(LIMIT_S):
            return await answered

    async def get(self, code: RequestCode, header: Fields = None, body: bytes | Body = b"") -> Command:
        """The same, for requests that must succeed."""
        answer = await self.ask(code, header, body)
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
        return answer

    async def beat(
        self,
        client_id: str,
        *,
        producers: Iterable[str] = (),
        group: str | None = None,
        topics: Mapping[str, str] | None = None,
        model: MessageModel = MessageModel.CLUSTERING,
    ) -> None:
        """A heartbeat of producers, and of a consumer of these topics, each with its expression."""
        consumers = []
        if group is not None:
            subscriptions = [
                SubscriptionData(topic=topic, sub_string=expression, sub_version=time.time_ns() // 1_000_000)
                for topic, expression in (topics or {}).items()
            ]
            consumers = [
                ConsumerData(
                    group_name=group,
                    consume_type=ConsumeType.CONSUME_PASSIVELY,
                    message_model=model,
                    consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
                    subscription_data_set=subscriptions,
                )
            ]
        beat = HeartbeatData(
            client_id=client_id,
            producer_data_set=[ProducerData(group_name=each) for each in producers],
            consumer_data_set=consumers,
        )
        await self.get(RequestCode.HEART_BEAT, None, beat)

    async def send(
        self, topic: str, body: bytes, *, queue_id: int = 0, properties: Mapping[str, str] | None = None
    ) -> Command:
        return await self.ask(RequestCode.SEND_MESSAGE, send_fields(topic, queue_id, properties), body)

    async def pull(self, group: str, topic: str, offset: int, *, queue_id: int = 0) -> Command:
        """What is there from the offset on, whatever its tags, without waiting."""
        header = {
            "consumerGroup": group,
            "topic": topic,
            "queueId": queue_id,
            "queueOffset": offset,
            "maxMsgNums": 32,
            "sysFlag": 4,
            "commitOffset": 0,
            "suspendTimeoutMillis": 0,
            "subscription": "*",
            "subVersion": 0,
            "expressionType": "TAG",
        }
        return await self.ask(RequestCode.PULL_MESSAGE, header)

    async def close(self) -> None:
        self._writer.close()
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await self._listening

    async def _listen(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                (size,) = struct.unpack(">i", await self._reader.readexactly(4))
                self._take(decode_command(await self._reader.readexactly(size)))

    def _take(self, command: Command) -> None:
        if command.flag & RESPONSE_FLAG:
            self._asked.pop(command.opaque).set_result(command)
            return
        self.heard.append(command)
        answer = None if command.flag & ONEWAY_FLAG else self.answer(command)
        if answer is not None:
            answer.opaque, answer.flag = command.opaque, RESPONSE_FLAG
            self._writer.write(encode_command(answer))


Connect = Callable[[], Awaitable[RawClient]]


def send_fields(topic: str, queue_id: int = 0, properties: Mapping[str, str] | None = None) -> dict[str, object]:
    return {
        "producerGroup": "producers",
        "topic": topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": 4,
        "queueId": queue_id,
        "sysFlag": 0,
        "bornTimestamp": time.time_ns() // 1_000_000,
        "flag": 0,
        "properties": write_properties(dict(properties or {})),
    }


def fields_of(header: Fields) -> dict[str, str]:
    """A command's fields, from a typed header or from names and values."""
    if header is None:
        return {}
    if isinstance(header, CustomHeader):
        return write_header(header)
    return {name: _text(value) for name, value in header.items()}


def topic_fields(topic: str, queues: int = 4, **more: object) -> dict[str, object]:
    """The header of the request that makes a topic."""
    return {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": queues,
        "writeQueueNums": queues,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "order": False,
        **more,
    }


def _bytes(body: bytes | Body) -> bytes:
    return body if isinstance(body, bytes) else encode_body(body)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
