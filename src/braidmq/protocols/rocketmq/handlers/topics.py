"""Topics, as tools make, change, describe and delete them.

Topics of the name server and of the broker are the same here: what one request deletes is gone for the other, too, and
deleting what is not there is no error, as with RocketMQ.
"""

from collections.abc import Iterable

from braidmq.core.access import Action, ResourceKind
from braidmq.core.counters import MINUTE_MS
from braidmq.core.lookup import time_at
from braidmq.model import DEFAULT_INSTANCE, Topic
from braidmq.model.errors import InvalidName
from braidmq.model.names import LITE_TOPIC_PREFIX
from braidmq.protocols.rocketmq._attributes import read_attributes
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._queues import DEFAULT_TOPIC, TRACE_TOPIC, data_version, find_topic
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq._topic_configs import apply_config, config_of
from braidmq.protocols.rocketmq.codec import RequestCode, decode_body, encode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    CreateTopicListRequestBody,
    MessageQueue,
    TopicConfig,
    TopicConfigSerializeWrapper,
    TopicList,
    TopicOffset,
    TopicStatsTable,
)
from braidmq.protocols.rocketmq.codec.headers import (
    CreateTopicListRequestHeader,
    CreateTopicRequestHeader,
    CustomHeader,
    DeleteTopicRequestHeader,
    GetAllTopicConfigRequestHeader,
    GetTopicConfigRequestHeader,
    GetTopicsByClusterRequestHeader,
    GetTopicStatsInfoRequestHeader,
)
from braidmq.protocols.rocketmq.handlers.send import FORBIDDEN_TOPICS, check_topic

SYSTEM_TOPICS = FORBIDDEN_TOPICS | {DEFAULT_TOPIC}
"""Names with a meaning of their own: tools may neither make nor delete them."""


@answers(RequestCode.UPDATE_AND_CREATE_TOPIC, action=Action.CREATE, resource=ResourceKind.TOPIC)
async def update_topic(call: Call[CreateTopicRequestHeader]) -> Answer:
    header = call.header
    config = TopicConfig(
        topic_name=header.topic,
        read_queue_nums=header.read_queue_nums,
        write_queue_nums=header.write_queue_nums,
        perm=header.perm,
        topic_filter_type=header.topic_filter_type,
        topic_sys_flag=header.topic_sys_flag or 0,
        order=header.order,
        attributes=read_attributes(header.attributes),
    )
    _check_own(call.services, config.topic_name)
    await apply_config(call.services, config)
    return Answer()


@answers(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, action=Action.CREATE, resource=ResourceKind.TOPIC)
async def update_topics(call: Call[CreateTopicListRequestHeader]) -> Answer:
    """All of the names are checked before the first topic is made."""
    configs = decode_body(CreateTopicListRequestBody, call.command.body).topic_config_list
    for config in configs:
        _check_own(call.services, config.topic_name)
    for config in configs:
        await apply_config(call.services, config)
    return Answer()


@answers(RequestCode.DELETE_TOPIC_IN_BROKER, action=Action.DELETE, resource=ResourceKind.TOPIC)
@answers(RequestCode.DELETE_TOPIC_IN_NAMESRV, action=Action.DELETE, resource=ResourceKind.TOPIC)
async def delete_topic(call: Call[DeleteTopicRequestHeader]) -> Answer:
    _check_own(call.services, call.header.topic)
    topic = call.services.catalog.topic(DEFAULT_INSTANCE, call.header.topic)
    if topic is not None:
        await call.services.topics.delete(topic)
    return Answer()


def _check_own(services: RocketMQServices, name: str) -> None:
    """Raises InvalidName for names that are not users' to make or delete."""
    if name in SYSTEM_TOPICS or name in (services.facts.cluster, services.facts.broker):
        raise InvalidName(f"The topic[{name}] is conflict with system topic.")
    check_topic(name)


@answers(RequestCode.GET_ALL_TOPIC_CONFIG, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def all_topic_configs(call: Call[GetAllTopicConfigRequestHeader]) -> Answer:
    """Always the whole table: no total beside it says so."""
    table = {topic.name: config_of(topic) for topic in _topics(call.services)}
    return Answer(
        body=encode_body(
            TopicConfigSerializeWrapper(topic_config_table=table, data_version=data_version(call.services))
        )
    )


@answers(RequestCode.GET_TOPIC_CONFIG, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def topic_config(call: Call[GetTopicConfigRequestHeader]) -> Answer:
    config = config_of(find_topic(call.services, call.header.topic))
    return Answer(body=encode_body(config))


@answers(RequestCode.GET_TOPIC_STATS_INFO, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
async def topic_stats(call: Call[GetTopicStatsInfoRequestHeader]) -> Answer:
    services = call.services
    topic = find_topic(services, call.header.topic)
    came = services.counters.stored_over(MINUTE_MS, topic.partition_numbers)
    table = TopicStatsTable(topic_put_tps=0.0 if came is None else came.messages_per_s)
    for partition in topic.partitions:
        bounds = services.log.bounds(partition.number)
        at_ms = await time_at(services.log, partition.number, bounds.end - 1) if bounds.end > bounds.start else None
        queue = MessageQueue(topic.name, services.facts.broker, partition.index)
        table.offset_table[queue] = TopicOffset(
            min_offset=bounds.start, max_offset=bounds.stable, last_update_timestamp=at_ms or 0
        )
    return Answer(body=encode_body(table))


# Lists of names.


@answers(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def topic_names(call: Call[CustomHeader]) -> Answer:
    return _names(topic.name for topic in _topics(call.services))


@answers(RequestCode.GET_TOPICS_BY_CLUSTER, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def topic_names_of_cluster(call: Call[GetTopicsByClusterRequestHeader]) -> Answer:
    if call.header.cluster != call.services.facts.cluster:
        return _names(())
    return _names(topic.name for topic in _topics(call.services))


@answers(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def name_server_topic_names(call: Call[CustomHeader]) -> Answer:
    facts = call.services.facts
    names = TopicList(topic_list=[facts.cluster, facts.broker], broker_addr=str(call.connection.broker))
    return Answer(body=encode_body(names))


@answers(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def system_topic_names(call: Call[CustomHeader]) -> Answer:
    facts = call.services.facts
    own = (facts.cluster, facts.broker, f"{facts.cluster}_REPLY_TOPIC", TRACE_TOPIC)
    return _names({*SYSTEM_TOPICS, *own})


def _topics(services: RocketMQServices) -> list[Topic]:
    """All but those behind lite topics, which are no topics to RocketMQ's tools."""
    own = (topic for topic in services.catalog.topics() if topic.instance == DEFAULT_INSTANCE)
    return sorted(
        (topic for topic in own if not topic.name.startswith(LITE_TOPIC_PREFIX)),
        key=lambda topic: topic.name,
    )


def _names(names: Iterable[str]) -> Answer:
    return Answer(body=encode_body(TopicList(topic_list=sorted(names))))
