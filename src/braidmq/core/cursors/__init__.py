"""Messages taken one by one: given to a receiver for a while, and again to another unless it says that it is done."""

from braidmq.core.cursors._cursor import Holder
from braidmq.core.cursors._cursors import Cursors
from braidmq.core.cursors._ears import LOOK_S, Attention, wait_for_news
from braidmq.core.cursors._receipts import read_receipt, write_receipt
from braidmq.core.cursors._seals import SECRET_BYTES
from braidmq.core.cursors._words import Ask, Beginning, CursorLimits, CursorView, Delivered, Receipt

__all__ = [
    "LOOK_S",
    "SECRET_BYTES",
    "Ask",
    "Attention",
    "Beginning",
    "CursorLimits",
    "CursorView",
    "Cursors",
    "Delivered",
    "Holder",
    "Receipt",
    "read_receipt",
    "wait_for_news",
    "write_receipt",
]
