"""Filters in the names of topics, in both spellings."""

import contextlib
import re
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from braidmq.core.filters import Everything, KeyFilter, SqlFilter, TagFilter, key_filter, tag_filter
from braidmq.model.errors import InvalidFilter
from braidmq.protocols.kafka._filtered_names import NAME_LENGTH_MAX, FilteredName, read_filtered_name

TOPICS = st.from_regex(r"[A-Za-z0-9_-]([A-Za-z0-9._-]{0,20}[A-Za-z0-9_-])?", fullmatch=True).filter(
    lambda name: ".." not in name
)
VALUES = st.lists(st.binary(min_size=1, max_size=8), min_size=1, max_size=4)
KINDS = {"tag": tag_filter, "key": key_filter}


def spelled_for_people(topic: str, kind: str, values: list[bytes]) -> str:
    return f"{topic}?{kind}=" + "||".join(quote_from_bytes(value, safe="") for value in values)


def spelled_with_dots(topic: str, kind: str, values: list[bytes]) -> str:
    escaped = ["".join(chr(byte) if _is_plain(byte) else f".{byte:02X}" for byte in value) for value in values]
    return "..".join([topic, kind, *escaped])


def _is_plain(byte: int) -> bool:
    return re.match(r"[A-Za-z0-9_-]", chr(byte)) is not None


@given(TOPICS, st.sampled_from(["tag", "key"]), VALUES)
@example("orders", "tag", [b"A", b"B"])
@example("a.b", "key", [b"..", b"."])
@example("orders", "key", ["ключ 100%".encode()])
def test_both_spellings_are_read_as_they_were_written(topic: str, kind: str, values: list[bytes]) -> None:
    expected = FilteredName(topic, KINDS[kind](values))
    assert read_filtered_name(spelled_for_people(topic, kind, values)) == expected
    dotted = spelled_with_dots(topic, kind, values)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", dotted)
    assert read_filtered_name(dotted) == expected


def test_what_people_write_is_understood() -> None:
    assert read_filtered_name("orders?tag=A || B") == FilteredName("orders", TagFilter(frozenset({b"A", b"B"})))
    assert read_filtered_name("orders?key=o-1%20x") == FilteredName("orders", KeyFilter(frozenset({b"o-1 x"})))
    assert read_filtered_name("orders?key=a=b") == FilteredName("orders", KeyFilter(frozenset({b"a=b"})))
    assert read_filtered_name("orders?tag=*") == FilteredName("orders", Everything())
    assert read_filtered_name("orders..tag...2A") == FilteredName("orders", Everything())


@pytest.mark.parametrize("expression", ["a = '1' OR b > 2.5", "a CONTAINS '||'", "a = '..' AND b IS NULL", "a='中'"])
def test_both_spellings_carry_an_expression(expression: str) -> None:
    for spelled in (spelled_for_people, spelled_with_dots):
        named = read_filtered_name(spelled("orders", "sql", [expression.encode()]))
        assert named is not None
        assert isinstance(named.chosen, SqlFilter)
        assert (named.topic, named.chosen.expression) == ("orders", expression)


@pytest.mark.parametrize(
    "name", ["orders", "a.b_c-d", "orders..", "a..b", "..tag..A", "orders..tag..", "a..tags..b", ""]
)
def test_other_names_name_no_filter(name: str) -> None:
    assert read_filtered_name(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "orders?",
        "orders?tag",
        "orders?tag=",
        "orders?tag=A||",
        "orders?colour=red",
        "orders?TAG=A",
        "orders?sql=",
        "orders?sql=a%20=",
        "orders?sql=a='%ff'",
        "orders..sql..a.3D1..b.3D2",
        "orders..tag..A.B",
        "orders..tag..A.",
        "orders..tag..A.zz",
        "orders..tag..A....B",
        "orders?tag=" + "A" * NAME_LENGTH_MAX,
    ],
)
def test_filters_that_cannot_be_are_refused(name: str) -> None:
    with pytest.raises(InvalidFilter):
        read_filtered_name(name)


@given(st.text(max_size=40).map(lambda text: "a" + text))
def test_any_name_is_read_or_refused(name: str) -> None:
    with contextlib.suppress(InvalidFilter):
        read_filtered_name(name)
