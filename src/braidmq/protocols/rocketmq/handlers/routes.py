"""Routes: which broker has a topic's queues, and where it is.

Every node answers them. The address is the one by which the client can reach the broker, seen from where it asked.
Names of the cluster and of the broker are answered as if they were topics, because tools find brokers that way; so is
the default topic, while topics are made by being used.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import DEFAULT_INSTANCE, Topic
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import Result, answers
from braidmq.protocols.rocketmq._queues import (
    DEFAULT_TOPIC,
    INHERIT,
    READ,
    TRACE_TOPIC,
    WRITE,
    Shape,
    find_topic,
    is_broker_writable,
    made_topic,
    shape_of,
)
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode, encode_body
from braidmq.protocols.rocketmq.codec.bodies import BrokerData, ClusterInfo, QueueData, TopicRouteData
from braidmq.protocols.rocketmq.codec.headers import GetRouteInfoRequestHeader


@answers(RequestCode.GET_ROUTEINFO_BY_TOPIC, action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
def route(call: Call[GetRouteInfoRequestHeader]) -> Result:
    name = call.header.topic
    if (queues := _as_topic(call.services, name)) is not None:
        return _route(call, Shape(queues, queues, READ | WRITE | INHERIT))
    if name == TRACE_TOPIC and call.services.catalog.topic(DEFAULT_INSTANCE, name) is None:
        return _made_route(call, name)
    return _topic_route(call, find_topic(call.services, name))


@answers(RequestCode.GET_BROKER_CLUSTER_INFO, action=Action.DESCRIBE, resource=ResourceKind.NODE)
def cluster_info(call: Call[GetRouteInfoRequestHeader]) -> Answer:
    facts = call.services.facts
    info = ClusterInfo(
        broker_addr_table={facts.broker: _broker(call)}, cluster_addr_table={facts.cluster: [facts.broker]}
    )
    return Answer(body=encode_body(info))


def _as_topic(services: RocketMQServices, name: str) -> int | None:
    """How many queues a name has that stands for something else."""
    facts = services.facts
    if name == DEFAULT_TOPIC and services.topics.auto_create:
        return facts.default_queues
    return 1 if name in (facts.cluster, facts.broker, f"{facts.cluster}_REPLY_TOPIC") else None


async def _made_route(call: Call[GetRouteInfoRequestHeader], name: str) -> Answer:
    return _topic_route(call, await made_topic(call.services, name, 1))


def _topic_route(call: Call[GetRouteInfoRequestHeader], topic: Topic) -> Answer:
    shape = shape_of(topic)
    if not is_broker_writable(call.services):
        shape = shape._replace(permission=shape.permission & ~WRITE)
    return _route(call, shape)


def _route(call: Call[GetRouteInfoRequestHeader], shape: Shape) -> Answer:
    data = TopicRouteData(
        queue_datas=[
            QueueData(
                broker_name=call.services.facts.broker,
                read_queue_nums=shape.read,
                write_queue_nums=shape.write,
                perm=shape.permission,
            )
        ],
        broker_datas=[_broker(call)],
    )
    return Answer(body=encode_body(data))


def _broker(call: Call[GetRouteInfoRequestHeader]) -> BrokerData:
    facts = call.services.facts
    return BrokerData(cluster=facts.cluster, broker_name=facts.broker, broker_addrs={0: str(call.connection.broker)})
