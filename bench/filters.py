"""What it costs to choose messages: how many records a filter looks at in a second.

    ./braid bench filters             a table of rates
    ./braid bench filters --write     and put it into docs/benchmarks.md

A record has six headers, as a message of a business queue has them. Decoding is not part of it: `kafka_filter` has
that. The best of the rounds counts, because the machine has other work.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from report import Figure, Progress, print_figures, write_figures

from braidmq.core.filters import Filter, key_filter, sql_filter, tag_filter
from braidmq.records import Record

LOOKS = 20_000
ROUNDS = 15
HEADERS = [
    ("UNIQ_KEY", b"7F0000010000001"),
    ("KEYS", b"order-1 customer-7"),
    ("TAGS", b"paid"),
    ("region", b"EU"),
    ("amount", b"42"),
    ("note", b"to be delivered on Monday"),
]
RECORD = Record(0, 1_700_000_000_000, b"order-1", b"body", HEADERS)
FILTERS: dict[str, tuple[Filter, int]] = {
    "a tag": (tag_filter([b"paid", b"shipped"]), 1_000_000),
    "a key": (key_filter([b"customer-7"]), 500_000),
    "SQL: region = 'EU'": (sql_filter("region = 'EU'"), 400_000),
    "SQL: amount > 40": (sql_filter("amount > 40"), 300_000),
    "SQL: five conditions": (
        sql_filter("region = 'EU' AND amount BETWEEN 10 AND 99 AND TAGS IN ('paid', 'new') AND note CONTAINS 'Mon'"),
        100_000,
    ),
}
"""Each with the rate that it has to reach."""


def best_rate(chosen: Filter) -> float:
    assert chosen.matches(RECORD)
    best = float("inf")
    matches = chosen.matches
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(LOOKS):
            matches(RECORD)
        best = min(best, time.perf_counter() - began)
    return LOOKS / best


def measure() -> list[Figure]:
    figures = []
    with Progress("filters", len(FILTERS)) as progress:
        for name, (chosen, wanted) in FILTERS.items():
            rate = best_rate(chosen)
            what = f"records looked at, by {name}"
            figures.append(Figure(what, f"{rate:,.0f} /s", f"at least {wanted:,} /s", rate >= wanted, ""))
            progress.step()
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description="What it costs to choose messages")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    figures = measure()
    print_figures(figures)
    if options.write:
        write_figures("filters", "Choosing messages", "./braid bench filters --write", figures)
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
