"""Small parts of requests."""

import uuid
from collections.abc import Mapping
from typing import Any


def new_key() -> str:
    """A key by which the node knows a request again."""
    return uuid.uuid4().hex


def if_match(etag: str | None) -> dict[str, str]:
    """The header that lets a change count only for what was read."""
    return {} if etag is None else {"if-match": etag}


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A body without what was left to the node."""
    return {name: value for name, value in fields.items() if value is not None}
