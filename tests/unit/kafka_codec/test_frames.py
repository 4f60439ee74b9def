"""Headers, lengths, nulls, tags: the wire's rules one by one, each with the bytes that show it."""

import struct

import pytest

from braidmq.protocols.kafka.codec import (
    APIS,
    NO_UUID,
    ApiKey,
    ErrorCode,
    MalformedRequest,
    MalformedResponse,
    RequestHeader,
    Unencodable,
    UnsupportedVersion,
    decode_message,
    decode_request,
    decode_response,
    encode_message,
    encode_request,
    encode_response,
    encode_response_pieces,
    peek_request,
    request_class,
    response_class,
)
from braidmq.protocols.kafka.codec.messages.api_versions import ApiVersionsResponse
from braidmq.protocols.kafka.codec.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from braidmq.protocols.kafka.codec.messages.fetch import FetchRequest, FetchResponse
from braidmq.protocols.kafka.codec.messages.find_coordinator import FindCoordinatorRequest
from braidmq.protocols.kafka.codec.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from braidmq.protocols.kafka.codec.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from braidmq.protocols.kafka.codec.messages.metadata import MetadataRequest
from braidmq.protocols.kafka.codec.messages.offset_fetch import OffsetFetchRequest
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest, ProduceResponse

TEXT_BYTES_MAX = 32767


def header(key: int, version: int, client_id: str | None = "me") -> RequestHeader:
    return RequestHeader(request_api_key=key, request_api_version=version, correlation_id=7, client_id=client_id)


def produce_request(records: bytes | memoryview | None) -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=3, records=records)
    topic = ProduceRequest.TopicProduceData(name="payments", partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=1500, topic_data=[topic])


def fetch_response(records: bytes | memoryview) -> FetchResponse:
    partition = FetchResponse.PartitionData(partition_index=0, high_watermark=9, records=records)
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition])])


# Headers.


def test_a_request_before_flexible_versions_has_header_1() -> None:
    frame = encode_request(header(ApiKey.HEARTBEAT, 3), HeartbeatRequest("g", 1, "m"))
    assert frame[4:16] == b"\x00\x0c\x00\x03\x00\x00\x00\x07\x00\x02me"
    assert frame[16:19] == b"\x00\x01g"


def test_a_flexible_request_has_header_2_whose_client_id_is_not_compact() -> None:
    frame = encode_request(header(ApiKey.HEARTBEAT, 4), HeartbeatRequest("g", 1, "m"))
    assert frame[4:17] == b"\x00\x0c\x00\x04\x00\x00\x00\x07\x00\x02me\x00"
    assert frame[17:19] == b"\x02g"


def test_a_client_need_not_name_itself() -> None:
    frame = encode_request(header(ApiKey.HEARTBEAT, 4, client_id=None), HeartbeatRequest("g", 1, "m"))
    found, _ = decode_request(frame[4:])
    assert found.client_id is None


def test_a_frame_begins_with_its_size() -> None:
    frame = encode_request(header(ApiKey.HEARTBEAT, 4), HeartbeatRequest("g", 1, "m"))
    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    answer = encode_response(header(ApiKey.HEARTBEAT, 4), HeartbeatResponse())
    assert struct.unpack_from(">i", answer) == (len(answer) - 4,)


@pytest.mark.parametrize(("version", "beginning"), [(3, b"\x00\x00\x00\x07"), (4, b"\x00\x00\x00\x07\x00")])
def test_the_header_of_a_flexible_response_has_tagged_fields(version: int, beginning: bytes) -> None:
    answer = encode_response(header(ApiKey.HEARTBEAT, version), HeartbeatResponse())
    body = encode_message(HeartbeatResponse(), version)
    assert answer[4:] == beginning + body


@pytest.mark.parametrize("version", range(6))
def test_the_answer_to_api_versions_has_header_0_in_every_version(version: int) -> None:
    answer = encode_response(header(ApiKey.API_VERSIONS, version), ApiVersionsResponse(error_code=35))
    assert answer[4:10] == b"\x00\x00\x00\x07\x00\x23"
    assert decode_response(ApiKey.API_VERSIONS, version, answer[4:])[0] == 7


def test_a_request_is_known_by_its_first_eight_bytes() -> None:
    frame = encode_request(header(ApiKey.HEARTBEAT, 4), HeartbeatRequest("g", 1, "m"))
    assert peek_request(frame[4:]) == (ApiKey.HEARTBEAT, 4, 7)
    with pytest.raises(MalformedRequest, match="at least 8 bytes"):
        peek_request(frame[4:11])


def test_a_response_to_a_version_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnsupportedVersion, match="Heartbeat has versions 0 to 4"):
        encode_response(header(ApiKey.HEARTBEAT, 5), HeartbeatResponse())
    with pytest.raises(UnsupportedVersion):
        decode_response(ApiKey.HEARTBEAT, 5, b"")
    with pytest.raises(UnsupportedVersion):
        encode_message(HeartbeatResponse(), 5)


