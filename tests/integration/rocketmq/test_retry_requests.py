"""Sending back, dead letters, resets and traces as RocketMQ's consumers ask for them, on the wire."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from braidmq.core.group_offsets import Target
from braidmq.model import DEFAULT_INSTANCE, Message, Topic, TraceKind
from braidmq.node import Node
from braidmq.protocols.listener import Address, Endpoint
from braidmq.protocols.rocketmq.codec import (
    Command,
    RequestCode,
    ResponseCode,
    StoredMessage,
    decode_command,
    encode_body,
    encode_command,
    write_header,
)
from braidmq.protocols.rocketmq.codec.bodies import LockBatchRequestBody, MessageQueue
from braidmq.protocols.rocketmq.codec.headers import (
    ConsumerSendMsgBackRequestHeader,
    CustomHeader,
    LockBatchMqRequestHeader,
    PullMessageRequestHeader,
    SendMessageRequestHeaderV2,
    UpdateConsumerOffsetRequestHeader,
)
from braidmq.protocols.rocketmq.codec.ids import physical_offset, read_offset_id
from braidmq.protocols.rocketmq.codec.messages import decode_messages, read_properties, write_properties
from braidmq.records import batch_messages
from braidmq.settings import HttpSettings, KafkaSettings, NodeSettings, RocketMQGrpcSettings, RocketMQSettings, Settings

GROUP = "payers"
LIMIT_S = 20.0
SUBSCRIBED = 4


class Consumer:
    """A connection that asks one thing at a time."""

    def __init__(self, node: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.node = node
        self._reader = reader
        self._writer = writer
        self._opaque = 0

    async def ask(self, code: RequestCode, header: CustomHeader, body: bytes = b"") -> Command:
        self._opaque += 1
        fields = write_header(header)
        self._writer.write(encode_command(Command(code=code, opaque=self._opaque, fields=fields, body=body)))
        async with asyncio.timeout(LIMIT_S):
            size = await self._reader.readexactly(4)
            answer = decode_command(await self._reader.readexactly(int.from_bytes(size)))
        assert answer.opaque == self._opaque
        return answer

    async def pull(self, topic: str, offset: int) -> tuple[int, int, list[StoredMessage]]:
        """The answer's code, where to go on, and the messages."""
        header = PullMessageRequestHeader(
            consumer_group=GROUP,
            topic=topic,
            queue_id=0,
            queue_offset=offset,
            max_msg_nums=32,
            sys_flag=SUBSCRIBED,
            commit_offset=0,
            suspend_timeout_millis=0,
            subscription="*",
            sub_version=0,
        )
        answer = await self.ask(RequestCode.PULL_MESSAGE, header)
        return answer.code, int(answer.fields["nextBeginOffset"]), decode_messages(answer.body)

    async def commit(self, offset: int) -> None:
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=GROUP, topic="orders", queue_id=0, commit_offset=offset
        )
        assert (await self.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header)).code == ResponseCode.SUCCESS

    async def send_back(self, number: int, offset: int, level: int) -> Command:
        header = ConsumerSendMsgBackRequestHeader(
            offset=physical_offset(number, offset), group=GROUP, delay_level=level, origin_msg_id="origin"
        )
        return await self.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header)

    async def bring(self, attempts: int, attempts_max: int) -> None:
        """What a consumer does whose sending back has failed, and one that works in order and gives up."""
        properties = {"UNIQ_KEY": "brought", "RETRY_TOPIC": "orders", "ORIGIN_MESSAGE_ID": "origin", "DELAY": "1"}
        header = SendMessageRequestHeaderV2(
            producer_group="CLIENT_INNER_PRODUCER",
            topic=f"%RETRY%{GROUP}",
            default_topic="TBW102",
            default_topic_queue_nums=4,
            queue_id=0,
            sys_flag=0,
            born_timestamp=1,
            flag=0,
            properties=write_properties(properties),
            reconsume_times=attempts,
            max_reconsume_times=attempts_max,
        )
        assert (await self.ask(RequestCode.SEND_MESSAGE_V2, header, b"x")).code == ResponseCode.SUCCESS

    async def lock(self) -> None:
        queue = MessageQueue("orders", "node-1", 0)
        body = encode_body(LockBatchRequestBody(consumer_group=GROUP, client_id="me", mq_set=[queue]))
        answer = await self.ask(RequestCode.LOCK_BATCH_MQ, LockBatchMqRequestHeader(), body)
        assert answer.code == ResponseCode.SUCCESS

    async def arrival(self, topic: str, offset: int = 0) -> StoredMessage:
        found = self.node.catalog.topic(DEFAULT_INSTANCE, topic)
        assert found is not None
        assert await self.node.log.wait({found.partition_numbers[0]: offset}, LIMIT_S)
        _, _, messages = await self.pull(topic, offset)
        return messages[0]

    async def letters(self) -> list[str | None]:
        return [letter.message.id for letter in (await self.node.dead_letters.page(GROUP)).letters]

    def close(self) -> None:
        self._writer.close()


