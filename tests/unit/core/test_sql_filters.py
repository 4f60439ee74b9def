"""Choosing records by SQL expressions."""

import contextlib
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.filters import EXPRESSION_BYTES_MAX, Everything, sql_filter, tag_expression_filter, tag_filter
from braidmq.core.filters._sql import DEPTH_MAX, OPERATORS_MAX
from braidmq.model import Message
from braidmq.model.errors import InvalidFilter
from braidmq.records import Record, message_record


def matches(expression: str, **properties: str | None) -> bool:
    headers = [(name, None if value is None else value.encode()) for name, value in properties.items()]
    return sql_filter(expression).matches(Record(0, 0, None, b"", headers))


@pytest.mark.parametrize(
    ("expression", "properties", "expected"),
    [
        ("region = 'EU' AND amount BETWEEN 10 AND 99", {"region": "EU", "amount": "99"}, True),
        ("region = 'EU' AND amount BETWEEN 10 AND 99", {"region": "EU", "amount": "100"}, False),
        ("region = 'EU' AND amount BETWEEN 10 AND 99", {"region": "EU"}, False),
        ("amount NOT BETWEEN 10 AND 99", {"amount": "9"}, True),
        ("a in ('x', 'it''s')", {"a": "it's"}, True),
        ("a NOT IN ('x')", {"a": "y"}, True),
        ("a NOT IN ('x')", {}, False),
        ("a IS NULL", {}, True),
        ("a IS NULL", {"a": ""}, False),
        ("a Is Not Null", {"a": "1"}, True),
        ("name CONTAINS 'b' AND name STARTSWITH 'a' AND name ENDSWITH 'c'", {"name": "abc"}, True),
        ("name NOT CONTAINS 'b'", {"name": "abc"}, False),
        ("name NOT STARTSWITH 'b'", {"name": "abc"}, True),
        ("name NOT ENDSWITH 'b'", {}, False),
        ("name CONTAINS ''", {"name": "abc"}, False),
        ("a = TRUE", {"a": "True"}, True),
        ("(a = 1) = TRUE", {"a": "1"}, True),
        ("a <> 'x'", {"a": "y"}, True),
        ("a <> 'x'", {}, False),
        ("TRUE", {}, True),
        ("a > -5", {"a": "-4"}, True),
        ("a >= 1.5e1 -- it's a remark", {"a": "15"}, True),
        ("a = -- it's a remark\n15", {"a": "15"}, True),
        ("a > --14", {"a": "15"}, True),
        ("a /* any */ < 5000000000", {"a": "4999999999"}, True),
        ("TAGS = 'paid' OR KEYS = 'k1'", {"KEYS": "k1"}, True),
        ("a = '中'", {"a": "中"}, True),
    ],
)
def test_an_expression_chooses(expression: str, properties: dict[str, str], expected: bool) -> None:
    assert matches(expression, **properties) is expected


def test_what_is_unknown_does_not_match_unless_the_rest_decides() -> None:
    assert not matches("a = 1")
    assert not matches("NOT (a = 1)")
    assert matches("a = 1 OR b = 2", b="2")
    assert not matches("a = 1 AND b = 2", b="2")
    assert matches("NOT (a = 1 AND b = 2)", b="3")
    assert matches("a = b")
    assert not matches("b = a", a="1")


def test_a_text_that_should_be_a_number_and_is_none_makes_no_match_whatever_else_is_said() -> None:
    assert not matches("a > 5 OR b = 'x'", a="many", b="x")
    assert matches("b = 'x' OR a > 5", a="many", b="x")
    assert not matches("a <> 5", a="5.0")
    assert not matches("a < 5", a="-3000000000")


def test_not_binds_closer_than_equals() -> None:
    assert not matches("NOT a = 'x'", a="y")
    assert matches("NOT (a = 'x')", a="y")


def test_a_property_alone_is_not_true() -> None:
    assert not matches("a", a="true")
    assert matches("NOT a", a="true")


