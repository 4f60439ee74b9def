"""The archive: what went through the topics, kept in a table for as long as it is wanted.

`start` runs the job; `find` looks messages up, `replay` sends them again, and `compact`, `expire` and `tidy` keep the
archive small and quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from braidmq.pipeline.archive._compact import Compaction, compact
    from braidmq.pipeline.archive._expire import Expiry, Retention, expire, tidy
    from braidmq.pipeline.archive._job import ONCE, refresh_marks, start
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
    from braidmq.pipeline.archive._prepare import prepared
    from braidmq.pipeline.archive._replay import Replayed, ReplayFailed, count, replay
    from braidmq.pipeline.archive._search import Searcher, SearchFailed, SearchTimeout, close_searchers, find
    from braidmq.pipeline.archive._sink import ArchiveSink
    from braidmq.pipeline.archive._source import ArchiveSource
    from braidmq.pipeline.archive._topics import remade_topics

__all__ = [
    "APP",
    "ARCHIVED",
    "MARK_GROUP",
    "ONCE",
    "QUARANTINED",
    "ArchiveSink",
    "ArchiveSource",
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
    "remade_topics",
    "replay",
    "start",
    "tidy",
    "topic_retentions",
]

# Looked for only when they are asked for: each of Spark's Python workers imports this package, for one of them.
_PARTS: Final = {
    "Compaction": "_compact",
    "compact": "_compact",
    "Expiry": "_expire",
    "Retention": "_expire",
    "expire": "_expire",
    "tidy": "_expire",
    "ONCE": "_job",
    "refresh_marks": "_job",
    "start": "_job",
    "APP": "_layout",
    "ARCHIVED": "_layout",
    "Folders": "_layout",
    "MARK_GROUP": "_layout",
    "QUARANTINED": "_layout",
    "messages_table": "_layout",
    "quarantine_table": "_layout",
    "Found": "_lookup",
    "chosen_topics": "_marks",
    "read_marks": "_marks",
    "topic_retentions": "_marks",
    "prepared": "_prepare",
    "ReplayFailed": "_replay",
    "Replayed": "_replay",
    "count": "_replay",
    "replay": "_replay",
    "SearchFailed": "_search",
    "SearchTimeout": "_search",
    "Searcher": "_search",
    "close_searchers": "_search",
    "find": "_search",
    "ArchiveSink": "_sink",
    "ArchiveSource": "_source",
    "remade_topics": "_topics",
}


def __getattr__(name: str) -> Any:
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PARTS[name]}"), name)
