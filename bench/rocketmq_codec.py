"""The RocketMQ codec: what one message of 1 KiB with six properties costs on its way in and out.

    ./braid bench rocketmq_codec             a table of times
    ./braid bench rocketmq_codec --write     and put it into docs/benchmarks.md

A send is a frame read, its header typed, and the message made for the log; then the answer is written. A delivery is a
message from the log written as RocketMQ's clients read it. The time is the best of the rounds, because the machine has
other work.
"""

import argparse
import functools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from report import Figure, Progress, print_figures, write_figures

from braidmq.model import Message
from braidmq.protocols.rocketmq.codec import (
    Command,
    Host,
    Serialization,
    StoredMessage,
    decode_command,
    encode_command,
    message_of,
    read_header,
    stored_message,
    write_header,
)
from braidmq.protocols.rocketmq.codec.headers import SendMessageRequestHeaderV2, SendMessageResponseHeader
from braidmq.protocols.rocketmq.codec.messages import encode_message

ROUND_S = 0.03
HOST = Host.of("10.0.0.9", 10911)
BODY = bytes(1024)
PROPERTIES = "".join(
    f"{name}\x01{value}\x02"
    for name, value in {
        "KEYS": "order-1",
        "UNIQ_KEY": "C0A8070900002A9F0000000000ABCDEF",
        "CLUSTER": "DefaultCluster",
        "TAGS": "paid",
        "WAIT": "true",
        "colour": "red",
    }.items()
)
REQUEST = SendMessageRequestHeaderV2(
    producer_group="producers",
    topic="payments",
    default_topic="TBW102",
    default_topic_queue_nums=4,
    queue_id=1,
    sys_flag=0,
    born_timestamp=1_700_000_000_000,
    flag=0,
    properties=PROPERTIES,
    reconsume_times=0,
    unit_mode=False,
    max_reconsume_times=16,
    batch=False,
    broker_name="broker-a",
)
ANSWER = SendMessageResponseHeader(
    msg_id="C0A8070900002A9F0000000000ABCDEF", queue_id=1, queue_offset=5, transaction_id="C0A8070900002A9F0000000000"
)
STORED = StoredMessage(topic="payments", body=BODY, properties=PROPERTIES, born_ms=1, store_ms=2, born_host=HOST)


class Case(NamedTuple):
    """One thing to measure, and what it may cost."""

    what: str
    work: Callable[[], object]
    limit_us: float


def cases() -> Iterator[Case]:
    for serialization, limit_us in ((Serialization.JSON, 6.0), (Serialization.ROCKETMQ, 25.0)):
        command = Command(code=310, opaque=1, fields=write_header(REQUEST), body=BODY, serialization=serialization)
        frame = encode_command(command)[4:]
        yield Case(f"read a send, {serialization.name} header", functools.partial(decode_command, frame), limit_us)
    fields = write_header(REQUEST)
    yield Case("type the header of a send", lambda: read_header(SendMessageRequestHeaderV2, fields), 2.0)
    yield Case("make the message for the log", lambda: message_of(STORED), 8.0)
    yield Case("write the answer to a send", answer, 4.0)
    message = message_of(STORED)
    yield Case("take the message from the log", lambda: taken(message), 8.0)
    yield Case("write the message for a consumer", lambda: encode_message(STORED), 5.0)


def answer() -> bytes:
    return encode_command(Command(code=0, opaque=1, flag=1, fields=write_header(ANSWER)))


def taken(message: Message) -> StoredMessage:
    return stored_message(message, queue_id=1, physical_offset=5, store_host=HOST)


def measured(case: Case, rounds: int) -> Figure:
    best_us = min(round_us(case.work) for _ in range(rounds))
    limit = f"at most {case.limit_us:g} us"
    return Figure(case.what, f"{best_us:.1f} us", limit, best_us <= case.limit_us, "")


def round_us(work: Callable[[], object]) -> float:
    count = 0
    begun = now = time.perf_counter()
    while now - begun < ROUND_S:
        for _ in range(100):
            work()
        count += 100
        now = time.perf_counter()
    return (now - begun) / count * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description="What one message costs in the RocketMQ codec")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    todo = list(cases())
    figures = []
    with Progress("rocketmq codec", len(todo)) as progress:
        for case in todo:
            figures.append(measured(case, options.rounds))
            progress.step()
    print_figures(figures)
    if options.write:
        title = "The RocketMQ codec: one message of 1 KiB"
        write_figures("rocketmq-codec", title, "./braid bench rocketmq_codec --write", figures)
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
