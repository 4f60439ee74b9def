"""The messaging protocols that a node speaks. HTTP, which comes later, is in `_http`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from braidmq.protocols.framed import FramedLimits
from braidmq.protocols.listener import Listener
from braidmq.settings import KafkaSettings, RocketMQSettings

if TYPE_CHECKING:
    from braidmq.node._node import Node

LOG_FOLDER_NAME: Final = "log"
KAFKA: Final = "kafka"
ROCKETMQ: Final = "rocketmq"
"""Protocols, as usage is counted by them."""


def make_listeners(node: "Node") -> Iterator[Listener]:
    """Those that the settings turn on; they do not listen yet. Each protocol is imported when its turn comes, so that
    one which is off costs nothing, and one that is on does not wait for the others."""
    settings = node.settings
    if settings.kafka.listen:
        from braidmq.node._kafka import kafka_listener

        yield kafka_listener(node)
    if settings.rocketmq.listen:
        from braidmq.node._rocketmq import rocketmq_listener

        yield rocketmq_listener(node)
    if settings.rocketmq_grpc.listen:
        from braidmq.node._rocketmq_grpc import rocketmq_grpc_listener

        yield rocketmq_grpc_listener(node)


def framed_limits(node: "Node", section: KafkaSettings | RocketMQSettings) -> FramedLimits:
    return FramedLimits(
        request_bytes_max=section.request_bytes_max,
        buffer_bytes_max=section.buffer_bytes_max,
        connections_max=section.connections_max,
        idle_s=section.idle_s,
        has_file_room=node.has_file_room,
    )


def broker_name(node: "Node") -> str:
    """How RocketMQ's clients know the node, on both of their protocols."""
    return node.settings.rocketmq.broker or node.settings.node.name.replace(".", "-")
