"""Handles of popped messages, in the form that RocketMQ's clients take apart and put together.

    offset  time of the pop  invisible time  revive queue  retry flag  broker  queue  offset

Clients make the handle of a message whose time they have changed by themselves, of fields that they are answered. Only
the number of the "revive queue" is ours to choose in both: it holds a part of the receipt's seal, and with the place of
the message and its group that is enough to know the receipt by.
"""

import hmac
from typing import Final

from braidmq.core.cursors import Receipt
from braidmq.model.errors import HandleExpired, InvalidHandle

_FIELDS: Final = 8
_MASK: Final = (1 << 31) - 1
_NO_RETRY: Final = "0"


def pop_seal(receipt: Receipt) -> int:
    """What fits into the field."""
    return receipt.seal & _MASK


def pop_handle(receipt: Receipt, queue_id: int, broker: str, pop_ms: int, invisible_ms: int) -> str:
    seal, offset = pop_seal(receipt), receipt.offset
    return f"{offset} {pop_ms} {invisible_ms} {seal} {_NO_RETRY} {broker} {queue_id} {offset}"


def read_pop_handle(text: str) -> tuple[int, int, int]:
    """Seal, queue and offset. Raises InvalidHandle."""
    fields = text.split(" ")
    try:
        if len(fields) != _FIELDS:
            raise ValueError(len(fields))
        return int(fields[3]), int(fields[6]), int(fields[7])
    except ValueError as error:
        raise InvalidHandle(f"{text[:64]!r} is not a handle that was given out here") from error


def check_seal(receipt: Receipt, seal: int) -> None:
    """Raises HandleExpired: a handle that was good once cannot be told from one that never was."""
    if not 0 <= seal <= _MASK or not hmac.compare_digest(pop_seal(receipt).to_bytes(4), seal.to_bytes(4)):
        raise HandleExpired
