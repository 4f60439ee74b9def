"""The archive: what went through the topics, kept in a table for as long as it is wanted.

`start` runs the job; `find` looks messages up, `replay` sends them again, and `compact`, `expire` and `tidy` keep the
archive small and quick.
"""

from braidmq.pipeline.archive._compact import Compaction, compact
from braidmq.pipeline.archive._expire import Expiry, Retention, expire, tidy
from braidmq.pipeline.archive._job import ONCE, prepared, refresh_marks, start
from braidmq.pipeline.archive._layout import (
    APP,
    ARCHIVED,
    MARK_GROUP,
    QUARANTINED,
    Folders,
    messages_table,
    quarantine_table,
)
from braidmq.pipeline.archive._lookup import Found
from braidmq.pipeline.archive._marks import chosen_topics, read_marks, topic_retentions
from braidmq.pipeline.archive._replay import Replayed, ReplayFailed, count, replay
from braidmq.pipeline.archive._search import Searcher, SearchFailed, SearchTimeout, close_searchers, find
from braidmq.pipeline.archive._sink import ArchiveSink

__all__ = [
    "APP",
    "ARCHIVED",
    "MARK_GROUP",
    "ONCE",
    "QUARANTINED",
    "ArchiveSink",
    "Compaction",
    "Expiry",
    "Folders",
    "Found",
    "ReplayFailed",
    "Replayed",
    "Retention",
    "SearchFailed",
    "SearchTimeout",
    "Searcher",
    "chosen_topics",
    "close_searchers",
    "compact",
    "count",
    "expire",
    "find",
    "messages_table",
    "prepared",
    "quarantine_table",
    "read_marks",
    "refresh_marks",
    "replay",
    "start",
    "tidy",
    "topic_retentions",
]
