"""How the broker does and is set up, and how much comes and goes."""

import pytest

from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, decode_body
from braidmq.protocols.rocketmq.codec.bodies import BrokerStatsData, KVTable, TopicStatsTable
from rocketmq_support import RawClient, topic_fields

READ_BY_TOOLS = [
    "brokerVersionDesc",
    "brokerActive",
    "sendThreadPoolQueueSize",
    "pullThreadPoolQueueSize",
    "ackThreadPoolQueueSize",
    "sendThreadPoolQueueHeadWaitTimeMills",
    "pullThreadPoolQueueHeadWaitTimeMills",
    "pageCacheLockTimeMills",
    "ackThreadPoolQueueHeadWaitTimeMills",
    "queryThreadPoolQueueHeadWaitTimeMills",
    "earliestMessageTimeStamp",
    "commitLogDiskRatio",
    "timerReadBehind",
    "timerOffsetBehind",
    "timerCongestNum",
    "timerEnqueueTps",
    "timerDequeueTps",
    "msgPutTotalYesterdayMorning",
    "msgPutTotalTodayMorning",
    "msgPutTotalTodayNow",
    "msgGetTotalYesterdayMorning",
    "msgGetTotalTodayMorning",
    "msgGetTotalTodayNow",
    "putTps",
    "getTransferredTps",
    "bootTimestamp",
    "runtime",
]


async def runtime(client: RawClient) -> dict[str, str]:
    return decode_body(KVTable, (await client.get(RequestCode.GET_BROKER_RUNTIME_INFO)).body).table


async def test_the_broker_tells_all_that_tools_read(client: RawClient) -> None:
    table = await runtime(client)
    assert [name for name in READ_BY_TOOLS if name not in table] == []
    assert 0 < float(table["commitLogDiskRatio"]) < 1


async def test_figures_are_those_of_what_came_and_went(client: RawClient) -> None:
    await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("orders", 1))
    for _ in range(4):
        await client.send("orders", b"x" * 100)
    await client.pull("buyers", "orders", 0)
    table = await runtime(client)
    assert (table["msgPutTotalTodayNow"], table["msgGetTotalTodayNow"]) == ("4", "4")
    assert float(table["putTps"].split()[0]) > 0
    assert float(table["getTransferredTps"].split()[2]) > 0
    assert int(table["putMessageSizeTotal"]) > 400
    answer = await client.get(RequestCode.GET_TOPIC_STATS_INFO, {"topic": "orders"})
    assert decode_body(TopicStatsTable, answer.body).topic_put_tps > 0


@pytest.mark.parametrize(
    ("name", "key", "least", "most"),
    [
        ("TOPIC_PUT_NUMS", "orders", 3, 3),
        ("TOPIC_PUT_SIZE", "orders", 300, 3000),
        ("GROUP_GET_NUMS", "orders@buyers", 3, 3),
        ("GROUP_GET_SIZE", "orders@buyers", 300, 3000),
        ("BROKER_PUT_NUMS", "DefaultCluster", 3, 3),
        ("BROKER_GET_NUMS", "node-1", 3, 3),
    ],
)
async def test_figures_are_found_by_name_and_key(client: RawClient, name: str, key: str, least: int, most: int) -> None:
    await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("orders", 1))
    for _ in range(3):
        await client.send("orders", b"x" * 100)
    await client.pull("buyers", "orders", 0)
    answer = await client.get(RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": name, "statsKey": key})
    data = decode_body(BrokerStatsData, answer.body)
    for item in (data.stats_minute, data.stats_hour, data.stats_day):
        assert item is not None
        assert least <= item.sum <= most
        assert item.tps > 0


@pytest.mark.parametrize(
    ("name", "key"), [("TOPIC_PUT_NUMS", "nothing"), ("GROUP_GET_NUMS", "orders@nobody"), ("NO_SUCH", "orders")]
)
async def test_what_was_never_counted_does_not_exist(client: RawClient, name: str, key: str) -> None:
    await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("orders", 1))
    answer = await client.ask(RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": name, "statsKey": key})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert key in (answer.remark or "")


async def test_cleaning_up_can_be_asked_for(client: RawClient) -> None:
    for code in (RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, RequestCode.DELETE_EXPIRED_COMMITLOG):
        assert (await client.ask(code)).code == ResponseCode.SUCCESS
