"""Blocks of headers are read as python-hyper's encoder wrote them, and bad ones are refused."""

import contextlib

import pytest
from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st

from braidmq.protocols.http2 import Http2Error, literal_block
from braidmq.protocols.http2._headers import HeaderReader, fault_of

NAMES = st.sampled_from([":path", "te", "content-type", "x-mq-client-id"]) | st.text(
    "abc-xyz0", min_size=1, max_size=60
)
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=300)
LISTS = st.lists(st.tuples(NAMES, VALUES), max_size=12)
STEPS = st.lists(st.tuples(LISTS, st.booleans(), st.sampled_from([None, 0, 64, 1000, 4096])), max_size=12)


@given(STEPS)
def test_blocks_are_read_as_they_were_written_whatever_the_table_holds(
    steps: list[tuple[list[tuple[str, str]], bool, int | None]],
) -> None:
    encoder, reader = Encoder(), HeaderReader(1 << 20)
    for headers, huffman, table_bytes in steps:
        if table_bytes is not None:
            encoder.header_table_size = table_bytes
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        assert reader.read(encoder.encode(raw, huffman=huffman)) == headers


@given(LISTS)
def test_what_we_write_is_read_by_others(headers: list[tuple[str, str]]) -> None:
    found = Decoder(1 << 20).decode(literal_block(headers), raw=True)
    assert [(name.decode("latin-1"), value.decode("latin-1")) for name, value in found] == headers


@given(st.binary(max_size=200))
def test_any_bytes_are_headers_or_an_error_of_ours(block: bytes) -> None:
    with contextlib.suppress(Http2Error):
        HeaderReader(1 << 14).read(block)


def test_more_than_may_be_is_none_and_the_table_stays_true() -> None:
    encoder, reader = Encoder(), HeaderReader(200)
    assert reader.read(encoder.encode([(b"x-a", b"1"), (b"x-b", b"v" * 200)])) is None
    assert reader.read(encoder.encode([(b"x-a", b"1")])) == [("x-a", "1")]


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ([(":method", "POST"), (":scheme", "http")], "a request needs"),
        ([(":method", "POST"), (":scheme", "http"), (":path", "")], "a request needs"),
        ([(":method", "POST"), ("x", "y"), (":path", "/")], ":path must not"),
        ([(":method", "POST"), (":method", "POST")], ":method must not"),
        ([(":status", "200")], ":status must not"),
        ([("X-Upper", "y")], "no name"),
        ([("connection", "close")], "of connections"),
        ([("te", "gzip")], "of connections"),
    ],
)
def test_headers_that_must_not_be_are_named(headers: list[tuple[str, str]], said: str) -> None:
    assert said in fault_of(headers, trailing=False)
