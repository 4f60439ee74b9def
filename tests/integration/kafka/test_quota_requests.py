"""Quotas of clients and users' credentials, in every advertised version; what quotas do to requests.

What is expected of refusals is what a broker of Kafka 4.1 answers to the same requests.
"""

import asyncio
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from braidmq.core.audit import AuditEntry
from braidmq.model import Message
from braidmq.model.credentials import ScramMechanism
from braidmq.model.limits import OTHERS, Holder, Limit, named
from braidmq.node import Node
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.alter_client_quotas import AlterClientQuotasRequest
from braidmq.protocols.kafka.codec.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from braidmq.protocols.kafka.codec.messages.create_partitions import CreatePartitionsRequest
from braidmq.protocols.kafka.codec.messages.create_topics import CreateTopicsRequest
from braidmq.protocols.kafka.codec.messages.delete_topics import DeleteTopicsRequest
from braidmq.protocols.kafka.codec.messages.describe_client_quotas import DescribeClientQuotasRequest
from braidmq.protocols.kafka.codec.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from braidmq.protocols.kafka.codec.messages.fetch import FetchRequest
from braidmq.protocols.kafka.codec.messages.metadata import MetadataRequest
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest
from braidmq.records import batch_messages
from braidmq.store import AuditAsk
from inside_node import StartNode
from kafka_support import RawClient, every_version, topic_of, until, versions

Connect = Callable[[], Awaitable[RawClient]]
Entity = Sequence[tuple[str, str | None]]
EXACT, DEFAULT, ANY = range(3)
PRODUCED, CONSUMED, BUSY = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
CHANGED, CONNECTIONS = "controller_mutation_rate", "connection_creation_rate"
CLIENT = Holder(client=named("raw"))
"""The name that `RawClient` gives itself."""


@pytest.fixture
async def client(node: Node, connect: Connect) -> RawClient:
    await node.topics.create("orders", partitions=1)
    return await connect()


async def alter(
    client: RawClient, *entries: tuple[Entity, dict[str, float | None]], version: int = 1, validate_only: bool = False
) -> list[Any]:
    request = AlterClientQuotasRequest(
        entries=[
            AlterClientQuotasRequest.EntryData(
                entity=[
                    AlterClientQuotasRequest.EntityData(entity_type=kind, entity_name=name) for kind, name in entity
                ],
                ops=[
                    AlterClientQuotasRequest.OpData(key=key, value=value or 0.0, remove=value is None)
                    for key, value in ops.items()
                ],
            )
            for entity, ops in entries
        ],
        validate_only=validate_only,
    )
    return list((await client.ask(request, version)).entries)


