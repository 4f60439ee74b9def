"""What a broker is set up with is shown and changed by RocketMQ's tools, in RocketMQ's names and in the node's own."""

import pytest

from braidmq.node import Node
from braidmq.protocols.rocketmq.codec import Command, RequestCode, ResponseCode, decode_body
from braidmq.protocols.rocketmq.codec.bodies import TopicRouteData
from braidmq.protocols.rocketmq.codec.messages import decode_messages
from braidmq.store import AuditAsk
from inside_node import StartNode
from rocketmq_support import RawClient

UPDATE = RequestCode.UPDATE_BROKER_CONFIG


async def config(client: RawClient) -> dict[str, str]:
    answer = await client.get(RequestCode.GET_BROKER_CONFIG)
    return dict(line.split("=", 1) for line in answer.body.decode().splitlines())


async def change(client: RawClient, **values: str) -> Command:
    return await client.ask(UPDATE, None, "".join(f"{name}={value}\n" for name, value in values.items()).encode())


async def test_settings_are_shown_as_properties(client: RawClient, node: Node) -> None:
    lines = await config(client)
    assert (lines["brokerName"], lines["brokerId"], lines["log.flush"]) == ("node-1", "0", "interval")
    assert lines["listenPort"] == str(node.addresses["rocketmq"][0].port)
    assert "counter" in (await client.get(RequestCode.GET_BROKER_CONFIG)).fields["version"]
    server = await client.get(RequestCode.GET_NAMESRV_CONFIG)
    assert b"log.flush=interval" in server.body


async def test_rocketmqs_names_have_the_values_and_units_that_rocketmq_gives_them(client: RawClient) -> None:
    expected = {
        "maxMessageSize": "4194304",
        "timerMaxDelaySec": "3456000",
        "traceOn": "true",
        "autoCreateTopicEnable": "true",
        "defaultTopicQueueNums": "8",
        "maxTransferCountOnMessageInMemory": "32",
        "maxPopPollingSize": "20000",
        "transactionTimeOut": "6000",
        "transactionCheckInterval": "30000",
        "transactionCheckMax": "15",
        "serverChannelMaxIdleTimeSeconds": "120",
        "flushDiskType": "ASYNC_FLUSH",
        "brokerPermission": "6",
    }
    assert expected.items() <= (await config(client)).items()
    await client.get(RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "node-1"})
    assert (await config(client))["brokerPermission"] == "4"


async def test_changes_are_obeyed_at_once_and_shown_with_what_counts_now(client: RawClient, node: Node) -> None:
    asked = {
        "maxMessageSize": "2048",
        "timerMaxDelaySec": "3600",
        "traceOn": "false",
        "defaultTopicQueueNums": "3",
        "maxTransferCountOnMessageInMemory": "1",
        "maxPopPollingSize": "9",
        "transactionTimeOut": "2000",
        "transactionCheckInterval": "5000",
        "transactionCheckMax": "4",
        "halves.unheard_max_s": "2h",
        "groups.lock_lease_s": "35",
    }
    answer = await change(client, **asked)
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    shown = await config(client)
    assert {name: shown[name] for name in asked if "." not in name} == {
        name: value for name, value in asked.items() if "." not in name
    }
    assert (shown["publish.body_bytes_max"], shown["halves.unheard_max_s"]) == ("2KiB", "2h")
    limits = node.halves.limits
    assert (limits.immunity_ms, limits.check_interval_ms, limits.checks_max) == (2_000, 5_000, 4)
    assert limits.unheard_max_ms == 7_200_000
    assert node.locks.lease_ms == 35_000
    assert node.trace.on is False
    refused = await client.send("made-by-sending", b"x" * 2_049)
    assert (refused.code, "2048" in (refused.remark or "")) == (ResponseCode.MESSAGE_ILLEGAL, True)
    for number in range(2):
        assert (await client.send("made-by-sending", b"%d" % number)).code == ResponseCode.SUCCESS
    (topic,) = [each for each in node.catalog.topics() if each.name == "made-by-sending"]
    assert len(topic.partition_numbers) == 3
    assert len(decode_messages((await client.pull("readers", "made-by-sending", 0)).body)) == 1


async def test_topics_are_no_longer_made_by_being_used_once_that_is_turned_off(client: RawClient) -> None:
    assert (await change(client, autoCreateTopicEnable="false")).code == ResponseCode.SUCCESS
    assert (await client.send("nowhere", b"x")).code == ResponseCode.TOPIC_NOT_EXIST
    route = {"topic": "TBW102"}
    assert (await client.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, route)).code == ResponseCode.TOPIC_NOT_EXIST
    assert (await change(client, autoCreateTopicEnable="true", defaultTopicQueueNums="5")).code == 0
    answer = await client.get(RequestCode.GET_ROUTEINFO_BY_TOPIC, route)
    assert decode_body(TopicRouteData, answer.body).queue_datas[0].write_queue_nums == 5
    assert (await client.send("nowhere", b"x")).code == ResponseCode.SUCCESS


