"""Ids of deferred messages."""

from hypothesis import given
from hypothesis import strategies as st

from braidmq.model import deferred_id, deferred_time_ms

times = st.integers(0, (1 << 47) - 1)
numbers = st.integers(0, 1 << 80)


@given(times, times, numbers, numbers)
def test_ids_are_in_the_order_of_their_times(one_ms: int, other_ms: int, one: int, other: int) -> None:
    if one_ms < other_ms:
        assert deferred_id(one_ms, one, other) < deferred_id(other_ms, other, one)


@given(times, numbers, numbers)
def test_an_id_tells_its_time_and_is_a_pair_of_positive_numbers(time_ms: int, counter: int, random: int) -> None:
    made = deferred_id(time_ms, counter, random)
    assert deferred_time_ms(made) == time_ms
    assert made.int >> 127 == 0
    assert made.int >> 63 & 1 == 0


def test_of_one_time_the_lower_counter_comes_first() -> None:
    assert deferred_id(5, 1, 99) < deferred_id(5, 2, 0)
