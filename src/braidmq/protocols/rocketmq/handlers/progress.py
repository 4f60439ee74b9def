"""How far groups have come, as tools are told it.

A queue of which a group has committed nothing counts from 0 on, as with RocketMQ. Topics of a group are those of which
it has committed something, and what its members want. How far its members were given a queue is known since the node's
start; before they are given something, it is what they have committed.
"""

import time
from collections.abc import Iterable

from braidmq.core.access import Action, ResourceKind
from braidmq.core.counters import MINUTE_MS
from braidmq.core.lookup import time_at
from braidmq.core.shapes import readable_partitions
from braidmq.model import DEFAULT_INSTANCE, Partition, Topic
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._queues import find_topic
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq._subscriptions import subscriptions_of
from braidmq.protocols.rocketmq._topic_configs import config_of
from braidmq.protocols.rocketmq.codec import RequestCode, encode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    ConsumeStats,
    ConsumeStatsList,
    GroupList,
    MessageQueue,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
    QuerySubscriptionResponseBody,
    QueueTimeSpan,
    TopicList,
)
from braidmq.protocols.rocketmq.codec.headers import (
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    QuerySubscriptionByConsumerRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
    QueryTopicsByConsumerRequestHeader,
)


@answers(RequestCode.GET_CONSUME_STATS, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
async def consume_stats(call: Call[GetConsumeStatsRequestHeader]) -> Answer:
    services, group = call.services, call.header.consumer_group
    stats = ConsumeStats()
    for topic in _asked_topics(services, call.header):
        await _add_stats(services, stats, group, topic)
    return Answer(body=encode_body(stats))


@answers(RequestCode.GET_BROKER_CONSUME_STATS, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
async def broker_consume_stats(call: Call[GetConsumeStatsInBrokerHeader]) -> Answer:
    """Of all groups; of ordered topics only, if asked so."""
    services = call.services
    body = ConsumeStatsList(broker_addr=str(call.connection.broker))
    for group in sorted(each.name for each in services.catalog.groups() if each.instance == DEFAULT_INSTANCE):
        listed: list[ConsumeStats] = []
        for topic in services.group_offsets.topics(group):
            if call.header.is_order and not config_of(topic).order:
                continue
            stats = ConsumeStats()
            await _add_stats(services, stats, group, topic)
            body.total_diff += sum(each.broker_offset - each.consumer_offset for each in stats.offset_table.values())
            listed.append(stats)
        body.consume_stats_list.append({group: listed})
    return Answer(body=encode_body(body))


def _asked_topics(services: RocketMQServices, header: GetConsumeStatsRequestHeader) -> list[Topic]:
    """The topics that a tool names, or else those of the group; what is not there is left out."""
    names = [name for name in (header.topic_list or "").split(";") if name] or [header.topic or ""]
    if names == [""]:
        return services.group_offsets.topics(header.consumer_group)
    found = (services.topics.find(name) for name in names)
    return [topic for topic in found if topic is not None]


async def _add_stats(services: RocketMQServices, stats: ConsumeStats, group: str, topic: Topic) -> None:
    for partition in _readable(topic):
        await services.commits.settled(group, partition.number)
    committed = services.groups.offsets(group)
    for partition in _readable(topic):
        offset = committed[partition.number].offset if partition.number in committed else 0
        last_ms = await time_at(services.log, partition.number, offset - 1) if offset > 0 else None
        stats.offset_table[_queue(services, topic, partition)] = OffsetWrapper(
            broker_offset=services.log.bounds(partition.number).stable,
            consumer_offset=offset,
            pull_offset=services.commits.given(group, partition.number, offset),
            last_timestamp=last_ms or 0,
        )
    given = services.counters.delivered_over(MINUTE_MS, group, topic.partition_numbers)
    stats.consume_tps += 0.0 if given is None else given.messages_per_s


@answers(RequestCode.QUERY_CONSUME_TIME_SPAN, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
async def time_spans(call: Call[QueryConsumeTimeSpanRequestHeader]) -> Answer:
    topic = find_topic(call.services, call.header.topic)
    body = QueryConsumeTimeSpanBody(
        consume_time_span_set=[
            await _time_span(call.services, call.header.group, topic, partition) for partition in _readable(topic)
        ]
    )
    return Answer(body=encode_body(body))


async def _time_span(services: RocketMQServices, group: str, topic: Topic, partition: Partition) -> QueueTimeSpan:
    log, number = services.log, partition.number
    await services.commits.settled(group, number)
    bounds = log.bounds(number)
    committed = services.groups.offsets(group).get(number)
    offset = max(bounds.start if committed is None else committed.offset, bounds.start)
    is_behind = offset < bounds.stable
    first_ms = await time_at(log, number, bounds.start) if bounds.start < bounds.end else None
    last_ms = await time_at(log, number, bounds.end - 1) if bounds.start < bounds.end else None
    consumed_ms = await time_at(log, number, offset - 1) if offset > bounds.start else first_ms
    next_ms = await time_at(log, number, offset) if is_behind else None
    return QueueTimeSpan(
        message_queue=_queue(services, topic, partition),
        min_time_stamp=-1 if first_ms is None else first_ms,
        max_time_stamp=-1 if last_ms is None else last_ms,
        consume_time_stamp=-1 if consumed_ms is None else consumed_ms,
        delay_time=0 if next_ms is None else max(0, time.time_ns() // 1_000_000 - next_ms),
    )


# Who reads what.


@answers(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def groups_of_topic(call: Call[QueryTopicConsumeByWhoRequestHeader]) -> Answer:
    """Groups with a member that wants something of the topic, or that have committed something of it."""
    services, name = call.services, call.header.topic
    groups = set(services.members.groups_of_topic(name))
    if (topic := services.topics.find(name)) is not None:
        groups |= {group for group in services.log.groups_with_offsets() if _has_committed(services, group, topic)}
    return Answer(body=encode_body(GroupList(group_list=sorted(groups))))


def _has_committed(services: RocketMQServices, group: str, topic: Topic) -> bool:
    committed = services.groups.offsets(group)
    return any(number in committed for number in topic.partition_numbers)


@answers(RequestCode.QUERY_TOPICS_BY_CONSUMER, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def topics_of_group(call: Call[QueryTopicsByConsumerRequestHeader]) -> Answer:
    names = [topic.name for topic in call.services.group_offsets.topics(call.header.group)]
    return Answer(body=encode_body(TopicList(topic_list=names, broker_addr=str(call.connection.broker))))


@answers(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, action=Action.DESCRIBE, resource=ResourceKind.GROUP)
def subscription(call: Call[QuerySubscriptionByConsumerRequestHeader]) -> Answer:
    header = call.header
    subscriptions = subscriptions_of(call.services.members.consumers(header.group))
    body = QuerySubscriptionResponseBody(
        group=header.group, topic=header.topic or "", subscription_data=subscriptions.get(header.topic or "")
    )
    return Answer(body=encode_body(body))


def _readable(topic: Topic) -> Iterable[Partition]:
    return topic.partitions[: readable_partitions(topic)]


def _queue(services: RocketMQServices, topic: Topic, partition: Partition) -> MessageQueue:
    return MessageQueue(topic.name, services.facts.broker, partition.index)
