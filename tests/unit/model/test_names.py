"""Names: one alphabet for every protocol, and an error that says what is wrong."""

import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.model import (
    check_group_name,
    check_instance_name,
    check_topic_name,
    dead_letter_topic_name,
    retry_topic_name,
)
from braidmq.model.errors import InvalidLiteTopic, InvalidName
from braidmq.model.names import is_internal, lite_topic_name, read_lite_topic_name

ALPHABET = string.ascii_letters + string.digits + "._-%|"
CHECKS = pytest.mark.parametrize("check", [check_topic_name, check_instance_name])


@CHECKS
@given(name=st.text(ALPHABET, min_size=1, max_size=64).filter(lambda name: name not in (".", "..")))
def test_names_of_the_alphabet_are_taken(check: Callable[[str], str], name: str) -> None:
    assert check(name) == name


@CHECKS
@given(before=st.text(ALPHABET, max_size=5), bad=st.characters(exclude_characters=ALPHABET), after=st.text(max_size=5))
def test_any_other_character_is_refused_wherever_it_is(
    check: Callable[[str], str], before: str, bad: str, after: str
) -> None:
    with pytest.raises(InvalidName):
        check(before + bad + after)


@CHECKS
@pytest.mark.parametrize("name", ["", ".", "..", "a\n", "a/b", "../a", "a b", "é", "a\x00"])
def test_names_that_would_harm_are_refused(check: Callable[[str], str], name: str) -> None:
    with pytest.raises(InvalidName):
        check(name)


@pytest.mark.parametrize(
    ("check", "length_max"), [(check_topic_name, 249), (check_instance_name, 64), (check_group_name, 255)]
)
def test_the_longest_name_is_taken_and_one_more_is_refused(check: Callable[[str], str], length_max: int) -> None:
    assert check("a" * length_max) == "a" * length_max
    with pytest.raises(InvalidName, match=str(length_max + 1)):
        check("a" * (length_max + 1))


def test_the_physical_names_of_cells_are_names() -> None:
    assert check_topic_name("ANT|CELL1%orders") == "ANT|CELL1%orders"


@given(name=st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), min_size=1, max_size=255))
def test_a_group_may_have_any_text_for_a_name(name: str) -> None:
    assert check_group_name(name) == name


@pytest.mark.parametrize("name", ["", "a\nb", "\x00", "a\x1f"])
def test_a_group_name_is_not_empty_and_holds_no_controls(name: str) -> None:
    with pytest.raises(InvalidName):
        check_group_name(name)


def test_a_groups_own_topics_are_named_after_it() -> None:
    assert (retry_topic_name("g"), dead_letter_topic_name("g")) == ("%RETRY%g", "%DLQ%g")


@pytest.mark.parametrize("group", ["", "a b", "g" * 243, "ü"])
def test_a_group_that_no_topic_can_be_named_after_is_told_so(group: str) -> None:
    with pytest.raises(InvalidName):
        retry_topic_name(group)


@given(st.from_regex(r"[A-Za-z0-9._%|-]{1,120}", fullmatch=True), st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True))
def test_a_lite_topic_is_read_from_the_name_of_its_topic(parent: str, lite: str) -> None:
    name = lite_topic_name(parent, lite)
    assert check_topic_name(name) == name
    assert read_lite_topic_name(name) == (parent, lite)
    assert is_internal(name)


@pytest.mark.parametrize("name", ["orders", "%LITE%", "%LITE%orders", "%LITE%|d1", "%LITE%orders|", "%LITE%orders|d.1"])
def test_other_topics_are_no_lite_topics(name: str) -> None:
    assert read_lite_topic_name(name) is None


@pytest.mark.parametrize("lite", ["", " ", "d 1", "d.1", "d|1", "d%1", "*", "d1\n", "\u00fc", "\ud800", "d" * 65])
def test_names_that_no_lite_topic_can_have_are_refused(lite: str) -> None:
    with pytest.raises(InvalidLiteTopic):
        lite_topic_name("devices", lite)


def test_a_parent_whose_name_leaves_no_room_is_told_so() -> None:
    assert lite_topic_name("p" * 178, "d" * 64)
    with pytest.raises(InvalidLiteTopic, match="249"):
        lite_topic_name("p" * 179, "d" * 64)
