"""A message speaks of itself in the words of the domain, whoever wrote its headers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.model import Message

WORDS = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=8)


@given(
    tag=st.none() | WORDS,
    keys=st.lists(WORDS, max_size=3),
    sharding_key=st.none() | WORDS,
    id=st.none() | WORDS,
    properties=st.dictionaries(WORDS.map(lambda word: "x-" + word), st.text(max_size=5), max_size=3),
)
def test_a_message_says_what_it_was_made_of(
    tag: str | None, keys: list[str], sharding_key: str | None, id: str | None, properties: dict[str, str]
) -> None:
    message = Message.create(
        b"body", tag=tag, keys=keys, sharding_key=sharding_key, id=id, properties=properties, born_ms=7
    )
    assert (message.tag, message.id, message.sharding_key) == (tag, id, sharding_key)
    assert properties.items() <= message.properties.items()
    if keys or sharding_key is None:
        assert message.keys == tuple(keys)


def test_the_sharding_key_is_the_record_key_before_the_first_of_the_keys() -> None:
    assert Message.create(b"", keys=["k1", "k2"], sharding_key="s").key == b"s"
    assert Message.create(b"", keys=["k1", "k2"]).key == b"k1"
    assert Message.create(b"", sharding_key="").key == b""
    assert Message.create(b"").key is None


def test_a_message_with_a_record_key_only_is_found_by_it() -> None:
    assert Message(body=b"", key=b"k").keys == ("k",)
    assert Message(body=b"").keys == ()
    assert Message(body=b"", key=b"k", headers=(("KEYS", b"a  b"),)).keys == ("a", "b")


def test_of_a_name_that_repeats_the_last_value_counts() -> None:
    message = Message(body=b"", headers=(("TAGS", b"old"), ("n", b"1"), ("TAGS", b"new"), ("n", None)))
    assert message.tag == "new"
    assert message.header("n") is None
    assert message.properties == {"TAGS": "new", "n": ""}


@pytest.mark.parametrize("name", ["TAGS", "UNIQ_KEY", "__SHARDINGKEY", "KEYS"])
def test_bytes_that_are_no_text_are_shown_and_never_raise(name: str) -> None:
    message = Message(body=b"", key=b"\xff", headers=((name, b"\xff\xfe"),))
    assert message.properties[name] == "\ufffd\ufffd"
    assert (message.tag, message.id, message.sharding_key).count("\ufffd\ufffd") == (name != "KEYS")
    assert message.keys == (("\ufffd\ufffd",) if name == "KEYS" else ("\ufffd",))


def test_a_new_message_has_no_place_yet() -> None:
    message = Message.create(b"body")
    assert (message.topic, message.partition, message.offset, message.born_ms) == ("", -1, -1, -1)
