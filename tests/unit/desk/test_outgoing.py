"""Messages that users write: what is taken, and what is refused with a word of what to do."""

from typing import Any

import msgspec
import pytest

from braidmq.core.desk.sending import Outgoing, house_message
from braidmq.model.errors import InvalidMessage


def outgoing(**fields: Any) -> Outgoing:
    return msgspec.convert({"body": "x", **fields}, Outgoing)


def test_a_message_has_what_its_user_said() -> None:
    said = outgoing(body="hello", tag="a", keys=["k1", "k2"], sharding_key="s", id="7", properties={"p": "1"})
    message = house_message(said, now_ms=5)
    assert (message.body, message.tag, message.keys, message.id) == (b"hello", "a", ("k1", "k2"), "7")
    assert (message.sharding_key, message.key, message.born_ms, message.properties["p"]) == ("s", b"s", 5, "1")


def test_a_message_without_an_id_is_given_one_of_its_own() -> None:
    ids = {house_message(outgoing(), 0).id for _ in range(100)}
    assert len(ids) == 100
    assert None not in ids


def test_the_record_key_is_the_key_where_one_is_said() -> None:
    assert house_message(outgoing(key="k", keys=["a"], sharding_key="s"), 0).key == b"k"
    assert house_message(outgoing(keys=["a"]), 0).key == b"a"


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ({"body": "h\u00e9"}, "h\u00e9".encode()),
        ({"body": ""}, b""),
        ({"body": None}, None),
        ({"body_base64": "/w=="}, b"\xff"),
        ({"json": {"a": [1, None]}}, b'{"a":[1,null]}'),
        ({"json": None}, b"null"),
    ],
)
def test_a_body_is_text_bytes_or_json_and_null_is_a_tombstone(content: dict[str, Any], body: bytes | None) -> None:
    assert house_message(msgspec.convert(content, Outgoing), 0).body == body


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ({}, "exactly one of body"),
        ({"body": "x", "json": 1}, "exactly one of body"),
        ({"body": "x", "body_base64": "eA=="}, "exactly one of body"),
        ({"body_base64": "not base64!"}, "is not base64"),
        ({"body": "x", "delay_ms": 1, "deliver_at_ms": 1}, "at most one of deliver_at_ms"),
        ({"body": "x", "delay_ms": 1, "transaction": {"group": "g"}}, "at most one of deliver_at_ms"),
        ({"body": "x", "tag": "a|b"}, "tag:"),
        ({"body": "x", "tag": " "}, "tag:"),
        ({"body": "x", "tag": "a" * 16_385}, "tag, keys and properties"),
        ({"body": "x", "keys": ["a b"]}, "keys:"),
        ({"body": "x", "keys": [""]}, "keys:"),
        ({"body": "x", "keys": ["k" * 8_200, "l" * 8_200]}, "tag, keys and properties"),
        ({"body": "x", "id": " "}, "id:"),
        ({"body": "x", "id": "i" * 256}, "id:"),
        ({"body": "x", "sharding_key": " "}, "sharding_key:"),
        ({"body": "x", "properties": {"TAGS": "a"}}, "in the field `tag`"),
        ({"body": "x", "properties": {"RECONSUME_TIME": "3"}}, "set by the node alone"),
        ({"body": "x", "properties": {"": "3"}}, "have a name"),
        ({"body": "x", "properties": {"a": "\x01"}}, "characters 1 and 2"),
        ({"body": "x", "properties": {str(at): "" for at in range(129)}}, "at most 128"),
        ({"body": "x", "properties": {"a": "x" * 20_000}}, "bytes together"),
    ],
)
def test_what_cannot_be_a_message_is_refused_with_a_word_of_why(content: dict[str, Any], hint: str) -> None:
    with pytest.raises(InvalidMessage, match=hint):
        house_message(msgspec.convert(content, Outgoing), 0)
