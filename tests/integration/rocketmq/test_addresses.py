"""Where clients are sent: one port or several, the VIP port, other addresses than ours, IPv6."""

import contextlib
import socket

import pytest

from braidmq.node import Node
from braidmq.protocols.listener import Address, Endpoint
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, decode_body
from braidmq.protocols.rocketmq.codec.bodies import ClusterInfo
from braidmq.protocols.rocketmq.codec.ids import read_offset_id
from braidmq.settings import RocketMQSettings
from inside_node import FREE, StartNode
from rocketmq_peer import Peer, connected

TOPIC = "orders"


def free_pair() -> int:
    """A port that is free, and so is the one two below it."""
    for _ in range(100):
        with socket.socket() as first, socket.socket() as second, contextlib.suppress(OSError):
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            second.bind(("127.0.0.1", port - 2))
            return port
    pytest.fail("no two free ports")


async def route_from(address: Address, topic: str = TOPIC) -> str:
    peer = await connected(address.host, address.port)
    try:
        if topic == TOPIC:
            assert (await peer.publish(TOPIC, b"a")).code == 0
        return (await peer.route(topic)).broker_datas[0].broker_addrs[0]
    finally:
        await peer.close()


async def id_from(address: Address) -> str:
    """The address in the id of a message that is sent there."""
    peer = await connected(address.host, address.port)
    try:
        host = read_offset_id((await peer.publish(TOPIC, b"a")).fields["msgId"]).host
        return f"{host.address}:{host.port}"
    finally:
        await peer.close()


async def test_on_one_port_clients_stay_where_they_are(start_node: StartNode) -> None:
    node = await start_node()
    here = node.addresses["rocketmq"][0]
    assert await route_from(here) == str(here)
    assert await id_from(here) == str(here)


async def test_a_broker_with_a_port_of_its_own_is_where_clients_are_sent(start_node: StartNode) -> None:
    node = await start_node(rocketmq=RocketMQSettings(listen=FREE, broker_listen=FREE))
    name_server, broker = node.addresses["rocketmq"][:2]
    assert name_server.port != broker.port
    assert await route_from(name_server) == str(broker)
    assert await route_from(broker) == str(broker)
    assert await id_from(broker) == str(broker)


async def test_the_vip_port_is_two_below_the_brokers_and_sends_clients_to_the_broker(start_node: StartNode) -> None:
    port = free_pair()
    broker = (Endpoint(Address("127.0.0.1", port)),)
    node = await start_node(rocketmq=RocketMQSettings(listen=FREE, broker_listen=broker))
    vip = Address("127.0.0.1", port - 2)
    assert vip in node.addresses["rocketmq"]
    assert await route_from(vip) == f"127.0.0.1:{port}"
    assert await id_from(vip) == f"127.0.0.1:{port}"


async def test_the_vip_port_can_be_turned_off(start_node: StartNode) -> None:
    port = free_pair()
    listen = (Endpoint(Address("127.0.0.1", port)),)
    node = await start_node(rocketmq=RocketMQSettings(listen=listen, vip="off"))
    assert node.addresses["rocketmq"] == (Address("127.0.0.1", port),)


async def test_clients_are_told_the_address_that_they_can_reach(start_node: StartNode) -> None:
    listen = (Endpoint(Address("127.0.0.1", 0), Address("203.0.113.9", 9876)),)
    node = await start_node(rocketmq=RocketMQSettings(listen=listen))
    assert await route_from(node.addresses["rocketmq"][0]) == "203.0.113.9:9876"
    assert await id_from(node.addresses["rocketmq"][0]) == "203.0.113.9:9876"


async def test_the_broker_may_be_advertised_too(start_node: StartNode) -> None:
    broker = (Endpoint(Address("127.0.0.1", 0), Address("mq.example", 10911)),)
    node = await start_node(rocketmq=RocketMQSettings(listen=FREE, broker_listen=broker))
    for address in node.addresses["rocketmq"]:
        assert await route_from(address) == "mq.example:10911"
    assert await id_from(node.addresses["rocketmq"][0]) == "0.0.0.0:10911"


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
async def test_clients_over_ipv6_are_served_and_their_messages_say_so(start_node: StartNode) -> None:
    try:
        node: Node = await start_node(rocketmq=RocketMQSettings(listen=(Endpoint(Address("::1", 0)),)))
    except Exception as error:
        pytest.skip(f"IPv6 cannot be used here: {error}")
    address = node.addresses["rocketmq"][0]
    peer: Peer = await connected(address.host, address.port)
    answer = await peer.publish(TOPIC, b"a")
    assert answer.code == 0
    place = read_offset_id(answer.fields["msgId"])
    assert (place.host.address, place.host.port) == ("::1", address.port)
    (message,) = await peer.messages(TOPIC)
    assert message.born_host.address == "::1"
    assert message.store_host.address == "::1"
    assert (await peer.route(TOPIC)).broker_datas[0].broker_addrs[0] == f"[::1]:{address.port}"
    await peer.close()


async def test_tools_find_the_broker_by_cluster_and_by_name(start_node: StartNode) -> None:
    node = await start_node(rocketmq=RocketMQSettings(listen=FREE, cluster="Payments", broker="b-1"))
    here = node.addresses["rocketmq"][0]
    assert await route_from(here, "Payments") == str(here)
    assert await route_from(here, "b-1") == str(here)
    peer = await connected(here.host, here.port)
    info = decode_body(ClusterInfo, (await peer.get(RequestCode.GET_BROKER_CLUSTER_INFO)).body)
    assert info.cluster_addr_table == {"Payments": ["b-1"]}
    assert info.broker_addr_table["b-1"].broker_addrs == {0: str(here)}
    nowhere = await peer.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "nowhere"})
    assert nowhere.code == ResponseCode.TOPIC_NOT_EXIST
    await peer.close()
