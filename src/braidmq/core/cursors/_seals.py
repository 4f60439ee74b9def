"""Numbers that prove that a receipt was given out here, to this group, for this message and this time."""

import hashlib
import hmac
import struct
from typing import Final

from braidmq.core.cursors._words import Receipt

SECRET_BYTES: Final = 32

_PLACE: Final = struct.Struct(">iqq")
_LOW_BITS: Final = (1 << 63) - 1


class Seals:
    """`secret` is this cluster's, and outlives the process: receipts do, too."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def receipt(self, group: str, number: int, offset: int, serial: int) -> Receipt:
        return Receipt(number, offset, serial, self._seal(group, number, offset, serial))

    def is_ours(self, group: str, receipt: Receipt) -> bool:
        try:
            right = self._seal(group, receipt.number, receipt.offset, receipt.serial)
            return hmac.compare_digest(right.to_bytes(8), receipt.seal.to_bytes(8))
        except (struct.error, OverflowError):  # numbers of no message
            return False

    def _seal(self, group: str, number: int, offset: int, serial: int) -> int:
        content = _PLACE.pack(number, offset, serial) + group.encode()
        return int.from_bytes(hashlib.blake2b(content, key=self._secret, digest_size=8).digest()) & _LOW_BITS
