"""What clients are told of the house's errors, and how handles are read."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.cursors import Receipt, read_receipt, write_receipt
from braidmq.model import BraidError, errors
from braidmq.model.errors import InvalidHandle
from braidmq.protocols.rocketmq_grpc.codes import Code, Refused, code_of, status_of
from braidmq.protocols.rocketmq_grpc.messages import duration, ms_of

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, BraidError)]
LONGS = st.integers(0, 2**63 - 1)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_with_its_reason(kind: type[BraidError]) -> None:
    status = status_of(kind("the reason"))
    assert (Code(status.code), status.message) == (code_of(kind()), "the reason")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UnknownTopic(), Code.TOPIC_NOT_FOUND),
        (errors.HandleExpired(), Code.INVALID_RECEIPT_HANDLE),
        (errors.WrongMessageKind(), Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
        (errors.InvalidGroup(), Code.ILLEGAL_CONSUMER_GROUP),
        (errors.StorageFull(), Code.HA_NOT_AVAILABLE),
        (errors.DamagedLog(), Code.INTERNAL_SERVER_ERROR),
        (Refused(Code.UNSUPPORTED, "no"), Code.UNSUPPORTED),
    ],
)
def test_clients_are_told_the_number_that_they_branch_on(error: BraidError, code: Code) -> None:
    assert code_of(error) is code


@given(st.integers(0, 2**23 - 1), LONGS, LONGS, LONGS)
def test_a_handle_is_the_receipt(number: int, offset: int, serial: int, seal: int) -> None:
    receipt = Receipt(number, offset, serial, seal)
    assert read_receipt(write_receipt(receipt)) == receipt


@given(st.text(max_size=60))
def test_what_is_no_handle_is_refused(text: str) -> None:
    try:
        receipt = read_receipt(text)
    except InvalidHandle:
        return
    assert write_receipt(receipt) == text.rstrip("=")


@given(st.integers(-(10**12), 10**12))
def test_a_span_is_what_was_said(ms: int) -> None:
    assert ms_of(duration(ms)) == ms
