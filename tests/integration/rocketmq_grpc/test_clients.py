"""Who clients are, where they are sent, and what they are told on their streams."""

import asyncio
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from braidmq.model import Group
from braidmq.node import Node
from braidmq.protocols.listener import Address, Endpoint
from braidmq.protocols.rocketmq_grpc import server_tls, wire
from braidmq.protocols.rocketmq_grpc.codes import ClientType, Code
from braidmq.settings import RocketMQGrpcSettings
from rocketmq_grpc_support import GrpcClient, consumer_settings, message, producer_settings, resource


async def test_a_producer_is_told_how_to_send(client: GrpcClient) -> None:
    async with client.introduced(producer_settings("orders")) as (_, answer):
        assert answer.status.code == Code.OK
        settings = answer.settings
        assert settings.WhichOneof("pub_sub") == "publishing"
        assert (settings.publishing.max_body_size, settings.publishing.validate_message_type) == (4 << 20, True)
        assert settings.backoff_policy.max_attempts == 3
        assert settings.backoff_policy.WhichOneof("strategy") == "exponential_backoff"
        assert [topic.name for topic in settings.publishing.topics] == ["orders"]
        assert not settings.metric.on


async def test_a_producer_is_told_the_limit_that_counts_now(node: Node, client: GrpcClient) -> None:
    await node.desk.settings.put("publish.body_bytes_max", "2KiB", if_match=None, changed_by="test")
    async with client.introduced(producer_settings("orders")) as (_, answer):
        assert answer.settings.publishing.max_body_size == 2_048


async def test_a_consumer_is_told_how_its_group_reads(node: Node, client: GrpcClient) -> None:
    await node.catalog.save_group(Group(name="readers", ordered=True, attempts_max=4))
    async with client.introduced(consumer_settings("readers", "orders", "a")) as (_, answer):
        settings = answer.settings
        assert settings.subscription.fifo
        assert settings.subscription.receive_batch_size == 32
        assert settings.backoff_policy.max_attempts == 5
        assert len(settings.backoff_policy.customized_backoff.next) == 16
        (member,) = node.members.consumers("readers")
        assert (member.id, member.language) == ("tester", "PYTHON")
        assert member.interests["orders"].expression == "a"
        assert member.address.startswith("127.0.0.1:")


async def test_a_client_is_there_until_it_says_that_it_goes(node: Node, client: GrpcClient) -> None:
    assert (await client.call("Heartbeat", client_type=1)).status.code == Code.UNRECOGNIZED_CLIENT_TYPE
    async with client.introduced(producer_settings("orders")):
        assert (await client.call("Heartbeat", client_type=1)).status.code == Code.OK
        assert [member.id for member in node.members.producers("orders")] == ["tester"]
        assert (await client.call("NotifyClientTermination")).status.code == Code.OK
        assert node.members.producers("orders") == []
    assert (await client.call("Heartbeat", client_type=1)).status.code == Code.UNRECOGNIZED_CLIENT_TYPE


async def test_a_client_that_reconnects_is_the_same_client(node: Node, client: GrpcClient) -> None:
    settings = consumer_settings("readers", "orders", kind=ClientType.PUSH_CONSUMER)
    async with client.introduced(settings):
        (before,) = node.members.consumers("readers")
    async with client.introduced(settings):
        (after,) = node.members.consumers("readers")
        assert after.channel is before.channel
        assert after.channel.is_alive  # type: ignore[attr-defined]


BAD_SETTINGS = {
    "nothing": wire.Settings(client_type=ClientType.PRODUCER),
    "another type": wire.Settings(client_type=99, publishing=wire.Publishing()),
    "two minds": wire.Settings(client_type=ClientType.PRODUCER, subscription=wire.Subscription()),
    "no group": consumer_settings("", "orders"),
    "too many topics": producer_settings(*map(str, range(1001))),
    "a broken filter": consumer_settings("readers", "orders", "||"),
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
async def test_settings_that_cannot_be_end_the_stream_with_the_reason(client: GrpcClient, case: str) -> None:
    stream = client.telemetry()
    await stream.write(wire.TelemetryCommand(settings=BAD_SETTINGS[case]))
    answer = await stream.read()
    assert 40000 <= answer.status.code < 50000
    with pytest.raises(grpc.aio.AioRpcError):
        await stream.read()
    assert await stream.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_client_without_a_name_is_refused(client: GrpcClient) -> None:
    answer = await client.call("QueryRoute", topic=resource("orders"), metadata=[])
    assert answer.status.code == Code.CLIENT_ID_REQUIRED
    long = await client.call("QueryRoute", topic=resource("orders"), metadata=[("x-mq-client-id", "x" * 600)])
    assert long.status.code == Code.CLIENT_ID_REQUIRED


async def test_oversize_metadata_is_refused_and_harms_nobody(client: GrpcClient) -> None:
    large = [*client.metadata, ("x-more", "x" * 40_000)]
    with pytest.raises(grpc.aio.AioRpcError):
        await client.call("QueryRoute", topic=resource("orders"), metadata=large)
    assert (await client.call("QueryRoute", topic=resource("orders"))).status.code == Code.OK


async def test_oversize_requests_are_refused_and_harm_nobody(client: GrpcClient) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await client.send(message("orders", bytes(9 << 20)))
    assert refusal.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await client.send(message("orders"))).status.code == Code.OK


