"""What telemetry costs the hot path: a batch that is stored, an answer that is given, with and without it.

./braid bench telemetry
"""

import asyncio
import time
from collections.abc import Callable

from braidmq.core.counters import Counters
from braidmq.core.telemetry import Inlet, Outlet, Usage
from braidmq.core.timing import LoopClock
from braidmq.records import Batch, Record, build_batch

ROUNDS = 20_000
REPEATS = 7


def batch_of(count: int) -> Batch:
    now_ms = time.time_ns() // 1_000_000
    return build_batch([Record(at, now_ms - 3, b"key", b"v" * 1024, (("TAGS", b"a"),)) for at in range(count)])


def best_us(act: Callable[[], None]) -> float:
    """The best of some repeats, for one go."""
    best = float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        for _ in range(ROUNDS):
            act()
        best = min(best, time.perf_counter() - began)
    return best / ROUNDS * 1e6


async def main() -> None:
    counters, usage = Counters(LoopClock()), Usage(LoopClock())
    small, large = batch_of(1), batch_of(100)
    answer = bytes(large.data) * 10
    records = [Record(at, time.time_ns() // 1_000_000 - 3, None, b"v" * 1024) for at in range(32)]
    print(f"{'what':45} {'without':>9} {'with':>9}  (microseconds)")
    for what, act in {
        "a batch of one message is stored": lambda seen: Inlet("kafka", counters, seen).stored(1, small),
        "a batch of 100 messages is stored": lambda seen: Inlet("kafka", counters, seen).stored(1, large),
        "ten batches, 1,000 messages, are fetched": lambda seen: Outlet("kafka", counters, seen).gave_batches(
            1, answer
        ),
        "32 messages are pulled": lambda seen: Outlet("rocketmq", counters, seen).gave_records("g", 1, records, 40_000),
    }.items():
        without, counted = best_us(lambda act=act: act(None)), best_us(lambda act=act: act(usage))  # type: ignore[misc]
        print(f"{what:45} {without:9.2f} {counted:9.2f}")


if __name__ == "__main__":
    asyncio.run(main())
