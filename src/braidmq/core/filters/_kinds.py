"""A choice by its kind and its text, as subscriptions and requests name it."""

from functools import lru_cache

from braidmq.core.filters._choices import Everything, Filter, alternatives, tag_filter
from braidmq.core.filters._sql import sql_filter
from braidmq.model import FilterKind


@lru_cache(maxsize=1024)
def filter_of(kind: FilterKind, expression: str) -> Filter:
    """Raises InvalidFilter."""
    if kind is FilterKind.ALL:
        return Everything()
    if kind is FilterKind.TAG:
        return tag_filter(tag.encode(errors="replace") for tag in alternatives(expression) if tag)
    return sql_filter(expression)
