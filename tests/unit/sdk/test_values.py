"""What programs say becomes what the node takes, and what it answers becomes errors and messages."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braidmq.core.desk.message_views import message_view
from braidmq.core.desk.sending import Outgoing as NodeOutgoing
from braidmq.core.desk.sending import house_message
from braidmq.core.filters import sql_filter
from braidmq.model import BraidError
from braidmq.model.errors import InvalidFilter, UnknownTopic
from braidmq.sdk import Message, Outgoing, Refused, Unreachable, by_properties, by_tag
from braidmq.sdk.errors import refusal
from braidmq.sdk.values import wire

WORDS = st.text("abcdefgh-", min_size=1, max_size=8)


@settings(deadline=None)
@given(
    body=st.none() | st.binary() | st.text(),
    tag=st.none() | WORDS,
    keys=st.lists(WORDS, max_size=3),
    sharding_key=st.none() | WORDS,
    properties=st.dictionaries(WORDS, st.text("xyz'ü ")),
)
def test_a_message_that_went_through_the_node_is_the_one_that_was_sent(
    body: bytes | str | None, tag: str | None, keys: list[str], sharding_key: str | None, properties: dict[str, str]
) -> None:
    sent = wire(Outgoing(body=body, tag=tag, keys=keys, sharding_key=sharding_key, properties=properties))
    taken = house_message(msgspec.json.decode(msgspec.json.encode(sent), type=NodeOutgoing), 1)
    read = msgspec.json.decode(msgspec.json.encode(message_view(taken)), type=Message)
    assert read.body == (body.encode() if isinstance(body, str) else body)
    assert (read.id, read.tag, read.sharding_key) == (sent["id"], tag, sharding_key)
    assert read.keys == keys or (not keys and read.keys == ([sharding_key] if sharding_key else []))
    assert {name: read.properties[name] for name in properties} == properties


@settings(deadline=None)
@given(value=st.text(max_size=20).filter(lambda text: "\x00" not in text))
def test_no_value_of_a_property_breaks_out_of_its_expression(value: str) -> None:
    wanted = by_properties(region=value)
    chosen = sql_filter(wanted.expression)
    assert chosen is not None
    assert wanted.expression == "region = '" + value.replace("'", "''") + "'"


@pytest.mark.parametrize("name", ["a b", "1a", "region = 'x' OR y", "not", ""])
def test_names_that_expressions_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(InvalidFilter):
        by_properties(**{name: "x"})


def test_tags_are_said_one_by_one() -> None:
    assert by_tag("a", "b").expression == "a || b"
    for wrong in ((), ("a || b",), (" ",)):
        with pytest.raises(InvalidFilter):
            by_tag(*wrong)


def test_a_problem_becomes_the_error_of_its_code() -> None:
    body = b'{"title": "x", "status": 404, "code": "unknown_topic", "detail": "no orders", "fix": "Make it."}'
    error = refusal(404, body)
    assert isinstance(error, UnknownTopic)
    assert (error.message, error.fix) == ("no orders", "Make it.")


def test_a_code_of_a_newer_node_is_still_told() -> None:
    error = refusal(400, b'{"code": "too_new", "detail": "what", "fix": ""}')
    assert isinstance(error, Refused)
    assert (error.problem, error.message, error.retriable) == ("too_new", "what", False)


@pytest.mark.parametrize(("status", "kind"), [(503, Unreachable), (502, Unreachable), (404, Refused)])
def test_what_is_no_node_is_told_apart_from_one_that_is_away(status: int, kind: type[BraidError]) -> None:
    assert type(refusal(status, b"<html>")) is kind
