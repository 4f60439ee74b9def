"""Plain produce requests: what is read is what the general way reads of the same bytes, or it is left to that."""

import struct
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.log import Appended
from braidmq.model import BraidError
from braidmq.protocols.kafka.codec import ApiKey, RequestHeader, decode_request, encode_request, encode_response
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest, ProduceResponse
from braidmq.records import Codec, Record, build_batch, split_batches
from conftest import RequireCompiled

NAME = "braidmq.protocols.kafka.codec._produces"
VERSIONS = range(3, 14)
TOPIC_ID = bytes(range(16))
UNUSUAL_BITS = 0x30
VIEW_BYTES_MIN = 1 << 16
Topics = Sequence[tuple[str, Sequence[tuple[int, bytes | None]]]]


@pytest.fixture(scope="module")
def produces(require_compiled: RequireCompiled) -> ModuleType:
    return require_compiled(NAME)


def batch(count: int = 2, codec: Codec = Codec.NONE, value: bytes = b"value", **more: Any) -> bytes:
    records = [Record(index, 1_700_000_000_000 + index, b"key", value, ()) for index in range(count)]
    return bytes(build_batch(records, codec=codec, **more).data)


def frame_of(
    version: int,
    topics: Topics,
    *,
    client_id: str | None = "client",
    acks: int = -1,
    transactional_id: str | None = None,
) -> bytes:
    request = ProduceRequest(
        acks=acks,
        timeout_ms=30_000,
        transactional_id=transactional_id,
        topic_data=[
            ProduceRequest.TopicProduceData(
                name=name,
                topic_id=TOPIC_ID,
                partition_data=[
                    ProduceRequest.PartitionProduceData(index=index, records=data) for index, data in parts
                ],
            )
            for name, parts in topics
        ],
    )
    header = RequestHeader(
        request_api_key=ApiKey.PRODUCE, request_api_version=version, correlation_id=77, client_id=client_id
    )
    return encode_request(header, request)[4:]


PLAIN = [("orders", [(0, batch()), (3, batch(1, Codec.GZIP))]), ("other", [(1, batch(200, Codec.LZ4, b"x" * 900))])]


def check_as_in_general(produces: ModuleType, frame: bytes) -> bool:
    """Whether the frame was read as plain; if so, just as the general way reads and answers it."""
    plain = produces.read_produce(frame)
    if plain is None:
        return False
    header, request = decode_request(frame, strict=True)
    assert isinstance(request, ProduceRequest)
    version = header.request_api_version
    assert header.request_api_key == ApiKey.PRODUCE
    assert request.acks in (-1, 1)
    assert request.transactional_id is None
    assert (plain.version, plain.correlation_id) == (version, header.correlation_id)
    assert plain.client_id == (header.client_id or "")
    results: list[Appended] = []
    responses = []
    for asked, (name, indexes, batches) in zip(request.topic_data, plain.topics, strict=True):
        assert name == (asked.topic_id if version >= 13 else asked.name)
        assert indexes == [each.index for each in asked.partition_data]
        told = []
        for each, found in zip(asked.partition_data, batches, strict=True):
            (only,) = split_batches(each.records or b"")
            assert found == only
            assert type(found) is type(only)
            assert type(found.data) is (memoryview if len(found.data) >= VIEW_BYTES_MIN else bytes)
            assert not found.attributes & UNUSUAL_BITS
            assert found.codec is not Codec.ZSTD or version >= 7
            result = Appended(len(results) << 40, (len(results) << 40) + 5, 1, len(results))
            results.append(result)
            told.append(
                ProduceResponse.PartitionProduceResponse(
                    index=each.index,
                    base_offset=result.base_offset,
                    log_append_time_ms=-1,
                    log_start_offset=result.start_offset,
                )
            )
        responses.append(
            ProduceResponse.TopicProduceResponse(name=asked.name, topic_id=asked.topic_id, partition_responses=told)
        )
    assert plain.answer(results) == encode_response(header, ProduceResponse(responses=responses))
    return True


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("client_id", [None, "", "client"])
@pytest.mark.parametrize("acks", [-1, 1])
def test_what_producers_send_most_is_plain(
    produces: ModuleType, version: int, client_id: str | None, acks: int
) -> None:
    assert check_as_in_general(produces, frame_of(version, PLAIN, client_id=client_id, acks=acks))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_batch_that_is_nearly_all_of_its_frame_is_not_copied(produces: ModuleType, version: int) -> None:
    frame = frame_of(version, [("orders", [(0, batch(1, value=b"x" * VIEW_BYTES_MIN))])])
    assert check_as_in_general(produces, frame)
    ((_, _, (found,)),) = produces.read_produce(frame).topics
    assert found.data.obj is frame


