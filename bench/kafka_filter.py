"""What it costs to read a Kafka topic through a filter: the time for each record that is looked at.

    ./braid bench kafka_filter             a table of times
    ./braid bench kafka_filter --write     and put it into docs/benchmarks.md

A batch of 100 records of 1 KiB with three headers, one of them the tag, goes through the sieve as a fetch sends it,
plain and compressed, with all, some or none of its records chosen. The best of the rounds counts, because the machine
has other work.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from report import Figure, Progress, print_figures, write_figures

from braidmq.core.filters import tag_filter
from braidmq.log import Fetched
from braidmq.protocols.kafka._sieve import Sieve
from braidmq.records import Codec, Record, build_batch

RECORDS = 100
RECORD_BYTES = 1024
ROUNDS = 30
LIMIT_US = 10.0
"""What looking at one record of an uncompressed batch may cost."""
CHOSEN = {"all": b"A", "every tenth": b"B", "none": b"C"}


def batch(codec: Codec) -> bytes:
    """Every record is tagged A but for each tenth, which is tagged B."""
    body = (b"an order of 3 pieces, to be delivered " * 30)[:RECORD_BYTES]
    headers = [("UNIQ_KEY", b"7F0000010000001"), ("KEYS", b"order-1 customer-7")]
    records = [
        Record(place, 1_700_000_000_000, b"key", body, [*headers, ("TAGS", b"B" if place % 10 == 0 else b"A")])
        for place in range(RECORDS)
    ]
    return bytes(build_batch(records, codec=codec).data)


def best_us(data: bytes, tags: Sequence[bytes]) -> float:
    """For one record."""
    best = float("inf")
    wanted = tag_filter(tags)
    for _ in range(ROUNDS):
        began = time.perf_counter()
        sieve = Sieve(wanted, 0)
        sieve.take(Fetched(data))
        sieve.result()
        best = min(best, time.perf_counter() - began)
    return best / RECORDS * 1e6


def measure() -> list[Figure]:
    figures = []
    with Progress("kafka_filter", len(Codec) * len(CHOSEN)) as progress:
        for codec in Codec:
            data = batch(codec)
            for chosen, tag in CHOSEN.items():
                spent_us = best_us(data, [b"A", b"B"] if chosen == "all" else [tag])
                limit = f"at most {LIMIT_US:g} us" if codec is Codec.NONE else ""
                what = f"a record in a batch with {codec.name.lower()} compression, chosen: {chosen}"
                figures.append(Figure(what, f"{spent_us:.1f} us", limit, not limit or spent_us <= LIMIT_US, ""))
                progress.step()
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description="What it costs to read a Kafka topic through a filter")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    figures = measure()
    print_figures(figures)
    if options.write:
        title = "Kafka topics read through a filter"
        write_figures("kafka-filter", title, "./braid bench kafka_filter --write", figures)
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
