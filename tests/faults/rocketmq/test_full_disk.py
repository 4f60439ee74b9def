"""A broker whose disk is full says so to whoever sends, whatever is sent and however. What it refused is nowhere, not
after a restart either; what it took is there; and it takes messages again by itself when there is room.

What fills the disk is a file of somebody else, and what the broker took before.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from braidmq.log.embedded import LogOptions
from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import BatchedMessage, Command, RequestCode, ResponseCode
from braidmq.protocols.rocketmq.codec.messages import write_properties
from braidmq.settings import LogSettings, NodeSettings, RocketMQSettings
from faults.foreigner import Foreigner
from inside_node import FREE, StartNode, nodes_on
from rocketmq_peer import COMMIT, Peer, another, eventually, sending, unique_id

TOPIC = "orders"
KIB = 1024
SENDS_MAX = 2000
LIMIT_S = 20.0

Send = Callable[[Peer, str], Awaitable[Command]]


@pytest.fixture
async def start_node(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StartNode]:
    """Nodes whose reserve leaves room on a small disk."""
    options_of = Node._log_options

    def small(node: Node) -> LogOptions:
        return msgspec.structs.replace(options_of(node), reserve_bytes=256 * KIB)

    monkeypatch.setattr(Node, "_log_options", small)
    sections = {
        "node": NodeSettings(data=small_disk / "data", drain_ms=100, name="full"),
        "log": LogSettings(journal_file_bytes=KIB * KIB),
        "rocketmq": RocketMQSettings(listen=FREE, vip="off"),
    }
    async with nodes_on(small_disk, **sections) as start:
        yield start


@pytest.fixture
def foreigner(small_disk: Path) -> Foreigner:
    return Foreigner(small_disk)


async def sent(peer: Peer, name: str) -> Command:
    return await peer.publish(TOPIC, bytes(8 * KIB), properties={"UNIQ_KEY": name})


async def sent_as_long_ago(peer: Peer, name: str) -> Command:
    return await peer.publish(TOPIC, bytes(8 * KIB), v2=False, properties={"UNIQ_KEY": name})


async def sent_in_a_batch(peer: Peer, name: str) -> Command:
    properties = (write_properties({"UNIQ_KEY": each}) for each in (name, f"{name}, too"))
    return await peer.publish_batch(
        TOPIC, [BatchedMessage(body=bytes(4 * KIB), properties=each) for each in properties]
    )


async def delayed(peer: Peer, name: str) -> Command:
    properties = {"UNIQ_KEY": name, "TIMER_DELAY_MS": "1000"}
    return await peer.publish(TOPIC, bytes(60 * KIB), properties=properties)


async def prepared(peer: Peer, name: str) -> Command:
    return await peer.prepare(TOPIC, bytes(8 * KIB), UNIQ_KEY=name)


async def refusal_of(send: Send, peer: Peer, what: str, kept: dict[str, Command]) -> tuple[str, Command]:
    """Send until that is refused: the message and the answer. What was taken is kept."""
    for number in range(SENDS_MAX):
        name = f"{what} {number}"
        answer = await send(peer, name)
        if answer.code != ResponseCode.SUCCESS:
            return name, answer
        kept[name] = answer
    raise AssertionError("the disk never became full")


async def take_again(send: Send, peer: Peer, kept: dict[str, Command]) -> None:
    """Wait until such a message is taken."""

    async def is_taken() -> bool:
        answer = await send(peer, "with room")
        assert answer.code in (ResponseCode.SUCCESS, ResponseCode.SERVICE_NOT_AVAILABLE), answer.remark
        if answer.code == ResponseCode.SUCCESS:
            kept["with room"] = answer
        return answer.code == ResponseCode.SUCCESS

    await eventually(is_taken, LIMIT_S)


async def names(peer: Peer) -> set[str]:
    return {unique_id(message) for message in await peer.all_messages(TOPIC, 4)}


@pytest.mark.parametrize("send", [sent, sent_as_long_ago, sent_in_a_batch, delayed, prepared])
async def test_what_a_full_disk_refuses_is_nowhere_and_what_it_takes_is_there(
    start_node: StartNode, foreigner: Foreigner, send: Send
) -> None:
    node = await start_node()
    await node.topics.create(TOPIC, partitions=4)
    peer = await another(node)
    kept, fillers = {"before": await send(peer, "before")}, dict[str, Command]()
    foreigner.fill()
    await refusal_of(sent, peer, "filler", fillers)
    foreigner.fill()  # the room of the reserve as well, which was given up
    refused, answer = await refusal_of(send, peer, "late", kept)
    assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert "full" in (answer.remark or "")
    again = await send(peer, f"{refused} again")
    assert (again.code, again.remark) == (answer.code, answer.remark), "as long as it is full"
    foreigner.leave()
    await take_again(send, peer, kept)
    if send is prepared:
        for half in kept.values():
            assert (await peer.end(half, COMMIT)).code == 0
    await peer.close()
    await node.stop()

    node = await start_node()
    peer = await another(node)
    others = {f"{name}, too" for name in kept} if send is sent_in_a_batch else set[str]()
    expected = {*fillers, *kept, *others}

    async def is_all_there() -> bool:
        return await names(peer) >= expected

    await eventually(is_all_there, LIMIT_S)
    assert await names(peer) == expected
    assert not await node.timers.page()
    assert not await node.halves.page()
    await peer.close()


async def test_a_one_way_message_that_a_full_disk_refuses_is_nowhere_and_does_its_connection_no_harm(
    start_node: StartNode, foreigner: Foreigner
) -> None:
    node = await start_node()
    await node.topics.create(TOPIC, partitions=4)
    peer = await another(node)
    kept: dict[str, Command] = {}
    foreigner.fill()
    await refusal_of(sent, peer, "filler", kept)
    foreigner.fill()
    for number in range(10):
        header = sending(TOPIC, properties={"UNIQ_KEY": f"untold {number}"})
        peer.tell(RequestCode.SEND_MESSAGE, header, bytes(8 * KIB))
    assert await names(peer) == {*kept}
    foreigner.leave()
    await take_again(sent, peer, kept)
    await peer.close()
    await node.stop()
    peer = await another(await start_node())
    assert await names(peer) == {*kept}
    await peer.close()
