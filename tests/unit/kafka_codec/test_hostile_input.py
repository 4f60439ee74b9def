"""Whatever the bytes are: a value or the one error, with no more memory than the frame is worth."""

import contextlib
import random
import struct
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from braidmq.protocols.kafka.codec import (
    APIS,
    ApiKey,
    ApiMessage,
    MalformedRequest,
    MalformedResponse,
    RequestHeader,
    UnsupportedVersion,
    decode_request,
    decode_response,
    encode_message,
    encode_request,
    encode_response,
    request_class,
    response_class,
)
from kafka_oracles.values import filled, mutated, structs, versions_of

KEYS = pytest.mark.parametrize("key", list(APIS), ids=lambda key: APIS[key].name)
SOME = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))


def header_of(key: int, version: int) -> RequestHeader:
    return RequestHeader(request_api_key=key, request_api_version=version, correlation_id=7, client_id="client")


def request_frame(key: int, version: int, request: ApiMessage) -> bytes:
    return encode_request(header_of(key, version), request)[4:]


def response_frame(key: int, version: int, response: ApiMessage) -> bytes:
    return encode_response(header_of(key, version), response)[4:]


def read_request_or_refuse(frame: bytes) -> None:
    """Nothing but MalformedRequest may come out."""
    with contextlib.suppress(MalformedRequest):
        decode_request(frame)


def read_response_or_refuse(key: int, version: int, frame: bytes) -> None:
    """Nothing but MalformedResponse may come out."""
    with contextlib.suppress(MalformedResponse):
        decode_response(key, version, frame)


@SOME
@given(frame=st.binary(max_size=64))
def test_noise_is_refused(frame: bytes) -> None:
    read_request_or_refuse(frame)


@KEYS
@SOME
@given(noise=st.binary(max_size=120))
def test_noise_behind_a_good_beginning_is_read_or_refused(key: int, noise: bytes) -> None:
    for version in versions_of(request_class(key)):
        read_request_or_refuse(struct.pack(">hhih", key, version, 7, -1) + noise)
        read_response_or_refuse(key, version, struct.pack(">i", 7) + noise)


@KEYS
@SOME
@given(data=st.data())
def test_a_frame_with_a_few_bytes_changed_is_read_or_refused(key: int, data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 1 << 32))
    for version in versions_of(request_class(key)):
        request = request_frame(key, version, data.draw(structs(request_class(key), version)))
        response = response_frame(key, version, data.draw(structs(response_class(key), version)))
        fuzz(key, version, request, response, random.Random(seed), rounds=5)


@pytest.mark.slow
@pytest.mark.timeout(900)
@KEYS
def test_frames_changed_in_thousands_of_ways_are_read_or_refused(key: int) -> None:
    for version in versions_of(request_class(key)):
        request = request_frame(key, version, filled(request_class(key), version))
        response = response_frame(key, version, filled(response_class(key), version))
        fuzz(key, version, request, response, random.Random(version), rounds=4_000)


def fuzz(key: int, version: int, request: bytes, response: bytes, chance: random.Random, rounds: int) -> None:
    for _ in range(rounds):
        read_request_or_refuse(request[:8] + mutated(request[8:], chance))
        read_response_or_refuse(key, version, mutated(response, chance))


@KEYS
def test_a_frame_that_is_cut_off_anywhere_is_refused(key: int) -> None:
    for version in versions_of(request_class(key)):
        request = request_frame(key, version, filled(request_class(key), version))
        response = response_frame(key, version, filled(response_class(key), version))
        for size in cuts(len(request)):
            with pytest.raises(MalformedRequest):
                decode_request(request[:size])
        for size in cuts(len(response)):
            with pytest.raises(MalformedResponse):
                decode_response(key, version, response[:size])


def cuts(size: int) -> list[int]:
    """The first and the last sixty, and some between."""
    return sorted({*range(min(size, 60)), *range(max(0, size - 60), size), *range(0, size, 13)})


@KEYS
def test_an_array_that_claims_more_than_the_frame_can_hold_costs_nothing(key: int) -> None:
    for version in versions_of(request_class(key)):
        header = encode_message(header_of(key, version), 2 if version >= APIS[key].flexible_since else 1)
        for claim in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07"):
            peak = peak_bytes(lambda frame=header + claim * 20: read_request_or_refuse(frame))  # type: ignore[misc]
            assert peak < 100_000, f"version {version}"


def test_memory_stays_in_proportion_to_the_frame() -> None:
    frame = frame_of_topics(20_000)
    assert peak_bytes(lambda: decode_request(frame)) < 80 * len(frame)


def test_a_frame_of_more_than_a_million_elements_is_refused_before_any_is_made() -> None:
    frame = frame_of_topics(1_000_001)
    began = time.process_time()
    with pytest.raises(MalformedRequest, match="topic_data claims 1000001 elements"):
        decode_request(frame)
    assert time.process_time() - began < 0.1


def frame_of_topics(count: int) -> bytes:
    """The most that a frame's bytes can be made to cost: topics without name, partitions and tagged fields."""
    header = encode_message(header_of(ApiKey.PRODUCE, 9), 2)
    return header + bytes(7) + uvarint(count + 1) + b"\x01\x01\x00" * count + b"\x00"


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def peak_bytes(work: Callable[[], object]) -> int:
    """The most memory that the work held at a time, once what it compiles is compiled."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@KEYS
def test_versions_that_the_codec_does_not_know_are_told_apart_from_noise(key: int) -> None:
    api = APIS[key]
    for version in (api.version_min - 1, api.version_max + 1):
        with pytest.raises(UnsupportedVersion, match=api.name) as caught:
            decode_request(struct.pack(">hhi", key, version, 42))
        assert (caught.value.api_key, caught.value.api_version, caught.value.correlation_id) == (key, version, 42)


def test_an_unknown_api_is_told_with_its_correlation_id() -> None:
    with pytest.raises(UnsupportedVersion, match="no such API") as caught:
        decode_request(struct.pack(">hhi", 999, 0, 42))
    assert caught.value.correlation_id == 42
