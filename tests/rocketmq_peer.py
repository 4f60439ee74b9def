"""A RocketMQ client for tests of sends, pulls and what follows from them: every kind of request, and what is none."""

import asyncio
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import (
    ONEWAY_FLAG,
    BatchedMessage,
    Command,
    RequestCode,
    Serialization,
    StoredMessage,
    decode_body,
    encode_command,
)
from braidmq.protocols.rocketmq.codec.bodies import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    TopicRouteData,
    UnlockBatchRequestBody,
)
from braidmq.protocols.rocketmq.codec.messages import (
    TRANSACTION_PREPARED,
    decode_messages,
    encode_batch,
    read_properties,
    write_properties,
)
from rocketmq_support import LIMIT_S, Fields, RawClient, fields_of

COMMIT, ROLLBACK = 8, 12
_LETTERS = {
    "producerGroup": "a",
    "topic": "b",
    "defaultTopic": "c",
    "defaultTopicQueueNums": "d",
    "queueId": "e",
    "sysFlag": "f",
    "bornTimestamp": "g",
    "flag": "h",
    "properties": "i",
    "reconsumeTimes": "j",
    "unitMode": "k",
    "maxReconsumeTimes": "l",
    "batch": "m",
}


class Peer(RawClient):
    """Speaks with headers of either kind."""

    serialization = Serialization.JSON

    def command(self, code: int, header: Fields = None, body: bytes = b"", flag: int = 0) -> Command:
        """The next request."""
        self._opaque += 1
        fields = fields_of(header)
        return Command(
            code=code, opaque=self._opaque, flag=flag, fields=fields, body=body, serialization=self.serialization
        )

    async def request(self, code: int, header: Fields = None, body: bytes = b"", limit_s: float = LIMIT_S) -> Command:
        """The answer to a request of any code."""
        async with asyncio.timeout(limit_s):
            return await self.begin(code, header, body)

    def begin(self, code: int, header: Fields = None, body: bytes = b"") -> "asyncio.Future[Command]":
        """A request whose answer comes when it comes."""
        command = self.command(code, header, body)
        answered = self.expect(command.opaque)
        self.write(encode_command(command))
        return answered

    def expect(self, opaque: int) -> "asyncio.Future[Command]":
        """The answer to the request of this number, when it comes."""
        answered: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        self._asked[opaque] = answered
        return answered

    def tell(self, code: int, header: Fields = None, body: bytes = b"") -> None:
        """A request that wants no answer."""
        self.write(encode_command(self.command(code, header, body, ONEWAY_FLAG)))

    def write(self, data: bytes) -> None:
        """Bytes as they are."""
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    async def is_closed(self, limit_s: float = 5.0) -> bool:
        """Whether the server ends the connection."""
        async with asyncio.timeout(limit_s):
            await asyncio.wait((self._listening,))
        return True

    def finish(self) -> None:
        """All was said; answers may still come."""
        self._writer.write_eof()

    def abort(self) -> None:
        """As when a process dies."""
        self._writer.transport.abort()

    def reset(self) -> None:
        """As when a machine dies: the server learns it at once, whatever is under way."""
        wire = self._writer.transport.get_extra_info("socket")
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abort()

    def deafen(self) -> None:
        """From now on, nothing is read."""
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]  # a stream's transport can do both

    # Sending.

    async def publish(self, topic: str, body: bytes, *, v2: bool = True, **more: Any) -> Command:
        """A message, by either of the two ways."""
        code = RequestCode.SEND_MESSAGE_V2 if v2 else RequestCode.SEND_MESSAGE
        header = sending(topic, **more)
        return await self.request(code, in_letters(header) if v2 else header, body)

    async def publish_batch(self, topic: str, messages: Iterable[BatchedMessage], **more: Any) -> Command:
        header = in_letters(sending(topic, **more) | {"batch": True})
        return await self.request(RequestCode.SEND_BATCH_MESSAGE, header, encode_batch(messages))

    async def prepare(self, topic: str, body: bytes, *, group: str = "payers", **properties: str) -> Command:
        """A half message."""
        said = {"TRAN_MSG": "true", "PGROUP": group, **properties}
        return await self.publish(topic, body, properties=said, group=group, sysFlag=TRANSACTION_PREPARED)

    async def end(self, half: Command, how: int, *, group: str = "payers", asked: bool = False) -> Command:
        """The second phase of a half, which is known by the answer to it."""
        return await self.request(RequestCode.END_TRANSACTION, ending(half.fields, how, group=group, asked=asked))

    # Pulling.

    async def read(self, topic: str, offset: int = 0, *, limit_s: float = LIMIT_S, **more: Any) -> Command:
        return await self.request(RequestCode.PULL_MESSAGE, pulling(topic, offset, **more), limit_s=limit_s)

    async def messages(self, topic: str, *, queue_id: int = 0) -> list[StoredMessage]:
        """All messages of a queue."""
        found: list[StoredMessage] = []
        offset = 0
        while True:
            answer = await self.read(topic, offset, queueId=queue_id, maxMsgNums=1000)
            if answer.code != 0 and answer.code != 20:
                return found
            found += decode_messages(answer.body)
            offset = int(answer.fields["nextBeginOffset"])

    async def all_messages(self, topic: str, queues: int) -> list[StoredMessage]:
        return [message for queue in range(queues) for message in await self.messages(topic, queue_id=queue)]

    async def route(self, topic: str) -> TopicRouteData:
        answer = await self.get(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
        return decode_body(TopicRouteData, answer.body)

    # Locks.

    async def lock(self, group: str, client_id: str, *queues: MessageQueue) -> list[int]:
        """The ids of the queues that were locked."""
        asked = LockBatchRequestBody(consumer_group=group, client_id=client_id, mq_set=list(queues))
        answer = await self.get(RequestCode.LOCK_BATCH_MQ, None, asked)
        return sorted(queue.queue_id for queue in decode_body(LockBatchResponseBody, answer.body).lock_ok_mq_set)

    async def unlock(self, group: str, client_id: str, *queues: MessageQueue) -> None:
        asked = UnlockBatchRequestBody(consumer_group=group, client_id=client_id, mq_set=list(queues))
        await self.get(RequestCode.UNLOCK_BATCH_MQ, None, asked)


async def another(node: Node) -> Peer:
    """One more client of the node."""
    address = node.addresses["rocketmq"][0]
    return await connected(address.host, address.port)


async def connected(host: str, port: int) -> Peer:
    return Peer(*await asyncio.open_connection(host, port))


async def eventually(condition: Callable[[], Awaitable[bool]], limit_s: float = 10.0) -> None:
    """Wait for what a node says when it is asked."""
    async with asyncio.timeout(limit_s):
        while not await condition():  # noqa: ASYNC110 - the condition is no event of ours
            await asyncio.sleep(0.01)


def sending(
    topic: str,
    *,
    group: str = "producers",
    queue_id: int = 0,
    properties: Mapping[str, str] | str = "",
    **more: object,
) -> dict[str, object]:
    """The header of a send."""
    return {
        "producerGroup": group,
        "topic": topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": 4,
        "queueId": queue_id,
        "sysFlag": 0,
        "bornTimestamp": time.time_ns() // 1_000_000,
        "flag": 0,
        "properties": properties if isinstance(properties, str) else write_properties(properties),
        **more,
    }


def in_letters(header: Mapping[str, object]) -> dict[str, object]:
    return {_LETTERS.get(name, name): value for name, value in header.items()}


def pulling(topic: str, offset: int = 0, *, wait_ms: int = 0, **more: object) -> dict[str, object]:
    """The header of a pull that says itself what it wants."""
    header: dict[str, object] = {
        "consumerGroup": "readers",
        "topic": topic,
        "queueId": 0,
        "queueOffset": offset,
        "maxMsgNums": 32,
        "sysFlag": 4 | (2 if wait_ms else 0),
        "commitOffset": 0,
        "suspendTimeoutMillis": wait_ms,
        "subscription": "*",
        "subVersion": 0,
        "expressionType": "TAG",
    }
    return header | more


def ending(fields: Mapping[str, str], how: int, *, group: str = "payers", asked: bool = False) -> dict[str, object]:
    """The header of a second phase, from the answer to the first, or from the question."""
    if "commitLogOffset" in fields:
        first, second = fields["tranStateTableOffset"], fields["commitLogOffset"]
    else:
        first, second = fields["queueOffset"], str(int(fields["msgId"][-16:], 16))
    return {
        "topic": "orders",
        "producerGroup": group,
        "tranStateTableOffset": first,
        "commitLogOffset": second,
        "commitOrRollback": how,
        "fromTransactionCheck": asked,
        "msgId": fields.get("transactionId", ""),
        "transactionId": fields.get("transactionId", ""),
    }


def properties_of(message: StoredMessage) -> dict[str, str]:
    return read_properties(message.properties)


def unique_id(message: StoredMessage) -> str:
    return properties_of(message)["UNIQ_KEY"]
