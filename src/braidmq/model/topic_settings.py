"""Every setting that a topic can have: its kind, its default, what it may be, and whether it changes anything here.

The names are Kafka's, because its tools are what topics are set up with. One idea: a setting is a value of this module
that reads itself out of a topic's texts (`SEGMENT_MS.read(topic.settings)`), so that the log, the core and every
protocol agree on names, defaults and limits. Retention lies in two fields of `Topic`; `texts_of` and `fields_of` pass
between the fields and the texts that users see and set.
"""

import enum
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

from braidmq.model._resources import DEFAULT_RETENTION_MS, Topic
from braidmq.model.errors import InvalidSetting

UNLIMITED: Final = (1 << 63) - 1
_INT_MAX: Final = (1 << 31) - 1
_WHOLE: Final = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_THROTTLED: Final = re.compile(r"[0-9]+:[0-9]+\Z")

ValueT = TypeVar("ValueT")


class SettingKind(enum.StrEnum):
    """What kind of value a setting has."""

    BOOLEAN = "boolean"
    STRING = "string"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    LIST = "list"


class _Shape(NamedTuple, Generic[ValueT]):
    """How a text is read. `parse` raises ValueError with what the value has to be."""

    kind: SettingKind
    parse: Callable[[str], ValueT]


class TopicSetting(Generic[ValueT]):
    """One setting of a topic."""

    __slots__ = ("_parse", "default", "documentation", "honoured", "kind", "listed", "name", "node_name")

    def __init__(
        self,
        name: str,
        shape: _Shape[ValueT],
        default: str,
        documentation: str,
        *,
        node_name: str = "",
        honoured: bool = True,
        listed: bool = True,
    ) -> None:
        self.name = name
        self.kind = shape.kind
        self.default = default
        """The text that counts where a topic says nothing, and neither does the node."""
        self.documentation = documentation
        self.node_name = node_name
        """What the default is called where it is set for a whole node; empty where that cannot be."""
        self.honoured = honoured
        """False for what is kept and shown, so that tools which set it work, but changes nothing here."""
        self.listed = listed
        """False for what newer tools do not know any more: only shown where it is set."""
        self._parse = shape.parse

    def parse(self, text: str) -> ValueT:
        """The value that the text stands for. Raises InvalidSetting."""
        try:
            return self._parse(text.strip())
        except ValueError as error:
            raise InvalidSetting(f"Invalid value {text} for configuration {self.name}: {error}") from None

    def read(self, texts: Mapping[str, str]) -> ValueT:
        """The value among these texts, or the default. Raises InvalidSetting."""
        return self.parse(texts.get(self.name, self.default))

    def __repr__(self) -> str:
        return f"<TopicSetting {self.name}>"


def _whole(kind: SettingKind, limit: int, at_least: int, at_most: int | None) -> _Shape[int]:
    def parse(text: str) -> int:
        if not _WHOLE.match(text) or not -limit - 1 <= (value := int(text)) <= limit:
            raise ValueError(f"Not a number of type {kind.upper()}")
        if value < at_least:
            raise ValueError(f"Value must be at least {at_least}")
        if at_most is not None and value > at_most:
            raise ValueError(f"Value must be no more than {at_most}")
        return value

    return _Shape(kind, parse)


def _int(at_least: int, at_most: int | None = None) -> _Shape[int]:
    return _whole(SettingKind.INT, _INT_MAX, at_least, at_most)


def _long(at_least: int) -> _Shape[int]:
    return _whole(SettingKind.LONG, UNLIMITED, at_least, None)


def _ratio(text: str) -> float:
    if not _DECIMAL.match(text):
        raise ValueError("Not a number of type DOUBLE")
    if not 0.0 <= (value := float(text)) <= 1.0:
        raise ValueError("Value must be between 0 and 1")
    return value


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("Expected value to be either true or false")
    return text.lower() == "true"


def _one_of(*words: str) -> _Shape[str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"String must be one of: {', '.join(words)}")
        return text

    return _Shape(SettingKind.STRING, parse)


