"""RocketMQ's own Java client against this node and RocketMQ, in one run.

    ./braid bench rocketmq --against HOST:PORT --against-synced HOST:PORT            all figures, as ratios
    ./braid bench rocketmq --against HOST:PORT send consume                          some of them
    ./braid bench rocketmq --against HOST:PORT --against-synced HOST:PORT --write    and into docs/benchmarks.md

The addresses are name servers of two RocketMQ clusters of one broker each: one that answers from the page cache
(ASYNC_FLUSH), one that syncs (SYNC_FLUSH). Rounds alternate between our node and the peer that does the same; a figure
is the median of the rounds' ratios. Who is not measured sleeps meanwhile. Memory is that of the processes behind the
addresses. Needs Java, and Maven for the client's jars.
"""

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from _alone import alone
from _java_load import STEP_LIMIT_S, Bench, Side, at_least, bench_parser, chosen_figures, our_node, peer_side
from maven import LOGGING, fetch_jars
from report import Figure, print_figures, write_figures

CLIENT = "5.3.3"
BYTES = 1024
SENDERS = 64
TRANSACTION_SENDERS = 32
LATENCY_RATE = 2000
DELAYED = 200_000
DELAYED_OVER_S = 60
FIGURES = ("send", "synced", "consume", "latency", "transaction", "delay", "memory")


def measure_send(bench: Bench, ours: Side, peer: Side, what: str) -> Figure:
    def send(side: Side) -> float:
        return float(bench.run("send", side, bench.topic(), SENDERS, BYTES, bench.messages)["rate"])

    return at_least(what, 1.3, *bench.alternate(what, (ours, peer), send))


def measure_consume(bench: Bench, ours: Side, peer: Side) -> Figure:
    what = "push consume of a backlog"
    backlog = {side: bench.topic() for side in (ours, peer)}
    for side, topic in backlog.items():
        bench.run("send", side, topic, SENDERS, BYTES, bench.messages)

    def consume(side: Side) -> float:
        return float(bench.run("consume", side, backlog[side], 16, bench.messages)["rate"])

    return at_least(what, 0.9, *bench.alternate(what, (ours, peer), consume))


def measure_transaction(bench: Bench, ours: Side, peer: Side) -> Figure:
    what = f"transactional send, {TRANSACTION_SENDERS} threads"
    count = bench.messages // 4

    def send(side: Side) -> float:
        return float(bench.run("transaction", side, bench.topic(), TRANSACTION_SENDERS, BYTES, count)["rate"])

    return at_least(what, 1.0, *bench.alternate(what, (ours, peer), send))


def measure_latency(bench: Bench, ours: Side, peer: Side) -> Figure:
    what = f"send and consume, end to end, p99 at {LATENCY_RATE:,} messages/s"

    def latency(side: Side) -> float:
        count = LATENCY_RATE * 10
        return float(bench.run("latency", side, bench.topic(), LATENCY_RATE, BYTES, count)["p99_us"])

    mine, others = bench.alternate(what, (ours, peer), latency)
    ratio = statistics.median(a / b for a, b in zip(mine, others, strict=True))
    detail = f"{statistics.median(mine) / 1000:.1f} / {statistics.median(others) / 1000:.1f} ms"
    return Figure(what, f"{ratio:.2f}", "<= 1.0", ratio <= 1.0, detail)


def measure_delay(bench: Bench, ours: Side) -> list[Figure]:
    """Our node alone: how much delayed messages that come due slow down the others, and whether they are in time."""
    count = bench.messages

    def send() -> float:
        return float(bench.run("send", ours, bench.topic(), SENDERS, BYTES, count)["rate"])

    with alone(ours.pids, bench.pids):
        return _delay_alone(bench, ours, send)


