"""Bodies: JSON as fastjson writes it, odd keys and all, and legal JSON as everybody else does."""

from typing import Any

import msgspec
import pytest

from braidmq.protocols.rocketmq.codec import MalformedBody, Unencodable, decode_body, decode_body_list, encode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    BatchAck,
    BatchAckMessageRequestBody,
    BrokerData,
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    GetConsumerStatusBody,
    HeartbeatData,
    KVTable,
    LockBatchRequestBody,
    MessageModel,
    MessageQueue,
    ResetOffsetBody,
    SubscriptionGroupConfig,
    TopicOffset,
    TopicRouteData,
    TopicStatsTable,
    UserInfo,
)
from rocketmq_oracles import BODY_CLASSES, filled, sparse


@pytest.mark.parametrize("kind", BODY_CLASSES)
def test_every_body_is_written_and_read_again(kind: type[Any]) -> None:
    for body in (filled(kind), filled(kind, 200), sparse(kind)):
        assert decode_body(kind, encode_body(body)) == body


def test_queues_as_keys_are_written_as_objects() -> None:
    table = TopicStatsTable(offset_table={MessageQueue("t", "b", 1): TopicOffset(min_offset=1, max_offset=9)})
    assert encode_body(table) == (
        b'{"topicPutTps":0.0,"offsetTable":{{"topic":"t","brokerName":"b","queueId":1}:'
        b'{"minOffset":1,"maxOffset":9,"lastUpdateTimestamp":0}}}'
    )


def test_queues_as_keys_are_read_in_any_order_of_their_members() -> None:
    data = (
        b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"t"}:5,{"queueId":1,"topic":"t","brokerName":"b"}:6}}'
    )
    assert decode_body(ResetOffsetBody, data).offset_table == {
        MessageQueue("t", "b", 0): 5,
        MessageQueue("t", "b", 1): 6,
    }
    nested = b'{"consumerTable":{"client":{{"brokerName":"b","queueId":0,"topic":"t"}:5}}}'
    assert decode_body(GetConsumerStatusBody, nested).consumer_table == {"client": {MessageQueue("t", "b", 0): 5}}


def test_a_heartbeat_that_says_words_by_their_number_is_read() -> None:
    """As clients in C++ send it, and those that stand on them."""
    data = (
        b'{"clientID":"10.0.0.1@7@8","consumerDataSet":[{"consumeFromWhere":4,"consumeType":1,"groupName":"readers",'
        b'"messageModel":1,"subscriptionDataSet":[{"codeSet":["2604186"],"subString":"*","subVersion":"1700000000000",'
        b'"tagsSet":[],"topic":"orders"}]}],"producerDataSet":[{"groupName":"payers"}]}'
    )
    beat = decode_body(HeartbeatData, data)
    (consumer,) = beat.consumer_data_set
    assert consumer.consume_type is ConsumeType.CONSUME_PASSIVELY
    assert consumer.message_model is MessageModel.CLUSTERING
    assert consumer.consume_from_where is ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    assert consumer.subscription_data_set[0].topic == "orders"
    assert [each.group_name for each in beat.producer_data_set] == ["payers"]


def test_a_word_of_a_later_release_is_none_that_is_known() -> None:
    data = b'{"groupName":"g","consumeType":"CONSUME_LITE","messageModel":"LITE_SELECTIVE","consumeFromWhere":null}'
    consumer = decode_body(ConsumerData, data)
    assert (consumer.consume_type, consumer.message_model, consumer.consume_from_where) == (None, None, None)


@pytest.mark.parametrize("number", [-1, 3, 1 << 40])
def test_a_number_that_no_word_has_is_refused(number: int) -> None:
    with pytest.raises(MalformedBody, match="consumeType"):
        decode_body(ConsumerData, b'{"groupName":"g","consumeType":%d}' % number)


@pytest.mark.parametrize("form", [b'{0:"a",1:"b"}', b'{"0":"a","1":"b"}', b'{"0":"a",1:"b",}'])
def test_numbers_as_keys_are_read_bare_and_quoted(form: bytes) -> None:
    assert decode_body(BrokerData, b'{"brokerAddrs":' + form + b"}").broker_addrs == {0: "a", 1: "b"}