async def describe(
    client: RawClient, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> Any:
    chosen = [
        DescribeClientQuotasRequest.ComponentData(entity_type=kind, match_type=match, match=name)
        for kind, match, name in components
    ]
    return await client.ask(DescribeClientQuotasRequest(components=chosen, strict=strict), version)


def told(response: Any) -> dict[str, dict[str, float]]:
    """What is set, by entity."""
    return {
        " ".join(f"{each.entity_type}={each.entity_name}" for each in entry.entity): {
            value.key: value.value for value in entry.values
        }
        for entry in response.entries
    }


# Quotas are set and shown


@every_version(ApiKey.ALTER_CLIENT_QUOTAS)
async def test_every_version_sets_shows_and_removes(client: RawClient, version: int) -> None:
    entity = (("user", "bob"), ("client-id", None))
    (entry,) = await alter(client, (entity, {PRODUCED: 1024.0, BUSY: 0.5}), version=version)
    assert (entry.error_code, entry.error_message) == (0, None)
    assert [(each.entity_type, each.entity_name) for each in entry.entity] == list(entity)
    await alter(client, ([("ip", "10.0.0.1")], {CONNECTIONS: 5.0}), version=version)
    response = await describe(client, version=version)
    assert (response.error_code, response.error_message) == (0, None)
    expected = {"user=bob client-id=None": {PRODUCED: 1024.0, BUSY: 0.5}, "ip=10.0.0.1": {CONNECTIONS: 5.0}}
    assert told(response) == expected
    await alter(client, (entity, {PRODUCED: None, CONSUMED: None}), version=version)
    assert told(await describe(client, ("user", ANY, None), version=version)) == {
        "user=bob client-id=None": {BUSY: 0.5}
    }
    await alter(client, (entity, {BUSY: None}), version=version)
    assert told(await describe(client, ("user", ANY, None), version=version)) == {}


@pytest.mark.parametrize(
    ("entity", "ops", "words"),
    [
        ([], {PRODUCED: 1.0}, "Invalid empty client quota entity"),
        ([("user", "")], {PRODUCED: 1.0}, "Empty user not supported"),
        ([("group", "g")], {PRODUCED: 1.0}, "Unhandled client quota entity type: group"),
        ([("user", "u"), ("ip", "10.0.0.1")], {CONNECTIONS: 1.0}, "for nobody else"),
        ([("ip", "10.0.0.1.2")], {CONNECTIONS: 1.0}, "10.0.0.1.2 is not a valid IP"),
        ([("user", "u")], {"nope": 1.0}, "Invalid configuration key nope"),
        ([("user", "u")], {CONNECTIONS: 1.0}, f"Invalid configuration key {CONNECTIONS}"),
        ([("ip", None)], {PRODUCED: 1.0}, f"Invalid configuration key {PRODUCED}"),
        ([("user", "u")], {PRODUCED: -1.0}, f"Quota {PRODUCED} must be greater than 0"),
        ([("user", "u")], {CONSUMED: 1.5}, f"{CONSUMED} cannot be a fractional value."),
        ([("user", "u")], {CONSUMED: 1e30}, f"Proposed value for {CONSUMED} is too large"),
        ([("user", "u")], {BUSY: float("nan")}, "must be greater than 0"),
        ([("user", "u")], {PRODUCED: 5.0, CONSUMED: -1.0}, f"Quota {CONSUMED} must be greater than 0"),
        ([("user", "u" * 256)], {PRODUCED: 1.0}, "less than 256 characters"),
    ],
)
async def test_what_cannot_be_is_refused_whole(
    client: RawClient, entity: Entity, ops: dict[str, float | None], words: str
) -> None:
    (entry,) = await alter(client, (entity, ops))
    assert entry.error_code == ErrorCode.INVALID_REQUEST
    assert words in entry.error_message
    assert told(await describe(client)) == {}


async def test_one_refused_alteration_leaves_the_others_alone(client: RawClient) -> None:
    user, other = [("user", "u")], [("user", "v")]
    entries = await alter(client, (user, {PRODUCED: 1.0}), (other, {PRODUCED: 2.0}), (user, {CONSUMED: 3.0}))
    assert sorted(entry.error_code for entry in entries) == [0, ErrorCode.INVALID_REQUEST]
    assert told(await describe(client)) == {"user=v": {PRODUCED: 2.0}}
    assert [entry.error_code for entry in await alter(client, (user, {"nope": None}))] == [0]
    assert [entry.error_code for entry in await alter(client, (user, {PRODUCED: 9.0}), validate_only=True)] == [0]
    (refused,) = await alter(client, (user, {PRODUCED: 0.0}), validate_only=True)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert told(await describe(client)) == {"user=v": {PRODUCED: 2.0}}


async def test_filters_choose_by_name_default_and_type_strictly_or_not(client: RawClient) -> None:
    entities: list[Entity] = [
        [("user", "u")],
        [("user", None)],
        [("user", "u"), ("client-id", "c")],
        [("user", None), ("client-id", None)],
        [("client-id", "c")],
    ]
    for entity in entities:
        await alter(client, (entity, {PRODUCED: 1.0}))
    await alter(client, ([("ip", None)], {CONNECTIONS: 1.0}))
    user, default, both, defaults, one = (" ".join(f"{kind}={name}" for kind, name in each) for each in entities)
    for components, strict, expected in (
        ([], False, {user, default, both, defaults, one, "ip=None"}),
        ([], True, set()),
        ([("user", ANY, None)], False, {user, default, both, defaults}),
        ([("user", ANY, None)], True, {user, default}),
        ([("user", DEFAULT, None)], False, {default, defaults}),
        ([("user", DEFAULT, None)], True, {default}),
        ([("user", EXACT, "u")], False, {user, both}),
        ([("user", EXACT, "u"), ("client-id", ANY, None)], False, {both}),
        ([("client-id", EXACT, "c")], True, {one}),
        ([("ip", ANY, None)], False, {"ip=None"}),
        ([("ip", EXACT, "10.0.0.1")], False, set()),
    ):
        assert set(told(await describe(client, *components, strict=strict))) == expected, (components, strict)


@pytest.mark.parametrize(
    ("components", "code", "words"),
    [
        ([("", ANY, None)], ErrorCode.INVALID_REQUEST, "empty entity type"),
        ([("group", ANY, None)], ErrorCode.UNSUPPORTED_VERSION, "Unsupported entity type group"),
        ([("user", ANY, None), ("user", DEFAULT, None)], ErrorCode.INVALID_REQUEST, "more than once"),
        ([("user", EXACT, None)], ErrorCode.INVALID_REQUEST, "MATCH_TYPE_EXACT"),
        ([("user", DEFAULT, "u")], ErrorCode.INVALID_REQUEST, "MATCH_TYPE_DEFAULT"),
        ([("user", ANY, "u")], ErrorCode.INVALID_REQUEST, "MATCH_TYPE_SPECIFIED"),
        ([("user", 3, None)], ErrorCode.INVALID_REQUEST, "Unknown match type 3"),
        ([("user", ANY, None), ("ip", ANY, None)], ErrorCode.INVALID_REQUEST, "component combination"),
    ],
)
async def test_a_filter_that_cannot_be_is_refused(
    client: RawClient, components: list[tuple[str, int, str | None]], code: ErrorCode, words: str
) -> None:
    response = await describe(client, *components)
    assert (response.error_code, response.entries) == (code, None)
    assert words in response.error_message


async def test_changes_are_in_the_audit_log(node: Node, client: RawClient) -> None:
    await alter(client, ([("user", "u"), ("client-id", None)], {PRODUCED: 1.0}), ([("user", "v")], {PRODUCED: -1.0}))
    await alter(client, ([("user", "u")], {PRODUCED: 1.0}), validate_only=True)
    await scram(client, put=[("ann", 1, 4096)])
    await scram(client, delete=[("ann", 1)])
    entries: list[AuditEntry] = (await node.desk.audit.find(AuditAsk(page=1, page_size=10))).items
    assert [(each.operation, each.resource, each.name, each.outcome) for each in reversed(entries)] == [
        ("alter_client_quotas", "account", "user=u client-id=<default>, user=v", "invalid_request"),
        ("alter_user_scram_credentials", "account", "ann", "done"),
        ("alter_user_scram_credentials", "account", "ann", "done"),
    ]


# Credentials


async def scram(
    client: RawClient,
    put: Sequence[tuple[str, int, int]] = (),
    delete: Sequence[tuple[str, int]] = (),
    salted_password: bytes = b"p" * 32,
) -> dict[str, int]:
    request = AlterUserScramCredentialsRequest(
        deletions=[
            AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=name, mechanism=mechanism)
            for name, mechanism in delete
        ],
        upsertions=[
            AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
                name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=salted_password
            )
            for name, mechanism, iterations in put
        ],
    )
    response = await client.ask(request, 0)
    return {each.user: each.error_code for each in response.results}