def _delay_alone(bench: Bench, ours: Side, send: Callable[[], float]) -> list[Figure]:
    undisturbed = [send() for _ in range(3)]
    with bench.begin("delay", ours, bench.topic(), DELAYED, 60, DELAYED_OVER_S, BYTES) as process:
        assert process.stdout is not None
        scheduled_s = float(json.loads(process.stdout.readline())["scheduled_s"])
        time.sleep(max(0.0, 62 - scheduled_s))
        disturbed = [send() for _ in range(3)]
        found = json.loads(process.communicate(timeout=STEP_LIMIT_S)[0].strip().splitlines()[-1])
    ratio = statistics.median(disturbed) / statistics.median(undisturbed)
    rates = f"{statistics.median(disturbed):,.0f} / {statistics.median(undisturbed):,.0f} messages/s"
    many = f"{DELAYED:,} delayed messages over {DELAYED_OVER_S} s"
    in_time = found["late_ms"] <= 1000 and found["early_ms"] >= 0 and not found["failed"]
    return [
        Figure(f"{many}: other traffic meanwhile", f"{ratio:.2f}", ">= 0.8", ratio >= 0.8, rates),
        Figure(
            f"{many}: the latest of them",
            f"{found['late_ms']} ms",
            "<= 1,000 ms",
            in_time,
            f"median {found['p50_ms']} ms, p99 {found['p99_ms']} ms, taken in {scheduled_s:.0f} s",
        ),
    ]


def measure_memory(ours: Side, peer: Side) -> Figure:
    mine, others = (sum(psutil.Process(pid).memory_info().rss for pid in side.pids) for side in (ours, peer))
    ratio = mine / others
    detail = f"{mine / 1e6:,.0f} / {others / 1e6:,.0f} MB"
    return Figure("memory after the run", f"{ratio:.2f}", "<= 0.15", ratio <= 0.15, detail)


@contextmanager
def our_side(folder: Path, flush: str) -> Iterator[Side]:
    with our_node(folder, flush, "--rocketmq", "127.0.0.1:0", "--grpc", "off") as (pid, places):
        yield Side(flush, places["rocketmq"], (pid,))


def rocketmq(name: str, address: str) -> Side:
    """RocketMQ by its name server, with the broker a thousand ports above."""
    return peer_side(name, address, int(address.rpartition(":")[2]) + 1000)


def main() -> None:
    parser = bench_parser(__doc__, FIGURES, messages=150_000)
    parser.add_argument("--against", required=True, metavar="HOST:PORT", help="the name server of RocketMQ")
    parser.add_argument("--against-synced", metavar="HOST:PORT", help="the same of one that syncs")
    options = parser.parse_args()
    chosen = chosen_figures(parser, options, FIGURES)
    if "synced" in chosen and options.against_synced is None:
        parser.error("the figure `synced` needs --against-synced HOST:PORT")
    jars = fetch_jars(f"rocketmq-client-{CLIENT}", [f"org.apache.rocketmq:rocketmq-client:{CLIENT}", LOGGING])
    folder = Path(tempfile.mkdtemp(dir=options.folder, prefix="bench-rocketmq-"))
    figures: list[Figure] = []
    try:
        bench = Bench("RocketMQLoad", jars, folder, options.messages, options.rounds)
        with ExitStack() as stack:
            ours, peer = stack.enter_context(our_side(folder, "interval")), rocketmq("peer", options.against)
            bench.pids.update(ours.pids, peer.pids)
            if options.against_synced is not None:
                other = rocketmq("synced peer", options.against_synced)
                bench.pids.update(other.pids)
            if "send" in chosen:
                figures.append(measure_send(bench, ours, peer, f"sync send, {SENDERS} threads, page cache"))
            if "synced" in chosen:
                with our_side(folder, "commit") as synced:
                    figures.append(measure_send(bench, synced, other, f"sync send, {SENDERS} threads, synced"))
            if "consume" in chosen:
                figures.append(measure_consume(bench, ours, peer))
            if "latency" in chosen:
                figures.append(measure_latency(bench, ours, peer))
            if "transaction" in chosen:
                figures.append(measure_transaction(bench, ours, peer))
            if "delay" in chosen:
                figures += measure_delay(bench, ours)
            if "memory" in chosen:
                figures.append(measure_memory(ours, peer))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print_figures(figures)
    if options.write:
        write_figures(
            "rocketmq", f"RocketMQ clients, against Apache RocketMQ {CLIENT}", "./braid bench rocketmq --write", figures
        )


if __name__ == "__main__":
    main()
