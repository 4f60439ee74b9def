"""What the audit log says of RocketMQ's requests: which names they are about, and what was answered.

Names are in the fields under a few words; two requests that make groups have theirs in the body, where they are found
by their key alone, because nothing else of a body is anybody's business here. Of settings, it is their names.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from braidmq.core.audit import DONE, Auditor, is_change
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._config_names import asked_changes
from braidmq.protocols.rocketmq._operations import operations
from braidmq.protocols.rocketmq.codec import RequestCode, ResponseCode

_NAME_FIELDS: Final = (
    "topic",
    "group",
    "groupName",
    "consumerGroup",
    "srcGroup",
    "destGroup",
    "namespace",
    "key",
    "brokerName",
)
_NAMES_MAX: Final = 50
_NAME_LENGTH_MAX: Final = 255
_CONFIG_CODES: Final = (RequestCode.UPDATE_BROKER_CONFIG, RequestCode.UPDATE_NAMESRV_CONFIG)
_BODY_BYTES_MAX: Final = 64 * 1024
_NAME_IN_BODY: Final = re.compile(rb'"(?:groupName|topicName)"\s*:\s*"([^"\\]{1,255})"')


def changing() -> frozenset[int]:
    """The codes of requests that are noted; the table must be filled."""
    return frozenset(each.key for each in operations if is_change(each.need))


def note(auditor: Auditor, address: str, call: Call[Any], answer: Answer) -> None:
    """Take note of a request that is being answered."""
    operation = operations.get(call.command.code)
    assert operation is not None, "it was answered"
    is_done = answer.code == ResponseCode.SUCCESS
    auditor.note(
        protocol="rocketmq",
        address=address,
        operation=RequestCode(call.command.code).name.lower(),
        need=operation.need,
        name=", ".join(list(dict.fromkeys(_names(call)))[:_NAMES_MAX]),
        outcome=DONE if is_done else _code_name(answer.code),
        detail="" if is_done else answer.remark or "",
    )


def _names(call: Call[Any]) -> Iterator[str]:
    if call.command.code in _CONFIG_CODES:
        yield from (name[:_NAME_LENGTH_MAX] for name, _ in asked_changes(call.command.body))
        return
    fields = call.fields
    yield from (fields[name] for name in _NAME_FIELDS if fields.get(name))
    for found in _NAME_IN_BODY.finditer(bytes(call.command.body[:_BODY_BYTES_MAX])):
        yield found[1].decode(errors="replace")


def _code_name(code: int) -> str:
    try:
        return ResponseCode(code).name.lower()
    except ValueError:
        return str(code)
