"""Settings in Kafka's words: configs of topics, groups and brokers, with their types, sources and synonyms."""

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple

from braidmq.core.topics import Effective, Origin
from braidmq.model import Group, topic_settings
from braidmq.model.share_settings import SHARE_SETTINGS, ShareSetting, share_texts
from braidmq.model.topic_settings import SettingKind
from braidmq.protocols.kafka._services import KafkaServices


class ResourceType(enum.IntEnum):
    """What configs can belong to."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Source(enum.IntEnum):
    """Who said what a config is."""

    TOPIC = 1
    NODE = 4
    DEFAULT = 5
    GROUP = 8


TYPES: Final[Mapping[SettingKind, int]] = {
    SettingKind.BOOLEAN: 1,
    SettingKind.STRING: 2,
    SettingKind.INT: 3,
    SettingKind.LONG: 5,
    SettingKind.DOUBLE: 6,
    SettingKind.LIST: 7,
}
_SOURCES: Final = {Origin.TOPIC: Source.TOPIC, Origin.NODE: Source.NODE, Origin.DEFAULT: Source.DEFAULT}


class Synonym(NamedTuple):
    """A name under which the value was, or could have been, set."""

    name: str
    value: str
    source: Source


class Config(NamedTuple):
    """A setting as Kafka shows it. The first of the synonyms is the one that counts."""

    name: str
    value: str
    source: Source
    kind: SettingKind
    documentation: str
    synonyms: tuple[Synonym, ...]
    read_only: bool = False


def topic_config(effective: Effective) -> Config:
    setting = effective.setting
    synonyms = []
    if effective.origin is Origin.TOPIC:
        synonyms.append(Synonym(setting.name, effective.text, Source.TOPIC))
    if setting.node_name:
        if effective.node_text is not None:
            synonyms.append(Synonym(setting.node_name, effective.node_text, Source.NODE))
        synonyms.append(Synonym(setting.node_name, setting.default, Source.DEFAULT))
    return Config(
        setting.name,
        effective.text,
        _SOURCES[effective.origin],
        setting.kind,
        setting.documentation,
        tuple(synonyms),
    )


def group_configs(group: Group) -> list[Config]:
    """What can be set of how share consumers of a group are served."""
    texts = share_texts(group)
    return [_group_config(setting, texts.get(setting.name)) for setting in SHARE_SETTINGS.values()]


def _group_config(setting: ShareSetting, text: str | None) -> Config:
    synonyms = [] if text is None else [Synonym(setting.name, text, Source.GROUP)]
    return Config(
        setting.name,
        setting.default if text is None else text,
        Source.DEFAULT if text is None else Source.GROUP,
        setting.kind,
        setting.documentation,
        (*synonyms, Synonym(setting.name, setting.default, Source.DEFAULT)),
    )


def node_configs(services: KafkaServices) -> list[Config]:
    """What a broker of Kafka would be set to if it were this node: only what is true, and nothing that can be changed
    from here. A node's settings are in its file."""
    return sorted((*_own_configs(services), *_topic_defaults(services)), key=lambda config: config.name)


def _own_configs(services: KafkaServices) -> list[Config]:
    facts = services.facts
    auto_create = str(services.topics.auto_create).lower()
    values = (
        (
            "advertised.listeners",
            facts.advertised_listeners,
            "",
            SettingKind.STRING,
            "Where clients connect.",
        ),
        ("listeners", facts.listeners, "", SettingKind.STRING, "Where this node listens."),
        (
            "auto.create.topics.enable",
            auto_create,
            "true",
            SettingKind.BOOLEAN,
            "Whether topics are made by being used.",
        ),
        ("broker.id", str(services.node_id), "-1", SettingKind.INT, "This node's number."),
        (
            "connections.max.idle.ms",
            str(facts.idle_ms),
            "600000",
            SettingKind.LONG,
            "A client that is silent for so long is disconnected.",
        ),
        ("default.replication.factor", "1", "1", SettingKind.INT, "Every partition has one replica, on this node."),
        ("delete.topic.enable", "true", "true", SettingKind.BOOLEAN, "Topics can be deleted."),
        ("log.dirs", facts.log_folder, "", SettingKind.STRING, "The folder of the log."),
        ("max.connections", str(facts.connections_max), "2147483647", SettingKind.INT, "How many clients are served."),
        ("node.id", str(services.node_id), "-1", SettingKind.INT, "This node's number."),
        (
            "num.partitions",
            str(services.topics.partitions),
            "1",
            SettingKind.INT,
            "How many partitions a topic gets when nobody says.",
        ),
        ("process.roles", "broker,controller", "", SettingKind.LIST, "This node does everything by itself."),
        (
            "socket.request.max.bytes",
            str(facts.request_bytes_max),
            "104857600",
            SettingKind.INT,
            "The largest request that is taken.",
        ),
    )
    return [
        _node_config(name, value, None if value == default else value, default, kind, documentation)
        for name, value, default, kind, documentation in values
    ]


def _topic_defaults(services: KafkaServices) -> list[Config]:
    """What topics get that say nothing."""
    configs = []
    for setting in topic_settings.TOPIC_SETTINGS.values():
        if setting.node_name and setting.listed:
            said = services.topics.defaults.get(setting.name)
            value = setting.default if said is None else said
            configs.append(
                _node_config(setting.node_name, value, said, setting.default, setting.kind, setting.documentation)
            )
    return configs


def _node_config(
    name: str, value: str, said: str | None, default: str, kind: SettingKind, documentation: str
) -> Config:
    synonyms = [Synonym(name, said, Source.NODE)] if said is not None else []
    if default or said is None:
        synonyms.append(Synonym(name, default, Source.DEFAULT))
    source = Source.DEFAULT if said is None else Source.NODE
    return Config(name, value, source, kind, documentation, tuple(synonyms), read_only=True)
