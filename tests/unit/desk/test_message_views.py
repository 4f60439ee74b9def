"""Messages for people: text where it is text, base64 where it is not, and nothing lost."""

import base64

from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.desk.message_views import message_view, shown
from braidmq.model import BORN_HEADER, HTTP_HEADER, HTTP_MARK, ROCKETMQ_HEADER, Message


@given(st.binary(max_size=64), st.booleans())
def test_no_byte_is_lost(content: bytes, with_base64: bool) -> None:
    text, encoded = shown(content, with_base64=with_base64)
    assert text is not None or encoded is not None
    if text is not None:
        assert text.encode() == content
    if encoded is not None:
        assert base64.b64decode(encoded) == content
    assert (encoded is not None) == (with_base64 or text is None)


def test_what_has_no_bytes_has_neither_text_nor_base64() -> None:
    assert shown(None, with_base64=True) == (None, None)


def test_a_message_shows_its_tag_keys_id_and_the_headers_in_order_and_with_repetition() -> None:
    headers = (("TAGS", b"paid"), ("KEYS", b"a b"), ("UNIQ_KEY", b"7"), ("x", b"1"), ("x", b"\xff"), ("none", None))
    view = message_view(Message(body=b"\xfe", key=b"k", headers=headers, born_ms=5, topic="t", partition=1, offset=2))
    assert (view.topic, view.partition, view.offset, view.born_ms) == ("t", 1, 2, 5)
    assert (view.tag, view.keys, view.id, view.key) == ("paid", ["a", "b"], "7", "k")
    assert (view.body, view.body_base64, view.size_bytes) == (None, "/g==", 1)
    assert [(each.name, each.value, each.value_base64) for each in view.headers[3:]] == [
        ("x", "1", None),
        ("x", None, "/w=="),
        ("none", None, None),
    ]


def test_a_message_that_came_later_shows_when_it_was_born() -> None:
    later = Message(body=b"", headers=((BORN_HEADER, b"17"),), born_ms=99)
    assert message_view(later).born_ms == 17
    odd = Message(body=b"", headers=((BORN_HEADER, b"1" * 99),), born_ms=99)
    assert message_view(odd).born_ms == 99


def test_who_wrote_a_message_is_shown_where_it_is_known() -> None:
    assert message_view(Message(body=b"", headers=((ROCKETMQ_HEADER, b"\x00"),))).protocol == "rocketmq"
    assert message_view(Message(body=b"", headers=((HTTP_HEADER, HTTP_MARK),))).protocol == "http"
    assert message_view(Message(body=b"")).protocol == ""


def test_the_mark_of_http_is_not_shown_among_the_headers() -> None:
    view = message_view(Message(body=b"", headers=(("a", b"b"), (HTTP_HEADER, HTTP_MARK), (ROCKETMQ_HEADER, b"\x01"))))
    assert [each.name for each in view.headers] == ["a", ROCKETMQ_HEADER]
