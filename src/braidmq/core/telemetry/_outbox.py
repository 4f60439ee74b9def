"""The way into one topic of the house: samples wait here until the log has them, and no more than so many."""

from collections import deque
from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from braidmq.log import Appended, Log
from braidmq.logger import get_logger
from braidmq.model import BraidError, Topic
from braidmq.model.telemetry import Sample
from braidmq.records import Batch, Codec, Record, build_batch

WAITING_MAX: Final = 20_000
BATCH_RECORDS: Final = 500
DAY_MS: Final = 24 * 60 * 60 * 1000
SETTINGS: Final = {
    "retention.ms": str(3 * DAY_MS),
    "segment.ms": str(DAY_MS // 4),
    "segment.bytes": str(32 << 20),
    "braid.archive": "off",
}
"""What the topics of the house are like: small, and for a pipeline that may be down over a weekend."""

_logger = get_logger(__name__)


class OwnTopics(Protocol):
    """Who makes topics; see `core.topics.Topics`."""

    async def ensure_own(self, name: str, *, partitions: int | None, settings: Mapping[str, str]) -> Topic: ...


class Outbox:
    """Samples on their way into a topic."""

    def __init__(self, name: str, topics: OwnTopics, log: Log, *, waiting_max: int = WAITING_MAX) -> None:
        self._name = name
        self._topics = topics
        self._log = log
        self._waiting_max = waiting_max
        self._waiting: deque[tuple[int, bytes]] = deque()
        self.written = 0
        self.dropped = 0

    def put(self, at_ms: int, sample: Sample) -> None:
        """Take a sample along with the next flush; the oldest goes where there are too many."""
        if len(self._waiting) >= self._waiting_max:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append((at_ms, msgspec.json.encode(sample)))

    def __len__(self) -> int:
        return len(self._waiting)

    async def flush(self) -> None:
        """Append all that waits; what the log does not take now waits for the next time."""
        if not self._waiting:
            return
        try:
            topic = await self._topics.ensure_own(self._name, partitions=1, settings=SETTINGS)
            while self._waiting and await self._append(topic.partition_numbers[0]):
                pass
        except BraidError as error:
            _logger.warning("telemetry waits", topic=self._name, code=error.code, reason=error.message)

    async def _append(self, number: int) -> bool:
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), BATCH_RECORDS))]
        (result,) = await self._log.append([(number, _batch(taken))])
        if isinstance(result, Appended):
            self.written += len(taken)
            return True
        self._waiting.extendleft(reversed(taken))
        _logger.warning("telemetry waits", topic=self._name, code=result.code, reason=result.message)
        return False


def _batch(taken: list[tuple[int, bytes]]) -> Batch:
    records = [Record(delta, at_ms, None, text) for delta, (at_ms, text) in enumerate(taken)]
    return build_batch(records, codec=Codec.ZSTD)
