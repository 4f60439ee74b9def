"""Kafka's own load generators against this node and a Kafka broker, in one run.

    ./braid bench kafka --against HOST:PORT                 all figures, as ratios
    ./braid bench kafka --against HOST:PORT produce many    some of them
    ./braid bench kafka --against HOST:PORT --write         and put them into docs/benchmarks.md

The broker at HOST:PORT is the peer. Its process is found by its port, for its memory; `--peer-start COMMAND` (with
{port} in it) starts it anew to time that. Rounds alternate between our node with `flush = interval`, our node with
`flush = commit`, and the peer; a figure is the median of the rounds' ratios. Needs Java, and Maven for the tools'
jars.
"""

import argparse
import compileall
import json
import os
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # a class of its C part

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from _alone import alone
from _memory import bring_in
from maven import LOGGING, fetch_jars
from report import Figure, Progress, print_figures, write_figures

import braidmq

HERE = Path(__file__).parent
KAFKA = "4.1.1"
RECORD_BYTES = 1024
PARTITIONS = 4
MANY_PARTITIONS = 256
MANY_PRODUCERS = 64
LATENCY_RATE = 1000
MEMORY_BESIDE_BYTES = 512 * 1024 * 1024
"""What clients and brokers may need beside the files that are written."""
STEP_LIMIT_S = 300
FIGURES = ("produce", "librdkafka", "consume", "latency", "many", "start", "memory")


class Side(NamedTuple):
    """One of the brokers that are compared."""

    name: str
    bootstrap: str
    pid: int


class Bench:
    """The sides, the tools, and how much is sent."""

    def __init__(self, sides: Sequence[Side], jars: str, folder: Path, records: int) -> None:
        self.sides = sides
        self.records = records
        self._classpath = f"{compiled(folder, jars)}:{jars}"
        self._made = 0

    @contextmanager
    def topic(self, side: Side, partitions: int) -> Iterator[str]:
        """A fresh topic, gone afterwards."""
        self._made += 1
        name = f"bench-{os.getpid()}-{self._made}"
        admin = AdminClient({"bootstrap.servers": side.bootstrap})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        try:
            yield name
        finally:
            admin.delete_topics([name])[name].result(30)

    def java(self, *arguments: str) -> str:
        ended = subprocess.run(
            ["java", "-cp", self._classpath, *arguments],
            capture_output=True,
            text=True,
            timeout=STEP_LIMIT_S,
            check=False,
        )
        if ended.returncode:
            raise SystemExit(f"{arguments[0]} failed: {ended.stderr[-2000:]}{ended.stdout[-2000:]}")
        return ended.stdout

    def produce(self, side: Side, topic: str) -> float:
        """Records a second by ProducerPerformance."""
        out = self.java(
            "org.apache.kafka.tools.ProducerPerformance", "--topic", topic, "--num-records", str(self.records),
            "--record-size", str(RECORD_BYTES), "--throughput", "-1",
            "--producer-props", f"bootstrap.servers={side.bootstrap}", "acks=all",
        )  # fmt: skip
        (last,) = [line for line in out.splitlines() if "99.9th" in line]
        return float(last.split(" records/sec")[0].rsplit(" ", 1)[1])

    def consume(self, side: Side, topic: str) -> float:
        """Records a second by ConsumerPerformance, while it fetches."""
        out = self.java(
            "org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server", side.bootstrap, "--topic", topic,
            "--messages", str(self.records), "--timeout", "60000",
        )  # fmt: skip
        return float(out.splitlines()[-1].split(",")[-1])

    def produce_together(self, side: Side, topic: str) -> float:
        return float(
            self.java(
                "ManyProducers", side.bootstrap, topic, str(MANY_PRODUCERS), str(self.records), str(RECORD_BYTES)
            ).splitlines()[-1]
        )

    def produce_librdkafka(self, side: Side, topic: str) -> float:
        """Records a second through librdkafka: a client in C, which leaves the most of the machine to the broker. kcat
        will not do: reading lines takes it as long as everything else together."""
        program = [sys.executable, str(HERE / "librdkafka_load.py")]
        ended = subprocess.run(
            [*program, side.bootstrap, topic, str(self.records), str(RECORD_BYTES)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=STEP_LIMIT_S,
        )
        self._check_arrived(side, topic)
        return float(ended.stdout)

    def _check_arrived(self, side: Side, topic: str) -> None:
        consumer = Consumer({"bootstrap.servers": side.bootstrap, "group.id": topic})
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, index), 30) for index in range(PARTITIONS)]
        consumer.close()
        if (arrived := sum(end for _, end in ends)) != self.records:
            raise SystemExit(f"{side.name}: {arrived} of {self.records} records are there")

    def latency(self, side: Side, topic: str) -> list[float]:
        """Milliseconds from send to receive, sorted, at a fixed rate."""
        consumer = Consumer(
            {
                "bootstrap.servers": side.bootstrap,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 500,
            }
        )
        consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
        seen: list[float] = []
        count = LATENCY_RATE * 5

        def receive() -> None:
            deadline = time.monotonic() + 60
            while len(seen) < count and time.monotonic() < deadline:
                if (message := consumer.poll(0.1)) is None:
                    continue
                value = message.value()
                if message.error() is not None or value is None:
                    raise KafkaException(message.error())
                seen.append((time.perf_counter() - float(value[:24])) * 1000)

        receiving = threading.Thread(target=receive)
        receiving.start()
        producer = Producer({"bootstrap.servers": side.bootstrap, "acks": "all", "linger.ms": 0})
        filler = b"x" * (RECORD_BYTES - 24)
        began = time.perf_counter()
        for number in range(count):
            while (now := time.perf_counter()) < began + number / LATENCY_RATE:
                time.sleep(0.0002)
            producer.produce(topic, b"%-24f" % now + filler)
            producer.poll(0)
        producer.flush(30)
        receiving.join()
        consumer.close()
        if len(seen) < count:
            raise SystemExit(f"{side.name}: {count - len(seen)} of {count} messages did not arrive")
        settled = seen[LATENCY_RATE:]
        return sorted(settled)