def test_the_last_of_repeated_properties_counts_and_one_without_a_value_is_empty() -> None:
    twice = Record(0, 0, None, b"", [("a", b"1"), ("a", b"2")])
    assert sql_filter("a = 2").matches(twice)
    assert matches("a = ''", a=None)


def test_the_record_key_is_the_key_where_nothing_else_says_so() -> None:
    wants = sql_filter("KEYS = 'k'")
    assert wants.matches(Record(0, 0, b"k", b"", []))
    assert not wants.matches(Record(0, 0, b"k", b"", [("KEYS", b"x")]))
    assert not wants.matches(message_record(Message.create(b"", sharding_key="k")))


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("", "at its end"),
        ("a = ", "at its end"),
        ("a = 'x", "character 5"),
        ("a # 1", "character 3"),
        ("a = 1 b = 2", "character 7"),
        ("a LIKE 'x%'", "character 3"),
        ("(a = 1", ") is missing"),
        ("a = NULL", "IS NULL"),
        ("a > 'x'", "character 5"),
        ("a BETWEEN 5 AND 1", "character 11"),
        ("5 IN ('x')", "character 1"),
        ("a IN (5)", "character 7"),
        ("a IN ()", "character 7"),
        ("a CONTAINS b", "character 12"),
        ("5", "no condition"),
        ("a AND 'x'", "character 7"),
        ("a > 9223372036854775808", "whole numbers end"),
        ("a > 1e400", "too large"),
        ("TRUE = 5", "character 1"),
        ("a IS 5", "NULL is missing"),
        ("/* a = 1", "no end"),
    ],
)
def test_an_error_says_where_and_why(expression: str, place: str) -> None:
    with pytest.raises(InvalidFilter, match=re.escape(place)):
        sql_filter(expression)


def test_expressions_are_bounded_in_length_depth_and_operators() -> None:
    sql_filter("(" * (DEPTH_MAX - 1) + "a = 1" + ")" * (DEPTH_MAX - 1))
    for expression in (
        "(" * DEPTH_MAX + "a = 1" + ")" * DEPTH_MAX,
        "NOT " * (DEPTH_MAX + 1) + "a",
        " OR ".join(["a"] * (OPERATORS_MAX + 2)),
        "a" + " IS NULL" * (OPERATORS_MAX + 1),
        "a = '" + "x" * EXPRESSION_BYTES_MAX + "'",
    ):
        with pytest.raises(InvalidFilter, match=r"at most|more than"):
            sql_filter(expression)
    assert matches("a" + " IS NULL" * OPERATORS_MAX) in (True, False)


PIECES = st.sampled_from(
    [*"()+-=<>,'ab5.eL $", "NOT ", "AND ", " OR ", " IS ", "NULL", " IN ('x')", " BETWEEN ", "TRUE", "'x'", "--", "/*"]
)


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=40).map("".join), st.text("(-+'", max_size=4096)))
def test_any_text_is_an_expression_or_refused_and_soon(expression: str) -> None:
    began = time.process_time()
    with contextlib.suppress(InvalidFilter):
        sql_filter(expression).matches(Record(0, 0, None, b"", [("a", b"5"), ("b", b"x")]))
    assert time.process_time() - began < 0.5


@given(
    st.dictionaries(st.sampled_from("ab"), st.text(max_size=8)),
    st.sampled_from(["a > b", "a = 5", "a < 1.5", "a = TRUE"]),
)
def test_any_property_is_answered(properties: dict[str, str], expression: str) -> None:
    headers = [(name, value.encode(errors="replace")) for name, value in properties.items()]
    assert sql_filter(expression).matches(Record(0, 0, None, b"", headers)) in (True, False)


def test_a_subscription_names_tags_between_bars_and_means_everything_where_it_names_none() -> None:
    assert tag_expression_filter("A||B || C") == tag_filter([b"A", b"B", b"C"])
    assert tag_expression_filter("A ||") == tag_filter([b"A"])
    assert tag_expression_filter("*") == tag_expression_filter("") == Everything()
    for nothing in ("||", " || ", " "):
        with pytest.raises(InvalidFilter):
            tag_expression_filter(nothing)
