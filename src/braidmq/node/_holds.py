"""Topics whose old messages wait for the archive: told once when that begins, and once when it is over."""

from collections.abc import Mapping

from braidmq.logger import get_logger
from braidmq.store import Catalog

SHOWN_MAX = 20

_logger = get_logger(__name__)


class Holds:
    """Knows the names of what the log holds back by number."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._told: frozenset[str] = frozenset()

    def by_topic(self, held_bytes: Mapping[int, int]) -> dict[str, int]:
        """How much each topic keeps beyond its retention, in bytes."""
        found: dict[str, int] = {}
        for number, size_bytes in held_bytes.items():
            partition = self._catalog.partition_by_number(number)
            topic = None if partition is None else self._catalog.topic_by_id(partition.topic_id)
            if topic is not None:
                found[topic.name] = found.get(topic.name, 0) + size_bytes
        return found

    def tell(self, held_bytes: Mapping[int, int]) -> None:
        """Say what has changed since the last time."""
        held = self.by_topic(held_bytes)
        begun, over = sorted(held.keys() - self._told), sorted(self._told - held.keys())
        self._told = frozenset(held)
        if begun:
            _logger.warning(
                "old messages are kept: their archive is required, and does not hold them yet (does the pipeline run?)",
                topics=begun[:SHOWN_MAX],
                count=len(begun),
                held_bytes=sum(held.values()),
            )
        if over:
            _logger.info("retention goes on: the archive has caught up", topics=over[:SHOWN_MAX], count=len(over))
