"""What a subscription of RocketMQ's chooses: by tags unless it says SQL92."""

from functools import lru_cache
from typing import Final

from braidmq.core.filters import Everything, Filter, alternatives, sql_filter, tag_filter
from braidmq.model import FilterKind

SQL_TYPE: Final = "SQL92"


def kind_of(expression_type: str | None, expression: str | None) -> FilterKind:
    if expression_type == SQL_TYPE:
        return FilterKind.SQL
    return FilterKind.ALL if expression in (None, "", "*") else FilterKind.TAG


@lru_cache(maxsize=1024)
def filter_of(kind: FilterKind, expression: str) -> Filter:
    """Raises InvalidFilter."""
    if kind is FilterKind.ALL:
        return Everything()
    if kind is FilterKind.TAG:
        return tag_filter(tag.encode(errors="replace") for tag in alternatives(expression) if tag)
    return sql_filter(expression)
