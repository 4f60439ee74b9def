"""The Kafka codec against kio and kafka-python: requests read as a server reads them, responses written.

    ./braid bench kafka_codec             a table of times and ratios
    ./braid bench kafka_codec --write     and put it into docs/benchmarks.md

All three read the same frames and write the same answers, made once before the clock runs; "reading" is header and
body, "writing" the frame with its header. Each round times the three one after the other; the ratio is the median of
the rounds', the time the best of them, because the machine has other work. kio reads with compiled code, and writes in
Python; kafka-python and ours are Python throughout.
"""

import argparse
import io
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from report import Figure, Progress, print_figures, write_figures

from braidmq.protocols.kafka.codec import (
    APIS,
    ApiKey,
    ApiMessage,
    RequestHeader,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from braidmq.protocols.kafka.codec.messages.fetch import FetchRequest, FetchResponse
from braidmq.protocols.kafka.codec.messages.metadata import MetadataResponse
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest, ProduceResponse

with warnings.catch_warnings():
    # It reads its schemas in a way that Python 3.11 warns of.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.protocol.consumer
    import kafka.protocol.metadata
    import kafka.protocol.producer

TOPIC = "payments"
TOPIC_ID = bytes(range(16))
RECORDS = bytes(1024)
PARTITION_COUNTS = (1, 8, 64)
ROUND_S = 0.03

READ_LIMIT_US = 6.0
WRITE_LIMIT_US = 3.0
"""What a one-partition Produce may cost, to be read and to be answered."""

Work = Callable[[], object]


class Case(NamedTuple):
    """One thing to do, in three ways. `limit_us` where a target is set for the time itself."""

    what: str
    ours: Work
    kio: Work
    kafka_python: Work
    limit_us: float | None = None


def produce_request(partitions: int) -> ProduceRequest:
    data = [ProduceRequest.PartitionProduceData(index, RECORDS) for index in range(partitions)]
    topic = ProduceRequest.TopicProduceData(TOPIC, TOPIC_ID, data)
    return ProduceRequest(None, -1, 30_000, [topic])


def produce_response(partitions: int) -> ProduceResponse:
    done = [ProduceResponse.PartitionProduceResponse(index, 0, 123_456, -1, 0) for index in range(partitions)]
    return ProduceResponse([ProduceResponse.TopicProduceResponse(TOPIC, TOPIC_ID, done)])


def fetch_request(partitions: int) -> FetchRequest:
    wanted = [FetchRequest.FetchPartition(index, 5, 123_456, -1, -1, 1 << 20) for index in range(partitions)]
    topic = FetchRequest.FetchTopic(TOPIC, TOPIC_ID, wanted)
    return FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, topics=[topic])


def fetch_response(partitions: int) -> FetchResponse:
    found = [
        FetchResponse.PartitionData(index, 0, 123_456, 123_456, 0, aborted_transactions=None, records=RECORDS)
        for index in range(partitions)
    ]
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(TOPIC, TOPIC_ID, found)])


def metadata_response(partitions: int) -> MetadataResponse:
    brokers = [MetadataResponse.MetadataResponseBroker(1, "broker-1.example", 9092)]
    known = [MetadataResponse.MetadataResponsePartition(0, index, 1, 0, [1], [1], []) for index in range(partitions)]
    topic = MetadataResponse.MetadataResponseTopic(0, TOPIC, TOPIC_ID, False, known)
    return MetadataResponse(0, brokers, "cluster", 1, [topic])


THEIR_CLASSES: dict[str, Any] = {
    "ProduceRequest": kafka.protocol.producer.ProduceRequest,
    "ProduceResponse": kafka.protocol.producer.ProduceResponse,
    "FetchRequest": kafka.protocol.consumer.FetchRequest,
    "FetchResponse": kafka.protocol.consumer.FetchResponse,
    "MetadataResponse": kafka.protocol.metadata.MetadataResponse,
}


