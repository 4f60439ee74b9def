"""What a topic's settings mean for its partitions: how long they keep, when they roll, whether they compact."""

import msgspec

from braidmq.model import DEFAULT_RETENTION_MS, Topic, topic_settings
from braidmq.model.names import ARCHIVE_GROUP

SEGMENT_BYTES = topic_settings.SEGMENT_BYTES.read({})
SEGMENT_MS = topic_settings.SEGMENT_MS.read({})
DELETE_RETENTION_MS = topic_settings.DELETE_RETENTION_MS.read({})
UNLIMITED = -1


class Policy(msgspec.Struct, frozen=True, array_like=True):
    """Settings of a topic, as its partitions need them. Kept in manifests: a new field comes last, with a default."""

    retention_ms: int = DEFAULT_RETENTION_MS
    retention_bytes: int = UNLIMITED
    segment_bytes: int = SEGMENT_BYTES
    segment_ms: int = SEGMENT_MS
    compact: bool = False
    delete: bool = True
    delete_retention_ms: int = DELETE_RETENTION_MS
    dirty_ratio: float = 0.5
    lag_min_ms: int = 0
    """For how long a record is sure to stay in a compacted topic."""
    lag_max_ms: int = topic_settings.UNLIMITED
    """How long a record may wait for its compaction."""
    waits_for: str = ""
    """The group without which nothing goes: only what lies before the offset that it has committed. Empty for none."""


def policy_of(
    topic: Topic, segment_bytes: int = SEGMENT_BYTES, archive: str = topic_settings.ARCHIVE.default
) -> Policy:
    """`segment_bytes` and `archive` are for topics that say nothing about them. Raises InvalidSetting."""
    texts = topic.settings
    cleanup = topic_settings.CLEANUP_POLICY.read(texts)
    is_compacted = topic_settings.COMPACT in cleanup
    segment_ms = topic_settings.SEGMENT_MS.read(texts)
    lag_max_ms = topic_settings.MAX_COMPACTION_LAG_MS.read(texts)
    is_required = texts.get(topic_settings.ARCHIVE.name, archive) == topic_settings.REQUIRED
    own_segments = topic_settings.SEGMENT_BYTES.name in texts
    return Policy(
        retention_ms=topic.retention_ms,
        retention_bytes=topic.retention_bytes,
        segment_bytes=topic_settings.SEGMENT_BYTES.read(texts) if own_segments else segment_bytes,
        # Only what is in a finished file can be compacted.
        segment_ms=min(segment_ms, lag_max_ms) if is_compacted else segment_ms,
        compact=is_compacted,
        delete=topic_settings.DELETE in cleanup,
        delete_retention_ms=topic_settings.DELETE_RETENTION_MS.read(texts),
        dirty_ratio=topic_settings.MIN_CLEANABLE_DIRTY_RATIO.read(texts),
        lag_min_ms=topic_settings.MIN_COMPACTION_LAG_MS.read(texts),
        lag_max_ms=lag_max_ms,
        waits_for=ARCHIVE_GROUP if is_required else "",
    )
