"""What becomes of one thing under one rule."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.alarms import State
from braidmq.core.alarms._rules import matches
from braidmq.core.alarms._states import Course


def test_a_thing_fires_only_when_it_was_wrong_for_long_enough() -> None:
    course = Course()
    assert course.look(1_000, is_wrong=True, for_ms=500) == [State.PENDING]
    assert course.look(1_499, is_wrong=True, for_ms=500) == []
    assert course.look(1_500, is_wrong=True, for_ms=500) == [State.FIRING]
    assert course.look(9_999, is_wrong=True, for_ms=500) == []
    assert course.look(10_000, is_wrong=False, for_ms=500) == [State.ENDED, State.OK]


def test_what_is_right_again_in_time_tells_nobody() -> None:
    course = Course()
    course.look(0, is_wrong=True, for_ms=500)
    assert course.look(400, is_wrong=False, for_ms=500) == [State.OK]
    assert course.look(600, is_wrong=True, for_ms=500) == [State.PENDING], "the time begins anew"


def test_a_rule_that_waits_for_nothing_fires_at_once() -> None:
    assert Course().look(0, is_wrong=True, for_ms=0) == [State.PENDING, State.FIRING]


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans())), st.integers(0, 100))
def test_every_firing_has_one_end_and_nothing_is_left_between(looks: list[tuple[int, bool]], for_ms: int) -> None:
    course, now_ms, entered = Course(), 0, []
    for passed_ms, is_wrong in looks:
        now_ms += passed_ms
        steps = course.look(now_ms, is_wrong=is_wrong, for_ms=for_ms)
        if State.FIRING in steps:
            assert is_wrong
            assert now_ms - course.since_ms >= for_ms
        entered += [step for step in steps if step in (State.FIRING, State.ENDED)]
        assert course.state is not State.ENDED
        assert (course.state is State.OK) == (not is_wrong)
    assert all(a is not b for a, b in pairwise(entered))
    assert not entered or entered[0] is State.FIRING


@pytest.mark.parametrize(
    ("pattern", "name", "is_meant"),
    [
        ("*", "", True),
        ("a*", "abc", True),
        ("a*c", "abc", True),
        ("a*c", "ac", True),
        ("ab*bc", "abc", False),
        ("a*b*c", "axxbyyc", True),
        ("a*b*c", "axxc", False),
        ("abc", "abcd", False),
        ("a.c", "abc", False),
        ("a[b]", "a[b]", True),
    ],
)
def test_only_a_star_is_special_in_a_pattern(pattern: str, name: str, is_meant: bool) -> None:
    assert matches(pattern, name) is is_meant
