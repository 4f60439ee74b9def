"""Topics, groups and queues, as calls name them."""

from typing import Any

from braidmq.core.filters import Filter, filter_of
from braidmq.core.shapes import check_reading
from braidmq.model import DEFAULT_INSTANCE, FilterKind, Group, Topic
from braidmq.model.errors import InvalidGroup, InvalidName, UnknownPartition, UnknownTopic
from braidmq.model.names import check_group_name
from braidmq.protocols.rocketmq_grpc._services import GrpcServices
from braidmq.protocols.rocketmq_grpc.codes import Code, FilterType, Refused
from braidmq.protocols.rocketmq_grpc.messages import name_of


def find_topic(services: GrpcServices, resource: Any) -> Topic:
    """Raises UnknownTopic, Refused."""
    name = name_of(resource)
    topic = services.topics.find(name)
    if topic is None:
        if not name:
            raise Refused(Code.ILLEGAL_TOPIC, "the topic has no name")
        raise UnknownTopic(f"there is no topic {name!r}")
    return topic


def group_name(resource: Any) -> str:
    """Raises InvalidGroup."""
    try:
        return check_group_name(name_of(resource))
    except InvalidName as error:
        raise InvalidGroup(error.message) from error


def group_of(services: GrpcServices, name: str) -> Group:
    """The group, as it is kept or as groups are when nobody says."""
    return services.catalog.group(DEFAULT_INSTANCE, name) or Group(name=name)


def check_may_read(services: GrpcServices, topic: Topic, group: str) -> None:
    """Raises NotPermitted."""
    check_reading(topic, services.catalog.group(DEFAULT_INSTANCE, group))


def queue_number(topic: Topic, queue_id: int) -> int:
    """The partition's number in the catalog. Raises UnknownPartition."""
    if not 0 <= queue_id < len(topic.partition_numbers):
        raise UnknownPartition(f"the topic {topic.name!r} has {len(topic.partition_numbers)} queues, not {queue_id}")
    return topic.partition_numbers[queue_id]


def choice_of(expression: Any) -> tuple[FilterKind, str]:
    """What a filter expression says. Raises Refused."""
    if expression.type not in (0, FilterType.TAG, FilterType.SQL):
        raise Refused(Code.ILLEGAL_FILTER_EXPRESSION, f"filters are of type TAG or SQL, not {expression.type}")
    if expression.type == FilterType.SQL:
        return FilterKind.SQL, expression.expression
    if expression.expression in ("", "*"):
        return FilterKind.ALL, expression.expression
    return FilterKind.TAG, expression.expression


def filter_of_expression(expression: Any) -> Filter:
    """Raises InvalidFilter, Refused."""
    return filter_of(*choice_of(expression))
