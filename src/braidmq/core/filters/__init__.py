"""Which messages a reader wants: by tag, by key, or by an expression over properties."""

from braidmq.core.filters._choices import (
    ALTERNATIVES_MAX,
    Everything,
    Filter,
    KeyFilter,
    TagFilter,
    alternatives,
    key_filter,
    tag_expression_filter,
    tag_filter,
)
from braidmq.core.filters._kinds import filter_of
from braidmq.core.filters._sql import EXPRESSION_BYTES_MAX, SqlFilter, sql_filter

__all__ = [
    "ALTERNATIVES_MAX",
    "EXPRESSION_BYTES_MAX",
    "Everything",
    "Filter",
    "KeyFilter",
    "SqlFilter",
    "TagFilter",
    "alternatives",
    "filter_of",
    "key_filter",
    "sql_filter",
    "tag_expression_filter",
    "tag_filter",
]
