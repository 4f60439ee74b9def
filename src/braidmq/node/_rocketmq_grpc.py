"""RocketMQ's gRPC interface, made of the node's services and its section of the settings."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braidmq.core.telemetry import Outlet
from braidmq.node._listeners import ROCKETMQ, broker_name
from braidmq.protocols.rocketmq_grpc import GrpcFacts, GrpcLimits, GrpcServices, RocketMQGrpcListener, server_tls

if TYPE_CHECKING:
    from braidmq.node._node import Node

TLS_FOLDER_NAME: Final = "tls"


def rocketmq_grpc_listener(node: "Node") -> RocketMQGrpcListener:
    section = node.settings.rocketmq_grpc
    services = GrpcServices(
        facts=GrpcFacts(
            broker=broker_name(node),
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
        GrpcLimits(
            section.request_bytes_max,
            section.connections_max,
            section.calls_max,
            section.buffer_bytes_max,
            has_file_room=node.has_file_room,
        ),
        make_tls=make_tls if section.tls == "on" else None,
        tls_at_once=bool(section.certificate),
    )