async def described(client: RawClient, *users: str) -> dict[str, int | list[tuple[int, int]]]:
    asked = [DescribeUserScramCredentialsRequest.UserName(name=name) for name in users] or None
    response = await client.ask(DescribeUserScramCredentialsRequest(users=asked), 0)
    assert response.error_code == 0
    return {
        each.user: each.error_code or [(info.mechanism, info.iterations) for info in each.credential_infos]
        for each in response.results
    }


async def test_credentials_are_set_shown_replaced_and_deleted(node: Node, client: RawClient) -> None:
    assert await described(client) == {}
    assert await scram(client, put=[("ann", 1, 4096), ("bob", 2, 16384)]) == {"ann": 0, "bob": 0}
    assert await scram(client, put=[("ann", 2, 8192)]) == {"ann": 0}
    assert await scram(client, put=[("ann", 1, 5000)]) == {"ann": 0}
    everybody = {"ann": [(1, 5000), (2, 8192)], "bob": [(2, 16384)]}
    assert await described(client) == everybody
    missing, twice = ErrorCode.RESOURCE_NOT_FOUND, ErrorCode.DUPLICATE_RESOURCE
    assert await described(client, "bob", "eve") == {"bob": everybody["bob"], "eve": missing}
    assert await described(client, "ann", "ann", "bob") == {"ann": twice, "bob": everybody["bob"]}
    assert await scram(client, delete=[("ann", 1), ("bob", 1)]) == {"ann": 0, "bob": missing}
    assert await described(client) == {"ann": [(2, 8192)], "bob": [(2, 16384)]}
    assert node.catalog.scram_credential("ann", ScramMechanism.SHA_256) is None


