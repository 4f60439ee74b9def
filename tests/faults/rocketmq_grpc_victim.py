"""RocketMQ's own Python client, unmodified: it dies of a message that says `poison`, and acknowledges all others.

rocketmq_grpc_victim.py HOST:PORT GROUP TOPIC
"""

import os
import signal
import sys
from typing import Any

from rocketmq import (  # type: ignore[attr-defined]  # a bench of ours has the same name
    ClientConfiguration,
    Credentials,
    FilterExpression,
    SimpleConsumer,
)

INVISIBLE_S = 10


def live(address: str, group: str, topic: str) -> None:
    configuration: Any = ClientConfiguration(address, Credentials(), "")
    consumer: Any = SimpleConsumer(configuration, group, {topic: FilterExpression()}, 5)
    consumer.startup()
    print("READY", flush=True)
    while True:
        for given in consumer.receive(1, INVISIBLE_S) or ():
            print(f"GOT {given.body.decode()} {given.delivery_attempt}", flush=True)
            if given.body == b"poison":
                os.kill(os.getpid(), signal.SIGKILL)
            consumer.ack(given)


live(*sys.argv[1:4])