def test_numbers_as_keys_are_written_quoted() -> None:
    assert b'"brokerAddrs":{"0":"a"}' in encode_body(BrokerData(broker_addrs={0: "a"}))


def test_what_is_none_is_left_out() -> None:
    assert encode_body(TopicRouteData()) == b'{"queueDatas":[],"brokerDatas":[],"filterServerTable":{}}'
    assert encode_body([UserInfo(username="u")]) == b'[{"username":"u"}]'


def test_a_heartbeat_is_read_as_java_and_go_write_it() -> None:
    java = (
        b'{"clientID":"10.0.0.1@7#1","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",'
        b'"consumeType":"CONSUME_PASSIVELY","groupName":"g","messageModel":"CLUSTERING","subscriptionDataSet":'
        b'[{"classFilterMode":false,"codeSet":[65],"expressionType":"TAG","subString":"A","subVersion":1700000000000,'
        b'"tagsSet":["A"],"topic":"t"}],"unitMode":false}],"heartbeatFingerprint":0,"producerDataSet":'
        b'[{"groupName":"CLIENT_INNER_PRODUCER"}],"withoutSub":false}'
    )
    go = java.replace(b'"producerDataSet":[{"groupName":"CLIENT_INNER_PRODUCER"}]', b'"producerDataSet":null')
    read = decode_body(HeartbeatData, java)
    assert (read.client_id, read.producer_data_set[0].group_name) == ("10.0.0.1@7#1", "CLIENT_INNER_PRODUCER")
    (consumer,) = read.consumer_data_set
    assert (consumer.consume_type, consumer.subscription_data_set[0].code_set) == (ConsumeType.CONSUME_PASSIVELY, [65])
    assert decode_body(HeartbeatData, go).consumer_data_set == read.consumer_data_set


def test_fields_that_are_left_out_have_the_defaults_of_java() -> None:
    group = decode_body(SubscriptionGroupConfig, b'{"groupName":"g"}')
    assert (group.retry_max_times, group.consume_enable, group.consume_timeout_minute) == (16, True, 15)


def test_bits_travel_as_base64() -> None:
    body = BatchAckMessageRequestBody(acks=[BatchAck(bit_set=b"\x05")])
    assert b'"b":"BQ=="' in encode_body(body)
    assert decode_body(BatchAckMessageRequestBody, b'{"acks":[{"b":"BQ=="}]}').acks[0].bit_set == b"\x05"


def test_no_body_is_an_empty_list() -> None:
    assert decode_body_list(UserInfo, b"") == []
    assert decode_body_list(UserInfo, b'[{"username":"a"}]') == [UserInfo(username="a")]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"mqSet":{}}',
        b'{"mqSet":[{"queueId":"x"}]}',
        b'{"mqSet":[{"queueId":2147483648}]}',
        b'{"mqSet":[{"$ref":"$.mqSet[0]"}]}',
        b'{"clientId":\xff}',
        b'{"clientId":"' + b"a" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 100_000,
        b'{{{"a":1}:2}:3}',
        b'{"mqSet":' + b"9" * 10_000 + b"}",
    ],
)
def test_a_body_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedBody, match="LockBatchRequestBody"):
        decode_body(LockBatchRequestBody, data)


def test_a_body_beyond_the_limit_is_refused() -> None:
    data = b'{"clientId":"' + b"a" * 1000 + b'"}'
    assert decode_body(LockBatchRequestBody, data).client_id
    with pytest.raises(MalformedBody, match="larger than the 1000"):
        decode_body(LockBatchRequestBody, data, body_bytes_max=1000)
    with pytest.raises(MalformedBody, match="too many values"):
        decode_body(LockBatchRequestBody, b'{"mqSet":[' + b"{}," * 50_001 + b"]}")


def test_an_error_names_the_place() -> None:
    with pytest.raises(MalformedBody, match=r"consumeType"):
        decode_body(ConsumerData, b'{"consumeType":["CONSUME_POP"]}')


def test_text_that_is_none_is_not_written() -> None:
    with pytest.raises(Unencodable):
        encode_body(KVTable(table={"a": "\ud800"}))


def test_every_field_has_a_default() -> None:
    assert not [field for kind in BODY_CLASSES for field in msgspec.structs.fields(kind) if field.required]