async def test_what_cannot_be_a_credential_is_refused_and_changes_nothing(client: RawClient) -> None:
    unacceptable, unsupported = ErrorCode.UNACCEPTABLE_CREDENTIAL, ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert await scram(client, put=[("", 1, 4096), ("few", 1, 4095), ("many", 2, 16385), ("odd", 3, 4096)]) == {
        "": unacceptable,
        "few": unacceptable,
        "many": unacceptable,
        "odd": unsupported,
    }
    assert await scram(client, put=[("x" * 257, 1, 4096)]) == {"x" * 257: unacceptable}
    assert await scram(client, put=[("empty", 1, 4096)], salted_password=b"") == {"empty": unacceptable}
    assert await scram(client, delete=[("", 1), ("u", 0), ("v", 1)]) == {
        "": unacceptable,
        "u": unsupported,
        "v": ErrorCode.RESOURCE_NOT_FOUND,
    }
    assert await scram(client, put=[("u", 1, 4096), ("u", 2, 4096), ("w", 1, 4096)]) == {
        "u": ErrorCode.DUPLICATE_RESOURCE,
        "w": 0,
    }
    assert await described(client) == {"w": [(1, 4096)]}


@pytest.mark.parametrize("mechanism", ScramMechanism)
async def test_what_is_kept_proves_the_password_and_is_not_what_travelled(
    node: Node, client: RawClient, mechanism: ScramMechanism
) -> None:
    algorithm = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[mechanism.value]
    salted = hashlib.pbkdf2_hmac(algorithm, b"secret", b"salt", 4096)
    number = list(ScramMechanism).index(mechanism) + 1
    await scram(client, put=[("ann", number, 4096)], salted_password=salted)
    kept = node.catalog.scram_credential("ann", mechanism)
    assert kept is not None
    # A client proves that it knows the password by a key that only the stored one can be made of (RFC 5802, 3).
    client_key = hmac.new(salted, b"Client Key", algorithm).digest()
    assert kept.stored_key == hashlib.new(algorithm, client_key).digest()
    assert kept.server_key == hmac.new(salted, b"Server Key", algorithm).digest()
    assert (kept.salt, kept.iterations) == (b"salt", 4096)
    assert salted not in (kept.stored_key, kept.server_key)
    assert "key" not in repr(kept)


async def test_quotas_and_credentials_outlive_a_restart(start_node: StartNode) -> None:
    node = await start_node()
    await node.quotas.revise(CLIENT, {Limit.PUBLISHED_BYTES: 5})
    address = node.addresses["kafka"][0]
    client = RawClient(*await asyncio.open_connection(address.host, address.port))
    await scram(client, put=[("ann", 1, 4096)])
    client.close()
    await node.stop()
    node = await start_node()
    assert node.quotas.on
    assert node.quotas.at_once(Limit.PUBLISHED_BYTES, "ANONYMOUS", "raw") == 50
    address = node.addresses["kafka"][0]
    client = RawClient(*await asyncio.open_connection(address.host, address.port))
    assert told(await describe(client)) == {"client-id=raw": {PRODUCED: 5.0}}
    assert await described(client) == {"ann": [(1, 4096)]}
    client.close()


# What quotas do


def produce(size: int, acks: int = -1) -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=0, records=batch_messages([Message(body=bytes(size))]).data)
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[partition])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic])


def fetch(offset: int = 0, min_bytes: int = 1, max_wait_ms: int = 100) -> FetchRequest:
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topic = FetchRequest.FetchTopic(topic="orders", partitions=[partition])
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=min_bytes, max_bytes=1 << 20, topics=[topic])


async def took(work: Awaitable[Any]) -> tuple[float, Any]:
    began = time.monotonic()
    return (result := await work) and (time.monotonic() - began, result)


@pytest.mark.parametrize("version", [3, 12])
async def test_a_producer_over_its_quota_is_answered_and_then_not_heard_for_as_long_as_it_is_told(
    node: Node, client: RawClient, version: int
) -> None:
    await node.quotas.revise(CLIENT, {Limit.PUBLISHED_BYTES: 10_000})
    assert (await client.ask(produce(99_000), version)).throttle_time_ms == 0
    passed, response = await took(client.ask(produce(9_000), version))
    partition = response.responses[0].partition_responses[0]
    assert partition.error_code == 0
    assert 0 < response.throttle_time_ms < 1000
    assert passed < response.throttle_time_ms / 1000, "it is told at once"
    passed, again = await took(client.ask(produce(10), version))
    assert passed >= response.throttle_time_ms / 1000 - 0.1
    assert again.throttle_time_ms < 500
    figures = {each.name: each.value for each in node.quotas.metrics() if "published" in str(each.labels)}
    assert figures["braid_quota_waits"] >= 1


