"""A node inside this process: log and catalog are made to agree, and a failing disk stops it."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from braidmq.log.embedded import LogOptions, LogStatistics
from braidmq.logger import FACTS
from braidmq.model import Message, Topic
from braidmq.model.errors import DataFolderInUse, ListenFailed, StorageFailed, UnknownPartition
from braidmq.node import Node, _http, _node
from braidmq.node._metrics import log_metrics
from braidmq.protocols.listener import Address, Endpoint, Listener
from braidmq.records import batch_messages
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    LogSettings,
    NodeSettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
    StoreSettings,
)
from braidmq.store import Catalog, Store

NO_HTTP = HttpSettings(listen=None)
NO_KAFKA = KafkaSettings(listen=())
NO_ROCKETMQ = RocketMQSettings(listen=())
ANY_PORT = HttpSettings(listen=Address("127.0.0.1", 0))


def settings_for(folder: Path, http: HttpSettings = NO_HTTP, store_url: str = "") -> Settings:
    return Settings(
        node=NodeSettings(data=folder),
        http=http,
        kafka=NO_KAFKA,
        rocketmq=NO_ROCKETMQ,
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
        store=StoreSettings(url=store_url),
    )


async def topic_in_catalog_only(settings: Settings, name: str = "orders") -> Topic:
    settings.node.data.mkdir(exist_ok=True)
    store = await Store.open(settings.store_url)
    catalog = await Catalog.open(store)
    topic = await catalog.create_topic(name, partitions=2)
    await store.close()
    return topic


async def append(node: Node, number: int) -> object:
    (result,) = await node.log.append([(number, batch_messages([Message(body=b"x")]))])
    return result


async def test_a_topic_that_only_the_catalog_knows_is_made_in_the_log(tmp_path: Path) -> None:
    topic = await topic_in_catalog_only(settings_for(tmp_path))
    node = await Node.start(settings_for(tmp_path))
    try:
        assert [node.log.bounds(number).end for number in topic.partition_numbers] == [0, 0]
    finally:
        await node.stop()


async def test_partitions_that_only_the_catalog_knows_are_added_and_the_others_keep_their_messages(
    tmp_path: Path,
) -> None:
    topic = await topic_in_catalog_only(settings_for(tmp_path))
    node = await Node.start(settings_for(tmp_path))
    await append(node, topic.partition_numbers[0])
    grown = await node.catalog.expand_topic(topic.id, 3)
    await node.stop()
    node = await Node.start(settings_for(tmp_path))
    try:
        assert [node.log.bounds(number).end for number in grown.partition_numbers] == [1, 0, 0]
    finally:
        await node.stop()


async def test_a_deletion_that_had_begun_is_finished(tmp_path: Path) -> None:
    topic = await topic_in_catalog_only(settings_for(tmp_path))
    node = await Node.start(settings_for(tmp_path))
    await append(node, topic.partition_numbers[0])
    await node.catalog.begin_topic_deletion(topic.id)
    await node.stop()
    node = await Node.start(settings_for(tmp_path))
    try:
        with pytest.raises(UnknownPartition):
            node.log.bounds(topic.partition_numbers[0])
        assert list(node.catalog.topics_deleting()) == []
    finally:
        await node.stop()


async def test_data_that_the_catalog_does_not_know_is_kept_and_said_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic = await topic_in_catalog_only(settings_for(tmp_path))
    node = await Node.start(settings_for(tmp_path))
    await append(node, topic.partition_numbers[0])
    await node.stop()
    empty = settings_for(tmp_path, store_url=f"sqlite:///{tmp_path}/other.sqlite")
    caplog.clear()
    node = await Node.start(empty)
    try:
        assert node.log.bounds(topic.partition_numbers[0]).end == 1
        (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
        assert "they are kept" in warning.getMessage()
        assert (
            str(topic.id) in getattr(warning, FACTS)["ids"]
        )  # the node itself had told of what came, in a topic of its own
    finally:
        await node.stop()


async def test_a_start_that_fails_lets_go_of_everything(tmp_path: Path) -> None:
    first = await Node.start(settings_for(tmp_path / "first", ANY_PORT))
    try:
        taken = HttpSettings(listen=first.addresses["http"][0])
        with pytest.raises(ListenFailed):
            await Node.start(settings_for(tmp_path / "second", taken))
        with pytest.raises(DataFolderInUse):
            await Node.start(settings_for(tmp_path / "first"))
        await (await Node.start(settings_for(tmp_path / "second", ANY_PORT))).stop()
    finally:
        await first.stop()


async def test_stopping_twice_changes_nothing(tmp_path: Path) -> None:
    node = await Node.start(settings_for(tmp_path, ANY_PORT))
    await node.stop()
    await node.stop()


class HeldUp:
    """The last part of a start, in which the HTTP interface is put together, until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        self.failure: Exception | None = None
        self._wire = _http.wire_http
        monkeypatch.setattr(_http, "wire_http", self._wire_held_up)

    def _wire_held_up(self, *arguments: Any) -> Callable[[], Listener]:
        make = self._wire(*arguments)

        def made_later() -> Listener:
            self.begun.set()
            assert self.may_go_on.wait(20)
            if self.failure is not None:
                raise self.failure
            return make()

        return made_later


@pytest.fixture
def held_up(monkeypatch: pytest.MonkeyPatch) -> HeldUp:
    return HeldUp(monkeypatch)


def speaking_kafka(folder: Path) -> Settings:
    kafka = KafkaSettings(listen=(Endpoint(Address("127.0.0.1", 0)),))
    return msgspec.structs.replace(settings_for(folder, ANY_PORT), kafka=kafka)


