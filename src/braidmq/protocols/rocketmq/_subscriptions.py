"""What members want, as RocketMQ's tools are told it."""

from collections.abc import Iterable

from braidmq.core.filters import alternatives
from braidmq.core.members import Interest, Member
from braidmq.model import FilterKind
from braidmq.protocols.rocketmq._filters import SQL_TYPE
from braidmq.protocols.rocketmq.codec.bodies import SubscriptionData

TAG_TYPE = "TAG"


def subscription_of(topic: str, interest: Interest) -> SubscriptionData:
    is_by_tag = interest.kind is FilterKind.TAG
    return SubscriptionData(
        topic=topic,
        sub_string=interest.expression,
        tags_set=[tag for tag in alternatives(interest.expression) if tag] if is_by_tag else [],
        sub_version=interest.version,
        expression_type=SQL_TYPE if interest.kind is FilterKind.SQL else TAG_TYPE,
    )


def subscriptions_of(members: Iterable[Member]) -> dict[str, SubscriptionData]:
    """By topic; where members do not want the same, what the last of them said that changed its mind."""
    latest: dict[str, Interest] = {}
    for member in members:
        for topic, interest in member.interests.items():
            if topic not in latest or interest.version > latest[topic].version:
                latest[topic] = interest
    return {topic: subscription_of(topic, interest) for topic, interest in sorted(latest.items())}
