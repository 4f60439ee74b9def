"""What a topic's settings mean for its partitions: how long they keep, when they roll, whether they compact."""

import msgspec

from braidmq.model import DEFAULT_RETENTION_MS, Topic
from braidmq.model.errors import InvalidSetting

SEGMENT_BYTES = 1024 * 1024 * 1024
SEGMENT_MS = 7 * 24 * 60 * 60 * 1000
DELETE_RETENTION_MS = 24 * 60 * 60 * 1000
UNLIMITED = -1


class Policy(msgspec.Struct, frozen=True, array_like=True):
    """Settings of a topic, as its partitions need them."""

    retention_ms: int = DEFAULT_RETENTION_MS
    retention_bytes: int = UNLIMITED
    segment_bytes: int = SEGMENT_BYTES
    segment_ms: int = SEGMENT_MS
    compact: bool = False
    delete: bool = True
    delete_retention_ms: int = DELETE_RETENTION_MS
    dirty_ratio: float = 0.5


def policy_of(topic: Topic, segment_bytes: int = SEGMENT_BYTES) -> Policy:
    """Raises InvalidSetting."""
    words = [word.strip() for word in topic.settings.get("cleanup.policy", "delete").split(",") if word.strip()]
    if unknown := [word for word in words if word not in ("delete", "compact")]:
        raise InvalidSetting(f"cleanup.policy of topic {topic.name} is delete, compact or both, not {unknown[0]!r}")
    return Policy(
        retention_ms=topic.retention_ms,
        retention_bytes=topic.retention_bytes,
        segment_bytes=_number(topic, "segment.bytes", segment_bytes, at_least=1),
        segment_ms=_number(topic, "segment.ms", SEGMENT_MS, at_least=1),
        compact="compact" in words,
        delete="delete" in words,
        delete_retention_ms=_number(topic, "delete.retention.ms", DELETE_RETENTION_MS, at_least=0),
        dirty_ratio=_ratio(topic, "min.cleanable.dirty.ratio", 0.5),
    )


def _number(topic: Topic, name: str, default: int, at_least: int) -> int:
    text = topic.settings.get(name)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        value = at_least - 1
    if value < at_least:
        raise InvalidSetting(f"{name} of topic {topic.name} is a whole number from {at_least} on, not {text!r}")
    return value


def _ratio(topic: Topic, name: str, default: float) -> float:
    text = topic.settings.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise InvalidSetting(f"{name} of topic {topic.name} is a number from 0 to 1, not {text!r}")
    return value
