"""RocketMQ's own Java client over gRPC against this node and RocketMQ with its proxy, in one run.

    ./braid bench rocketmq_grpc --against HOST:PORT --against-name-server HOST:PORT            all figures
    ./braid bench rocketmq_grpc --against HOST:PORT --against-name-server HOST:PORT --write    into docs/benchmarks.md
    ./braid bench rocketmq_grpc redelivery idle                                                those of our node alone

The first address is the proxy's gRPC port, the second the name server of the cluster behind it, where topics are made.
Rounds alternate between our node and the peer; a ratio is the median of the rounds. A message that was not acknowledged
comes again by the same client. A thousand idle push consumers are not a thousand of Java's, which take more memory than
such a machine has: each is a connection of its own with a telemetry stream and a waiting receive, as the client holds.
Needs Java, and Maven for the client's jars and mqadmin.
"""

import argparse
import asyncio
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import psutil

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from _java_load import Bench, Side, at_least, bench_parser, chosen_figures, our_node, peer_side
from maven import LOGGING, fetch_jars
from report import Figure, Progress, print_figures, write_figures

from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc.codes import ClientType, FilterType

CLIENT = "5.2.0"
PEER = "5.3.3"
BYTES = 1024
THREADS = 32
QUEUES = 8
LEFT_ALONE = 200
LEFT_RATE = 100
INVISIBLE_MS = 10_000
IDLE = 1_000
IDLE_GROUPS = 10
IDLE_POLL_S = 5
IDLE_LIMIT_S = 120.0
RATIOS = ("send", "consume")


class Peers:
    """Both sides, and mqadmin, which makes topics of the same shape on both."""

    def __init__(self, bench: Bench, tools: str, ours: tuple[Side, str], peer: tuple[Side, str] | None) -> None:
        self._tools = tools
        self._name_servers = dict(filter(None, (ours, peer)))
        self.bench = bench
        self.ours = ours[0]
        self.peer = peer and peer[0]

    @property
    def both(self) -> tuple[Side, Side]:
        assert self.peer is not None
        return self.ours, self.peer

    def topic(self, side: Side) -> str:
        name, queues = self.bench.topic(), str(QUEUES)
        shape = ["-c", "DefaultCluster", "-t", name, "-r", queues, "-w", queues, "-a", "+message.type=NORMAL"]
        main = "org.apache.rocketmq.tools.command.MQAdminStartup"
        command = ["java", "-cp", self._tools, main, "updateTopic", "-n", self._name_servers[side], *shape]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "success" not in done.stdout:
            raise SystemExit(f"mqadmin made no topic on {side.name}: {done.stdout} {done.stderr}")
        return name


def measure_rate(peers: Peers, mode: str, what: str) -> Figure:
    """How many messages the client sends or consumes in a second, against the peer."""

    def rate(side: Side) -> float:
        numbers = (THREADS, BYTES, peers.bench.messages)
        return float(peers.bench.run(mode, side, peers.topic(side), *numbers)["rate"])

    return at_least(what, 1.0, *peers.bench.alternate(what, peers.both, rate))


def measure_send(peers: Peers) -> Figure:
    return measure_rate(peers, "send", f"sync send, {THREADS} threads")


def measure_consume(peers: Peers) -> Figure:
    return measure_rate(peers, "consume", f"simple consumer, receive and acknowledge, {THREADS} threads")


def measure_redelivery(peers: Peers) -> Figure:
    what = f"{LEFT_ALONE:,} messages not acknowledged: the latest comes again after its deadline"
    found = peers.bench.run("redelivery", peers.ours, peers.topic(peers.ours), LEFT_ALONE, LEFT_RATE, INVISIBLE_MS)
    late_ms = found["late_ms"]
    detail = f"median {found['p50_ms']} ms, p99 {found['p99_ms']} ms"
    return Figure(what, f"{late_ms} ms", "<= 200 ms", late_ms <= 200, detail)


class IdleConsumer:
    """What a push consumer without work holds: a connection, a telemetry stream, and a receive that waits."""

    def __init__(self, address: str, nth: int, topic: str) -> None:
        own = [("grpc.use_local_subchannel_pool", 1)]
        self._channel = grpc.aio.insecure_channel(address, options=own)
        self._metadata = [("x-mq-client-id", f"idle-{nth}"), ("x-mq-language", "JAVA")]
        self._group = wire.Resource(name=f"idle-{nth % IDLE_GROUPS}")
        self._topic = wire.Resource(name=topic)
        self.polls = 0

    async def live(self) -> None:
        """Until it is cancelled."""
        stream = self._method("stream_stream", "Telemetry", wire.TelemetryCommand, wire.TelemetryCommand)(
            metadata=self._metadata
        )
        await stream.write(wire.TelemetryCommand(settings=self._settings()))
        await stream.read()
        receive = self._method(
            "unary_stream", "ReceiveMessage", wire.ReceiveMessageRequest, wire.ReceiveMessageResponse
        )
        while True:
            async for _ in receive(self._request(), metadata=self._metadata):
                pass
            self.polls += 1

    def _method(self, kind: str, name: str, asked: Any, answered: Any) -> Any:
        return getattr(self._channel, kind)(
            f"/{wire.SERVICE}/{name}",
            request_serializer=asked.SerializeToString,
            response_deserializer=answered.FromString,
        )

    def _settings(self) -> Any:
        wanted = wire.FilterExpression(type=FilterType.TAG, expression="*")
        entry = wire.SubscriptionEntry(topic=self._topic, expression=wanted)
        subscription = wire.Subscription(group=self._group, subscriptions=[entry])
        return wire.Settings(client_type=ClientType.PUSH_CONSUMER, subscription=subscription)

    def _request(self) -> Any:
        return wire.ReceiveMessageRequest(
            group=self._group,
            message_queue=wire.MessageQueue(topic=self._topic, id=-1),
            filter_expression=wire.FilterExpression(type=FilterType.TAG, expression="*"),
            batch_size=32,
            auto_renew=True,
            long_polling_timeout=wire.Duration(seconds=IDLE_POLL_S),
        )


