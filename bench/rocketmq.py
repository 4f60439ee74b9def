"""RocketMQ's own Java client against this node and RocketMQ, in one run.

    ./braid bench rocketmq --against HOST:PORT --against-synced HOST:PORT            all figures, as ratios
    ./braid bench rocketmq --against HOST:PORT send consume                          some of them
    ./braid bench rocketmq --against HOST:PORT --against-synced HOST:PORT --write    and into docs/benchmarks.md

The addresses are name servers of two RocketMQ clusters of one broker each: one that answers from the page cache
(ASYNC_FLUSH), one that syncs (SYNC_FLUSH). Rounds alternate between our node and the peer that does the same; a figure
is the median of the rounds' ratios. Memory is that of the processes behind the addresses. Needs Java, and Maven for the
client's jars.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from maven import LOGGING, fetch_jars
from report import Figure, Progress, print_figures, write_figures

HERE = Path(__file__).parent
CLIENT = "5.3.3"
BYTES = 1024
SENDERS = 64
TRANSACTION_SENDERS = 32
LATENCY_RATE = 2000
DELAYED = 200_000
DELAYED_OVER_S = 60
STEP_LIMIT_S = 300
FIGURES = ("send", "synced", "consume", "latency", "transaction", "delay", "memory")


class Side(NamedTuple):
    """One of the brokers that are compared."""

    name: str
    name_server: str
    pids: tuple[int, ...]


class Bench:
    """The client, and how much is sent."""

    def __init__(self, jars: str, folder: Path, messages: int, rounds: int) -> None:
        classes = folder / "classes"
        source = HERE / "java" / "RocketMQLoad.java"
        subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", str(classes), str(source)], check=True)
        self._command = ["java", "-Xmx1g", "-cp", f"{classes}:{jars}", "RocketMQLoad"]
        self._made = 0
        self.messages = messages
        self.rounds = rounds

    def topic(self) -> str:
        self._made += 1
        return f"bench-{os.getpid()}-{self._made}"

    def run(self, mode: str, side: Side, topic: str, *numbers: int) -> dict[str, Any]:
        with self.begin(mode, side, topic, *numbers) as process:
            out, _ = process.communicate(timeout=STEP_LIMIT_S)
        if process.returncode or not out.strip():
            raise SystemExit(f"{mode} on {side.name} failed")
        found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
        if found.get("failed"):
            raise SystemExit(f"{mode} on {side.name}: {found['failed']} messages failed")
        return found

    @contextmanager
    def begin(self, mode: str, side: Side, topic: str, *numbers: int) -> Iterator["subprocess.Popen[str]"]:
        command = [*self._command, mode, side.name_server, topic, *map(str, numbers)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def alternate(self, what: str, sides: Sequence[Side], measure: Callable[[Side], float]) -> list[list[float]]:
        """For each side its figures, round by round; who begins changes with the rounds."""
        figures: list[list[float]] = [[] for _ in sides]
        with Progress(what, self.rounds * len(sides)) as progress:
            for nth in range(self.rounds):
                order = list(enumerate(sides))
                for place, side in order if nth % 2 else reversed(order):
                    figures[place].append(measure(side))
                    progress.step()
        return figures


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


def at_least(what: str, bar: float, mine: Sequence[float], others: Sequence[float]) -> Figure:
    ratio = statistics.median(a / b for a, b in zip(mine, others, strict=True))
    rounds = ", ".join(f"{a / b:.2f}" for a, b in zip(mine, others, strict=True))
    detail = f"{statistics.median(mine):,.0f} / {statistics.median(others):,.0f} messages/s (rounds {rounds})"
    return Figure(what, f"{ratio:.2f}", f">= {bar}", ratio >= bar, detail)


@contextmanager
def our_node(folder: Path, flush: str) -> Iterator[Side]:
    ready = folder / f"{flush}.ready"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "braidmq", "up", "--data", str(folder / flush), "--flush", flush),
            *("--http", "off", "--kafka", "off", "--rocketmq", "127.0.0.1:0", "--rocketmq-grpc", "off"),
            *("--ready-file", str(ready)),
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 30
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        host, port = json.loads(ready.read_text())["listeners"]["rocketmq"][0]
        yield Side(flush, f"{host}:{port}", (process.pid,))
    finally:
        process.terminate()
        process.wait(30)


def peer_side(name: str, address: str) -> Side:
    """The peer, with the processes of its name server and of the broker beside it."""
    port = int(address.rpartition(":")[2])
    listening = {
        connection.laddr.port: connection.pid
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.pid
    }
    if port not in listening:
        raise SystemExit(f"nothing on this machine listens on {address}; start the peer first")
    pids = {listening[each] for each in (port, port + 1000) if each in listening}
    return Side(name, address, tuple(pids))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"some of: {', '.join(FIGURES)}")
    parser.add_argument("--against", required=True, metavar="HOST:PORT", help="the name server of RocketMQ")
    parser.add_argument("--against-synced", metavar="HOST:PORT", help="the same of one that syncs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=150_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where our nodes keep data")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    if unknown := set(options.figures) - set(FIGURES):
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    chosen = options.figures or FIGURES
    if "synced" in chosen and options.against_synced is None:
        parser.error("the figure `synced` needs --against-synced HOST:PORT")
    jars = fetch_jars(f"rocketmq-client-{CLIENT}", [f"org.apache.rocketmq:rocketmq-client:{CLIENT}", LOGGING])
    folder = Path(tempfile.mkdtemp(dir=options.folder, prefix="bench-rocketmq-"))
    figures: list[Figure] = []
    try:
        bench = Bench(jars, folder, options.messages, options.rounds)
        with ExitStack() as stack:
            ours, peer = stack.enter_context(our_node(folder, "interval")), peer_side("peer", options.against)
            if "send" in chosen:
                figures.append(measure_send(bench, ours, peer, f"sync send, {SENDERS} threads, page cache"))
            if "synced" in chosen:
                with our_node(folder, "commit") as synced:
                    other = peer_side("synced peer", options.against_synced)
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
