"""Messages taken one by one: given to a receiver for a while, and again to another unless it says that it is done."""

from braidmq.core.cursors._cursor import Holder
from braidmq.core.cursors._cursors import Cursors
from braidmq.core.cursors._seals import SECRET_BYTES
from braidmq.core.cursors._words import Ask, Beginning, CursorLimits, CursorView, Delivered, Receipt

__all__ = [
    "SECRET_BYTES",
    "Ask",
    "Beginning",
    "CursorLimits",
    "CursorView",
    "Cursors",
    "Delivered",
    "Holder",
    "Receipt",
]
