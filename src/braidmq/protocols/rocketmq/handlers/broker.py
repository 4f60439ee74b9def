"""The broker itself: how it does.

It has no pools of threads, so that nothing waits in their queues; what RocketMQ's tools want to read of those is 0.
"""

import time
from typing import Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.counters import MINUTE_MS, SAMPLE_MS, TEN_MINUTES_MS, Sum
from braidmq.core.lookup import time_at
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._services import BROKER_VERSION, RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode, encode_body
from braidmq.protocols.rocketmq.codec.bodies import KVTable
from braidmq.protocols.rocketmq.codec.headers import CustomHeader

VERSION_NAME: Final = "V5_3_3"
"""What `BROKER_VERSION` is called."""
_POOLS: Final = ("send", "pull", "litePull", "query", "ack")
_FIRST_LOOKED_AT: Final = 256
"""How many partitions are asked for their oldest message: those that were made first."""


@answers(RequestCode.GET_BROKER_RUNTIME_INFO, action=Action.DESCRIBE, resource=ResourceKind.NODE)
async def runtime_info(call: Call[CustomHeader]) -> Answer:
    services = call.services
    table = _life(services) | _traffic(services) | _idle_pools() | await _storage(services)
    return Answer(body=encode_body(KVTable(table=dict(sorted(table.items())))))


def _life(services: RocketMQServices) -> dict[str, str]:
    started_ms = services.counters.started_ms
    return {
        "brokerVersionDesc": VERSION_NAME,
        "brokerVersion": str(BROKER_VERSION),
        "brokerActive": "true",
        "bootTimestamp": str(started_ms),
        "startAcceptSendRequestTimeStamp": str(started_ms),
        "runtime": _duration(_now_ms() - started_ms),
        "brokerRole": "ASYNC_MASTER",
        "timerReadBehind": str(int(services.timers.behind_ms // 1000)),
    }


def _traffic(services: RocketMQServices) -> dict[str, str]:
    counters = services.counters
    sums = [counters.all_over(window_ms) for window_ms in (SAMPLE_MS, MINUTE_MS, TEN_MINUTES_MS)]
    put, got = counters.stored_all, counters.delivered_all
    given = _rates([delivered for _, delivered in sums])
    today, yesterday = counters.this_morning, counters.last_morning
    return {
        "putTps": _rates([stored for stored, _ in sums]),
        "getTransferredTps": given,
        "getFoundTps": given,
        "getTotalTps": given,
        "getMissTps": "0.0 0.0 0.0",
        "putMessageTimesTotal": str(put.messages),
        "putMessageSizeTotal": str(put.size_bytes),
        "putMessageAverageSize": str(put.size_bytes / put.messages if put.messages else 0.0),
        "getMessageTimesTotal": str(got.messages),
        "getMessageSizeTotal": str(got.size_bytes),
        "msgPutTotalYesterdayMorning": str(yesterday.stored),
        "msgPutTotalTodayMorning": str(today.stored),
        "msgPutTotalTodayNow": str(put.messages),
        "msgGetTotalYesterdayMorning": str(yesterday.delivered),
        "msgGetTotalTodayMorning": str(today.delivered),
        "msgGetTotalTodayNow": str(got.messages),
    }


def _idle_pools() -> dict[str, str]:
    table: dict[str, str] = {}
    for pool in _POOLS:
        table |= {f"{pool}ThreadPoolQueue{what}": "0" for what in ("Size", "Capacity", "HeadWaitTimeMills")}
    return table | {
        "EndTransactionQueueSize": "0",
        "EndTransactionThreadPoolQueueCapacity": "0",
        "pageCacheLockTimeMills": "0",
        "dispatchBehindBytes": "0",
        "dispatchMaxBuffer": "0",
        "remainHowManyDataToFlush": "0 B",
        "remainTransientStoreBufferNumbs": "0",
        "timerOffsetBehind": "0",
        "timerCongestNum": "0",
        "timerEnqueueTps": "0.0",
        "timerDequeueTps": "0.0",
    }


async def _storage(services: RocketMQServices) -> dict[str, str]:
    total, free = await services.log.room()
    ratio = str(round(1 - free / total, 4)) if total > 0 else "-1"
    return {
        "commitLogDiskRatio": ratio,
        "consumeQueueDiskRatio": ratio,
        "commitLogDirCapacity": f"Total : {_size(total)}, Free : {_size(free)}.",
        "earliestMessageTimeStamp": str(await _earliest_ms(services)),
        "topics": str(len(services.catalog.topics())),
    }


async def _earliest_ms(services: RocketMQServices) -> int:
    """The time of the oldest message; the present, where there is none."""
    numbers = sorted(number for topic in services.catalog.topics() for number in topic.partition_numbers)
    earliest_ms = _now_ms()
    looked_at = 0
    for number in numbers:
        bounds = services.log.bounds(number)
        if bounds.start < bounds.end:
            at_ms = await time_at(services.log, number, bounds.start)
            earliest_ms = earliest_ms if at_ms is None else min(earliest_ms, at_ms)
            looked_at += 1
            if looked_at >= _FIRST_LOOKED_AT:
                break
    return earliest_ms


def _rates(sums: list[Sum]) -> str:
    """Per second, over the last 10 s, 60 s and 10 min."""
    return " ".join(f"{each.messages_per_s:.4f}" for each in sums)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _duration(passed_ms: int) -> str:
    minutes, seconds = divmod(passed_ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"


def _size(size_bytes: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size_bytes < 1024:
            return f"{size_bytes:.1f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:.1f} TiB"


# Cleaning up, which happens by itself.


@answers(
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,
    RequestCode.DELETE_EXPIRED_COMMITLOG,
    action=Action.CHANGE,
    resource=ResourceKind.NODE,
)
async def clean_up(call: Call[CustomHeader]) -> Answer:
    """What is older than its topic keeps it goes now instead of a while later."""
    await call.services.log.maintain()
    return Answer()
