"""Settings of topics and of the node, over a socket, in every version that is advertised."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from braidmq.model.topic_settings import TOPIC_SETTINGS
from braidmq.node import Node
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.alter_configs import AlterConfigsRequest
from braidmq.protocols.kafka.codec.messages.describe_configs import DescribeConfigsRequest
from braidmq.protocols.kafka.codec.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from braidmq.protocols.kafka.codec.messages.list_config_resources import ListConfigResourcesRequest
from kafka_support import RawClient, every_version, topic_of

Connect = Callable[[], Awaitable[RawClient]]
NODE_ID = 1
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture
async def client(node: Node, connect: Connect) -> RawClient:
    await node.topics.create("orders", partitions=2)
    return await connect()


async def describe(
    client: RawClient, kind: int, name: str, keys: list[str] | None = None, version: int = 4, **given: Any
) -> Any:
    asked = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )
    response = await client.ask(DescribeConfigsRequest(resources=[asked], **given), version)
    (result,) = response.results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


@every_version(ApiKey.DESCRIBE_CONFIGS)
async def test_every_version_describes_the_settings_of_a_topic(node: Node, client: RawClient, version: int) -> None:
    await node.topics.configure(topic_of(node), lambda _: {"retention.ms": "5", "cleanup.policy": "compact"})
    wishes: dict[str, Any] = {"include_synonyms": True} if version >= 1 else {}
    wishes |= {"include_documentation": True} if version >= 3 else {}
    result = await describe(client, TOPIC, "orders", version=version, **wishes)
    assert (result.error_code, result.error_message) == (0, None)
    configs = {config.name: config for config in result.configs}
    assert list(configs) == [name for name, setting in TOPIC_SETTINGS.items() if setting.listed]
    retention = configs["retention.ms"]
    assert (retention.value, retention.read_only, retention.is_sensitive) == ("5", False, False)
    if version == 0:
        assert not retention.is_default
        assert configs["retention.bytes"].is_default
    else:
        assert (retention.config_source, configs["retention.bytes"].config_source) == (1, 5)
        synonyms = [(each.name, each.value, each.source) for each in retention.synonyms]
        assert synonyms == [("retention.ms", "5", 1), ("log.retention.ms", "259200000", 5)]
    if version >= 3:
        types = [configs[name].config_type for name in ("preallocate", "compression.type", "segment.bytes")]
        assert types == [1, 2, 3]
        types = [configs[name].config_type for name in ("retention.ms", "min.cleanable.dirty.ratio", "cleanup.policy")]
        assert types == [5, 6, 7]
        assert all(config.documentation for config in configs.values())


@every_version(ApiKey.DESCRIBE_CONFIGS)
async def test_every_version_describes_the_settings_of_the_node(client: RawClient, version: int) -> None:
    result = await describe(client, BROKER, str(NODE_ID), version=version)
    values = {config.name: config.value for config in result.configs}
    assert values["log.retention.ms"] == "259200000"
    assert values["num.partitions"] == "4"
    assert values["auto.create.topics.enable"] == "true"
    assert values["message.max.bytes"] == "1048588"
    assert all(config.read_only for config in result.configs)


async def test_some_settings_are_described_by_name(client: RawClient) -> None:
    result = await describe(client, TOPIC, "orders", ["segment.ms", "nope", "retention.ms"])
    assert [config.name for config in result.configs] == ["retention.ms", "segment.ms"]
    assert [config.documentation for config in result.configs] == [None, None]
    assert [config.synonyms for config in result.configs] == [[], []]


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "nosuch", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "orders?tag=A", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "bad name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "7", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (LOGGER, "", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
        (BROKER, "", 0),
        (LOGGER, str(NODE_ID), 0),
        (METRICS, "m", 0),
    ],
)
async def test_what_has_no_settings_has_an_empty_list_or_an_error(
    client: RawClient, kind: int, name: str, error: int
) -> None:
    result = await describe(client, kind, name)
    assert (result.error_code, result.configs) == (error, [])
    assert bool(result.error_message) == bool(error)


async def test_what_the_node_was_set_to_is_shown_as_such(start_node: Callable[..., Awaitable[Node]]) -> None:
    from braidmq.settings import LogSettings, TopicsSettings

    node = await start_node(
        log=LogSettings(flush="interval", segment_bytes=5 << 20), topics=TopicsSettings(partitions=7, auto_create="off")
    )
    await node.topics.create("orders")
    address = node.addresses["kafka"][0]
    client = RawClient(*await asyncio.open_connection(address.host, address.port))
    (segment,) = (await describe(client, TOPIC, "orders", ["segment.bytes"], include_synonyms=True)).configs
    assert (segment.value, segment.config_source) == (str(5 << 20), 4)
    assert [(each.name, each.value, each.source) for each in segment.synonyms] == [
        ("log.segment.bytes", str(5 << 20), 4),
        ("log.segment.bytes", "1073741824", 5),
    ]
    values = {config.name: config.value for config in (await describe(client, BROKER, str(NODE_ID))).configs}
    assert (values["num.partitions"], values["auto.create.topics.enable"]) == ("7", "false")
    assert values["log.segment.bytes"] == str(5 << 20)
    client.close()


async def alter(client: RawClient, version: int = 2, kind: int = TOPIC, name: str = "orders", **given: Any) -> Any:
    configs = [
        AlterConfigsRequest.AlterableConfig(name=key, value=value) for key, value in given.pop("configs").items()
    ]
    asked = AlterConfigsRequest.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    response = await client.ask(AlterConfigsRequest(resources=[asked], **given), version)
    (result,) = response.responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


@every_version(ApiKey.ALTER_CONFIGS)
async def test_every_version_replaces_all_settings(node: Node, client: RawClient, version: int) -> None:
    assert (await alter(client, version, configs={"segment.ms": "77", "retention.ms": "5"})).error_code == 0
    assert (await alter(client, version, configs={"retention.ms": "6"})).error_code == 0
    assert (topic_of(node).retention_ms, dict(topic_of(node).settings)) == (6, {"retention.ms": "6"})


async def test_what_was_described_can_be_written_back_by_either_api(node: Node, client: RawClient) -> None:
    await node.topics.configure(topic_of(node), lambda _: {"retention.ms": "5", "cleanup.policy": "compact,delete"})
    everything = {config.name: config.value for config in (await describe(client, TOPIC, "orders")).configs}
    assert (await alter(client, configs=everything)).error_code == 0
    assert {config.name: config.value for config in (await describe(client, TOPIC, "orders")).configs} == everything
    changes = [(name, SET, value) for name, value in everything.items()]
    assert (await change(client, changes)).error_code == 0
    assert {config.name: config.value for config in (await describe(client, TOPIC, "orders")).configs} == everything


async def change(
    client: RawClient,
    changes: list[tuple[str, int, str | None]],
    version: int = 1,
    kind: int = TOPIC,
    name: str = "orders",
    *,
    validate_only: bool = False,
) -> Any:
    configs = [
        IncrementalAlterConfigsRequest.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in changes
    ]
    asked = IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[asked], validate_only=validate_only)
    (result,) = (await client.ask(request, version)).responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


@every_version(ApiKey.INCREMENTAL_ALTER_CONFIGS)
async def test_every_version_changes_some_settings(node: Node, client: RawClient, version: int) -> None:
    for changes, expected in (
        ([("segment.ms", SET, "77"), ("retention.ms", SET, "5")], {"segment.ms": "77", "retention.ms": "5"}),
        ([("segment.ms", DELETE, None)], {"retention.ms": "5"}),
        ([("cleanup.policy", APPEND, "compact")], {"retention.ms": "5", "cleanup.policy": "delete,compact"}),
        ([("cleanup.policy", APPEND, "compact,delete")], {"retention.ms": "5", "cleanup.policy": "delete,compact"}),
        ([("cleanup.policy", SUBTRACT, "delete")], {"retention.ms": "5", "cleanup.policy": "compact"}),
        ([("retention.ms", DELETE, None), ("segment.ms", DELETE, None)], {"cleanup.policy": "compact"}),
        ([("cleanup.policy", SUBTRACT, "compact")], {"cleanup.policy": ""}),
        ([("nope", DELETE, None)], {"cleanup.policy": ""}),
    ):
        assert (await change(client, list(changes), version)).error_code == 0
        assert dict(topic_of(node).settings) == expected


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ([("segment.ms", SET, "77"), ("retention.ms", SET, "-9")], ErrorCode.INVALID_CONFIG),
        ([("segment.ms", SET, "77"), ("nope", SET, "1")], ErrorCode.INVALID_CONFIG),
        ([("segment.ms", APPEND, "77")], ErrorCode.INVALID_CONFIG),
        ([("segment.ms", SUBTRACT, "77")], ErrorCode.INVALID_CONFIG),
        ([("cleanup.policy", APPEND, "shred")], ErrorCode.INVALID_CONFIG),
        ([("nope", APPEND, "1")], ErrorCode.INVALID_CONFIG),
        ([("segment.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        ([("cleanup.policy", APPEND, None)], ErrorCode.INVALID_REQUEST),
        ([("segment.ms", 9, "1")], ErrorCode.INVALID_REQUEST),
        ([("segment.ms", SET, "1"), ("segment.ms", SET, "2")], ErrorCode.INVALID_REQUEST),
        ([("remote.storage.enable", SET, "true")], ErrorCode.INVALID_CONFIG),
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
async def test_changes_that_cannot_be_are_refused_together(
    node: Node, client: RawClient, changes: list[tuple[str, int, str | None]], error: ErrorCode, validate_only: bool
) -> None:
    result = await change(client, changes, validate_only=validate_only)
    assert result.error_code == error
    assert changes[-1][0] in result.error_message
    assert dict(topic_of(node).settings) == {}


async def test_a_check_of_a_change_changes_nothing(node: Node, client: RawClient) -> None:
    assert (await change(client, [("segment.ms", SET, "77")], validate_only=True)).error_code == 0
    assert (await alter(client, configs={"segment.ms": "77"}, validate_only=True)).error_code == 0
    assert dict(topic_of(node).settings) == {}


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "nosuch", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "orders..tag..A", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, str(NODE_ID), ErrorCode.INVALID_REQUEST),
        (BROKER, "", ErrorCode.INVALID_REQUEST),
        (LOGGER, str(NODE_ID), ErrorCode.INVALID_REQUEST),
        (METRICS, "m", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_only_topics_can_be_changed(client: RawClient, kind: int, name: str, error: ErrorCode) -> None:
    for result in (
        await change(client, [("segment.ms", SET, "77")], kind=kind, name=name),
        await alter(client, kind=kind, name=name, configs={"segment.ms": "77"}),
    ):
        assert result.error_code == error
        assert result.error_message


async def test_a_tool_may_tidy_up_what_was_never_set_on_a_node(client: RawClient) -> None:
    tidied = [("leader.replication.throttled.rate", DELETE, None)]
    assert (await change(client, tidied, kind=BROKER, name=str(NODE_ID))).error_code == 0  # type: ignore[arg-type]


async def test_a_topic_named_twice_in_one_request_is_not_changed(node: Node, client: RawClient) -> None:
    asked = AlterConfigsRequest.AlterConfigsResource(
        resource_type=TOPIC,
        resource_name="orders",
        configs=[AlterConfigsRequest.AlterableConfig(name="segment.ms", value="1")],
    )
    response = await client.ask(AlterConfigsRequest(resources=[asked, asked]), 2)
    assert [each.error_code for each in response.responses] == [ErrorCode.INVALID_REQUEST] * 2
    assert dict(topic_of(node).settings) == {}


async def test_changed_settings_count_at_once_and_after_a_restart(
    node: Node, client: RawClient, start_node: Callable[..., Awaitable[Node]]
) -> None:
    await change(client, [("max.message.bytes", SET, "200"), ("segment.ms", SET, "77"), ("retention.ms", SET, "5")])
    number = topic_of(node).partition_numbers[0]
    assert node.log._engine.partitions[number].policy.segment_ms == 77
    await node.stop()
    again = await start_node()
    assert (topic_of(again).retention_ms, topic_of(again).settings["max.message.bytes"]) == (5, "200")
    assert again.log._engine.partitions[number].policy.segment_ms == 77


@every_version(ApiKey.LIST_CONFIG_RESOURCES)
async def test_every_version_lists_what_has_settings(client: RawClient, version: int) -> None:
    response = await client.ask(ListConfigResourcesRequest(), version)
    found = [(each.resource_type, each.resource_name) for each in response.config_resources]
    assert found == ([] if version == 0 else [(TOPIC, "orders"), (BROKER, "1"), (LOGGER, "1")])
    if version >= 1:
        response = await client.ask(ListConfigResourcesRequest(resource_types=[GROUP, TOPIC]), version)
        assert [each.resource_name for each in response.config_resources] == ["orders"]
        response = await client.ask(ListConfigResourcesRequest(resource_types=[1]), version)
        assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