Rates = dict[str, list[float]]


def alternate(bench: Bench, rounds: int, what: str, measure: Callable[[Side], float]) -> Rates:
    """What every side gave in every round, while the others slept; the order turns."""
    rates: Rates = {side.name: [] for side in bench.sides}
    with Progress(what, rounds * len(bench.sides)) as progress:
        for number in range(rounds):
            order = [*bench.sides[number % len(bench.sides) :], *bench.sides[: number % len(bench.sides)]]
            for side in order:
                with alone((side.pid,), [each.pid for each in bench.sides]):
                    bring_in(bench.records * RECORD_BYTES + MEMORY_BESIDE_BYTES)
                    rates[side.name].append(measure(side))
                progress.step()
    return rates


def ratio(rates: Rates, ours: str) -> float:
    return statistics.median(mine / theirs for mine, theirs in zip(rates[ours], rates["peer"], strict=True))


def rate_figure(what: str, rates: Rates, ours: str, bar: float) -> Figure:
    found = ratio(rates, ours)
    detail = f"{statistics.median(rates[ours]):,.0f} / {statistics.median(rates['peer']):,.0f} records/s"
    return Figure(what, f"{found:.2f}", f">= {bar}", found >= bar, detail)


def measure_produce(bench: Bench, rounds: int) -> list[Figure]:
    def once(side: Side) -> float:
        with bench.topic(side, PARTITIONS) as topic:
            return bench.produce(side, topic)

    rates = alternate(bench, rounds, "produce", once)
    return [
        rate_figure("produce, acks=all, 4 partitions, flush=interval", rates, "interval", 1.2),
        rate_figure("the same, flush=commit", rates, "commit", 1.0),
    ]


