"""A node is killed while messages go to many lite topics: each has all that was answered as kept, in order."""

import asyncio
import signal
from pathlib import Path

import grpc.aio
import httpx

from braidmq.protocols.rocketmq_grpc.codes import ClientType, Code, LiteAction, MessageType
from rocketmq_grpc_support import GrpcClient, consumer_settings, message, resource
from running_node import RunningNode, WaitFor

PARENT, GROUP = "devices", "readers"
LITES = [f"d{number}" for number in range(40)]
KEPT_BEFORE_KILL = 200


def start(folder: Path, wait_for: WaitFor) -> RunningNode:
    arguments = ["--data", str(folder / "data"), "--http", "127.0.0.1:0", "--kafka", "off"]
    return RunningNode(folder, [*arguments, "--grpc", "127.0.0.1:0"], {}, wait_for).wait_ready()


async def send_on(client: GrpcClient, lite: str, kept: dict[str, list[bytes]]) -> None:
    """Until the node is gone."""
    try:
        for number in range(100_000):
            body = str(number).encode()
            sent = message(PARENT, body, lite_topic=lite, message_type=MessageType.LITE)
            if (await client.send(sent)).status.code == Code.OK:
                kept[lite].append(body)
    except grpc.aio.AioRpcError:
        return


async def read_all(client: GrpcClient, wanted: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
    """What comes of each lite topic, in the order of its coming, until all that is wanted has."""
    found: dict[str, list[bytes]] = {lite: [] for lite in LITES}
    async with asyncio.timeout(60):
        while any(len(found[lite]) < len(bodies) for lite, bodies in wanted.items()):
            _, given = await client.receive(PARENT, GROUP, wait_ms=2_000)
            for each in given:
                found[each.system_properties.lite_topic].append(each.body)
            if given:
                handles = [each.system_properties.receipt_handle for each in given]
                assert (await client.acknowledge(PARENT, GROUP, *handles)).status.code == Code.OK
    return found


async def test_what_was_kept_in_each_lite_topic_is_there_in_order_after_a_kill(
    tmp_path: Path, wait_for: WaitFor
) -> None:
    node = start(tmp_path, wait_for)
    made = {"name": PARENT, "partitions": 1, "kind": "lite", "settings": {"lite.topic.expiration": "30"}}
    async with httpx.AsyncClient() as api:
        (await api.post(f"{node.url}/api/v1/topics", json=made)).raise_for_status()
    client = GrpcClient(node.grpc_address)
    kept: dict[str, list[bytes]] = {lite: [] for lite in LITES}
    sending = [asyncio.create_task(send_on(client, lite, kept)) for lite in LITES]
    async with asyncio.timeout(60):
        while sum(map(len, kept.values())) < KEPT_BEFORE_KILL:  # noqa: ASYNC110 - what is kept is no event of ours
            await asyncio.sleep(0.01)
    node.process.send_signal(signal.SIGKILL)
    await asyncio.gather(*sending)
    node.wait_ended()
    node.clean_up()
    await client.close()

    node = start(tmp_path, wait_for)
    reader = GrpcClient(node.grpc_address, "reader")
    try:
        async with reader.introduced(consumer_settings(GROUP, PARENT, kind=ClientType.LITE_SIMPLE_CONSUMER)):
            named = {"topic": resource(PARENT), "group": resource(GROUP), "lite_topic_set": LITES}
            await reader.call("SyncLiteSubscription", action=LiteAction.COMPLETE_ADD, **named)
            found = await read_all(reader, kept)
    finally:
        await reader.close()
        node.clean_up()
    for lite, bodies in kept.items():
        assert found[lite][: len(bodies)] == bodies  # what was under way when it died may be there, too