@pytest_asyncio.fixture
async def consumer(tmp_path: Path) -> AsyncIterator[Consumer]:
    settings = Settings(
        node=NodeSettings(data=tmp_path),
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=(Endpoint(Address("127.0.0.1", 0)),), vip="off"),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
    )
    node = await Node.start(settings)
    (address, *_) = node.addresses["rocketmq"]
    consumer = Consumer(node, *await asyncio.open_connection(address.host, address.port))
    yield consumer
    consumer.close()
    await node.stop()


@pytest_asyncio.fixture
async def orders(consumer: Consumer) -> Topic:
    node = consumer.node
    topic = await node.topics.create("orders", partitions=1)
    messages = [Message.create(b"body %d" % nth, id=f"m{nth}", tag="A") for nth in range(5)]
    await node.log.append([(topic.partition_numbers[0], batch_messages(messages))])
    return topic


async def test_what_is_sent_back_comes_again_with_its_count_and_where_it_came_from(
    consumer: Consumer, orders: Topic
) -> None:
    assert (await consumer.send_back(orders.partition_numbers[0], 1, level=1)).code == ResponseCode.SUCCESS
    again = await consumer.arrival(f"%RETRY%{GROUP}")
    assert (again.body, again.reconsume_times) == (b"body 1", 1)
    said = read_properties(again.properties)
    place = physical_offset(orders.partition_numbers[0], 1)
    assert read_offset_id(said.pop("ORIGIN_MESSAGE_ID")).physical_offset == place, "as RocketMQ's broker says it"
    assert {name: said[name] for name in ("UNIQ_KEY", "TAGS", "RETRY_TOPIC")} == {
        "UNIQ_KEY": "m1",
        "TAGS": "A",
        "RETRY_TOPIC": "orders",
    }


async def test_a_message_that_is_given_up_is_a_dead_letter(consumer: Consumer, orders: Topic) -> None:
    assert (await consumer.send_back(orders.partition_numbers[0], 2, level=-1)).code == ResponseCode.SUCCESS
    assert await consumer.letters() == ["m2"]
    dead = read_properties((await consumer.arrival(f"%DLQ%{GROUP}")).properties)
    assert dead["DLQ_ORIGIN_TOPIC"] == "orders"
    place = physical_offset(orders.partition_numbers[0], 2)
    assert read_offset_id(dead["DLQ_ORIGIN_MESSAGE_ID"]).physical_offset == place


async def test_what_is_not_there_is_refused_with_a_reason(consumer: Consumer, orders: Topic) -> None:
    for number, offset in ((orders.partition_numbers[0], 5), (77, 0), (orders.partition_numbers[0], 999)):
        answer = await consumer.send_back(number, offset, level=0)
        assert answer.code != ResponseCode.SUCCESS
        assert answer.remark


async def test_a_message_that_is_brought_waits_and_is_dead_behind_its_last_attempt(
    consumer: Consumer, orders: Topic
) -> None:
    await consumer.bring(attempts=2, attempts_max=2)
    assert (await consumer.arrival(f"%RETRY%{GROUP}")).reconsume_times == 2
    await consumer.bring(attempts=3, attempts_max=2)
    assert await consumer.letters() == ["brought"]


async def test_a_consumer_that_works_in_order_brings_only_what_it_gives_up(consumer: Consumer, orders: Topic) -> None:
    await consumer.lock()
    await consumer.bring(attempts=2, attempts_max=2)
    assert await consumer.letters() == ["brought"]


async def test_a_reset_of_a_group_that_reads_wins_over_its_commits(consumer: Consumer, orders: Topic) -> None:
    node, number = consumer.node, orders.partition_numbers[0]
    await consumer.commit(3)
    await node.group_offsets.reset(GROUP, orders, Target(offset=1), online=True)
    await consumer.commit(4)
    assert node.groups.offsets(GROUP)[number].offset == 1
    code, next_offset, _ = await consumer.pull("orders", 4)
    assert (code, next_offset) == (ResponseCode.PULL_OFFSET_MOVED, 1)
    code, _, messages = await consumer.pull("orders", 1)
    assert [message.body for message in messages] == [b"body 1", b"body 2", b"body 3", b"body 4"]
    await consumer.commit(2)
    assert node.groups.offsets(GROUP)[number].offset == 2


async def test_what_a_consumer_is_given_and_commits_is_told_of_its_messages(consumer: Consumer, orders: Topic) -> None:
    await consumer.pull("orders", 0)
    await consumer.commit(2)
    await consumer.commit(5)
    await consumer.send_back(orders.partition_numbers[0], 3, level=1)
    async with asyncio.timeout(LIMIT_S):
        while len(told := await consumer.node.lives.by_id("m3")) < 7:  # noqa: ASYNC110 - kept by the node
            await asyncio.sleep(0.05)
    assert {event.kind for event in told} == {
        TraceKind.STORED,
        TraceKind.DELIVERED,
        TraceKind.ACKNOWLEDGED,
        TraceKind.RETRIED,
        TraceKind.DELAYED,
        TraceKind.DUE,
    }
    assert sum(event.kind is TraceKind.ACKNOWLEDGED for event in told) == 1
