"""What the parts count, as metrics."""

from collections.abc import Iterator, Mapping
from typing import Final

from braidmq import __version__
from braidmq.core.metrics import Metric, MetricKind
from braidmq.log.embedded import LogStatistics
from braidmq.store import Catalog

_COUNTER, _GAUGE = MetricKind.COUNTER, MetricKind.GAUGE
HELD_TOPICS_MAX: Final = 1_000
"""How many topics have a figure of their own."""

# By the name of the figure: the metric's name, its kind, what it says, and the factor to its unit.
_LOG = {
    "appended_batches": ("braid_log_appended_batches", _COUNTER, "Record batches that were stored.", 1),
    "appended_bytes": ("braid_log_appended_bytes", _COUNTER, "Bytes of record batches that were stored.", 1),
    "read_bytes": ("braid_log_read_bytes", _COUNTER, "Bytes that readers were given.", 1),
    "group_commits": ("braid_log_group_commits", _COUNTER, "Commits; one covers all that arrived meanwhile.", 1),
    "sync_us_total": ("braid_log_sync_seconds", _COUNTER, "Time spent waiting for the disk to sync.", 1e-6),
    "journal_bytes": ("braid_log_journal_bytes", _GAUGE, "Size of the journal.", 1),
    "partitions": ("braid_log_partitions", _GAUGE, "Partitions in the log.", 1),
    "segments": ("braid_log_segments", _GAUGE, "Segment files in the log.", 1),
    "open_files": ("braid_log_open_files", _GAUGE, "Files of the log that are open.", 1),
    "damaged_ranges": ("braid_log_damaged_ranges", _GAUGE, "Ranges of offsets that cannot be read any more.", 1),
    "storage_full": ("braid_log_storage_full", _GAUGE, "1 while the disk is full and writes are refused.", 1),
    "failed": ("braid_log_failed", _GAUGE, "1 after the disk failed; only a restart helps.", 1),
}


def log_metrics(statistics: LogStatistics) -> Iterator[Metric]:
    """The log's figures."""
    figures = statistics._asdict()
    for figure, (name, kind, text, factor) in _LOG.items():
        yield Metric(name, kind, text, figures[figure] * factor)


def held_metrics(held_bytes: Mapping[str, int]) -> Iterator[Metric]:
    """What retention leaves alone because it is not in the archive, by topic; and in all, so that 0 is seen, too."""
    text = "Bytes beyond their topic's retention that wait for the archive."
    yield Metric(
        "braid_retention_held_topics", _GAUGE, "Topics whose retention waits for the archive.", len(held_bytes)
    )
    for topic, size_bytes in sorted(held_bytes.items())[:HELD_TOPICS_MAX]:
        yield Metric("braid_retention_held_bytes", _GAUGE, text, size_bytes, {"topic": topic})


def node_metrics(name: str, ready: bool, catalog: Catalog) -> Iterator[Metric]:
    """What the node knows about itself."""
    labels = {"node": name, "version": __version__}
    yield Metric("braid_version_info", _GAUGE, "Always 1; name and version are in the labels.", 1, labels)
    yield Metric("braid_ready", _GAUGE, "1 while the node takes work.", ready)
    yield Metric("braid_topics", _GAUGE, "Topics in the catalog.", len(catalog.topics()))