async def test_requests_that_were_sent_meanwhile_are_answered_in_order_after_the_rest(
    node: Node, client: RawClient
) -> None:
    await node.quotas.revise(CLIENT, {Limit.PUBLISHED_BYTES: 100_000})
    began = time.monotonic()
    for size in (500_000, 600_000, 100, 100):
        client.send(produce(size), 9)
    client.send(MetadataRequest(topics=None), 9)
    answers = [await client.receive(ApiKey.PRODUCE, 9) for _ in range(4)]
    number, _ = await client.receive(ApiKey.METADATA, 9)
    assert [each for each, _ in answers] + [number] == [1, 2, 3, 4, 5]
    assert time.monotonic() - began >= 0.3
    assert sum(each.throttle_time_ms for _, each in answers) >= 300
    assert node.log.bounds(topic_of(node).partition_numbers[0]).end == 4


async def test_records_that_want_no_answer_are_counted_as_well(node: Node, client: RawClient) -> None:
    await node.quotas.revise(CLIENT, {Limit.PUBLISHED_BYTES: 10_000})
    client.send(produce(103_000, acks=0), 9)
    client.send(MetadataRequest(topics=None), 9)
    passed, _ = await took(client.receive(ApiKey.METADATA, 9))
    assert passed >= 0.2


async def test_other_clients_do_not_wait(node: Node, client: RawClient, connect: Connect) -> None:
    await node.quotas.revise(Holder(client=named("other")), {Limit.PUBLISHED_BYTES: 1})
    assert (await client.ask(produce(100_000), 9)).throttle_time_ms == 0
    await node.quotas.revise(CLIENT, {Limit.PUBLISHED_BYTES: 1})
    assert (await client.ask(produce(1000), 9)).throttle_time_ms > 100_000
    other = await connect()
    assert (await other.ask(MetadataRequest(topics=None), 9)).throttle_time_ms == 0


@pytest.mark.parametrize("version", [4, 12])
async def test_a_consumer_over_its_quota_gets_records_and_is_then_not_heard_for_as_long_as_it_is_told(
    node: Node, client: RawClient, version: int
) -> None:
    number = topic_of(node).partition_numbers[0]
    for _ in range(4):
        await node.log.append([(number, batch_messages([Message(body=bytes(6_000))]))])
    await node.quotas.revise(CLIENT, {Limit.CONSUMED_BYTES: 600})
    # It waits for more than it may get at once, which would never come.
    passed, response = await took(client.ask(fetch(min_bytes=20_000, max_wait_ms=20_000), version))
    assert passed < 10
    records = response.responses[0].partitions[0].records
    assert 6_000 <= len(records) < 12_000, "no more than ten seconds of the quota at once, but one batch"
    await node.quotas.revise(CLIENT, {Limit.CONSUMED_BYTES: 1_050})
    response = await client.ask(fetch(1), version)
    assert len(response.responses[0].partitions[0].records) >= 6_000
    assert 0 < response.throttle_time_ms < 2000
    passed, _ = await took(client.ask(MetadataRequest(topics=None), 9))
    assert passed >= response.throttle_time_ms / 1000 - 0.1


async def test_every_version_is_told_to_wait_if_it_has_a_place_for_it(node: Node, connect: Connect) -> None:
    await node.topics.create("orders", partitions=1)
    await node.quotas.revise(Holder(user=named("ANONYMOUS")), {Limit.PUBLISHED_BYTES: 1})
    for version in versions(ApiKey.PRODUCE):
        request = produce(100)
        if version < 3:
            request.topic_data[0].partition_data[0].records = b""
        if version >= 13:
            request.topic_data[0].topic_id = topic_of(node).id.bytes
            request.topic_data[0].name = ""
        response = await (await connect()).ask(request, version)
        assert (response.throttle_time_ms > 0) is (version >= 1), version


async def test_time_that_requests_take_is_counted_whatever_they_are(node: Node, client: RawClient) -> None:
    await node.quotas.revise(Holder(client=OTHERS), {Limit.BUSY_PERCENT: 0.01})
    for _ in range(200):
        response = await client.ask(MetadataRequest(topics=None), 9)
        if response.throttle_time_ms:
            break
    assert 0 < response.throttle_time_ms <= 1000
    passed, _ = await took(client.ask(MetadataRequest(topics=None), 9))
    assert passed >= response.throttle_time_ms / 1000 - 0.1