def reading(key: ApiKey, version: int, request: ApiMessage, partitions: int) -> Case:
    """Read a request, its header included."""
    header = RequestHeader(key, version, 77, "producer-1")
    frame = encode_request(header, request)[4:]
    schema: Any = load_request_schema(key, version)
    read_header, read_body = entity_reader(schema.__header_schema__), entity_reader(schema)
    theirs = THEIR_CLASSES[type(request).__name__]

    def read_with_kio() -> object:
        header, size = read_header(frame, 0)
        return header, read_body(frame, size)

    return Case(
        f"read {APIS[key].name} request {version}, partitions: {partitions}",
        ours=lambda: decode_request(frame),
        kio=read_with_kio,
        kafka_python=lambda: theirs.decode(frame, version=version, header=True),
        limit_us=READ_LIMIT_US if key is ApiKey.PRODUCE and partitions == 1 else None,
    )


def writing(key: ApiKey, version: int, response: ApiMessage, partitions: int) -> Case:
    """Write a response that stands ready in each codec's own objects, as one frame."""
    header = RequestHeader(key, version, 77, "producer-1")
    frame = encode_response(header, response)[4:]
    assert decode_response(key, version, frame)[0] == 77
    schema: Any = load_response_schema(key, version)
    their_header, size = entity_reader(schema.__header_schema__)(frame, 0)
    their_body, _ = entity_reader(schema)(frame, size)
    write_header, write_body = entity_writer(schema.__header_schema__), entity_writer(schema)
    python_body = THEIR_CLASSES[type(response).__name__].decode(frame, version=version, header=True)

    def write_with_kio() -> bytes:
        buffer = io.BytesIO()
        write_header(buffer, their_header)
        write_body(buffer, their_body)
        body = buffer.getvalue()
        return len(body).to_bytes(4, "big") + body

    return Case(
        f"write {APIS[key].name} response {version}, partitions: {partitions}",
        ours=lambda: encode_response(header, response),
        kio=write_with_kio,
        kafka_python=lambda: python_body.encode(header=True, framed=True),
        limit_us=WRITE_LIMIT_US if key is ApiKey.PRODUCE and partitions == 1 else None,
    )


def cases() -> Iterator[Case]:
    for partitions in PARTITION_COUNTS:
        for version in (9, 11, 13):
            yield reading(ApiKey.PRODUCE, version, produce_request(partitions), partitions)
        for version in (12, 16):
            yield reading(ApiKey.FETCH, version, fetch_request(partitions), partitions)
    for partitions in PARTITION_COUNTS:
        for version in (9, 11, 13):
            yield writing(ApiKey.PRODUCE, version, produce_response(partitions), partitions)
        for version in (12, 16):
            yield writing(ApiKey.FETCH, version, fetch_response(partitions), partitions)
        yield writing(ApiKey.METADATA, 12, metadata_response(partitions), partitions)


def check_agreement(case: Case) -> None:
    """The three must be doing the same work, or a ratio says nothing."""
    if case.what.startswith("write"):
        assert case.ours() == case.kio() == bytes(case.kafka_python()), case.what  # type: ignore[call-overload]


def time_us(work: Work) -> float:
    """Microseconds of one call, over about ROUND_S."""
    calls, began = 0, time.perf_counter()
    while (spent_s := time.perf_counter() - began) < ROUND_S:
        for _ in range(100):
            work()
        calls += 100
    return spent_s / calls * 1e6


def measured(case: Case, rounds: int) -> Figure:
    check_agreement(case)
    times = [(time_us(case.ours), time_us(case.kio), time_us(case.kafka_python)) for _ in range(rounds)]
    ours_us, kio_us, python_us = (min(column) for column in zip(*times, strict=True))
    to_python = statistics.median(python / ours for ours, _, python in times)
    to_kio = statistics.median(kio / ours for ours, kio, _ in times)
    limit = "" if case.limit_us is None else f", at most {case.limit_us:.0f} us"
    return Figure(
        what=case.what,
        measured=f"{ours_us:.1f} us",
        wanted=f"faster than kafka-python{limit}",
        reached=to_python > 1 and (case.limit_us is None or ours_us <= case.limit_us),
        detail=f"kio {kio_us:.1f} us ({to_kio:.1f} x ours), kafka-python {python_us:.1f} us ({to_python:.1f} x ours)",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="The Kafka codec against kio and kafka-python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    todo = list(cases())
    figures = []
    with Progress("kafka codec", len(todo)) as progress:
        for case in todo:
            figures.append(measured(case, options.rounds))
            progress.step()
    print_figures(figures)
    if options.write:
        title = "The Kafka codec against kio and kafka-python"
        write_figures("kafka-codec", title, "./braid bench kafka_codec --write", figures)
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
