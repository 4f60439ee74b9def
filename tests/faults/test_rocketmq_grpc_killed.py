"""A node is killed while RocketMQ 5 clients work: what was acknowledged stays done, all else comes again."""

import asyncio
import signal
from pathlib import Path

import grpc.aio

from braidmq.protocols.rocketmq_grpc.codes import Code, MessageType, Resolution
from rocketmq_grpc_support import GrpcClient, message, moment, now_ms, resource
from running_node import RunningNode, WaitFor

SETTLED_S = 0.5
"""Acknowledgements are kept a moment after they are answered."""


def start(folder: Path, wait_for: WaitFor, port: str) -> RunningNode:
    arguments = [
        "--data",
        str(folder / "data"),
        "--http",
        "off",
        "--kafka",
        "off",
        "--set",
        "rocketmq_grpc.auto_create=on",
    ]
    return RunningNode(folder, [*arguments, "--grpc", f"127.0.0.1:{port}"], {}, wait_for).wait_ready()


async def test_messages_that_are_out_come_again_after_a_kill_and_none_is_lost(
    tmp_path: Path, wait_for: WaitFor
) -> None:
    node = start(tmp_path, wait_for, "0")
    client = GrpcClient(node.grpc_address)
    for number in range(30):
        assert (await client.send(message("orders", str(number).encode()))).status.code == Code.OK
    half = (await client.send(message("orders", b"half", message_type=MessageType.TRANSACTION))).entries[0]
    late = {"delivery_timestamp": moment(now_ms() + 3_000), "message_type": MessageType.DELAY}
    assert (await client.send(message("orders", b"late", **late))).status.code == Code.OK
    _, given = await client.receive("orders", "readers", batch_size=20)
    assert len(given) == 20
    done, out = given[:10], given[10:]
    await client.acknowledge("orders", "readers", *[each.system_properties.receipt_handle for each in done])
    await asyncio.sleep(SETTLED_S)
    port = node.grpc_address.rpartition(":")[2]
    node.stop(signal.SIGKILL)
    node.clean_up()
    await client.close()

    node = start(tmp_path, wait_for, port)
    client = GrpcClient(node.grpc_address)
    try:
        kept = await client.acknowledge("orders", "readers", out[0].system_properties.receipt_handle)
        assert kept.status.code == Code.OK  # a receipt outlives the process
        ended = await client.call(
            "EndTransaction",
            topic=resource("orders"),
            transaction_id=half.transaction_id,
            resolution=Resolution.COMMIT,
        )
        assert ended.status.code == Code.OK
        await come_again(client, {each.body for each in done} | {out[0].body}, {each.body for each in out[1:]})
    finally:
        await client.close()
        node.clean_up()


async def come_again(client: GrpcClient, done: set[bytes], out: set[bytes]) -> None:
    """All but what was done: the rest at once, what was out when its time is over, with its attempt counted."""
    wanted = {str(number).encode() for number in range(30)} | {b"half", b"late"}
    seen: dict[bytes, int] = {}
    deadline = asyncio.get_running_loop().time() + 50
    while set(seen) != wanted - done and asyncio.get_running_loop().time() < deadline:
        try:
            _, given = await client.receive("orders", "readers", wait_ms=2_000)
        except grpc.aio.AioRpcError:
            continue
        for each in given:
            seen[each.body] = each.system_properties.delivery_attempt
        await client.acknowledge(
            "orders", "readers", *[each.system_properties.receipt_handle for each in given] or [""]
        )
    assert set(seen) == wanted - done
    assert {body for body, attempt in seen.items() if attempt == 2} == out
