"""Receipts as texts, for wires on which a receipt is one opaque word."""

import base64
import struct
from typing import Final

from braidmq.core.cursors._words import Receipt
from braidmq.model.errors import InvalidHandle

_RECEIPT: Final = struct.Struct(">iqqq")


def write_receipt(receipt: Receipt) -> str:
    return base64.urlsafe_b64encode(_RECEIPT.pack(*receipt)).decode().rstrip("=")


def read_receipt(handle: str) -> Receipt:
    """Raises InvalidHandle for what cannot be a receipt; whether it is one of ours, its seal says."""
    try:
        raw = base64.b64decode(handle + "=" * (-len(handle) % 4), altchars=b"-_", validate=True)
        return Receipt(*_RECEIPT.unpack(raw))
    except (ValueError, struct.error) as error:
        raise InvalidHandle(f"{handle[:64]!r} is not a handle that was given out here") from error