def split_list(text: str) -> tuple[str, ...]:
    """The parts of a text whose kind is a list."""
    return tuple(part.strip() for part in text.split(",")) if text.strip() else ()


def _some_of(*words: str) -> _Shape[tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        parts = split_list(text)
        for part in parts:
            if part not in words:
                raise ValueError(f"String must be one of: {', '.join(words)}")
        return parts

    return _Shape(SettingKind.LIST, parse)


def _throttled(text: str) -> tuple[str, ...]:
    parts = split_list(text)
    if parts != ("*",) and not all(map(_THROTTLED.match, parts)):
        raise ValueError("either '*', or pairs of a partition and a node such as 0:1,1:1")
    return parts


def _gzip_level(text: str) -> int:
    level = _int(-1, 9).parse(text)
    if level == 0:
        raise ValueError("-1 for the usual one, or 1 to 9")
    return level


def _minutes_or_never(text: str) -> int:
    minutes = _int(-1, 30 * 24 * 60).parse(text)
    if minutes == 0:
        raise ValueError("-1 for never, or at least 1")
    return minutes


def _any(text: str) -> str:
    return text


_FLAG: Final = _Shape(SettingKind.BOOLEAN, _boolean)

COMPACT: Final = "compact"
DELETE: Final = "delete"
LOG_APPEND_TIME: Final = "LogAppendTime"
PRODUCER: Final = "producer"

CLEANUP_POLICY = TopicSetting(
    "cleanup.policy",
    _some_of(COMPACT, DELETE),
    DELETE,
    "What becomes of old messages: `delete` gives them up by age and size, `compact` keeps the last one of each key,"
    " both together do both, and neither keeps everything.",
    node_name="log.cleanup.policy",
)
COMPRESSION_TYPE = TopicSetting(
    "compression.type",
    _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", PRODUCER),
    PRODUCER,
    "How messages are compressed where they are kept; `producer` keeps what the producer chose.",
    node_name="compression.type",
)
COMPRESSION_GZIP_LEVEL = TopicSetting(
    "compression.gzip.level",
    _Shape(SettingKind.INT, _gzip_level),
    "-1",
    "How hard gzip tries where compression.type is gzip.",
    node_name="compression.gzip.level",
)
COMPRESSION_ZSTD_LEVEL = TopicSetting(
    "compression.zstd.level",
    _int(-131_072, 22),
    "3",
    "How hard zstd tries where compression.type is zstd.",
    node_name="compression.zstd.level",
)
DELETE_RETENTION_MS = TopicSetting(
    "delete.retention.ms",
    _long(0),
    "86400000",
    "How long a compacted topic keeps the mark of a deleted key, so that slow readers learn of the deletion.",
    node_name="log.cleaner.delete.retention.ms",
)
MAX_COMPACTION_LAG_MS = TopicSetting(
    "max.compaction.lag.ms",
    _long(1),
    str(UNLIMITED),
    "The longest time that a message of a compacted topic may wait for its compaction.",
    node_name="log.cleaner.max.compaction.lag.ms",
)
MAX_MESSAGE_BYTES = TopicSetting(
    "max.message.bytes",
    _int(0),
    "1048588",
    "The largest batch of messages that is taken, as it was compressed by its producer.",
    node_name="message.max.bytes",
)
MESSAGE_TIMESTAMP_AFTER_MAX_MS = TopicSetting(
    "message.timestamp.after.max.ms",
    _long(0),
    "3600000",
    "How far ahead of the node's clock a message's time may be.",
    node_name="log.message.timestamp.after.max.ms",
)
MESSAGE_TIMESTAMP_BEFORE_MAX_MS = TopicSetting(
    "message.timestamp.before.max.ms",
    _long(0),
    str(UNLIMITED),
    "How far behind the node's clock a message's time may be.",
    node_name="log.message.timestamp.before.max.ms",
)
MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS = TopicSetting(
    "message.timestamp.difference.max.ms",
    _long(0),
    str(UNLIMITED),
    "The older way to limit a message's time, in both directions; the settings for before and after win over it.",
    node_name="log.message.timestamp.difference.max.ms",
    listed=False,
)
MESSAGE_TIMESTAMP_TYPE = TopicSetting(
    "message.timestamp.type",
    _one_of("CreateTime", LOG_APPEND_TIME),
    "CreateTime",
    "Which time a message has: the one its producer gave, or that of its storing.",
    node_name="log.message.timestamp.type",
)
MIN_CLEANABLE_DIRTY_RATIO = TopicSetting(
    "min.cleanable.dirty.ratio",
    _Shape(SettingKind.DOUBLE, _ratio),
    "0.5",
    "How much of a partition has to be new since its last compaction before the next is worth it.",
    node_name="log.cleaner.min.cleanable.ratio",
)
MIN_COMPACTION_LAG_MS = TopicSetting(
    "min.compaction.lag.ms",
    _long(0),
    "0",
    "For how long a message of a compacted topic is sure to stay, superseded or not.",
    node_name="log.cleaner.min.compaction.lag.ms",
)
RETENTION_BYTES = TopicSetting(
    "retention.bytes",
    _long(-1),
    "-1",
    "How much each partition keeps before its oldest messages go; -1 without limit.",
    node_name="log.retention.bytes",
)
RETENTION_MS = TopicSetting(
    "retention.ms",
    _long(-1),
    str(DEFAULT_RETENTION_MS),
    "How long messages are kept; -1 for ever.",
    node_name="log.retention.ms",
)
SEGMENT_BYTES = TopicSetting(
    "segment.bytes",
    _int(14),
    "1073741824",
    "How large one file of a partition grows; what is too old or superseded goes in whole files.",
    node_name="log.segment.bytes",
)
SEGMENT_MS = TopicSetting(
    "segment.ms",
    _long(1),
    "604800000",
    "After which time a new file is begun although the old one is not full.",
    node_name="log.roll.ms",
)

PARTITIONS_READ = TopicSetting(
    "braid.partitions.read",
    _int(0),
    "0",
    "How many partitions readers are sent to, from the first on; 0 for all. For RocketMQ's clients.",
    listed=False,
)
PARTITIONS_WRITE = TopicSetting(
    "braid.partitions.write",
    _int(0),
    "0",
    "How many partitions messages go to, from the first on; 0 for all. For RocketMQ's clients.",
    listed=False,
)
REQUIRED: Final = "required"
NOT_ARCHIVED: Final = "off"
ARCHIVE = TopicSetting(
    "braid.archive",
    _one_of(NOT_ARCHIVED, "on", REQUIRED),
    NOT_ARCHIVED,
    "Whether the pipeline archives the topic. With `required`, nothing goes from the log, neither by age, by size or by"
    " compaction nor by a client's wish, before it is in the archive; a topic that is deleted goes all the same.",
    node_name="archive.default",
)
ARCHIVE_RETENTION_MS = TopicSetting(
    "braid.archive.retention.ms",
    _long(-1),
    "-1",
    "How long the archive keeps the topic's messages, in whole days; -1 for as long as the pipeline was told to keep"
    " those of all topics.",
)
LITE_EXPIRATION_MIN = TopicSetting(
    "lite.topic.expiration",
    _Shape(SettingKind.INT, _minutes_or_never),
    "-1",
    "For a topic of the kind lite: after how many minutes without a message one of its lite topics goes, with all that"
    " it holds; -1 for never, at most 43200 (30 days).",
    listed=False,
)
READ: Final = "read"
WRITE: Final = "write"
ALLOWS = TopicSetting(
    "braid.allows",
    _some_of(READ, WRITE),
    f"{READ},{WRITE}",
    "What clients of RocketMQ may do with the topic: `read`, `write`, both, or, left empty, nothing.",
    listed=False,
)
ROCKETMQ = TopicSetting(
    "braid.rocketmq",
    _Shape(SettingKind.STRING, _any),
    "",
    "Kept without effect: what RocketMQ's tools said of the topic that means nothing here, for them to find again.",
    honoured=False,
    listed=False,
)

_ONLY_KEPT: Final[tuple[TopicSetting[Any], ...]] = (
    ROCKETMQ,
    TopicSetting(
        "compression.lz4.level",
        _int(1, 17),
        "9",
        "Kept without effect: lz4 is used for its speed, and always tries the same.",
        node_name="compression.lz4.level",
        honoured=False,
    ),
    TopicSetting(
        "file.delete.delay.ms",
        _long(0),
        "60000",
        "Kept without effect: files that are no longer needed go as soon as this is safe.",
        node_name="log.segment.delete.delay.ms",
        honoured=False,
    ),
    TopicSetting(
        "flush.messages",
        _long(1),
        str(UNLIMITED),
        "Kept without effect: when messages are synced to the disk is a choice for the whole node (log.flush).",
        node_name="log.flush.interval.messages",
        honoured=False,
    ),
    TopicSetting(
        "flush.ms",
        _long(0),
        str(UNLIMITED),
        "Kept without effect: when messages are synced to the disk is a choice for the whole node (log.flush).",
        node_name="log.flush.interval.ms",
        honoured=False,
    ),
    TopicSetting(
        "follower.replication.throttled.replicas",
        _Shape(SettingKind.LIST, _throttled),
        "",
        "Kept without effect: a partition has no followers here.",
        honoured=False,
    ),
    TopicSetting(
        "index.interval.bytes",
        _int(0),
        "4096",
        "Kept without effect: indexes are made as dense as reading needs them.",
        node_name="log.index.interval.bytes",
        honoured=False,
    ),
    TopicSetting(
        "leader.replication.throttled.replicas",
        _Shape(SettingKind.LIST, _throttled),
        "",
        "Kept without effect: a partition has no followers here.",
        honoured=False,
    ),
    TopicSetting(
        "local.retention.bytes",
        _long(-2),
        "-2",
        "Kept without effect: there is no remote storage that could keep more than this machine.",
        node_name="log.local.retention.bytes",
        honoured=False,
    ),
    TopicSetting(
        "local.retention.ms",
        _long(-2),
        "-2",
        "Kept without effect: there is no remote storage that could keep more than this machine.",
        node_name="log.local.retention.ms",
        honoured=False,
    ),
    TopicSetting(
        "message.downconversion.enable",
        _FLAG,
        "true",
        "Kept without effect: clients that only know old message formats are always served.",
        node_name="log.message.downconversion.enable",
        honoured=False,
        listed=False,
    ),
    TopicSetting(
        "message.format.version",
        _Shape(SettingKind.STRING, _any),
        "3.0-IV1",
        "Kept without effect: messages are kept in one format, whatever their producer spoke.",
        node_name="log.message.format.version",
        honoured=False,
        listed=False,
    ),
    TopicSetting(
        "min.insync.replicas",
        _int(1),
        "1",
        "Kept without effect: a partition has one replica, and acknowledged means kept as log.flush says.",
        node_name="min.insync.replicas",
        honoured=False,
    ),
    TopicSetting(
        "preallocate",
        _FLAG,
        "false",
        "Kept without effect: files take the room that their messages need.",
        node_name="log.preallocate",
        honoured=False,
    ),
    TopicSetting(
        "remote.log.copy.disable",
        _FLAG,
        "false",
        "Kept without effect: there is no remote storage.",
        honoured=False,
    ),
    TopicSetting(
        "remote.log.delete.on.disable",
        _FLAG,
        "false",
        "Kept without effect: there is no remote storage.",
        honoured=False,
    ),
    TopicSetting(
        "segment.index.bytes",
        _int(4),
        "10485760",
        "Kept without effect: indexes are as large as their segments need them.",
        node_name="log.index.size.max.bytes",
        honoured=False,
    ),
    TopicSetting(
        "segment.jitter.ms",
        _long(0),
        "0",
        "Kept without effect: new files are begun one by one, when something is written.",
        node_name="log.roll.jitter.ms",
        honoured=False,
    ),
    TopicSetting(
        "unclean.leader.election.enable",
        _FLAG,
        "false",
        "Kept without effect: a partition has one replica, which always leads.",
        node_name="unclean.leader.election.enable",
        honoured=False,
    ),
)
REMOTE_STORAGE_ENABLE = TopicSetting(
    "remote.storage.enable",
    _FLAG,
    "false",
    "Cannot be turned on: there is no remote storage.",
    honoured=False,
)


_HONOURED: Final[tuple[TopicSetting[Any], ...]] = (
    ALLOWS,
    ARCHIVE,
    ARCHIVE_RETENTION_MS,
    CLEANUP_POLICY,
    COMPRESSION_GZIP_LEVEL,
    COMPRESSION_TYPE,
    COMPRESSION_ZSTD_LEVEL,
    DELETE_RETENTION_MS,
    LITE_EXPIRATION_MIN,
    MAX_COMPACTION_LAG_MS,
    MAX_MESSAGE_BYTES,
    MESSAGE_TIMESTAMP_AFTER_MAX_MS,
    MESSAGE_TIMESTAMP_BEFORE_MAX_MS,
    MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS,
    MESSAGE_TIMESTAMP_TYPE,
    MIN_CLEANABLE_DIRTY_RATIO,
    MIN_COMPACTION_LAG_MS,
    PARTITIONS_READ,
    PARTITIONS_WRITE,
    RETENTION_BYTES,
    RETENTION_MS,
    SEGMENT_BYTES,
    SEGMENT_MS,
)

TOPIC_SETTINGS: Final[Mapping[str, TopicSetting[Any]]] = {
    setting.name: setting
    for setting in sorted((*_HONOURED, *_ONLY_KEPT, REMOTE_STORAGE_ENABLE), key=lambda each: each.name)
}
"""All of them by name, in the order of their names."""


class TopicFields(NamedTuple):
    """A topic's settings as its struct holds them."""

    retention_ms: int
    retention_bytes: int
    settings: Mapping[str, str]


def check_texts(texts: Mapping[str, str]) -> None:
    """Raises InvalidSetting, which names the setting and its value, for what no topic can have."""
    for name, text in texts.items():
        topic_setting(name).parse(text)
    least_ms, most_ms = MIN_COMPACTION_LAG_MS.read(texts), MAX_COMPACTION_LAG_MS.read(texts)
    if least_ms > most_ms:
        raise InvalidSetting(
            f"{MIN_COMPACTION_LAG_MS.name} ({least_ms}) is more than {MAX_COMPACTION_LAG_MS.name} ({most_ms})"
        )
    if REMOTE_STORAGE_ENABLE.read(texts):
        raise InvalidSetting(f"{REMOTE_STORAGE_ENABLE.name} cannot be true: there is no remote storage here")


def topic_setting(name: str) -> TopicSetting[Any]:
    """Raises InvalidSetting."""
    setting = TOPIC_SETTINGS.get(name)
    if setting is None:
        raise InvalidSetting(f"Unknown topic config name: {name}")
    return setting


def fields_of(texts: Mapping[str, str]) -> TopicFields:
    """Where a topic keeps these settings; one that is not among them has its default. Raises InvalidSetting.

    The text of a retention stays among the others, to tell a value that somebody set from the default that it equals.
    """
    check_texts(texts)
    kept = {name: text.strip() for name, text in texts.items()}
    return TopicFields(RETENTION_MS.read(kept), RETENTION_BYTES.read(kept), kept)


def texts_of(topic: Topic) -> dict[str, str]:
    """What was set for the topic, by name; the inverse of `fields_of`."""
    texts = dict(topic.settings)
    for setting, value in ((RETENTION_MS, topic.retention_ms), (RETENTION_BYTES, topic.retention_bytes)):
        if setting.name in texts or value != setting.parse(setting.default):
            texts[setting.name] = str(value)
    return texts
