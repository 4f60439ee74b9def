"""A topic as RocketMQ's tools describe it, and what becomes of their description here.

Queues are partitions, and a topic never loses one: asked for fewer, it keeps what it has and shows so many. The type of
a topic's messages is its kind; a topic of which nobody says so takes all. What has no meaning here is kept as it came.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from braidmq.core.topics import SettingsChange
from braidmq.model import TOPIC_PARTITIONS_MAX, Topic, TopicKind
from braidmq.model.errors import InvalidPartitions, InvalidSetting
from braidmq.model.topic_settings import ALLOWS, LITE_EXPIRATION_MIN, PARTITIONS_READ, PARTITIONS_WRITE, ROCKETMQ
from braidmq.model.topic_settings import READ as MAY_READ
from braidmq.model.topic_settings import WRITE as MAY_WRITE
from braidmq.protocols.rocketmq._attributes import ADD, REMOVE, check_attributes, merged
from braidmq.protocols.rocketmq._queues import READ, WRITE, shape_of
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec.bodies import TopicConfig

KIND_ATTRIBUTE: Final = "message.type"


class _Kept(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is only kept."""

    order: bool = False
    sys_flag: int = 0
    filter_type: str = "SINGLE_TAG"
    attributes: dict[str, str] = {}


def config_of(topic: Topic) -> TopicConfig:
    shape, kept = shape_of(topic), _kept(topic.settings)
    attributes = dict(kept.attributes)
    if topic.kind is not TopicKind.MIXED:
        attributes[KIND_ATTRIBUTE] = topic.kind.name
    if LITE_EXPIRATION_MIN.name in topic.settings:
        attributes[LITE_EXPIRATION_MIN.name] = topic.settings[LITE_EXPIRATION_MIN.name]
    return TopicConfig(
        topic_name=topic.name,
        read_queue_nums=shape.read,
        write_queue_nums=shape.write,
        perm=shape.permission,
        topic_filter_type=kept.filter_type,
        topic_sys_flag=kept.sys_flag,
        order=kept.order,
        attributes=attributes,
    )


async def apply_config(services: RocketMQServices, config: TopicConfig) -> Topic:
    """Make the topic, or make of it what the description says. Its attributes have their signs.

    Raises InvalidName, InvalidPartitions, InvalidSetting.
    """
    queues = max(config.read_queue_nums, config.write_queue_nums)
    if min(config.read_queue_nums, config.write_queue_nums) < 1 or queues > TOPIC_PARTITIONS_MAX:
        raise InvalidPartitions(
            f"a topic has 1 to {TOPIC_PARTITIONS_MAX} queues to read and to write, not {config.read_queue_nums} and"
            f" {config.write_queue_nums}"
        )
    kind = _kind(config.attributes)
    topic = await services.topics.ensure_own(config.topic_name, partitions=queues)
    if queues > len(topic.partition_numbers):
        topic = await services.topics.expand(topic, queues)
    change = _change(config, len(topic.partition_numbers))
    planned = services.topics.plan_configuration(topic, change)
    if planned == topic and kind in (None, topic.kind):
        return topic
    return await services.topics.configure(topic, change, kind=kind)


def _change(config: TopicConfig, partitions: int) -> SettingsChange:
    wanted = {
        PARTITIONS_READ.name: "" if config.read_queue_nums >= partitions else str(config.read_queue_nums),
        PARTITIONS_WRITE.name: "" if config.write_queue_nums >= partitions else str(config.write_queue_nums),
    }
    allowed = [word for word, bit in ((MAY_READ, READ), (MAY_WRITE, WRITE)) if config.perm & bit]

    def change(texts: Mapping[str, str]) -> Mapping[str, str]:
        new = {name: text for name, text in {**texts, **wanted}.items() if text or name not in wanted}
        new.pop(ALLOWS.name, None)
        if len(allowed) < 2:
            new[ALLOWS.name] = ",".join(allowed)
        kept = _kept_text(config, _kept(texts))
        new.pop(ROCKETMQ.name, None)
        new = merged(new, _about_lite_topics(config.attributes))
        return new | ({ROCKETMQ.name: kept} if kept else {})

    return change


def _kept(texts: Mapping[str, str]) -> _Kept:
    text = texts.get(ROCKETMQ.name)
    if not text:
        return _Kept()
    try:
        return msgspec.json.decode(text, type=_Kept)
    except msgspec.MsgspecError:
        return _Kept()  # any Kafka tool may write this text, and it means nothing to the topic


def _kept_text(config: TopicConfig, before: _Kept) -> str:
    attributes = merged(before.attributes, config.attributes)
    for name in (KIND_ATTRIBUTE, LITE_EXPIRATION_MIN.name):
        attributes.pop(name, None)
    kept = _Kept(
        order=config.order,
        sys_flag=config.topic_sys_flag,
        filter_type=config.topic_filter_type or "SINGLE_TAG",
        attributes=attributes,
    )
    text = msgspec.json.encode(kept).decode()
    return "" if text == "{}" else text


def _about_lite_topics(attributes: Mapping[str, str] | None) -> dict[str, str]:
    """Of the attributes, with their signs, the one that is a setting of the topic by the same name."""
    names = (ADD + LITE_EXPIRATION_MIN.name, REMOVE + LITE_EXPIRATION_MIN.name)
    return {name: text for name, text in (attributes or {}).items() if name in names}


def _kind(attributes: Mapping[str, str] | None) -> TopicKind | None:
    """The kind that attributes with signs ask for; None where they say nothing of it. Raises InvalidSetting."""
    attributes = attributes or {}
    check_attributes(attributes)
    if REMOVE + KIND_ATTRIBUTE in attributes:
        return TopicKind.MIXED
    name = attributes.get(ADD + KIND_ATTRIBUTE)
    if name is None:
        return None
    if name in ("UNSPECIFIED", ""):
        return TopicKind.MIXED
    try:
        return TopicKind[name.upper()]
    except KeyError:
        known = ", ".join(kind.name for kind in TopicKind)
        raise InvalidSetting(f"{KIND_ATTRIBUTE} is {name[:40]!r}; it may be one of {known}") from None
