"""Figures by name and key, as `statsAll` and dashboards ask for them: sums over the last minute, hour and day.

A figure that was never counted does not exist, as with RocketMQ; tools show 0 for it. Rates are those of this moment,
and need no full minute to show.
"""

from collections.abc import Callable
from typing import Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.counters import DAY_MS, HOUR_MS, MINUTE_MS, Counters, Sum
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode, encode_body
from braidmq.protocols.rocketmq.codec.bodies import BrokerStatsData, BrokerStatsItem
from braidmq.protocols.rocketmq.codec.headers import ViewBrokerStatsDataRequestHeader

Source = Callable[[Counters, int], Sum | None]
Measure = Callable[[Sum], int]


@answers(RequestCode.VIEW_BROKER_STATS_DATA, action=Action.DESCRIBE, resource=ResourceKind.NODE)
def view_stats(call: Call[ViewBrokerStatsDataRequestHeader]) -> Answer:
    name, key = call.header.stats_name, call.header.stats_key
    source = _source(call.services, name, key)
    measure = _messages if name.endswith("_NUMS") else _bytes
    items = {} if source is None else {window: source(call.services.counters, window) for window in _WINDOWS_MS}
    minute, hour, day = (items.get(window) for window in _WINDOWS_MS)
    if minute is None or hour is None or day is None:
        return Answer(ResponseCode.SYSTEM_ERROR, remark=f"The stats <{name}> <{key}> not exist")
    body = BrokerStatsData(
        stats_minute=_item(minute, measure), stats_hour=_item(hour, measure), stats_day=_item(day, measure)
    )
    return Answer(body=encode_body(body))


_WINDOWS_MS: Final = (MINUTE_MS, HOUR_MS, DAY_MS)


def _messages(counted: Sum) -> int:
    return counted.messages


def _bytes(counted: Sum) -> int:
    return counted.size_bytes


def _item(counted: Sum, measure: Measure) -> BrokerStatsItem:
    total = measure(counted)
    return BrokerStatsItem(
        sum=total,
        tps=total * 1000 / counted.passed_ms if counted.passed_ms > 0 else 0.0,
        avgpt=round(total / counted.times, 2) if counted.times else 0.0,
    )


def _source(services: RocketMQServices, name: str, key: str) -> Source | None:
    """What a name and a key stand for; None for names that are not known."""
    match name:
        case "BROKER_PUT_NUMS" | "BROKER_PUT_SIZE":
            return (lambda counters, window: counters.all_over(window)[0]) if _is_us(services, key) else None
        case "BROKER_GET_NUMS" | "BROKER_GET_SIZE":
            return (lambda counters, window: counters.all_over(window)[1]) if _is_us(services, key) else None
        case "TOPIC_PUT_NUMS" | "TOPIC_PUT_SIZE":
            numbers = _numbers(services, key)
            return lambda counters, window: counters.stored_over(window, numbers)
        case "GROUP_GET_NUMS" | "GROUP_GET_SIZE":
            topic, _, group = key.partition("@")
            numbers = _numbers(services, topic)
            return lambda counters, window: counters.delivered_over(window, group, numbers)
        case _:
            return None


def _is_us(services: RocketMQServices, key: str) -> bool:
    return key in (services.facts.cluster, services.facts.broker)


def _numbers(services: RocketMQServices, name: str) -> tuple[int, ...]:
    topic = services.topics.find(name)
    return () if topic is None else topic.partition_numbers
