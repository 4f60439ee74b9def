"""Consumers in groups: kafka-python, aiokafka and confluent-kafka, as their users write them."""

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from kafka import KafkaAdminClient, KafkaConsumer  # type: ignore[attr-defined]  # kafka-python has no types

from braidmq.core.groups import GroupKind, GroupState
from braidmq.core.groups._classic import ClassicGroup
from braidmq.model import Message
from braidmq.node import Node
from braidmq.protocols.listener import Address, Endpoint
from braidmq.records import batch_messages
from braidmq.settings import KafkaSettings
from kafka_support import bootstrap

StartNode = Callable[..., Awaitable[Node]]

PARTITIONS = 4
LIMIT_S = 30.0


def quick(port: int = 0) -> KafkaSettings:
    """Members may fall silent quickly, and speak often."""
    return KafkaSettings(
        listen=(Endpoint(Address("127.0.0.1", port)),),
        group_session_min_ms=500,
        group_heartbeat_ms=200,
        group_session_ms=6_000,
    )


@pytest.fixture
async def node(start_node: StartNode) -> Node:
    node = await start_node(kafka=quick())
    await node.topics.create("orders", partitions=PARTITIONS)
    return node


async def publish(node: Node, *bodies: bytes, topic: str = "orders") -> None:
    """One after the other into the partitions in turn."""
    found = node.catalog.topic("default", topic)
    assert found is not None
    for place, body in enumerate(bodies):
        number = found.partition_numbers[place % len(found.partition_numbers)]
        await node.log.append([(number, batch_messages([Message(body=body, born_ms=time.time_ns() // 1_000_000)]))])


async def until(condition: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110 - clients in other threads make it true
            await asyncio.sleep(0.02)


def members(node: Node, group: str = "g") -> int:
    view = node.groups.find(group)
    return 0 if view is None or view.state is not GroupState.STABLE else len(view.members)


def generation(node: Node, group: str = "g") -> int:
    found = node.groups._groups[group]
    return found.generation if isinstance(found, ClassicGroup) else found.epoch


def committed(node: Node, group: str = "g", topic: str = "orders") -> int:
    """How many messages the group has behind it."""
    return sum(offset.offset for offset in node.groups.offsets(group).values())


class Reader:
    """A confluent-kafka consumer in a thread of its own, until it is stopped."""

    def __init__(self, node: Node, **given: Any) -> None:
        self.assigned: set[int] = set()
        self._topics = given.pop("topics", ["orders"])
        self.events: list[tuple[str, list[int]]] = []
        self.bodies: list[bytes] = []
        self.errors: list[Any] = []
        self._stop = threading.Event()
        settings = {
            "bootstrap.servers": bootstrap(node),
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 200,
            "auto.commit.interval.ms": 100,
            "reconnect.backoff.max.ms": 200,
            "topic.metadata.refresh.interval.ms": 500,
        }
        chosen = {name.replace("_", "."): each for name, each in given.items()}
        if chosen.get("group.protocol") == "consumer":
            del settings["session.timeout.ms"], settings["heartbeat.interval.ms"]  # the node's to say
        self._consumer = confluent_kafka.Consumer(settings | chosen)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._consumer.subscribe(
            self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
        )
        while not self._stop.is_set():
            message = self._consumer.poll(0.05)
            if message is not None and (error := message.error()) is not None:
                self.errors.append(error)
            elif message is not None:
                self.bodies.append(message.value() or b"")
        self._consumer.close()

    def _on_assign(self, _: Any, partitions: list[Any]) -> None:
        indexes = [each.partition for each in partitions]
        self.events.append(("assigned", indexes))
        self.assigned |= set(indexes)

    def _on_revoke(self, _: Any, partitions: list[Any]) -> None:
        indexes = [each.partition for each in partitions]
        self.events.append(("revoked", indexes))
        self.assigned -= set(indexes)

    async def stop(self) -> None:
        self._stop.set()
        await asyncio.to_thread(self._thread.join, LIMIT_S)
        assert not self._thread.is_alive()


@asynccontextmanager
async def background(act: Callable[[threading.Event], None]) -> AsyncIterator[None]:
    """A consumer in a thread, which is told to end at the end."""
    stop = threading.Event()
    thread = threading.Thread(target=act, args=(stop,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        await asyncio.to_thread(thread.join, LIMIT_S)


# kafka-python


def kafka_python(node: Node, **given: Any) -> KafkaConsumer:
    settings = {
        "bootstrap_servers": bootstrap(node),
        "group_id": "g",
        "auto_offset_reset": "earliest",
        "session_timeout_ms": 6_000,
        "heartbeat_interval_ms": 200,
        "consumer_timeout_ms": 10_000,
    }
    return KafkaConsumer("orders", **settings | given)


async def test_kafka_python_reads_commits_and_goes_on_where_it_stopped(node: Node) -> None:
    await publish(node, *(b"%d" % number for number in range(20)))

    def read(count: int) -> list[bytes]:
        consumer = kafka_python(node, enable_auto_commit=False)
        try:
            bodies = [next(consumer).value for _ in range(count)]
            consumer.commit()
        finally:
            consumer.close()
        return bodies

    first = await asyncio.to_thread(read, 20)
    assert sorted(map(int, first)) == list(range(20))
    assert committed(node) == 20
    await publish(node, b"20", b"21")
    assert sorted(await asyncio.to_thread(read, 2)) == [b"20", b"21"]


async def test_two_kafka_python_members_share_the_partitions(node: Node) -> None:
    shares: dict[int, set[int]] = {}

    def poll(place: int, stop: threading.Event) -> None:
        consumer = kafka_python(node)
        while not stop.is_set():
            consumer.poll(100)
            shares[place] = {each.partition for each in consumer.assignment()}
        consumer.close()

    async with background(lambda stop: poll(0, stop)):
        await until(lambda: shares.get(0) == set(range(PARTITIONS)))
        async with background(lambda stop: poll(1, stop)):
            await until(lambda: members(node) == 2 and len(shares[0]) == len(shares.get(1, ())) == 2)
            assert shares[0] | shares[1] == set(range(PARTITIONS))
        await until(lambda: shares[0] == set(range(PARTITIONS)))
    await until(lambda: (view := node.groups.find("g")) is not None and view.state is GroupState.EMPTY)


async def test_kafka_python_administers_groups(node: Node) -> None:
    await publish(node, b"a", b"b")

    def administer() -> None:
        consumer = kafka_python(node)
        next(consumer)
        admin = KafkaAdminClient(bootstrap_servers=bootstrap(node))
        try:
            described = admin.describe_groups(["g"])
            assert "g" in str(described)
            assert "range" in str(described)
            consumer.commit()
            offsets = admin.list_group_offsets(["g"]) if hasattr(admin, "list_group_offsets") else None
            assert offsets is None or "orders" in str(offsets)
            consumer.close()
            assert "g" in str(admin.list_groups())
            admin.delete_groups(["g"])
        finally:
            admin.close()

    await asyncio.to_thread(administer)
    assert node.groups.all() == []


# aiokafka


def aiokafka(node: Node, **given: Any) -> AIOKafkaConsumer:
    settings = {
        "bootstrap_servers": bootstrap(node),
        "group_id": "g",
        "auto_offset_reset": "earliest",
        "session_timeout_ms": 6_000,
        "heartbeat_interval_ms": 200,
        "metadata_max_age_ms": 500,
    }
    return AIOKafkaConsumer("orders", **settings | given)


async def test_aiokafka_reads_commits_with_metadata_and_goes_on_where_it_stopped(node: Node) -> None:
    await publish(node, *(b"%d" % number for number in range(8)))
    consumer = aiokafka(node, enable_auto_commit=False)
    await consumer.start()
    try:
        bodies = [(await asyncio.wait_for(consumer.getone(), LIMIT_S)).value for _ in range(8)]
        await consumer.commit({TopicPartition("orders", index): (2, f"text é {index}") for index in range(PARTITIONS)})
        assert await consumer.committed(TopicPartition("orders", 3)) == 2
    finally:
        await consumer.stop()
    assert sorted(bodies) == [b"%d" % number for number in range(8)]
    assert {each.metadata for each in node.groups.offsets("g").values()} == {f"text é {n}" for n in range(PARTITIONS)}
    await publish(node, b"new")
    consumer = aiokafka(node)
    await consumer.start()
    try:
        assert (await asyncio.wait_for(consumer.getone(), LIMIT_S)).value == b"new"
    finally:
        await consumer.stop()


async def test_aiokafka_members_share_the_partitions(node: Node) -> None:
    one, two = aiokafka(node, client_id="one"), aiokafka(node, client_id="two")
    await one.start()
    try:
        assert len(one.assignment()) == PARTITIONS
        await two.start()
        try:
            await until(lambda: len(one.assignment()) == len(two.assignment()) == 2)
            assert one.assignment().isdisjoint(two.assignment())
        finally:
            await two.stop()
        await until(lambda: len(one.assignment()) == PARTITIONS)
    finally:
        await one.stop()


async def test_an_aiokafka_consumer_without_a_group_of_members_commits_by_hand(node: Node) -> None:
    await publish(node, b"a", b"b")
    place = TopicPartition("orders", 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap(node), group_id="manual", enable_auto_commit=False)
    consumer.assign([place])
    await consumer.start()
    try:
        await consumer.commit({place: 1})
        assert await consumer.committed(place) == 1
    finally:
        await consumer.stop()
    view = node.groups.find("manual")
    assert view is not None
    assert (view.state, view.protocol_type) == (GroupState.EMPTY, "")


# confluent-kafka


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
async def test_confluent_members_come_and_go(node: Node, strategy: str) -> None:
    one = Reader(node, partition_assignment_strategy=strategy)
    await until(lambda: len(one.assigned) == PARTITIONS)
    two = Reader(node, partition_assignment_strategy=strategy)
    await until(lambda: len(one.assigned) == len(two.assigned) == 2 and members(node) == 2)
    assert one.assigned.isdisjoint(two.assigned)
    await publish(node, *(b"%d" % number for number in range(40)))
    await until(lambda: len(one.bodies) + len(two.bodies) == 40)
    await two.stop()
    await until(lambda: len(one.assigned) == PARTITIONS)
    await one.stop()
    assert committed(node) == 40


async def test_a_cooperative_member_keeps_what_need_not_move(node: Node) -> None:
    one = Reader(node, partition_assignment_strategy="cooperative-sticky")
    await until(lambda: len(one.assigned) == PARTITIONS)
    two = Reader(node, partition_assignment_strategy="cooperative-sticky")
    await until(lambda: len(one.assigned) == len(two.assigned) == 2 and members(node) == 2)
    revoked = [indexes for what, indexes in one.events if what == "revoked"]
    assert sum(map(len, revoked)) == 2, "only what went to the other was taken away"
    await one.stop()
    await two.stop()


DOOMED = """
import sys
from confluent_kafka import Consumer
timing = {"session.timeout.ms": 1000, "heartbeat.interval.ms": 200}
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "g"} | timing)
consumer.subscribe(["orders"])
while True:
    consumer.poll(0.1)
"""


async def test_the_share_of_a_member_that_is_killed_goes_to_the_others_after_its_session(node: Node) -> None:
    one = Reader(node)
    await until(lambda: len(one.assigned) == PARTITIONS)
    doomed = await asyncio.create_subprocess_exec(sys.executable, "-c", DOOMED, bootstrap(node))
    try:
        await until(lambda: len(one.assigned) == 2 and members(node) == 2)
    finally:
        doomed.kill()
        await doomed.wait()
    killed_at = time.monotonic()
    await until(lambda: len(one.assigned) == PARTITIONS)
    assert time.monotonic() - killed_at < 10
    await one.stop()


async def test_a_static_member_that_restarts_gets_its_share_back_without_a_new_generation(node: Node) -> None:
    readers = [Reader(node, group_instance_id=f"i{number}") for number in range(2)]
    await until(lambda: members(node) == 2 and all(len(each.assigned) == 2 for each in readers))
    before = generation(node)
    share = set(readers[1].assigned)
    await readers[1].stop()
    again = Reader(node, group_instance_id="i1")
    await until(lambda: again.assigned == share)
    assert generation(node) == before
    assert len(readers[0].assigned) == 2
    await readers[0].stop()
    await again.stop()


async def test_a_second_process_under_a_static_name_ends_the_first(node: Node) -> None:
    first = Reader(node, group_instance_id="i")
    await until(lambda: len(first.assigned) == PARTITIONS)
    second = Reader(node, group_instance_id="i")
    await until(lambda: len(second.assigned) == PARTITIONS)
    await until(lambda: any(error.code() == confluent_kafka.KafkaError._FATAL for error in first.errors))
    await first.stop()
    await second.stop()


async def test_confluent_commits_text_with_its_offsets(node: Node) -> None:
    await publish(node, b"a")

    def commit_and_read() -> Any:
        consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap(node), "group.id": "g"})
        place = confluent_kafka.TopicPartition("orders", 0, 1, "text é 群組")
        consumer.commit(offsets=[place], asynchronous=False)
        (found,) = consumer.committed([confluent_kafka.TopicPartition("orders", 0)], timeout=10)
        consumer.close()
        return found

    found = await asyncio.to_thread(commit_and_read)
    assert (found.offset, found.metadata) == (1, "text é 群組")


async def test_confluent_administers_groups(node: Node) -> None:
    reader = Reader(node, client_id="app")
    await publish(node, b"a", b"b", b"c", b"d")
    await until(lambda: committed(node) == 4)
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap(node)})

    def describe() -> None:
        listed = admin.list_consumer_groups().result(10)
        assert [(each.group_id, each.state.name) for each in listed.valid] == [("g", "STABLE")]
        described = admin.describe_consumer_groups(["g"])["g"].result(10)
        assert (described.state.name, described.partition_assignor) == ("STABLE", "range")
        (member,) = described.members
        assert member.client_id == "app"
        assert {each.partition for each in member.assignment.topic_partitions} == set(range(PARTITIONS))
        request = [confluent_kafka.ConsumerGroupTopicPartitions("g")]
        (offsets,) = admin.list_consumer_group_offsets(request).values()
        assert {(each.partition, each.offset) for each in offsets.result(10).topic_partitions} == {
            (index, 1) for index in range(PARTITIONS)
        }
        with pytest.raises(confluent_kafka.KafkaException) as refused:
            admin.delete_consumer_groups(["g"])["g"].result(10)
        assert refused.value.args[0].name() == "NON_EMPTY_GROUP"

    def change() -> None:
        places = [confluent_kafka.TopicPartition("orders", 0, 0)]
        request = [confluent_kafka.ConsumerGroupTopicPartitions("g", places)]
        (altered,) = admin.alter_consumer_group_offsets(request).values()
        assert altered.result(10).topic_partitions[0].error is None
        admin.delete_consumer_groups(["g"])["g"].result(10)

    await asyncio.to_thread(describe)
    await reader.stop()
    await asyncio.to_thread(change)
    assert node.groups.all() == []


# Groups that the node assigns to.


async def test_members_that_the_node_assigns_to_come_and_go(node: Node) -> None:
    one = Reader(node, group_protocol="consumer")
    await until(lambda: len(one.assigned) == PARTITIONS)
    two = Reader(node, group_protocol="consumer")
    await until(lambda: len(one.assigned) == len(two.assigned) == 2)
    assert one.assigned.isdisjoint(two.assigned)
    revoked = [indexes for what, indexes in one.events if what == "revoked"]
    assert sum(map(len, revoked)) == 2, "only what went to the other was taken away"
    await publish(node, *(b"%d" % number for number in range(40)))
    await until(lambda: len(one.bodies) + len(two.bodies) == 40)
    await two.stop()
    await until(lambda: len(one.assigned) == PARTITIONS)
    await one.stop()
    assert committed(node) == 40
    view = node.groups.find("g")
    assert view is not None
    assert view.state is GroupState.EMPTY


@pytest.mark.parametrize("assignor", ["uniform", "range"])
async def test_members_that_the_node_assigns_to_choose_how(node: Node, assignor: str) -> None:
    readers = [Reader(node, group_protocol="consumer", group_remote_assignor=assignor) for _ in range(2)]
    await until(lambda: all(len(each.assigned) == 2 for each in readers))
    view = node.groups.find_consumer("g")
    assert view is not None
    assert view.assignor == assignor
    for reader in readers:
        await reader.stop()


async def test_a_static_member_that_the_node_assigns_to_returns_to_its_share(node: Node) -> None:
    readers = [Reader(node, group_protocol="consumer", group_instance_id=f"i{number}") for number in range(2)]
    await until(lambda: all(len(each.assigned) == 2 for each in readers))
    before, share = generation(node), set(readers[1].assigned)
    await readers[1].stop()
    again = Reader(node, group_protocol="consumer", group_instance_id="i1")
    await until(lambda: again.assigned == share)
    assert generation(node) == before
    await readers[0].stop()
    await again.stop()


async def test_a_subscription_by_pattern_finds_topics_that_come_later(node: Node) -> None:
    reader = Reader(node, group_protocol="consumer", topics=["^ord.*"])
    await until(lambda: len(reader.assigned) == PARTITIONS)
    await node.topics.create("ordinary", partitions=PARTITIONS + 2)
    await until(lambda: len(reader.assigned) == PARTITIONS + 2)
    await reader.stop()


async def test_an_idle_group_changes_to_the_other_protocol_and_keeps_its_offsets(node: Node) -> None:
    await publish(node, *(b"%d" % number for number in range(8)))
    for count, protocol in enumerate(["classic", "consumer", "classic"], start=1):
        reader = Reader(node, group_protocol=protocol)
        await until(lambda: committed(node) == 8 * count)  # noqa: B023 - awaited in the same turn
        await reader.stop()
        assert len(reader.bodies) == 8, "nothing is read twice"
        await publish(node, *(b"%d" % number for number in range(8)))


# The node restarts under its consumers.


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_consumers_work_on_when_the_node_restarts_under_them(
    start_node: StartNode, node: Node, protocol: str
) -> None:
    reader = Reader(node, group_protocol=protocol)
    await publish(node, *(b"%d" % number for number in range(20)))
    await until(lambda: committed(node) == 20)
    before = generation(node)
    address = node.addresses["kafka"][0]
    await node.stop()
    again = await start_node(kafka=quick(address.port))
    await publish(again, *(b"%d" % number for number in range(20, 40)))
    await until(lambda: committed(again) == 40)
    assert generation(again) == before, "nobody had to join again"
    await reader.stop()
    assert sorted(map(int, set(reader.bodies))) == list(range(40))


# Changed over from one kind to the other.


def divided(*readers: Reader) -> bool:
    """Whether everything is in somebody's hands, evenly, and nothing in two."""
    shares = [reader.assigned for reader in readers]
    sizes = [len(share) for share in shares]
    return sum(sizes) == PARTITIONS and set().union(*shares) == set(range(PARTITIONS)) and max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
async def test_clients_are_changed_over_one_by_one_and_back(node: Node, strategy: str) -> None:
    """As a rolling restart does it; what the group has done stays done, and nothing is read twice in between."""

    def classic() -> Reader:
        return Reader(node, partition_assignment_strategy=strategy)

    def consumer() -> Reader:
        return Reader(node, group_protocol="consumer")

    readers = [classic(), classic()]
    published = 0

    async def reads_on(kind: GroupKind) -> None:
        nonlocal published
        await until(lambda: divided(*readers))
        view = node.groups.find("g")
        assert view is not None
        assert view.kind is kind
        await publish(node, *(b"%d" % number for number in range(published, published + 40)))
        published += 40
        await until(lambda: committed(node) == published)

    everyone = list(readers)
    await reads_on(GroupKind.CLASSIC)
    for place, kind in ((0, GroupKind.CONSUMER), (1, GroupKind.CONSUMER)):
        await readers[place].stop()
        readers[place] = consumer()
        everyone.append(readers[place])
        await reads_on(kind)
    for place, kind in ((0, GroupKind.CONSUMER), (1, GroupKind.CLASSIC)):
        await readers[place].stop()
        readers[place] = classic()
        everyone.append(readers[place])
        await reads_on(kind)
    for reader in readers:
        await reader.stop()
    assert [reader.errors for reader in everyone] == [[]] * len(everyone)
    assert sorted(int(body) for reader in everyone for body in reader.bodies) == list(range(published))


async def test_a_mixed_group_is_described_with_the_kind_of_each_member(node: Node) -> None:
    old, new = Reader(node), Reader(node, group_protocol="consumer")
    await until(lambda: divided(old, new))

    def describe() -> Any:
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap(node)})
        return admin.describe_consumer_groups(["g"])["g"].result(LIMIT_S)

    found = await asyncio.to_thread(describe)
    assert found.type == confluent_kafka.ConsumerGroupType.CONSUMER
    assert sorted(len(member.assignment.topic_partitions) for member in found.members) == [2, 2]
    view = node.groups.find_consumer("g")
    assert view is not None
    assert sorted(member.is_classic for member in view.members) == [False, True]
    await old.stop()
    await new.stop()
