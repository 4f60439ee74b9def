"""Numbers that somebody else wrote."""

import pytest

from braidmq.model.numbers import whole_number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("999999999", 999_999_999)])
def test_decimal_digits_are_a_number(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1_0", "1.0", "x", "²", "٣", "1" * 10, "1" * 5000])
def test_anything_else_is_none_and_no_error(text: str) -> None:
    assert whole_number(text) is None


def test_the_callers_limit_counts() -> None:
    assert whole_number("1" * 15, 15) == 111_111_111_111_111
    assert whole_number("1" * 16, 15) is None