# Records.


def test_records_are_a_view_of_the_frame() -> None:
    frame = encode_request(header(ApiKey.PRODUCE, 9), produce_request(b"records"))[4:]
    _, request = decode_request(frame)
    assert isinstance(request, ProduceRequest)
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame


@pytest.mark.parametrize("size", [0, 126, 127, 128, 16382, 16383, 16384, 2097150, 2097151, 2097152])
@pytest.mark.parametrize("version", [8, 9])
def test_records_of_every_length_of_length_are_read(size: int, version: int) -> None:
    request = produce_request(b"r" * size)
    frame = encode_request(header(ApiKey.PRODUCE, version), request)[4:]
    assert decode_request(frame, strict=True)[1] == request


def test_pieces_are_the_same_frame_without_a_copy_of_the_records() -> None:
    records = memoryview(b"r" * 100_000)
    pieces = encode_response_pieces(header(ApiKey.FETCH, 12), fetch_response(records))
    assert b"".join(pieces) == encode_response(header(ApiKey.FETCH, 12), fetch_response(records))
    assert any(piece is records for piece in pieces)


# Nulls and lengths.


def test_null_where_the_version_has_none_is_refused() -> None:
    assert encode_message(MetadataRequest(topics=None), 1) == b"\xff\xff\xff\xff"
    with pytest.raises(Unencodable, match="MetadataRequest cannot be written in version 0"):
        encode_message(MetadataRequest(topics=None), 0)
    with pytest.raises(MalformedRequest, match="topics is null"):
        decode_message(MetadataRequest, 0, b"\xff\xff\xff\xff")


def test_any_negative_length_is_null_as_in_kafka() -> None:
    assert decode_message(MetadataRequest, 1, b"\x80\x00\x00\x00").topics is None


def test_a_struct_can_be_null() -> None:
    cursor = DescribeTopicPartitionsRequest.Cursor("t", 1)
    for request in (DescribeTopicPartitionsRequest(cursor=None), DescribeTopicPartitionsRequest(cursor=cursor)):
        assert decode_message(DescribeTopicPartitionsRequest, 0, encode_message(request, 0), strict=True) == request


@pytest.mark.parametrize("version", [2, 3])
def test_a_string_has_at_most_32767_bytes(version: int) -> None:
    longest = FindCoordinatorRequest(key="k" * TEXT_BYTES_MAX)
    assert decode_message(FindCoordinatorRequest, version, encode_message(longest, version)) == longest
    with pytest.raises(Unencodable):
        encode_message(FindCoordinatorRequest(key="k" * (TEXT_BYTES_MAX + 1)), version)


def test_a_compact_string_that_claims_more_is_refused() -> None:
    with pytest.raises(MalformedRequest, match="key is too long"):
        decode_message(FindCoordinatorRequest, 3, b"\x81\x80\x02" + b"k" * (TEXT_BYTES_MAX + 1) + b"\x00\x00")


def test_text_that_is_no_utf8_is_mended_as_in_kafka() -> None:
    assert decode_message(FindCoordinatorRequest, 0, b"\x00\x03a\xffb").key == "a\ufffdb"


