"""Records that are encoded already become the batch that the general way makes of the same messages."""

from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.model import Message
from braidmq.model.errors import InvalidBatch
from braidmq.records import Packed, batch_messages, batch_packed, messages_of
from packed_support import packed
from unit.records.strategies import BYTES, HEADERS, TIMES

MESSAGES = st.lists(
    st.builds(
        lambda body, key, headers, born_ms: Message(body=body, key=key, headers=tuple(headers), born_ms=born_ms),
        BYTES,
        BYTES,
        HEADERS,
        TIMES,
    ),
    min_size=1,
    max_size=5,
)


@pytest.fixture(autouse=True, scope="module")
def compiled(require_compiled: Callable[[str], ModuleType]) -> ModuleType:
    return require_compiled("braidmq.records._packing")


@given(lots=st.lists(MESSAGES, min_size=1, max_size=4))
def test_packed_messages_are_the_batch_that_the_messages_would_be(lots: list[list[Message]]) -> None:
    together = [message for lot in lots for message in lot]
    made = batch_packed([packed(*lot) for lot in lots])
    assert made == batch_messages(together)
    assert made.matches_checksum()
    assert [message.body for message in messages_of(made)] == [message.body for message in together]


def test_many_records_have_their_places() -> None:
    messages = [Message(body=b"%d" % number, born_ms=5_000_000_000_000 - number) for number in range(3_000)]
    assert batch_packed([packed(*messages)]) == batch_messages(messages)


@pytest.mark.parametrize("lot", [Packed([], []), Packed([b"\x01\x01\x00"], [1 << 62]), Packed([b"\x01\x01\x00"], [])])
def test_what_is_no_batch_is_refused(lot: Packed) -> None:
    with pytest.raises(InvalidBatch):
        batch_packed([lot])
