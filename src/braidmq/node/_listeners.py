"""The messaging protocols that a node speaks: each listener, made of the node's services and its section of the
settings. HTTP, which comes later, is in `_http`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braidmq.core.telemetry import Inlet, Outlet
from braidmq.protocols.framed import FramedLimits
from braidmq.protocols.kafka import FetchSessions, KafkaListener, KafkaServices, NodeFacts, ShareSessions
from braidmq.protocols.listener import Listener
from braidmq.protocols.rocketmq import BrokerFacts, ClientTraces, Commits, RocketMQListener, RocketMQServices
from braidmq.protocols.rocketmq_grpc import GrpcFacts, GrpcLimits, GrpcServices, RocketMQGrpcListener, server_tls
from braidmq.settings import KafkaSettings, RocketMQSettings, shown_settings

if TYPE_CHECKING:
    from braidmq.node._node import Node

LOG_FOLDER_NAME: Final = "log"
TLS_FOLDER_NAME: Final = "tls"
KAFKA: Final = "kafka"
ROCKETMQ: Final = "rocketmq"
"""Protocols, as usage is counted by them."""


def make_listeners(node: "Node") -> list[Listener]:
    """Those that the settings turn on; they do not listen yet."""
    settings = node.settings
    listeners: list[Listener] = []
    if settings.kafka.listen:
        listeners.append(KafkaListener(settings.kafka.listen, _kafka_services(node), _limits(settings.kafka)))
    if settings.rocketmq.listen:
        listeners.append(_rocketmq_listener(node))
    if settings.rocketmq_grpc.listen:
        listeners.append(_rocketmq_grpc_listener(node))
    return listeners


def _limits(section: KafkaSettings | RocketMQSettings) -> FramedLimits:
    return FramedLimits(
        request_bytes_max=section.request_bytes_max,
        buffer_bytes_max=section.buffer_bytes_max,
        connections_max=section.connections_max,
        idle_s=section.idle_s,
    )


# Kafka.


def _kafka_services(node: "Node") -> KafkaServices:
    kafka = node.settings.kafka
    share_sessions = ShareSessions(node.cursors)
    node.groups.on_departure(share_sessions.depart)
    return KafkaServices(
        node_id=kafka.node_id,
        cluster_id=node.cluster_id,
        log=node.log,
        catalog=node.catalog,
        topics=node.topics,
        groups=node.groups,
        cursors=node.cursors,
        admissions=node.admissions,
        fetch_sessions=FetchSessions(),
        share_sessions=share_sessions,
        transactions=node.transactions,
        tally=Inlet(KAFKA, node.counters, node.usage),
        outlet=Outlet(KAFKA, node.counters, node.usage),
        facts=NodeFacts(
            listeners=",".join(f"PLAINTEXT://{each.listen}" for each in kafka.listen),
            advertised_listeners=",".join(f"PLAINTEXT://{each.advertised or each.listen}" for each in kafka.listen),
            log_folder=str((node.settings.node.data / LOG_FOLDER_NAME).absolute()),
            request_bytes_max=kafka.request_bytes_max,
            connections_max=kafka.connections_max,
            idle_ms=kafka.idle_s * 1000,
        ),
        auditor=node.desk.audit,
    )


# RocketMQ, both protocols.


def _broker_name(node: "Node") -> str:
    return node.settings.rocketmq.broker or node.settings.node.name.replace(".", "-")


def _rocketmq_listener(node: "Node") -> RocketMQListener:
    rocketmq = node.settings.rocketmq
    services = RocketMQServices(
        facts=BrokerFacts(
            cluster=rocketmq.cluster,
            broker=_broker_name(node),
            auto_create=node.settings.topics.auto_create == "on",
            pull_messages_max=rocketmq.pull_messages_max,
            new_group_from_start=rocketmq.new_group_from_start == "on",
            settings=shown_settings(node.settings),
        ),
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
        auditor=node.desk.audit,
    )
    node.lives.hear(ClientTraces(services))
    return RocketMQListener(
        rocketmq.listen,
        rocketmq.broker_listen,
        services,
        _limits(rocketmq),
        with_vip=rocketmq.vip == "on",
    )


def _rocketmq_grpc_listener(node: "Node") -> RocketMQGrpcListener:
    section = node.settings.rocketmq_grpc
    services = GrpcServices(
        facts=GrpcFacts(
            broker=_broker_name(node),
            body_bytes_max=node.settings.publish.body_bytes_max,
            new_group_from_start=node.settings.rocketmq.new_group_from_start == "on",
            auto_create=section.auto_create == "on",
        ),
        log=node.log,
        catalog=node.catalog,
        topics=node.topics,
        groups=node.groups,
        members=node.members,
        questions=node.questions,
        publisher=node.publisher,
        puller=node.puller,
        cursors=node.cursors,
        lite=node.lite,
        timers=node.timers,
        halves=node.halves,
        retries=node.retries,
        resets=node.resets,
        outlet=Outlet(ROCKETMQ, node.counters, node.usage),
    )
    own = node.settings.node.data / TLS_FOLDER_NAME / "rocketmq_grpc.pem"
    make_tls = partial(server_tls, Path(section.certificate or own), is_own=not section.certificate)
    return RocketMQGrpcListener(
        section.listen,
        services,
        GrpcLimits(section.request_bytes_max, section.connections_max, section.calls_max, section.buffer_bytes_max),
        make_tls=make_tls if section.tls == "on" else None,
        tls_at_once=bool(section.certificate),
    )
