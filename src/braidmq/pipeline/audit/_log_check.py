"""Compares the archive with what the log still has: the one witness that did not pass through the pipeline."""

import time
import zlib
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from braidmq.pipeline.errors import BrokerUnreachable

_ANSWER_LIMIT_S: Final = 30.0
_AT_ONCE: Final = 2_000
_GATHER_S: Final = 0.1
"""Asked for many messages at once, librdkafka waits so long for the last of them."""
_SILENCE_S: Final = 10.0
_UNREADABLE: Final = ("_BAD_COMPRESSION", "_BAD_MSG", "_UNDERFLOW")


class LogReader:
    """Reads the checksums of bodies from the log."""

    def __init__(self, bootstrap: str, settings: Mapping[str, str]) -> None:
        self._bootstrap = bootstrap
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "__braid.audit",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "log_level": 0,
                **settings,
            }
        )

    def close(self) -> None:
        self._consumer.close()

    def bounds(self, topic: str, partition: int) -> tuple[int, int] | None:
        """The first offset that the log has, and its end; None where there is no such partition."""
        try:
            low, high = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), _ANSWER_LIMIT_S)
        except KafkaException as error:
            if error.args[0].name() in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC"):
                return None
            raise BrokerUnreachable(f"{self._bootstrap}: {error}") from error
        return low, high

    def checksums(
        self, topic: str, partition: int, first: int, end: int, *, is_cut: bool = False
    ) -> dict[int, int | None]:
        """For each visible record from `first` to before `end`: the CRC-32 of its value, None where it has none. With
        `is_cut`, what comes at the end is known to be unreadable, and this client stops before it or at it."""
        found: dict[int, int | None] = {}
        place = TopicPartition(topic, partition, first)
        self._consumer.assign([place])
        try:
            heard = time.monotonic()
            while True:
                messages = self._consumer.consume(_AT_ONCE, _GATHER_S)
                if messages:
                    heard = time.monotonic()
                elif time.monotonic() - heard > _SILENCE_S:
                    if is_cut:
                        return found
                    raise BrokerUnreachable(f"{self._bootstrap}: {topic}-{partition} gave nothing for {_SILENCE_S} s")
                for message in messages:
                    error = message.error()
                    if error is not None:
                        if error.name() == "_PARTITION_EOF" or (is_cut and error.name() in _UNREADABLE):
                            return found
                        raise BrokerUnreachable(f"{self._bootstrap}: {topic}-{partition}: {error}")
                    offset = message.offset()
                    if offset is None or offset >= end:
                        return found
                    value = message.value()
                    found[offset] = None if value is None else zlib.crc32(value)
                    if offset == end - 1:
                        return found
        finally:
            self._consumer.unassign()