async def test_clients_are_sent_to_where_they_came_from(client: GrpcClient, node: Node) -> None:
    said = wire.Endpoints(scheme=3, addresses=[wire.Address(host="mq.example", port=1)])
    route = await client.call("QueryRoute", topic=resource("orders"), endpoints=said)
    assert {queue.broker.endpoints.addresses[0].host for queue in route.message_queues} == {"mq.example"}
    assert [queue.id for queue in route.message_queues] == list(range(len(route.message_queues)))
    plain = await client.call("QueryRoute", topic=resource("orders"))
    (place,) = plain.message_queues[0].broker.endpoints.addresses
    assert (place.host, place.port) == node.addresses["rocketmq_grpc"][0]


async def test_clients_are_sent_to_the_advertised_address(start_node: Any) -> None:
    listen = (Endpoint(Address("127.0.0.1", 0), Address("mq.example", 8081)),)
    node = await start_node(rocketmq_grpc=RocketMQGrpcSettings(listen=listen, auto_create="on"))
    client = GrpcClient(str(node.addresses["rocketmq_grpc"][0]))
    route = await client.call("QueryRoute", topic=resource("orders"))
    endpoints = route.message_queues[0].broker.endpoints
    assert (endpoints.scheme, endpoints.addresses[0].host) == (3, "mq.example")
    await client.close()


async def test_assignments_are_whole_topics_or_for_groups_in_order_single_queues(
    node: Node, client: GrpcClient
) -> None:
    await node.topics.create("orders", partitions=3)
    await node.catalog.save_group(Group(name="ordered", ordered=True))
    for group, ids in (("readers", [-1]), ("ordered", [0, 1, 2])):
        answer = await client.call("QueryAssignment", topic=resource("orders"), group=resource(group))
        assert answer.status.code == Code.OK
        assert [each.message_queue.id for each in answer.assignments] == ids
    unknown = await client.call("QueryAssignment", topic=resource("none"), group=resource("readers"))
    assert unknown.status.code == Code.TOPIC_NOT_FOUND


def tls_channel(address: str, certificate: bytes) -> grpc.aio.Channel:
    credentials = grpc.ssl_channel_credentials(certificate)
    return grpc.aio.secure_channel(address, credentials, options=[("grpc.ssl_target_name_override", "localhost")])


async def test_one_port_takes_tls_and_plain_connections(client: GrpcClient, address: str, tmp_path: Path) -> None:
    file = tmp_path / "data" / "tls" / "rocketmq_grpc.pem"
    shown = await certificate_of(address)
    assert file.stat().st_mode & 0o777 == 0o600
    assert shown in file.read_text()
    secure = GrpcClient(address, "secure", channel=tls_channel(address, shown.encode()))
    assert (await secure.send(message("orders", bytes(3 << 20)))).status.code == Code.OK
    assert (await client.send(message("orders"))).status.code == Code.OK
    _, given = await secure.receive("orders", "readers")
    assert sorted(len(each.body) for each in given) == [4, 3 << 20]
    await secure.close()


async def test_the_certificate_stays_the_same_over_restarts(start_node: Any, tmp_path: Path) -> None:
    file = tmp_path / "data" / "tls" / "rocketmq_grpc.pem"
    node = await start_node()
    before = await certificate_of(str(node.addresses["rocketmq_grpc"][0]))
    await node.stop()
    node = await start_node()
    assert await certificate_of(str(node.addresses["rocketmq_grpc"][0])) == before
    assert before in file.read_text()


def test_a_certificate_that_cannot_be_made_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(OSError, match="none could be made"):
        server_tls(tmp_path / "own.pem", is_own=True)


def test_a_node_with_a_certificate_of_its_own_does_not_hold_what_made_it(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from braidmq.protocols.rocketmq_grpc import server_tls\n"
        f"server_tls(Path({str(tmp_path / 'own.pem')!r}), is_own=True); print('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"False\n"


async def certificate_of(address: str) -> str:
    """What a client is shown that wants TLS."""
    host, _, port = address.partition(":")
    return await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)))


async def test_what_is_neither_tls_nor_http2_harms_nobody(client: GrpcClient, address: str) -> None:
    host, _, port = address.partition(":")
    for data in (b"", b"\x16", b"\x16\x03\x01\x00\x05hello", b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 1000):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(data)
        writer.write_eof()
        await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert (await client.send(message("orders"))).status.code == Code.OK


async def test_tls_can_be_turned_off(start_node: Any, tmp_path: Path) -> None:
    listen = (Endpoint(Address("127.0.0.1", 0)),)
    node = await start_node(rocketmq_grpc=RocketMQGrpcSettings(listen=listen, tls="off", auto_create="on"))
    assert not (tmp_path / "data" / "tls").exists()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    host, port = node.addresses["rocketmq_grpc"][0]
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection(host, port, ssl=context)
