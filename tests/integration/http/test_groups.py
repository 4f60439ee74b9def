"""Groups over the API: one list of all of them, their members on every protocol, pausing, and changes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import confluent_kafka
import httpx
import kafka.consumer as kafka_python
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from api_support import Eventually, Publish
from braidmq.core.cursors import Ask, Beginning
from braidmq.log import GroupOffset
from braidmq.model import Group, Topic
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode
from rocketmq_grpc_support import GrpcClient, consumer_settings
from rocketmq_support import RawClient


@pytest.fixture
async def orders(node: Node) -> Topic:
    return await node.topics.create("orders", partitions=2)


@asynccontextmanager
async def kafka_consumer(node: Node, group: str, **given: Any) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        "orders",
        bootstrap_servers=str(node.addresses["kafka"][0]),
        group_id=group,
        client_id=f"{group}-client",
        auto_offset_reset="earliest",
        heartbeat_interval_ms=200,
        **given,
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def commit(node: Node, group: str, topic: Topic, *offsets: int) -> None:
    numbers = topic.partition_numbers
    wanted = {number: GroupOffset(offset) for number, offset in zip(numbers, offsets, strict=False)}
    await node.groups.commit(group, None, wanted)


async def test_groups_are_listed_once_by_whatever_sign_they_are_known(
    api: httpx.AsyncClient, node: Node, orders: Topic, rocketmq: RawClient, publish: Publish
) -> None:
    await publish("orders", 3)
    await node.catalog.save_group(Group(name="kept", ordered=True))
    await commit(node, "committed", orders, 1)
    await node.cursors.receive(Ask(group="receiving", topic=orders, count_max=2, beginning=Beginning.START))
    await rocketmq.beat("client-1", group="beating", topics={"orders": "*"})
    await commit(node, "beating", orders, 2)
    async with kafka_consumer(node, "joined"):
        page = (await api.get("/groups")).json()
    items = {item["name"]: item for item in page["items"]}
    assert page["total"] == len(page["items"]) == len(items)
    assert set(items) == {"kept", "committed", "receiving", "beating", "joined"}
    assert items["kept"]["ordered"] is True
    assert (items["committed"]["lag"], items["committed"]["topics"], items["committed"]["members"]) == (2, 1, 0)
    assert items["receiving"]["in_flight"] == 2
    assert (items["beating"]["protocols"], items["beating"]["state"], items["beating"]["lag"]) == (
        ["rocketmq"],
        "stable",
        1,
    )
    assert (items["joined"]["protocols"], items["joined"]["state"], items["joined"]["members"]) == (
        ["kafka"],
        "stable",
        1,
    )


async def test_groups_are_sorted_by_lag(
    api: httpx.AsyncClient, node: Node, orders: Topic, publish: Publish, eventually: Eventually
) -> None:
    await publish("orders", 10)
    for group, offset in (("near", 9), ("far", 1), ("middle", 5)):
        await commit(node, group, orders, offset)

    async def is_sorted() -> bool:
        items = (await api.get("/groups?sort=-lag")).json()["items"]
        return [(item["name"], item["lag"]) for item in items] == [("far", 9), ("middle", 5), ("near", 1)]

    await eventually(is_sorted)


async def test_groups_are_chosen_by_lag_members_and_pause(
    api: httpx.AsyncClient,
    node: Node,
    orders: Topic,
    publish: Publish,
    rocketmq: RawClient,
    eventually: Eventually,
) -> None:
    await publish("orders", 6)
    await commit(node, "behind", orders, 0, 0)
    await node.catalog.save_group(Group(name="idle"))
    await api.post("/groups/idle/pause")
    await rocketmq.beat("client-1", group="beating", topics={"orders": "*"})

    async def names(query: str) -> list[str]:
        return [each["name"] for each in (await api.get(f"/groups?{query}")).json()["items"]]

    async def is_seen_behind() -> bool:
        return await names("behind=true") == ["behind"]

    await eventually(is_seen_behind)  # figures to choose by may be a second old
    assert await names("paused=true") == ["idle"]
    assert await names("without_members=true") == ["behind", "idle"]
    assert await names("without_members=true&behind=true&paused=true") == []
    assert await names("") == ["beating", "behind", "idle"]


async def test_the_age_of_what_waits_is_told(
    api: httpx.AsyncClient, node: Node, orders: Topic, publish: Publish
) -> None:
    await publish("orders", 2, born_ms=node.counters.started_ms - 60_000)
    await commit(node, "late", orders, 1)
    described = (await api.get("/groups/late")).json()
    assert 59_000 < described["oldest_ms"] < 120_000
    [item] = (await api.get("/groups")).json()["items"]
    assert 59_000 < item["oldest_ms"] < 120_000
    await commit(node, "late", orders, 2)
    assert (await api.get("/groups/late")).json()["oldest_ms"] is None


async def test_members_of_every_protocol_are_shown_together(
    api: httpx.AsyncClient, node: Node, orders: Topic, rocketmq: RawClient
) -> None:
    await rocketmq.beat("remoting-1", group="mixed", topics={"orders": "*"})
    grpc = GrpcClient(str(node.addresses["rocketmq_grpc"][0]), "grpc-1")
    async with (
        grpc.introduced(consumer_settings("mixed", "orders")),
        kafka_consumer(node, "mixed"),
    ):
        members = {each["protocol"]: each for each in (await api.get("/groups/mixed/members")).json()}
        described = (await api.get("/groups/mixed")).json()
        reading = (await api.get("/topics/orders/groups")).json()
    await grpc.channel.close()
    assert set(members) == {"kafka", "rocketmq", "rocketmq_grpc"}
    assert members["rocketmq"]["client_id"] == "remoting-1"
    assert members["rocketmq_grpc"]["client_id"] == "grpc-1"
    kafka = members["kafka"]
    assert (kafka["client_id"], kafka["address"], kafka["topics"]) == ("mixed-client", "127.0.0.1", ["orders"])
    assert kafka["partitions"] == [{"topic": "orders", "partition": 0}, {"topic": "orders", "partition": 1}]
    assert described["protocols"] == ["kafka", "rocketmq", "rocketmq_grpc"]
    [group] = reading
    assert (group["group"], group["members"], group["lag"]) == ("mixed", 3, None)


async def test_a_group_is_made_changed_and_deleted(api: httpx.AsyncClient, node: Node, orders: Topic) -> None:
    made = await api.post("/groups", json={"name": "settlement", "attempts_max": 3})
    assert (made.status_code, made.json()["attempts_max"]) == (201, 3)
    again = await api.post("/groups", json={"name": "settlement"})
    assert (again.status_code, again.json()["code"]) == (409, "already_exists")
    change = {"ordered": True, "settings": {"retry.steps": "1s 2s"}}
    changed = (await api.patch("/groups/settlement", json=change)).json()
    assert (changed["ordered"], changed["attempts_max"], changed["settings"]) == (True, 3, {"retry.steps": "1s 2s"})
    await commit(node, "settlement", orders, 0)

    planned = (await api.delete("/groups/settlement?dry_run=true")).json()
    assert (planned["dry_run"], planned["topics"]) == (True, ["orders"])
    assert (await api.get("/groups/settlement")).status_code == 200
    assert (await api.delete("/groups/settlement")).json()["dry_run"] is False
    assert (await api.get("/groups/settlement")).json()["code"] == "unknown_group"
    assert node.groups.offsets("settlement") == {}


async def test_a_group_that_receives_one_by_one_is_deleted_with_what_it_holds(
    api: httpx.AsyncClient, node: Node, orders: Topic, publish: Publish
) -> None:
    await publish("orders", 3)
    ask = Ask(group="receiving", topic=orders, count_max=2, beginning=Beginning.START)
    await node.cursors.receive(ask)
    assert (await api.delete("/groups/receiving")).status_code == 200
    assert (await api.get("/groups")).json()["total"] == 0
    assert len(await node.cursors.receive(ask)) == 2


async def test_a_group_with_members_is_not_deleted(
    api: httpx.AsyncClient, node: Node, orders: Topic, rocketmq: RawClient
) -> None:
    await rocketmq.beat("client-1", group="busy", topics={"orders": "*"})
    answer = await api.delete("/groups/busy")
    assert (answer.status_code, answer.json()["code"]) == (409, "group_not_empty")
    assert "Stop" in answer.json()["fix"]


async def test_a_paused_group_is_given_nothing_by_pull_and_by_receipt_until_it_goes_on(
    api: httpx.AsyncClient, node: Node, orders: Topic, rocketmq: RawClient, publish: Publish
) -> None:
    await publish("orders", 1)
    await rocketmq.beat("client-1", group="g", topics={"orders": "*"})
    paused = (await api.post("/groups/g/pause")).json()
    assert paused["paused"] is True
    assert {"rocketmq", "rocketmq_grpc", "http"} <= set(paused["paused_for"])
    assert paused["members_not_paused"] == 0
    assert (await rocketmq.pull("g", "orders", 0)).code == ResponseCode.NO_PERMISSION
    ask = Ask(group="g", topic=orders, beginning=Beginning.START)
    assert await node.cursors.receive(ask) == []
    waiting = asyncio.create_task(node.cursors.receive(ask, wait_s=20))
    await publish("orders", 1)
    await asyncio.sleep(0)

    resumed = (await api.post("/groups/g/resume")).json()
    assert (resumed["paused"], resumed["paused_for"], resumed["settings"]) == (False, [], {})
    async with asyncio.timeout(5):
        assert len(await waiting) >= 1
    assert (await rocketmq.pull("g", "orders", 0)).code == ResponseCode.SUCCESS


async def test_a_pull_that_waits_while_its_group_is_paused_brings_nothing(
    api: httpx.AsyncClient, node: Node, orders: Topic, rocketmq: RawClient, publish: Publish
) -> None:
    await rocketmq.beat("client-1", group="g", topics={"orders": "*"})
    header = {
        "consumerGroup": "g",
        "topic": "orders",
        "queueId": 0,
        "queueOffset": 0,
        "maxMsgNums": 32,
        "sysFlag": 2,
        "commitOffset": 0,
        "suspendTimeoutMillis": 15_000,
        "subscription": "*",
        "subVersion": 0,
    }
    waiting = asyncio.create_task(rocketmq.ask(RequestCode.PULL_MESSAGE, header))
    other = await RawClient.connect(*node.addresses["rocketmq"][0])
    await other.pull("h", "orders", 0)
    await other.close()
    await api.post("/groups/g/pause")
    await publish("orders", 1)
    assert (await waiting).code == ResponseCode.NO_PERMISSION


async def test_a_paused_group_keeps_waiting_receivers_without_spinning(
    api: httpx.AsyncClient, node: Node, orders: Topic, publish: Publish
) -> None:
    await publish("orders", 1)
    ask = Ask(group="g", topic=orders, invisible_ms=50, beginning=Beginning.START)
    assert len(await node.cursors.receive(ask)) == 1
    assert (await api.post("/groups/g/pause")).status_code == 200
    looks = 0
    collect = node.cursors._collect

    async def counted(asks: Sequence[Ask]) -> Any:
        nonlocal looks
        looks += 1
        return await collect(asks)

    node.cursors._collect = counted  # type: ignore[method-assign]
    assert await node.cursors.receive(ask, wait_s=0.5) == []
    assert looks < 10


class AssignedReader:
    """A confluent-kafka consumer whose partitions the node assigns, in a thread of its own."""

    def __init__(self, node: Node) -> None:
        self.assigned: set[int] = set()
        self._stop = threading.Event()
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": str(node.addresses["kafka"][0]),
                "group.id": "assigned",
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._consumer.subscribe(["orders"], on_assign=self._assign, on_revoke=self._revoke)
        while not self._stop.is_set():
            self._consumer.poll(0.05)
        self._consumer.close()

    def _assign(self, _: Any, partitions: list[Any]) -> None:
        self.assigned |= {each.partition for each in partitions}

    def _revoke(self, _: Any, partitions: list[Any]) -> None:
        self.assigned -= {each.partition for each in partitions}

    async def stop(self) -> None:
        self._stop.set()
        await asyncio.to_thread(self._thread.join, 20)


async def test_members_that_the_node_assigns_to_give_up_their_partitions_while_their_group_is_paused(
    api: httpx.AsyncClient, node: Node, orders: Topic, eventually: Eventually
) -> None:
    reader = AssignedReader(node)

    async def holds(partitions: set[int]) -> bool:
        return reader.assigned == partitions

    try:
        await eventually(lambda: holds({0, 1}))
        [member] = (await api.get("/groups/assigned/members")).json()
        assert [each["partition"] for each in member["partitions"]] == [0, 1]
        paused = (await api.post("/groups/assigned/pause")).json()
        assert paused["members_not_paused"] == 0
        await eventually(lambda: holds(set()))
        await api.post("/groups/assigned/resume")
        await eventually(lambda: holds({0, 1}))
    finally:
        await reader.stop()


class ConfluentReader:
    """A member of a classic group that divides its work by itself, in a thread of its own."""

    def __init__(self, node: Node, group: str, **given: Any) -> None:
        self.read = 0
        self._stop = threading.Event()
        self._address = str(node.addresses["kafka"][0])
        self._group = group
        self._given = given
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self._address,
                "group.id": self._group,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 200,
                "topic.metadata.refresh.interval.ms": 500,
                **self._given,
            }
        )
        consumer.subscribe(["orders"])
        while not self._stop.is_set():
            message = consumer.poll(0.05)
            self.read += message is not None and message.error() is None
        consumer.close()

    async def stop(self) -> None:
        self._stop.set()
        await asyncio.to_thread(self._thread.join, 20)


class PythonReader(ConfluentReader):
    """The same with kafka-python."""

    def _run(self) -> None:
        consumer = kafka_python.KafkaConsumer(
            "orders",
            bootstrap_servers=self._address,
            group_id=self._group,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=200,
            **self._given,
        )
        while not self._stop.is_set():
            self.read += sum(map(len, consumer.poll(50).values()))
        consumer.close()


COOPERATIVE: dict[str, Any] = {"partition.assignment.strategy": "cooperative-sticky"}


@pytest.mark.parametrize(
    ("reader", "given"), [(ConfluentReader, {}), (ConfluentReader, COOPERATIVE), (PythonReader, {})]
)
async def test_classic_members_give_up_their_partitions_while_their_group_is_paused(
    api: httpx.AsyncClient,
    node: Node,
    orders: Topic,
    publish: Publish,
    eventually: Eventually,
    reader: type[ConfluentReader],
    given: dict[str, Any],
) -> None:
    """Another group of the same program, with the same client id, reads on."""
    held_back, other = reader(node, "held-back", **given), reader(node, "other", **given)

    async def have_read(*counts: int) -> bool:
        return (held_back.read, other.read) == counts

    async def holds(count: int) -> bool:
        """Once its members have come together: while they do, nobody holds anything, and some still read."""
        members = (await api.get("/groups/held-back/members")).json()
        state = (await api.get("/groups/held-back")).json()["state"]
        return (state, [len(each["partitions"]) for each in members]) == ("stable", [count])

    try:
        await publish("orders", 4)
        await eventually(lambda: have_read(4, 4))
        paused = (await api.post("/groups/held-back/pause")).json()
        assert (paused["members_not_paused"], "kafka" in paused["paused_for"]) == (0, True)
        await eventually(lambda: holds(0))
        await publish("orders", 6)
        await eventually(lambda: have_read(4, 10))
        assert (await api.get("/groups/held-back")).json()["lag"] == 6
        await api.post("/groups/held-back/resume")
        await eventually(lambda: have_read(10, 10))
        assert await holds(2)
    finally:
        await held_back.stop()
        await other.stop()


class OwnAssignor(RoundRobinPartitionAssignor):  # type: ignore[misc]  # without types
    """As those of Kafka Streams: only the members know what an assignment must hold."""

    name = "own"


async def test_a_pause_says_which_members_go_on(api: httpx.AsyncClient, node: Node, orders: Topic) -> None:
    async with kafka_consumer(node, "classic", partition_assignment_strategy=[OwnAssignor]):
        paused = (await api.post("/groups/classic/pause")).json()
        assert (paused["paused"], paused["members_not_paused"]) == (True, 1)
        [member] = (await api.get("/groups/classic/members")).json()
        assert len(member["partitions"]) == 2


async def test_members_that_want_different_things_are_shown(
    api: httpx.AsyncClient, node: Node, orders: Topic, rocketmq: RawClient
) -> None:
    await rocketmq.beat("a", group="g", topics={"orders": "paid"})
    other = await RawClient.connect(*node.addresses["rocketmq"][0])
    await other.beat("b", group="g", topics={"orders": "sent"})
    [difference] = [each for each in (await api.get("/groups/g/differences")).json() if each["topic"] == "orders"]
    await other.close()
    assert difference["wishes"] == [{"wish": "tag paid", "members": ["a"]}, {"wish": "tag sent", "members": ["b"]}]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/groups/none", None, 404, "unknown_group"),
        ("GET", "/groups/none/members", None, 404, "unknown_group"),
        ("GET", "/groups/none/offsets", None, 404, "unknown_group"),
        ("POST", "/groups/none/pause", None, 404, "unknown_group"),
        ("DELETE", "/groups/none", None, 404, "unknown_group"),
        ("POST", "/groups", {"name": ""}, 400, "invalid_name"),
        ("POST", "/groups", {"name": "g", "settings": {"consume": "maybe"}}, 422, "invalid_setting"),
        ("POST", "/groups", {"name": "g", "settings": {"retry.steps": "soon"}}, 422, "invalid_setting"),
        ("POST", "/groups?instance=none", {"name": "g"}, 404, "unknown_instance"),
    ],
)
async def test_what_cannot_be_is_a_problem(
    api: httpx.AsyncClient, method: str, path: str, body: object, status: int, code: str
) -> None:
    answer = await api.request(method, path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
