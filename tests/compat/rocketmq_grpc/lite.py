"""RocketMQ's own Python client, unmodified, with lite topics: it does what each line of its input says, and says what
came of it. A message that begins with "bad" is taken when it comes for the second time.

lite.py push|simple HOST:PORT GROUP TOPIC
"""

import os
import sys
import threading
from typing import Any

import rocketmq
from rocketmq import (  # type: ignore[attr-defined]  # a bench of ours has the same name
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    Message,
    MessageListener,
    Producer,
)

INVISIBLE_S = 10
_saying = threading.Lock()


def say(*words: object) -> None:
    with _saying:
        print(*words, flush=True)


class Listener(MessageListener):  # type: ignore[misc]  # it has no types
    def __init__(self) -> None:
        self._seen: set[str] = set()

    def consume(self, message: Any) -> Any:
        """In order, the client tries by itself again, and counts no attempt."""
        body = message.body.decode()
        say("GOT", message.lite_topic, body, message.delivery_attempt)
        failed = body.startswith("bad") and body not in self._seen
        self._seen.add(body)
        return ConsumeResult.FAILURE if failed else ConsumeResult.SUCCESS


def take_on(consumer: Any) -> None:
    while True:
        for given in consumer.receive(16, INVISIBLE_S) or ():
            say("GOT", given.lite_topic, given.body.decode(), given.delivery_attempt)
            consumer.ack(given)


def started_consumer(kind: str, configuration: Any, group: str, topic: str) -> Any:
    classes: Any = rocketmq
    if kind == "push":
        consumer = classes.LitePushConsumer(configuration, group, topic, Listener())
        consumer.startup()
        return consumer
    consumer = classes.LiteSimpleConsumer(topic, configuration, group, 5)
    consumer.startup()
    threading.Thread(target=take_on, args=(consumer,), daemon=True).start()
    return consumer


def obey(words: list[str], topic: str, producer: Any, consumer: Any) -> None:
    if words[0] == "SUBSCRIBE":
        consumer.subscribe_lite(words[1])
    elif words[0] == "UNSUBSCRIBE":
        consumer.unsubscribe_lite(words[1])
    else:
        message: Any = Message()
        message.topic, message.lite_topic, message.keys = topic, words[1], words[2]
        message.body = words[2].encode()
        producer.send(message)


def main(kind: str, address: str, group: str, topic: str) -> None:
    configuration: Any = ClientConfiguration(address, Credentials(), "")
    consumer = started_consumer(kind, configuration, group, topic)
    producer: Any = Producer(configuration, (topic,))
    producer.startup()
    say("READY")
    for line in sys.stdin:
        command = line.strip()
        try:
            obey(command.split(), topic, producer, consumer)
            say("DONE", command)
        except Exception as error:  # whatever it is, the test wants to know
            say("FAILED", command, type(error).__name__)
    os._exit(0)


main(*sys.argv[1:5])