def measure_librdkafka(bench: Bench, rounds: int) -> list[Figure]:
    def once(side: Side) -> float:
        with bench.topic(side, PARTITIONS) as topic:
            return bench.produce_librdkafka(side, topic)

    rates = alternate(bench, rounds, "librdkafka", once)
    return [
        rate_figure("produce by librdkafka, flush=interval", rates, "interval", 1.2),
        rate_figure("the same, flush=commit", rates, "commit", 1.0),
    ]


def measure_consume(bench: Bench, rounds: int) -> list[Figure]:
    with ExitStack() as stack:
        topics = {}
        for side in bench.sides:
            topics[side.name] = stack.enter_context(bench.topic(side, PARTITIONS))
            bench.produce(side, topics[side.name])
        rates = alternate(bench, rounds, "consume", lambda side: bench.consume(side, topics[side.name]))
    return [rate_figure("consume from page cache", rates, "interval", 1.0)]


def measure_latency(bench: Bench, rounds: int) -> list[Figure]:
    middle: Rates = {side.name: [] for side in bench.sides}
    tail: Rates = {side.name: [] for side in bench.sides}

    def once(side: Side) -> float:
        with bench.topic(side, PARTITIONS) as topic:
            found = bench.latency(side, topic)
        middle[side.name].append(found[len(found) // 2])
        tail[side.name].append(found[len(found) * 99 // 100])
        return 0.0

    alternate(bench, rounds, "latency", once)
    figures = []
    for ours in ("interval", "commit"):
        for name, times in (("p50", middle), ("p99", tail)):
            found = ratio(times, ours)
            detail = f"{statistics.median(times[ours]):.2f} / {statistics.median(times['peer']):.2f} ms"
            what = f"end-to-end latency {name} at 1,000 msg/s, flush={ours}"
            figures.append(Figure(what, f"{found:.2f}", "<= 1.0", found <= 1.0, detail))
    return figures


def measure_many(bench: Bench, rounds: int) -> list[Figure]:
    def partitions(side: Side) -> float:
        with bench.topic(side, MANY_PARTITIONS) as topic:
            return bench.produce(side, topic)

    def producers(side: Side) -> float:
        with bench.topic(side, PARTITIONS) as topic:
            return bench.produce_together(side, topic)

    many = alternate(bench, rounds, "256 partitions", partitions)
    together = alternate(bench, rounds, "64 producers", producers)
    return [
        rate_figure("produce to 256 partitions", many, "interval", 1.0),
        rate_figure("produce with 64 producers", together, "interval", 1.0),
    ]


def measure_memory(bench: Bench) -> list[Figure]:
    resident = {side.name: psutil.Process(side.pid).memory_info().rss for side in bench.sides}
    found = max(resident["interval"], resident["commit"]) / resident["peer"]
    detail = f"{max(resident['interval'], resident['commit']) / 1e6:.0f} / {resident['peer'] / 1e6:.0f} MB"
    return [Figure("memory at the end of the run (RSS)", f"{found:.2f}", "<= 0.15", found <= 0.15, detail)]


def measure_start(rounds: int, peer_start: str | None, folder: Path) -> list[Figure]:
    if peer_start is None:
        return []
    compileall.compile_dir(Path(braidmq.__file__).parent, quiet=2)  # as an installation leaves it
    ratios, ours_s, theirs_s = [], [], []
    with Progress("start", rounds * 2) as progress:
        for number in range(rounds):
            data = folder / f"start-{number}"
            ours_s.append(_time_start(partial(_node_command, data, flush="commit")))
            progress.step()
            theirs_s.append(_time_start(partial(_peer_command, peer_start)))
            progress.step()
            ratios.append(ours_s[-1] / theirs_s[-1])
            shutil.rmtree(data)
    found = statistics.median(ratios)
    detail = f"{statistics.median(ours_s):.2f} / {statistics.median(theirs_s):.2f} s"
    return [Figure("time from start to first produce", f"{found:.2f}", "<= 0.25", found <= 0.25, detail)]


def _time_start(command: Callable[[int], list[str]]) -> float:
    port = free_port()
    began = time.perf_counter()
    process = subprocess.Popen(
        command(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        _await_port(port)
        producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "acks": "all", "message.timeout.ms": 60_000})
        producer.produce("first", b"x")
        if producer.flush(60):
            raise SystemExit(f"no first message within 60 s: {command(port)}")
        return time.perf_counter() - began
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await_port(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise SystemExit(f"nothing listens on port {port} after 60 s")


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
        return port


def _peer_command(template: str, port: int) -> list[str]:
    return shlex.split(template.format(port=port))


def _node_command(data: Path, port: int, flush: str, ready_file: Path | None = None) -> list[str]:
    more = [] if ready_file is None else ["--ready-file", str(ready_file)]
    kafka = f"127.0.0.1:{port}"
    return [
        sys.executable, "-m", "braidmq", "up", "--data", str(data), "--flush", flush,
        "--http", "127.0.0.1:0", "--kafka", kafka, "--rocketmq", "off", "--grpc", "off",
        *more,
    ]  # fmt: skip


@contextmanager
def our_node(folder: Path, flush: str) -> Iterator[Side]:
    ready = folder / f"{flush}.ready"
    process = subprocess.Popen(_node_command(folder / flush, 0, flush, ready))
    try:
        deadline = time.monotonic() + 30
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        host, port = json.loads(ready.read_text())["listeners"]["kafka"][0]
        yield Side(flush, f"{host}:{port}", process.pid)
    finally:
        process.terminate()
        process.wait(30)


def peer(address: str) -> Side:
    port = int(address.rpartition(":")[2])
    for connection in psutil.net_connections("tcp"):
        listens = connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port
        if listens and connection.pid:
            return Side("peer", address, connection.pid)
    raise SystemExit(f"nothing on this machine listens on {address}; start the peer first")


def compiled(folder: Path, jars: str) -> Path:
    classes = folder / "classes"
    source = HERE / "java" / "ManyProducers.java"
    subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", str(classes), str(source)], check=True)
    return classes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"some of: {', '.join(FIGURES)}")
    parser.add_argument("--against", required=True, metavar="HOST:PORT", help="the Kafka broker to compare with")
    parser.add_argument("--peer-start", metavar="COMMAND", help="starts a peer on {port}, to time that")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()), help="where our nodes keep their data"
    )
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    if unknown := set(options.figures) - set(FIGURES):
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    chosen = options.figures or FIGURES
    jars = fetch_jars(
        f"kafka-tools-{KAFKA}",
        [f"org.apache.kafka:kafka_2.13:{KAFKA}", f"org.apache.kafka:kafka-tools:{KAFKA}", LOGGING],
    )
    folder = Path(tempfile.mkdtemp(dir=options.folder, prefix="bench-kafka-"))
    figures: list[Figure] = []
    try:
        if "start" in chosen:
            figures += measure_start(options.rounds, options.peer_start, folder)
        with our_node(folder, "interval") as interval, our_node(folder, "commit") as commit:
            bench = Bench([interval, commit, peer(options.against)], jars, folder, options.records)
            steps = {
                "produce": measure_produce,
                "librdkafka": measure_librdkafka,
                "consume": measure_consume,
                "latency": measure_latency,
                "many": measure_many,
            }
            for name, step in steps.items():
                if name in chosen:
                    found = step(bench, options.rounds)
                    print_figures(found)
                    figures += found
            if "memory" in chosen:
                figures += measure_memory(bench)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print()
    print_figures(figures)
    if options.write:
        write_figures("kafka", f"Kafka clients, against Apache Kafka {KAFKA}", "./braid bench kafka --write", figures)


if __name__ == "__main__":
    main()