async def idle_bytes(side: Side, topic: str) -> int:
    """How much more memory the node takes with all consumers there, each in its second receive at least."""
    node = psutil.Process(side.pids[0])
    first = IdleConsumer(side.address, IDLE, topic)
    alone = asyncio.create_task(first.live())
    await _until_polled([first])
    before = node.memory_info().rss
    consumers = [IdleConsumer(side.address, nth, topic) for nth in range(IDLE)]
    tasks = [alone, *(asyncio.create_task(consumer.live()) for consumer in consumers)]
    await _until_polled(consumers)
    taken = node.memory_info().rss - before
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    if broken := [each for each in ended if not isinstance(each, asyncio.CancelledError)]:
        raise SystemExit(f"{len(broken)} consumers ended by themselves: {broken[0]!r}")
    return taken


async def _until_polled(consumers: list[IdleConsumer]) -> None:
    deadline = time.monotonic() + IDLE_LIMIT_S
    while not all(consumer.polls for consumer in consumers):
        if time.monotonic() > deadline:
            raise SystemExit(f"{sum(not each.polls for each in consumers)} consumers got no answer")
        await asyncio.sleep(0.1)


def measure_idle(peers: Peers) -> Figure:
    what = f"memory of {IDLE:,} idle push consumers"
    topic = peers.topic(peers.ours)
    with Progress(what, 1):
        taken = asyncio.run(idle_bytes(peers.ours, topic))
    detail = f"{taken / IDLE / 1000:.0f} kB each: a connection, a telemetry stream, a waiting receive"
    return Figure(what, f"{taken / 1e6:.0f} MB", "<= 100 MB", taken <= 100e6, detail)


MEASURES = {"send": measure_send, "consume": measure_consume, "redelivery": measure_redelivery, "idle": measure_idle}


@contextmanager
def our_side(folder: Path) -> Iterator[tuple[Side, str]]:
    """The node, and where it is a name server."""
    listeners = ("--rocketmq", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--set", "rocketmq.vip=off")
    with our_node(folder, "interval", *listeners) as (pid, places):
        yield Side("our node", places["rocketmq_grpc"], (pid,)), places["rocketmq"]


def allow_connections() -> None:
    """Each idle consumer has a connection; the node inherits what this process may open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    parser = bench_parser(__doc__, MEASURES, messages=50_000)
    parser.add_argument("--against", metavar="HOST:PORT", help="the gRPC port of RocketMQ's proxy")
    parser.add_argument("--against-name-server", metavar="HOST:PORT", help="the name server behind that proxy")
    options = parser.parse_args()
    chosen = chosen_figures(parser, options, MEASURES)
    if set(chosen) & set(RATIOS) and not (options.against and options.against_name_server):
        parser.error(f"the figures {' and '.join(RATIOS)} need --against and --against-name-server")
    figures = measured(chosen, options)
    if options.write:
        title = f"RocketMQ 5 clients over gRPC, against Apache RocketMQ {PEER} with its proxy"
        write_figures("rocketmq-grpc", title, "./braid bench rocketmq_grpc --write", figures)


def printed(figure: Figure) -> Figure:
    """At once: a figure takes minutes."""
    print_figures([figure])
    return figure


def measured(chosen: Collection[str], options: argparse.Namespace) -> list[Figure]:
    jars = fetch_jars(f"rocketmq-client-java-{CLIENT}", [f"org.apache.rocketmq:rocketmq-client-java:{CLIENT}", LOGGING])
    tools = fetch_jars(f"rocketmq-tools-{PEER}", [f"org.apache.rocketmq:rocketmq-tools:{PEER}", LOGGING])
    peer = options.against and (peer_side("peer", options.against), options.against_name_server)
    allow_connections()
    folder = Path(tempfile.mkdtemp(dir=options.folder, prefix="bench-rocketmq-grpc-"))
    try:
        bench = Bench("RocketMQGrpcLoad", jars, folder, options.messages, options.rounds)
        with our_side(folder) as ours:
            bench.pids.update(ours[0].pids, peer[0].pids if peer else ())
            peers = Peers(bench, tools, ours, peer)
            return [printed(MEASURES[each](peers)) for each in chosen]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
