"""Custom headers: typed here, text on the wire, and an error that names the field."""

import pytest

from braidmq.protocols.rocketmq.codec import (
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    Audience,
    MalformedHeader,
    RequestCode,
    read_header,
    write_header,
)
from braidmq.protocols.rocketmq.codec.headers import (
    BoundaryType,
    CustomHeader,
    EndTransactionRequestHeader,
    GetMaxOffsetRequestHeader,
    PullMessageRequestHeader,
    SearchOffsetRequestHeader,
    SendMessageRequestHeader,
    SendMessageRequestHeaderV2,
    TransactionEnd,
)
from rocketmq_oracles import HEADER_CLASSES, filled, sparse

WITHOUT_HEADER = {
    RequestCode.CHECK_CLIENT_CONFIG,
    RequestCode.QUERY_ASSIGNMENT,
    RequestCode.BATCH_ACK_MESSAGE,
    RequestCode.POP_ROLLBACK,
}
"""Requests of clients that say all they have to say in the body; the last one is sent by nobody."""

PULL = {
    "consumerGroup": "g",
    "topic": "t",
    "queueId": "3",
    "queueOffset": "1099511627776",
    "maxMsgNums": "32",
    "sysFlag": "2",
    "commitOffset": "0",
    "suspendTimeoutMillis": "15000",
    "subVersion": "1700000000000",
}


@pytest.mark.parametrize("kind", HEADER_CLASSES)
def test_every_header_is_written_as_text_and_read_again(kind: type[CustomHeader]) -> None:
    for header in (filled(kind), sparse(kind)):
        fields = write_header(header)
        assert all(isinstance(value, str) for value in fields.values())
        assert read_header(kind, fields) == header


def test_every_header_belongs_to_a_code_and_every_client_code_has_its_header() -> None:
    assert set(HEADER_CLASSES) == {*REQUEST_HEADERS.values(), *RESPONSE_HEADERS.values()}
    clients = {code for code in RequestCode if code.audience is Audience.CLIENT}
    assert clients - REQUEST_HEADERS.keys() == WITHOUT_HEADER


def test_fields_that_are_not_known_are_passed_over() -> None:
    header = read_header(PullMessageRequestHeader, PULL | {"AccessKey": "a", "bname": "broker-a", "ReqT": "0"})
    assert (header.queue_offset, header.bname, header.subscription) == (1 << 40, "broker-a", None)


@pytest.mark.parametrize("name", PULL)
def test_a_field_that_is_missing_is_named(name: str) -> None:
    with pytest.raises(MalformedHeader, match=f"PullMessageRequestHeader needs the field {name}") as raised:
        read_header(PullMessageRequestHeader, {field: value for field, value in PULL.items() if field != name})
    assert raised.value.field == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("queueId", "x"),
        ("queueId", ""),
        ("queueId", "2147483648"),
        ("queueId", "-2147483649"),
        ("queueOffset", "9223372036854775808"),
        ("queueOffset", "1" * 5000),
        ("maxMsgNums", "1.5"),
    ],
)
def test_a_field_that_is_wrong_is_named(name: str, value: str) -> None:
    with pytest.raises(MalformedHeader, match=f"as {name}: ") as raised:
        read_header(PullMessageRequestHeader, PULL | {name: value})
    assert raised.value.field == name
    assert len(raised.value.message) < 300


def test_flags_are_read_as_words_and_as_digits() -> None:
    for text, meant in (("true", True), ("True", True), ("1", True), ("false", False), ("0", False)):
        fields = {"topic": "t", "queueId": "0", "committed": text}
        assert read_header(GetMaxOffsetRequestHeader, fields).committed is meant
    assert write_header(GetMaxOffsetRequestHeader(topic="t", queue_id=0))["committed"] == "true"


def test_words_stay_words_whatever_they_look_like() -> None:
    fields = PULL | {"topic": "null", "consumerGroup": "1", "subscription": "true"}
    header = read_header(PullMessageRequestHeader, fields)
    assert (header.topic, header.consumer_group, header.subscription) == ("null", "1", "true")


def test_the_short_form_says_the_same_as_the_long_one() -> None:
    long = filled(SendMessageRequestHeader)
    values = {name: getattr(long, name) for name in SendMessageRequestHeader.__struct_fields__ if len(name) > 5}
    short = SendMessageRequestHeaderV2(**values, topic="t", flag=0, batch=True, broker_name="b")
    fields = write_header(short)
    assert sorted(fields) == list("abcdefghijklmn")
    assert (fields["a"], fields["e"], fields["m"], fields["n"]) == (
        long.producer_group,
        str(long.queue_id),
        "true",
        "b",
    )
    assert read_header(SendMessageRequestHeaderV2, fields) == short


@pytest.mark.parametrize(
    ("text", "meant"), [("LOWER", "LOWER"), ("upper", "UPPER"), ("UPPER", "UPPER"), ("?", "LOWER")]
)
def test_the_boundary_of_a_search_is_read_as_java_reads_it(text: str, meant: str) -> None:
    fields = {"topic": "t", "queueId": "0", "timestamp": "5", "boundaryType": text}
    assert read_header(SearchOffsetRequestHeader, fields).boundary_type is BoundaryType(meant)


def test_a_transaction_ends_in_one_of_three_ways() -> None:
    fields = {"producerGroup": "g", "tranStateTableOffset": "1", "commitLogOffset": "2", "msgId": "m"}
    header = read_header(EndTransactionRequestHeader, fields | {"commitOrRollback": "12"})
    assert header.commit_or_rollback is TransactionEnd.ROLLBACK
    assert write_header(header)["commitOrRollback"] == "12"
    with pytest.raises(MalformedHeader) as raised:
        read_header(EndTransactionRequestHeader, fields | {"commitOrRollback": "7"})
    assert raised.value.field == "commitOrRollback"
