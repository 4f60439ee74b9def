"""Making log and catalog agree at start, after a stop at any moment.

The catalog decides which topics exist, but never that data goes away: a topic is only removed from the log when its
deletion was begun in the catalog. Data that the catalog does not know is kept, and said aloud, because a wrong or empty
database must not cost a log.
"""

import asyncio
from uuid import UUID

from braidmq.core.halves import HALVES_TOPIC
from braidmq.log.embedded import EmbeddedLog
from braidmq.logger import get_logger
from braidmq.store import Catalog

TOGETHER = 256
SHOWN_MAX = 5

_logger = get_logger(__name__)


async def reconcile(log: EmbeddedLog, catalog: Catalog) -> None:
    """Finish deletions, give the log what it lacks, and warn of what the catalog does not know."""
    for topic in list(catalog.topics_deleting()):
        await log.delete_topic(topic.id)
        await catalog.finish_topic_deletion(topic.id)
        _logger.info("finished deleting a topic", topic=topic.name, id=str(topic.id))
    topics = list(catalog.topics())
    lacking = [topic.name for topic in topics if topic.id not in log.topic_ids]
    if lacking:
        _logger.warning(
            "the log lacked topics that the catalog knows; they are made, empty", topics=lacking[:SHOWN_MAX]
        )
    for first in range(0, len(topics), TOGETHER):
        await asyncio.gather(*(log.configure_topic(topic) for topic in topics[first : first + TOGETHER]))
    _warn_of_unknown(log.topic_ids - {topic.id for topic in topics} - {HALVES_TOPIC.id})


def _warn_of_unknown(unknown: frozenset[UUID]) -> None:
    if unknown:
        _logger.warning(
            "the log holds topics that the catalog does not know; they are kept"
            " (is store.url the database that belongs to this data folder?)",
            topics=len(unknown),
            ids=sorted(map(str, unknown))[:SHOWN_MAX],
        )