@pytest.mark.parametrize("varint", [b"\xff\xff\xff\xff\x08", b"\x80\x80\x80\x80\x80\x00"])
def test_a_length_beyond_31_bits_is_refused(varint: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode_message(FindCoordinatorRequest, 3, varint + bytes(100))


# Bytes behind the end.


def test_bytes_behind_the_last_field_are_passed_over_unless_strict() -> None:
    frame = encode_request(header(ApiKey.HEARTBEAT, 3), HeartbeatRequest("g", 1, "m"))[4:] + b"more"
    assert decode_request(frame)[1] == HeartbeatRequest("g", 1, "m")
    with pytest.raises(MalformedRequest, match=r"Heartbeat request version 3 of .* bytes"):
        decode_request(frame, strict=True)
    answer = encode_response(header(ApiKey.HEARTBEAT, 3), HeartbeatResponse())[4:] + b"more"
    assert decode_response(ApiKey.HEARTBEAT, 3, answer)[1] == HeartbeatResponse()
    with pytest.raises(MalformedResponse):
        decode_response(ApiKey.HEARTBEAT, 3, answer, strict=True)


# Tagged fields.


def test_unknown_tagged_fields_are_skipped() -> None:
    plain = encode_message(HeartbeatRequest("g", 1, "m"), 4)
    assert plain[-1:] == b"\x00"
    tagged = plain[:-1] + b"\x02" + b"\x05\x03abc" + b"\xff\x01\x00"
    assert decode_message(HeartbeatRequest, 4, tagged, strict=True) == HeartbeatRequest("g", 1, "m")


def test_unknown_tagged_fields_are_skipped_beside_known_ones() -> None:
    request = FetchRequest(cluster_id="c", replica_state=FetchRequest.ReplicaState(replica_id=4))
    written = encode_message(request, 15)
    state = b"\x01\x0d" + struct.pack(">iq", 4, -1) + b"\x00"
    assert written.endswith(b"\x02" + b"\x00\x02\x02c" + state)
    longer = written[: -len(state) - 5] + b"\x03\x00\x02\x02c" + state + b"\x63\x02zz"
    assert decode_message(FetchRequest, 15, longer, strict=True) == request


def test_a_tagged_field_that_is_not_as_long_as_it_says_is_refused() -> None:
    written = encode_message(FetchRequest(cluster_id="c"), 15)
    assert written.endswith(b"\x01\x00\x02\x02c")
    with pytest.raises(MalformedRequest, match="cluster_id is not as long as its tag says"):
        decode_message(FetchRequest, 15, written[:-4] + b"\x00\x03\x02c!")


def test_a_tagged_field_with_its_default_is_not_written() -> None:
    response = ProduceResponse(responses=[], node_endpoints=[])
    assert encode_message(response, 10) == b"\x01" + bytes(4) + b"\x00"


# Values that a version cannot carry.


def test_a_value_that_the_version_would_lose_is_refused() -> None:
    request = FindCoordinatorRequest(key="k", key_type=1)
    with pytest.raises(Unencodable, match=r"this version has no FindCoordinatorRequest\.key_type"):
        encode_message(request, 0)
    assert encode_message(request, 1) == b"\x00\x01k\x01"


def test_null_is_a_value_that_can_be_lost_too() -> None:
    assert encode_message(OffsetFetchRequest(), 8) == b"\x01\x00\x00"
    with pytest.raises(Unencodable, match=r"this version has no OffsetFetchRequest\.topics"):
        encode_message(OffsetFetchRequest(topics=None), 8)


def test_a_value_that_kafka_lets_be_dropped_is_dropped() -> None:
    partition = ProduceResponse.PartitionProduceResponse(log_append_time_ms=5, error_message="why")
    topic = ProduceResponse.TopicProduceResponse("t", partition_responses=[partition])
    written = encode_message(ProduceResponse([topic]), 0)
    assert written == b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01" + bytes(14)


def test_fields_that_kafka_4_deleted_are_there_for_old_clients() -> None:
    asked = ListOffsetsRequest.ListOffsetsPartition(1, timestamp=-1, max_num_offsets=2)
    request = ListOffsetsRequest(-1, topics=[ListOffsetsRequest.ListOffsetsTopic("t", [asked])])
    assert encode_message(request, 0).endswith(struct.pack(">iqi", 1, -1, 2))
    found = ListOffsetsResponse.ListOffsetsPartitionResponse(1, old_style_offsets=[9, 5])
    response = ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse("t", [found])])
    assert encode_message(response, 0).endswith(struct.pack(">ihiqq", 1, 0, 2, 9, 5))


@pytest.mark.parametrize(
    "request_",
    [
        HeartbeatRequest(group_id="g", generation_id=1 << 31),
        HeartbeatRequest(group_id=None),  # type: ignore[arg-type]
        HeartbeatRequest(group_id="\ud800"),
        HeartbeatResponse(),
    ],
    ids=["number too large", "null", "half a character", "another message"],
)
def test_what_cannot_be_written_is_one_error(request_: HeartbeatRequest) -> None:
    with pytest.raises(Unencodable):
        encode_request(header(ApiKey.HEARTBEAT, 4), request_)


def test_a_topic_id_has_sixteen_bytes() -> None:
    topic = ProduceRequest.TopicProduceData(topic_id=b"short")
    with pytest.raises(Unencodable, match="topic_id has not 16 bytes"):
        encode_message(ProduceRequest(topic_data=[topic]), 13)
    assert len(NO_UUID) == 16


def test_messages_do_not_share_their_default_lists() -> None:
    ProduceRequest().topic_data.append(ProduceRequest.TopicProduceData("t"))
    assert ProduceRequest().topic_data == []
    fetched = decode_message(FetchResponse, 1, encode_message(FetchResponse(), 1))
    fetched.node_endpoints.append(FetchResponse.NodeEndpoint())
    assert decode_message(FetchResponse, 1, encode_message(FetchResponse(), 1)).node_endpoints == []


# Tables.


def test_the_table_of_apis_agrees_with_the_messages() -> None:
    for key, api in APIS.items():
        assert api.key == key
        for kind in (request_class(key), response_class(key)):
            assert key == kind.API_KEY
            assert (api.version_min, api.version_max) == kind.VERSIONS
            assert api.flexible_since == kind.FLEXIBLE_SINCE


def test_old_clients_find_their_versions() -> None:
    old = [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH]
    assert [APIS[key].version_min for key in old] == [0] * len(old)


def test_error_codes_know_whether_to_try_again() -> None:
    assert ErrorCode(6) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert not ErrorCode.TOPIC_AUTHORIZATION_FAILED.retriable
    assert ErrorCode(-1) is ErrorCode.UNKNOWN_SERVER_ERROR
