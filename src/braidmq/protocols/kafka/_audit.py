"""What the audit log says of Kafka's requests: which names they are about, and whether all of it was done.

The requests that change something all name what they are about in one of a few ways, and answer with error codes in the
same few places; so one piece of code reads them all.
"""

from collections.abc import Iterator
from typing import Any, Final

from braidmq.core.audit import DONE, Auditor, is_change
from braidmq.protocols.kafka._operations import operations
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode, RequestHeader

_NAMES_MAX: Final = 50
_LISTS: Final = (
    "topics",
    "topic_names",
    "groups_names",
    "resources",
    "responses",
    "results",
    "partitions",
    "entries",
    "deletions",
    "upsertions",
)
_NAME_FIELDS: Final = ("name", "resource_name", "topic_name", "topic", "group_id")


def changing() -> frozenset[int]:
    """The API keys of requests that are noted; the table must be filled."""
    return frozenset(each.key for each in operations if is_change(each.need))


def note(auditor: Auditor, address: str, header: RequestHeader, request: Any, response: Any) -> None:
    """Take note of a request that was answered; `response` is None where it failed."""
    operation = operations.get(header.request_api_key)
    assert operation is not None, "it was answered"
    if getattr(request, "validate_only", False):
        return
    codes = sorted({code for code in _codes(response) if code}) if response is not None else [-1]
    auditor.note(
        protocol="kafka",
        address=address,
        operation=ApiKey(header.request_api_key).name.lower(),
        need=operation.need,
        name=", ".join(list(dict.fromkeys(_names(request)))[:_NAMES_MAX]),
        outcome=", ".join(_code_name(code) for code in codes) or DONE,
    )


def _names(request: Any) -> Iterator[str]:
    for field in _NAME_FIELDS:
        if isinstance(found := getattr(request, field, None), str):
            yield found
    for field in _LISTS:
        for item in getattr(request, field, None) or ():
            if isinstance(item, str):
                yield item
            elif (entity := getattr(item, "entity", None)) is not None:
                yield " ".join(f"{each.entity_type}={_entity_name(each.entity_name)}" for each in entity)
            else:
                yield from (
                    found for name in _NAME_FIELDS if isinstance(found := getattr(item, name, None), str) and found
                )


def _entity_name(name: str | None) -> str:
    return "<default>" if name is None else name


def _codes(answer: Any) -> Iterator[int]:
    if isinstance(code := getattr(answer, "error_code", None), int):
        yield code
    for field in _LISTS:
        for item in getattr(answer, field, None) or ():
            yield from _codes(item)


def _code_name(code: int) -> str:
    try:
        return ErrorCode(code).name.lower()
    except ValueError:
        return str(code)
