"""Kafka's protocol, made of the node's services and its section of the settings."""

from typing import TYPE_CHECKING

from braidmq.core.telemetry import Inlet, Outlet
from braidmq.node._listeners import KAFKA, LOG_FOLDER_NAME, framed_limits
from braidmq.protocols.kafka import FetchSessions, KafkaListener, KafkaServices, NodeFacts, ShareSessions

if TYPE_CHECKING:
    from braidmq.node._node import Node


def kafka_listener(node: "Node") -> KafkaListener:
    kafka = node.settings.kafka
    return KafkaListener(kafka.listen, _services(node), framed_limits(node, kafka))


def _services(node: "Node") -> KafkaServices:
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
        quotas=node.quotas,
        credentials=node.credentials,
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
