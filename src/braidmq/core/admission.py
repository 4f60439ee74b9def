"""What a topic takes: size, times, keys and compression of a batch, by the topic's settings. Hot path.

Most topics leave everything at its default, and then a batch is stored as it came, unopened. It is opened only where
the topic asks for something that the header cannot tell: keys in a compacted topic, times not too old, another
compression.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from braidmq.model import Topic, topic_settings
from braidmq.model.errors import InvalidRecord, InvalidTimestamp, MessageTooLarge
from braidmq.records import Batch, Codec, build_batch, read_records, with_append_time

MESSAGE_BYTES_MAX: Final = (4 << 20) + (64 << 10)
"""A body of 4 MiB and its properties. Protocols that send messages one by one promise so much where a topic does not
say otherwise."""
UNLIMITED_MS: Final = topic_settings.UNLIMITED
_CODECS: Final = {
    "uncompressed": Codec.NONE,
    **{codec.name.lower(): codec for codec in Codec if codec is not Codec.NONE},
}

_LEVELS: Final = {
    Codec.GZIP: topic_settings.COMPRESSION_GZIP_LEVEL,
    Codec.ZSTD: topic_settings.COMPRESSION_ZSTD_LEVEL,
}


class Admission(msgspec.Struct, frozen=True):
    """A topic's rules for new batches."""

    bytes_max: int = topic_settings.MAX_MESSAGE_BYTES.read({})
    """Of a batch that a client made."""
    message_bytes_max: int = MESSAGE_BYTES_MAX
    """Of a batch that we make of clients' single messages."""
    append_time: bool = False
    before_max_ms: int = UNLIMITED_MS
    after_max_ms: int = topic_settings.MESSAGE_TIMESTAMP_AFTER_MAX_MS.read({})
    needs_keys: bool = False
    codec: Codec | None = None
    """None stores what the producer chose."""
    level: int | None = None
    """How hard the codec tries; None for its own choice."""

    def admit(self, batch: Batch, now_ms: int) -> Batch:
        """A client's batch as it is to be stored. Raises MessageTooLarge, InvalidTimestamp, InvalidRecord,
        InvalidBatch."""
        return self._admit(batch, now_ms, self.bytes_max)

    def admit_messages(self, batch: Batch, now_ms: int) -> Batch:
        """The same for a batch that was made here, of messages that came one by one."""
        return self._admit(batch, now_ms, self.message_bytes_max)

    def takes_all_up_to(self, size_bytes: int) -> bool:
        """Whether nothing of this size that comes now could be refused, so that it need not be tried."""
        return size_bytes <= self.message_bytes_max and not self.needs_keys

    def _admit(self, batch: Batch, now_ms: int, bytes_max: int) -> Batch:
        if batch.length + 12 > bytes_max:
            raise MessageTooLarge(f"{batch.size_bytes} bytes in one batch; the topic takes {bytes_max}")
        if batch.is_control:
            raise InvalidRecord("a client may not write control records")
        if self.needs_keys:
            _check_keys(batch)
        if self.codec is not None and self.codec != batch.codec:
            batch = _compressed(batch, self.codec, self.level)
        if self.append_time:
            return with_append_time(batch, now_ms)
        self._check_times(batch, now_ms)
        return batch

    def _check_times(self, batch: Batch, now_ms: int) -> None:
        if batch.max_timestamp - now_ms > self.after_max_ms:
            raise InvalidTimestamp(
                f"a message's time is {batch.max_timestamp}, which is {batch.max_timestamp - now_ms} ms ahead;"
                f" the topic takes {self.after_max_ms}"
            )
        if self.before_max_ms != UNLIMITED_MS and batch.max_timestamp >= 0:
            first_ms = min((record.timestamp_ms for record in read_records(batch)), default=batch.base_timestamp)
            if now_ms - first_ms > self.before_max_ms:
                raise InvalidTimestamp(
                    f"a message's time is {first_ms}, which is {now_ms - first_ms} ms ago;"
                    f" the topic takes {self.before_max_ms}"
                )


class Admissions:
    """The rules of all topics, made when first needed and again when a topic has changed."""

    def __init__(self) -> None:
        self._known: dict[object, tuple[Topic, Admission]] = {}

    def of(self, topic: Topic) -> Admission:
        known = self._known.get(topic.id)
        if known is not None and known[0] is topic:
            return known[1]
        made = admission_of(topic)
        self._known[topic.id] = (topic, made)
        return made

    def forget(self, topic: Topic) -> None:
        self._known.pop(topic.id, None)


def admission_of(topic: Topic) -> Admission:
    """Raises InvalidSetting."""
    texts = topic.settings
    codec = _CODECS.get(topic_settings.COMPRESSION_TYPE.read(texts))
    level = None if codec is None else _LEVELS.get(codec)
    bytes_max = topic_settings.MAX_MESSAGE_BYTES.read(texts)
    is_told = topic_settings.MAX_MESSAGE_BYTES.name in texts
    return Admission(
        bytes_max=bytes_max,
        message_bytes_max=bytes_max if is_told else max(bytes_max, MESSAGE_BYTES_MAX),
        append_time=topic_settings.MESSAGE_TIMESTAMP_TYPE.read(texts) == topic_settings.LOG_APPEND_TIME,
        before_max_ms=_time_limit(topic_settings.MESSAGE_TIMESTAMP_BEFORE_MAX_MS, texts),
        after_max_ms=_time_limit(topic_settings.MESSAGE_TIMESTAMP_AFTER_MAX_MS, texts),
        needs_keys=topic_settings.COMPACT in topic_settings.CLEANUP_POLICY.read(texts),
        codec=codec,
        level=None if level is None else level.read(texts),
    )


def _time_limit(setting: topic_settings.TopicSetting[int], texts: Mapping[str, str]) -> int:
    """The older setting for both directions counts where the newer one is not set."""
    older = topic_settings.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS
    return (older if setting.name not in texts and older.name in texts else setting).read(texts)


def _check_keys(batch: Batch) -> None:
    rejected = {
        index: "compacted topics take no message without a key"
        for index, record in enumerate(read_records(batch))
        if record.key is None
    }
    if rejected:
        raise InvalidRecord("a compacted topic takes no message without a key", rejected=rejected)


def _compressed(batch: Batch, codec: Codec, level: int | None) -> Batch:
    return build_batch(
        read_records(batch),
        codec=codec,
        level=level,
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.is_transactional,
    )
