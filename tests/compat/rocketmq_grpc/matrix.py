"""RocketMQ's Python client over gRPC as a row and a column of the matrix.

write ADDRESS TOPIC NAME COUNT ODD     writes the messages that all clients write
read ADDRESS GROUP COUNT TOPIC...      reads so many of each topic, and prints each as a line of JSON
"""

import importlib
import json
import sys
import time
from typing import Any

LIMIT_S = 60.0

_client: Any = importlib.import_module("rocketmq")


def configuration(address: str) -> Any:
    return _client.ClientConfiguration(address, _client.Credentials(), "")


def message(topic: str, body: str) -> Any:
    made = _client.Message()
    made.topic = topic
    made.body = body.encode()
    return made


def write(address: str, topic: str, name: str, count: str, odd: str) -> None:
    producer = _client.Producer(configuration(address), (topic,))
    producer.startup()
    try:
        for at in range(int(count)):
            made = message(topic, f"{name} {at} {odd}")
            made.tag = f"tag{at % 3}"
            made.keys = f"key{at % 4}"  # of several it does not keep the order
            made.add_property("number", str(at))
            made.add_property("odd", odd.replace("\t", ""))  # RocketMQ's proxy refuses control characters here
            if at % 2 == 0:
                made.message_group = "shard"
            producer.send(made)
        plain = message(topic, "plain")
        plain.keys = "only-key"
        producer.send(plain)
    finally:
        producer.shutdown()


def read(address: str, group: str, count: str, *topics: str) -> None:
    wanted = {topic: _client.FilterExpression("*") for topic in topics}
    consumer = _client.SimpleConsumer(configuration(address), group, wanted, 5)
    consumer.startup()
    try:
        left, deadline = int(count) * len(topics), time.monotonic() + LIMIT_S
        while left > 0 and time.monotonic() < deadline:
            for given in consumer.receive(16, 30) or []:
                consumer.ack(given)
                left -= 1
                print(json.dumps(facts(given)), flush=True)
    finally:
        consumer.shutdown()


def facts(given: Any) -> dict[str, Any]:
    """With the names that RocketMQ has for them on its other wire. The client does not tell where a message lies."""
    properties = dict(given.properties)
    keys = sorted(given.keys)  # a set, for this client
    named = {"TAGS": given.tag, "KEYS": " ".join(keys), "__SHARDINGKEY": given.message_group}
    properties |= {name: value for name, value in named.items() if value}
    return {
        "topic": given.topic,
        "body": given.body.decode(),
        "properties": properties,
        "timestamp": given.born_timestamp,
    }


if __name__ == "__main__":
    act: Any = {"write": write, "read": read}[sys.argv[1]]
    act(*sys.argv[2:])
