"""RocketMQ's remoting protocol, made of the node's services and its section of the settings."""

from typing import TYPE_CHECKING

from braidmq.core.telemetry import Outlet
from braidmq.node._listeners import ROCKETMQ, broker_name, framed_limits
from braidmq.protocols.rocketmq import BrokerFacts, ClientTraces, Commits, RocketMQListener, RocketMQServices

if TYPE_CHECKING:
    from braidmq.node._node import Node


def rocketmq_listener(node: "Node") -> RocketMQListener:
    rocketmq = node.settings.rocketmq
    node.broker_facts = BrokerFacts(
        cluster=rocketmq.cluster,
        broker=broker_name(node),
        default_queues=rocketmq.default_queues,
        pull_messages_max=rocketmq.pull_messages_max,
        new_group_from_start=rocketmq.new_group_from_start == "on",
    )
    services = RocketMQServices(
        facts=node.broker_facts,
        log=node.log,
        catalog=node.catalog,
        topics=node.topics,
        groups=node.groups,
        members=node.members,
        questions=node.questions,
        publisher=node.publisher,
        puller=node.puller,
        cursors=node.cursors,
        timers=node.timers,
        halves=node.halves,
        retries=node.retries,
        locks=node.locks,
        resets=node.resets,
        group_offsets=node.group_offsets,
        query=node.query,
        tracer=node.tracer,
        commits=Commits(),
        counters=node.counters,
        outlet=Outlet(ROCKETMQ, node.counters, node.usage),
        settings=node.desk.settings,
        auditor=node.desk.audit,
    )
    node.lives.hear(ClientTraces(services))
    return RocketMQListener(
        rocketmq.listen,
        rocketmq.broker_listen,
        services,
        framed_limits(node, rocketmq),
        with_vip=rocketmq.vip == "on",
    )
