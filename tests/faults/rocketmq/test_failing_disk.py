"""A broker whose disk fails says so to whoever sends, and acknowledges nothing more; its next life has what it had
acknowledged."""

import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from braidmq.log.embedded import RealDisk, _log
from braidmq.model.errors import StorageFailed
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import BatchedMessage, RequestCode, ResponseCode
from braidmq.settings import LogSettings, NodeSettings, RocketMQSettings
from faults.log.disks import Call, FaultyDisk
from inside_node import FREE, StartNode, nodes_on
from rocketmq_peer import Peer, another, sending, unique_id

TOPIC = "orders"


@pytest.fixture
async def start_node(tmp_path: Path) -> AsyncIterator[StartNode]:
    sections = {
        "node": NodeSettings(data=tmp_path / "data", drain_ms=100, name="failing"),
        "log": LogSettings(flush="commit"),
        "rocketmq": RocketMQSettings(listen=FREE, vip="off"),
    }
    async with nodes_on(tmp_path, **sections) as start:
        yield start


async def names(peer: Peer) -> set[str]:
    return {unique_id(message) for message in await peer.all_messages(TOPIC, 4)}


async def test_every_kind_of_send_to_a_disk_that_failed_is_refused_with_the_reason(
    start_node: StartNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks: list[FaultyDisk] = []

    def faulty(folder: Path) -> FaultyDisk:
        disks.append(FaultyDisk(RealDisk(folder)))
        return disks[-1]

    monkeypatch.setattr(_log, "RealDisk", faulty)
    node: Node = await start_node()
    await node.topics.create(TOPIC, partitions=4)
    peer = await another(node)
    assert (await peer.publish(TOPIC, b"x", properties={"UNIQ_KEY": "kept"})).code == 0

    def fails(call: Call) -> OSError | None:
        return OSError(errno.EIO, os.strerror(errno.EIO)) if call.kind == "sync" else None

    disks[-1].fails = fails
    under_way = await peer.publish(TOPIC, b"x", properties={"UNIQ_KEY": "under way"})
    refused = [
        under_way,
        await peer.publish(TOPIC, b"x", properties={"UNIQ_KEY": "refused"}),
        await peer.publish(TOPIC, b"x", v2=False, properties={"UNIQ_KEY": "refused"}),
        await peer.publish_batch(TOPIC, [BatchedMessage(body=b"x", properties="UNIQ_KEY\x01refused\x02")]),
        await peer.prepare(TOPIC, b"x", UNIQ_KEY="refused"),
    ]
    for answer in refused:
        assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert "the disk failed" in (answer.remark or "")
    peer.tell(RequestCode.SEND_MESSAGE, sending(TOPIC, properties={"UNIQ_KEY": "refused"}), b"x")
    assert await names(peer) == {"kept"}
    assert isinstance(await node.failed(), StorageFailed)
    await peer.close()
    await node.stop()

    monkeypatch.undo()
    peer = await another(await start_node())
    found = await names(peer)
    assert {"kept"} <= found <= {"kept", "under way"}, "nobody can know what became of that which the disk was given"
    assert (await peer.publish(TOPIC, b"x")).code == 0
    await peer.close()
