"""Making log and catalog agree at start, after a stop at any moment.

The catalog decides which topics exist, but never that data goes away: a topic is only removed from the log when its
deletion was begun in the catalog. Data that the catalog does not know is kept, and said aloud, because a wrong or empty
database must not cost a log.
"""

import structlog

from braidmq.log.embedded import EmbeddedLog
from braidmq.model import Topic
from braidmq.model.errors import UnknownPartition
from braidmq.store import Catalog

_logger = structlog.get_logger(__name__)


async def reconcile(log: EmbeddedLog, catalog: Catalog) -> None:
    """Finish deletions, give the log what it lacks, and warn of what the catalog does not know."""
    for topic in list(catalog.topics_deleting()):
        await log.delete_topic(topic.id)
        await catalog.finish_topic_deletion(topic.id)
        _logger.info("finished deleting a topic", topic=topic.name, id=str(topic.id))
    topics = list(catalog.topics())
    made = sum([await _bring_up_to_date(log, topic) for topic in topics])
    if made > 0:
        _logger.warning("the log lacked partitions that the catalog knows; they were made", partitions=made)
    known = sum(len(topic.partition_numbers) for topic in topics)
    _warn_of_unknown(log.statistics().partitions - known)


async def _bring_up_to_date(log: EmbeddedLog, topic: Topic) -> int:
    """How many partitions the log had to make."""
    lacking = sum(not _has(log, number) for number in topic.partition_numbers)
    if lacking == 0:
        await log.configure_topic(topic)
    elif lacking == len(topic.partition_numbers):
        await log.create_topic(topic)
    else:
        await log.expand_topic(topic)
    return lacking


def _has(log: EmbeddedLog, number: int) -> bool:
    try:
        log.bounds(number)
    except UnknownPartition:
        return False
    return True


def _warn_of_unknown(partitions: int) -> None:
    if partitions > 0:
        _logger.warning(
            "the log holds partitions that the catalog does not know; they are kept"
            " (is store.url the database that belongs to this data folder?)",
            partitions=partitions,
        )