@pytest.mark.parametrize(
    ("name", "value", "code", "why"),
    [
        ("flushDiskType", "SYNC_FLUSH", ResponseCode.NO_PERMISSION, "it is log.flush"),
        ("serverChannelMaxIdleTimeSeconds", "5", ResponseCode.NO_PERMISSION, "rocketmq.idle_s cannot be changed"),
        ("brokerPermission", "4", ResponseCode.NO_PERMISSION, "wipeWritePerm"),
        ("log.flush", "commit", ResponseCode.NO_PERMISSION, "cannot be changed while nodes run"),
        ("alarms.smtp_password", "x", ResponseCode.NO_PERMISSION, "cannot be changed while nodes run"),
        ("noSuchName", "5", ResponseCode.INVALID_PARAMETER, "stands for no setting"),
        ("no.such", "5", ResponseCode.INVALID_PARAMETER, "there is no setting"),
        ("", "5", ResponseCode.INVALID_PARAMETER, "stands for no setting"),
        ("maxMessageSize", "4MB", ResponseCode.INVALID_PARAMETER, "a whole number"),
        ("maxMessageSize", "12", ResponseCode.INVALID_PARAMETER, "from 1KiB to 64MiB"),
        ("maxMessageSize", "9" * 40, ResponseCode.INVALID_PARAMETER, "a whole number"),
        ("transactionTimeOut", "6500", ResponseCode.INVALID_PARAMETER, "a multiple of 1000"),
        ("traceOn", "on", ResponseCode.INVALID_PARAMETER, "true or false"),
        ("halves.checks_max", "4", ResponseCode.INVALID_PARAMETER, "named twice"),
        ("trace.events", "sometimes", ResponseCode.INVALID_PARAMETER, "it is on or off"),
    ],
)
@pytest.mark.parametrize("update", [UPDATE, RequestCode.UPDATE_NAMESRV_CONFIG])
async def test_one_name_that_is_refused_refuses_all_and_says_which_why_and_what_can_be_changed(
    client: RawClient, node: Node, update: RequestCode, name: str, value: str, code: ResponseCode, why: str
) -> None:
    before = await config(client)
    body = f"transactionCheckMax=3\n{name}={value}\ntimerMaxDelaySec=60\n"
    answer = await client.ask(update, None, body.encode())
    remark = answer.remark or ""
    assert (answer.code, f"{name}: " in remark, why in remark) == (code, True, True), remark
    assert "nothing was changed" in remark
    assert "maxMessageSize, timerMaxDelaySec" in remark.partition("can be changed: ")[2]
    assert "publish.deferred_bytes_max" in remark.partition("can be changed: ")[2]
    after = await config(client)
    assert after == before
    assert node.halves.limits.checks_max == 15


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "names no setting"),
        (b"# maxMessageSize=2048\n\n! traceOn=false\n", "names no setting"),
        (b"maxMessageSize", "''; it is a whole number"),
        (b"\xff\xfe=\x00\n", "stands for no setting"),
        (b"x" * 70_000, "more than 65536 bytes"),
        (b"".join(b"a.%d=1\n" % number for number in range(5_000)), "and 4995 more"),
    ],
)
async def test_a_body_that_makes_no_sense_is_refused_with_the_reason(client: RawClient, body: bytes, says: str) -> None:
    answer = await client.ask(UPDATE, None, body)
    assert (answer.code, says in (answer.remark or "")) == (ResponseCode.INVALID_PARAMETER, True), answer.remark
    assert len(answer.remark or "") < 4_000


async def test_what_was_changed_holds_after_a_restart(start_node: StartNode) -> None:
    node = await start_node()
    client = await RawClient.connect(*node.addresses["rocketmq"][0])
    assert (await change(client, transactionCheckMax="3", defaultTopicQueueNums="2")).code == ResponseCode.SUCCESS
    await client.close()
    await node.stop()
    again = await start_node()
    client = await RawClient.connect(*again.addresses["rocketmq"][0])
    shown = await config(client)
    assert (shown["transactionCheckMax"], shown["defaultTopicQueueNums"]) == ("3", "2")
    assert again.halves.limits.checks_max == 3
    await client.close()


async def test_what_the_node_was_given_by_a_flag_is_not_changed_behind_its_back(start_node: StartNode) -> None:
    node = await start_node()
    node.origins = node.own_origins = {**node.own_origins, "publish.body_bytes_max": "--set"}
    client = await RawClient.connect(*node.addresses["rocketmq"][0])
    answer = await change(client, maxMessageSize="2048", traceOn="false")
    assert answer.code == ResponseCode.NO_PERMISSION
    assert "maxMessageSize: publish.body_bytes_max was given to this node by a flag" in (answer.remark or "")
    assert "maxMessageSize" not in (answer.remark or "").partition("can be changed: ")[2]
    assert node.trace.on is True
    await client.close()


async def test_changes_are_in_the_audit_log_with_the_names_that_were_asked_for(client: RawClient, node: Node) -> None:
    await change(client, maxMessageSize="2048", traceOn="false")
    await change(client, flushDiskType="SYNC_FLUSH")
    page = await node.desk.audit.find(AuditAsk())
    assert [(each.operation, each.name, each.resource, each.outcome) for each in reversed(page.items)] == [
        ("update_broker_config", "maxMessageSize, traceOn", "setting", "done"),
        ("update_broker_config", "flushDiskType", "setting", "no_permission"),
    ]
    assert "log.flush" in page.items[0].detail
    assert node.desk.settings.get("trace.events").changed_by.startswith("rocketmq 127.0.0.1")