@pytest.mark.parametrize("version", VERSIONS)
def test_many_partitions_and_long_names_are_plain(produces: ModuleType, version: int) -> None:
    parts = [(index, batch(1)) for index in range(300)]
    topics = [(f"{number}".rjust(200, "t"), parts) for number in range(3)]
    assert check_as_in_general(produces, frame_of(version, topics))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "frame_with",
    [
        pytest.param({"acks": 0}, id="no answer wanted"),
        pytest.param({"acks": 7}, id="acks that there are not"),
        pytest.param({"transactional_id": "mine"}, id="a transaction"),
        pytest.param({"client_id": "né"}, id="a name that is not ASCII"),
        pytest.param({"topics": []}, id="nothing"),
        pytest.param({"topics": [("orders", [])]}, id="a topic without partitions"),
        pytest.param({"topics": [("orders", [(0, None)])]}, id="no records"),
        pytest.param({"topics": [("orders", [(0, b"")])]}, id="empty records"),
        pytest.param({"topics": [("orders", [(0, batch() + batch())])]}, id="two batches"),
        pytest.param({"topics": [("orders", [(0, batch()[:-1])])]}, id="a cut batch"),
        pytest.param({"topics": [("orders", [(0, batch()[:-1] + b"?")])]}, id="a damaged batch"),
        pytest.param(
            {
                "topics": [
                    ("orders", [(0, batch(transactional=True, producer_id=1, producer_epoch=0, base_sequence=0))])
                ]
            },
            id="a batch of a transaction",
        ),
    ],
)
def test_the_unusual_is_left_to_the_general_way(produces: ModuleType, version: int, frame_with: dict[str, Any]) -> None:
    topics = frame_with.get("topics", PLAIN)
    more = {name: value for name, value in frame_with.items() if name != "topics"}
    assert produces.read_produce(frame_of(version, topics, **more)) is None


def test_other_versions_and_other_requests_are_left_to_the_general_way(produces: ModuleType) -> None:
    frame = frame_of(9, PLAIN)
    for beginning in ((0, 0), (0, 2), (0, 14), (0, -1), (1, 9), (-1, 9)):
        assert produces.read_produce(struct.pack(">hh", *beginning) + frame[4:]) is None


@pytest.mark.parametrize("version", [3, 6, 7, 9, 13])
def test_packed_batches_are_plain_where_their_codec_is_known(produces: ModuleType, version: int) -> None:
    for codec in Codec:
        is_plain = check_as_in_general(produces, frame_of(version, [("t", [(0, batch(3, codec))])]))
        assert is_plain == (version >= 7 or codec is not Codec.ZSTD)


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_a_frame_that_is_cut_anywhere_is_left_to_the_general_way(produces: ModuleType, version: int) -> None:
    frame = frame_of(version, PLAIN[:1])
    for end in range(len(frame)):
        assert produces.read_produce(frame[:end]) is None
    assert produces.read_produce(frame + b"\0") is None


@given(st.sampled_from(list(VERSIONS)), st.data())
def test_damaged_frames_are_read_as_in_general_or_left_to_that(
    produces: ModuleType, version: int, data: st.DataObject
) -> None:
    frame = bytearray(frame_of(version, [("orders", [(0, batch(1)), (1, batch(2))])]))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        check_as_in_general(produces, bytes(frame))
    except BraidError as error:
        pytest.fail(f"read as plain, where the general way says {error!r}")


@given(st.binary(max_size=200), st.sampled_from(list(VERSIONS)))
def test_whatever_comes_is_read_as_in_general_or_left_to_that(produces: ModuleType, rest: bytes, version: int) -> None:
    check_as_in_general(produces, struct.pack(">hhi", 0, version, 7) + rest)
