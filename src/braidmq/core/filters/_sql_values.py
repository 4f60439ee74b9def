"""How values of an SQL expression compare. Hot path.

Properties are texts. Against a number, a text counts as a number of the same kind; where it is none, the question has
no answer, and neither has the whole expression it stands in: the message is not chosen, whatever else the expression
says. That, the kinds of numbers and what a text must look like are as the users of this dialect know them from the
Java brokers it comes from.
"""

import math
import re
from collections.abc import Callable
from typing import Final

Value = str | bool | int | float | None

INT_MAX: Final = (1 << 31) - 1
LONG_MAX: Final = (1 << 63) - 1

_WHOLE: Final = re.compile(r"[+-]?[^\D\U00010000-\U0010ffff]+")
_REAL: Final = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL: Final = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_SPECIAL: Final = {
    sign + word: float(sign + python)
    for sign in ("", "+", "-")
    for word, python in (("NaN", "nan"), ("Infinity", "inf"))
}
_BLANKS: Final = "".join(map(chr, range(33)))


class Unanswerable(Exception):
    """Two values that cannot be compared: the message does not match."""


class Long(int):
    """A whole number that is compared in 64 bits; a plain one is compared in 32."""

    __slots__ = ()

    def __neg__(self) -> "Long":
        return Long(-int(self))


def order(left: Value, right: Value) -> int:
    """Negative, zero or positive, as the left value is before, at or behind the right one. Neither is null."""
    left_kind, right_kind = type(left), type(right)
    if left_kind is not right_kind:
        if left_kind is bool or right_kind is bool:
            return _order_with_boolean(left, right)
        if left_kind is str:
            left, left_kind = _READERS[right_kind](left), right_kind  # type: ignore[arg-type]  # it is a text
        elif right_kind is str:
            right, right_kind = _READERS[left_kind](right), left_kind  # type: ignore[arg-type]  # it is a text
    if left_kind is float or right_kind is float:
        return order_reals(float(left), float(right))  # type: ignore[arg-type]  # both are numbers
    return (left > right) - (left < right)  # type: ignore[operator]  # both are of one kind


def order_texts_as_numbers(left: str, right: str) -> int:
    """Texts have no order of their own."""
    return order_reals(read_real(left), read_real(right))


def order_reals(left: float, right: float) -> int:
    """As Java orders doubles: NaN is behind all others, and -0.0 before 0.0."""
    if left < right:
        return -1
    if left > right:
        return 1
    if left == right:
        return int(math.copysign(1, left) - math.copysign(1, right))
    return math.isnan(left) - math.isnan(right)


def read_int(text: str) -> int:
    return _read_whole(text, INT_MAX)


def read_long(text: str) -> int:
    return Long(_read_whole(text, LONG_MAX))


def read_real(text: str) -> float:
    text = text.strip(_BLANKS)
    if (match := _REAL.fullmatch(text)) is not None:
        return float(match[1])
    if text in _SPECIAL:
        return _SPECIAL[text]
    if (match := _HEXADECIMAL.fullmatch(text)) is not None:
        try:
            return float.fromhex(match[1])
        except OverflowError:
            return -math.inf if text[0] == "-" else math.inf
    raise Unanswerable


def _read_whole(text: str, largest: int) -> int:
    if _WHOLE.fullmatch(text) is None:
        raise Unanswerable
    try:
        number = int(text)
    except ValueError:  # more digits than Python reads
        raise Unanswerable from None
    if not -largest - 1 <= number <= largest:
        raise Unanswerable
    return number


def _order_with_boolean(left: Value, right: Value) -> int:
    """A text counts as a boolean on the left only; a number never does."""
    if isinstance(left, str):
        return (left.lower() == "true") - int(right is True)
    if isinstance(right, str):
        raise Unanswerable
    return -1


_READERS: Final[dict[type, Callable[[str], Value]]] = {int: read_int, Long: read_long, float: read_real}