async def test_a_resting_connection_that_ends_leaves_nothing_behind(node: Node, client: RawClient) -> None:
    await node.quotas.revise(CLIENT, {Limit.PUBLISHED_BYTES: 1})
    await client.ask(produce(1000), 9)
    (listener,) = (each for each in node.listeners if each.name == "kafka")
    await client.end()
    await until(lambda: listener.connected == 0)
    memory = listener.memory  # type: ignore[attr-defined]  # of this kind of listener
    assert (memory.partial_bytes, memory.whole_bytes) == (0, 0)


async def test_a_node_stops_without_waiting_for_those_who_rest(node: Node, client: RawClient) -> None:
    await node.quotas.revise(CLIENT, {Limit.PUBLISHED_BYTES: 1})
    await client.ask(produce(1000), 9)
    await node.stop()
    assert await client.is_closed()


async def test_whoever_gives_another_name_on_the_same_connection_has_the_quota_of_that_name(
    node: Node, client: RawClient
) -> None:
    await node.quotas.revise(Holder(client=named("limited")), {Limit.PUBLISHED_BYTES: 100_000})
    for client_id, size in (("raw", 2_000_000), ("limited", 500_000), ("other", 2_000_000), ("limited", 700_000)):
        client.send(produce(size), 9, client_id)
        _, response = await client.receive(ApiKey.PRODUCE, 9)
        is_last = size == 700_000
        assert (response.throttle_time_ms > 0) is is_last, (client_id, size)


# Partitions that are changed


def creation(name: str, partitions: int, *, validate_only: bool = False) -> CreateTopicsRequest:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=-1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=5000, validate_only=validate_only)


async def test_newer_clients_are_refused_more_partitions_and_told_when_to_come_again(
    node: Node, client: RawClient, connect: Connect
) -> None:
    await node.quotas.revise(CLIENT, {Limit.CHANGED_PARTITIONS: 2})
    assert (await client.ask(creation("first", 30), 6)).topics[0].error_code == 0
    assert (await client.ask(creation("first", 1), 6)).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert (await client.ask(creation("third", 1, validate_only=True), 6)).topics[0].error_code == 0
    exceeded = ErrorCode.THROTTLING_QUOTA_EXCEEDED
    response = await client.ask(creation("second", 1), 6)
    assert (response.topics[0].error_code, 0 < response.throttle_time_ms <= 5000) == (exceeded, True)
    more = CreatePartitionsRequest.CreatePartitionsTopic(name="first", count=31, assignments=None)
    response = await (await connect()).ask(CreatePartitionsRequest(topics=[more], timeout_ms=5000), 3)
    assert response.results[0].error_code == exceeded
    response = await (await connect()).ask(DeleteTopicsRequest(topic_names=["first"], timeout_ms=5000), 5)
    assert response.responses[0].error_code == exceeded
    assert len(topic_of(node, "first").partition_numbers) == 30


async def test_older_clients_get_their_partitions_and_rest_for_them(node: Node, client: RawClient) -> None:
    await node.quotas.revise(CLIENT, {Limit.CHANGED_PARTITIONS: 10})
    response = await client.ask(creation("first", 103), 5)
    assert response.topics[0].error_code == 0
    assert 200 <= response.throttle_time_ms <= 300
    passed, _ = await took(client.ask(MetadataRequest(topics=[]), 9))
    assert passed >= 0.15


# Connections


async def test_who_connects_too_often_is_let_go_after_a_moment_and_others_are_served(
    node: Node, client: RawClient, connect: Connect
) -> None:
    await node.quotas.revise(Holder(host=named("127.0.0.1")), {Limit.CONNECTIONS: 1})
    served = await connect()
    while not node.quotas.connect("127.0.0.1"):
        pass
    turned_away = await connect()
    turned_away.send(MetadataRequest(topics=None), 9)
    passed, closed = await took(turned_away.is_closed())
    assert closed
    assert passed <= 3
    for each in (client, served):
        assert (await each.ask(MetadataRequest(topics=None), 9)).brokers
    await node.quotas.revise(Holder(host=named("127.0.0.1")), {Limit.CONNECTIONS: None})
    assert (await (await connect()).ask(MetadataRequest(topics=None), 9)).brokers