async def starting_node(settings: Settings, held_up: HeldUp) -> tuple["asyncio.Task[Node]", Node]:
    """A start, and the node as far as it has come: its listeners serve, but for HTTP."""
    made: list[Node] = []

    class Watched(Node):
        async def _start(self) -> None:
            made.append(self)
            await super()._start()

    starting = asyncio.create_task(Watched.start(settings))
    assert await asyncio.to_thread(held_up.begun.wait, 20)
    return starting, made[0]


async def test_messages_are_served_while_the_http_interface_is_put_together(tmp_path: Path, held_up: HeldUp) -> None:
    starting, node = await starting_node(speaking_kafka(tmp_path), held_up)
    producer = AIOKafkaProducer(bootstrap_servers=str(node.addresses["kafka"][0]))
    await producer.start()
    assert (await producer.send_and_wait("early", b"x")).offset == 0
    await producer.stop()
    asked = asyncio.create_task(readiness(node))  # its port is there: who comes early waits
    assert not node.health.ready
    assert not starting.done()
    held_up.may_go_on.set()
    assert await starting is node
    assert (await asked)[0] in (200, 503)
    assert await readiness(node) == (200, {"ready": True, "reasons": {}})
    await node.stop()


async def test_a_start_that_is_given_up_in_its_last_part_closes_nothing_that_is_in_use(
    tmp_path: Path, held_up: HeldUp
) -> None:
    starting, _ = await starting_node(speaking_kafka(tmp_path), held_up)
    starting.cancel()
    done, _ = await asyncio.wait((starting,), timeout=0.1)
    assert not done
    with pytest.raises(DataFolderInUse):
        await Node.start(settings_for(tmp_path))
    held_up.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await (await Node.start(settings_for(tmp_path))).stop()


async def test_a_start_that_fails_in_its_last_part_lets_go_of_everything(tmp_path: Path, held_up: HeldUp) -> None:
    held_up.failure = ListenFailed("something is wrong with HTTP")
    starting, node = await starting_node(speaking_kafka(tmp_path), held_up)
    held_up.may_go_on.set()
    with pytest.raises(ListenFailed, match="something is wrong"):
        await starting
    for places in node.addresses.values():
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*places[0])
    await (await Node.start(settings_for(tmp_path))).stop()


async def test_a_port_in_use_is_found_before_anybody_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Node] = []
    monkeypatch.setattr(_node, "make_listeners", served.append)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        http = HttpSettings(listen=Address(*taken.getsockname()))
        with pytest.raises(ListenFailed, match="in use"):
            await Node.start(settings_for(tmp_path, http))
    assert served == []


def break_the_journal(folder: Path) -> None:
    """Put a device that takes nothing behind every journal file that is open: writing fails, as on a dying disk."""
    dead = os.open("/dev/full", os.O_RDONLY)
    for entry in Path("/proc/self/fd").iterdir():
        target = os.readlink(entry) if entry.is_symlink() else ""
        if target.startswith(str(folder)) and "/journal" in target:
            os.dup2(dead, int(entry.name))
    os.close(dead)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="finds the journal's files through /proc")
async def test_a_disk_that_fails_makes_the_node_unready_and_ask_to_be_stopped(tmp_path: Path) -> None:
    topic = await topic_in_catalog_only(settings_for(tmp_path))
    node = await Node.start(settings_for(tmp_path, ANY_PORT))
    try:
        assert await readiness(node) == (200, {"ready": True, "reasons": {}})
        await append(node, topic.partition_numbers[0])  # opens the journal
        break_the_journal(tmp_path)
        assert isinstance(await append(node, topic.partition_numbers[0]), StorageFailed)
        async with asyncio.timeout(10):
            assert isinstance(await node.failed(), StorageFailed)
        status, body = await readiness(node)
        assert status == 503
        assert body["reasons"]["log"]
    finally:
        await node.stop()


async def readiness(node: Node) -> tuple[int, dict[str, dict[str, str]]]:
    url = f"http://{node.addresses['http'][0]}/readyz"

    def ask() -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    status, body = await asyncio.to_thread(ask)
    return status, msgspec.json.decode(body)


def test_the_command_ends_with_status_3_when_the_storage_fails(tmp_path: Path) -> None:
    script = """
import asyncio, sys
from pathlib import Path
from braidmq.cli._up import run_node
from braidmq.model.errors import StorageFailed
from braidmq.node import Node
from braidmq.settings import HttpSettings, KafkaSettings, NodeSettings, RocketMQGrpcSettings, RocketMQSettings, Settings

class Failing(Node):
    async def failed(self):
        self._fail(StorageFailed("the disk failed: Input/output error"))
        return await super().failed()

import braidmq.cli._up as up
up.Node = Failing
settings = Settings(node=NodeSettings(data=Path(sys.argv[1])), http=HttpSettings(listen=None),
                    kafka=KafkaSettings(listen=()), rocketmq=RocketMQSettings(listen=()),
                    rocketmq_grpc=RocketMQGrpcSettings(listen=()))
sys.exit(run_node(settings, None))
"""
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert "braid: the disk failed: Input/output error\n" in ended.stderr
    assert "storage failed, stopping" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_defaults_of_the_settings_are_those_of_the_log() -> None:
    options, section = LogOptions(), LogSettings()
    for name in section.__struct_fields__:
        assert getattr(section, name) == getattr(options, name), name


def test_every_figure_of_the_log_is_a_metric() -> None:
    figures = LogStatistics(*range(len(LogStatistics._fields)))
    assert len(list(log_metrics(figures))) == len(LogStatistics._fields)
