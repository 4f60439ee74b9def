"""Choosing records by tag and by key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.filters import ALTERNATIVES_MAX, Everything, alternatives, key_filter, tag_filter
from braidmq.model import Message
from braidmq.model.errors import InvalidFilter
from braidmq.records import Record, message_record


def record(key: bytes | None = None, *headers: tuple[str, bytes | None]) -> Record:
    return Record(0, 0, key, b"", headers)


def test_a_tag_is_the_header_tags() -> None:
    wants = tag_filter([b"A", b"B"])
    assert wants.matches(record(None, ("TAGS", b"A")))
    assert wants.matches(record(b"C", ("x", b"y"), ("TAGS", b"B")))
    assert not wants.matches(record(b"A", ("TAGS", b"C"), ("tags", b"A")))
    assert not wants.matches(record(b"A"))
    assert not wants.matches(record(None, ("TAGS", None)))
    assert not wants.matches(record(None, ("TAGS", b"A B")))


def test_where_a_tag_repeats_the_last_counts() -> None:
    twice = record(None, ("TAGS", b"A"), ("TAGS", b"B"))
    assert tag_filter([b"B"]).matches(twice)
    assert not tag_filter([b"A"]).matches(twice)


def test_a_key_is_the_record_key_or_a_word_of_the_header_keys() -> None:
    wants = key_filter([b"k1", b"k2"])
    assert wants.matches(record(b"k2"))
    assert wants.matches(record(b"x", ("KEYS", b"k0 k1")))
    assert wants.matches(record(None, ("KEYS", b"k1")))
    assert not wants.matches(record(b"k", ("KEYS", b"k11 k22")))
    assert not wants.matches(record(None, ("KEYS", None)))
    assert not wants.matches(record())


def test_a_message_of_any_protocol_is_found_by_its_tag_and_each_of_its_keys() -> None:
    message = message_record(Message.create(b"", tag="paid", keys=["o-1", "u-7"], sharding_key="s"))
    assert tag_filter([b"paid"]).matches(message)
    for key in (b"o-1", b"u-7", b"s"):
        assert key_filter([key]).matches(message)
    assert not key_filter([b"o-2"]).matches(message)


def test_a_star_wants_everything_and_is_a_plain_tag_among_others() -> None:
    assert tag_filter([b"*"]) == key_filter([b"*"]) == Everything()
    assert tag_filter([b"*"]).matches(record())
    assert not tag_filter([b"*", b"A"]).matches(record())
    assert tag_filter([b"*", b"A"]).matches(record(None, ("TAGS", b"*")))


@pytest.mark.parametrize("make", [tag_filter, key_filter])
@pytest.mark.parametrize("values", [[], [b""], [b"A", b""], [b"A"] * (ALTERNATIVES_MAX + 1)])
def test_a_filter_needs_something_to_choose_by_and_not_too_much(make: type, values: list[bytes]) -> None:
    with pytest.raises(InvalidFilter):
        make(values)


def test_alternatives_stand_between_bars() -> None:
    assert alternatives("A") == ["A"]
    assert alternatives("A||B || C") == ["A", "B", "C"]
    assert alternatives("A|B") == ["A|B"]
    assert alternatives("A||") == ["A", ""]


TAGS = st.one_of(st.none(), st.sampled_from([b"A", b"B", b"", b"AB"]))


@given(st.lists(TAGS, max_size=4), st.sets(st.sampled_from([b"A", b"B", b"AB"]), min_size=1))
def test_a_record_is_chosen_exactly_if_its_last_tag_is_wanted(tags: list[bytes | None], wanted: set[bytes]) -> None:
    given_record = record(None, *(("TAGS", tag) for tag in tags))
    assert tag_filter(wanted).matches(given_record) == (bool(tags) and tags[-1] in wanted)
