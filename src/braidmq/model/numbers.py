"""Whole numbers that somebody else wrote as text: a message's header, a request's field.

`int` alone takes signs, blanks, underscores and numbers of any length; `str.isdigit` takes characters that `int` does
not.
"""

from typing import Final

TIME_DIGITS_MAX: Final = 15
"""Of milliseconds since the epoch."""


def whole_number(text: str, digits_max: int = 9) -> int | None:
    """The number that this is in decimal digits, without a sign; None where it is none, or too long for one."""
    return int(text) if len(text) <= digits_max and text.isascii() and text.isdigit() else None
