"""Sends records through librdkafka as fast as it takes them: `python librdkafka_load.py HOST:PORT TOPIC RECORDS BYTES`.

Python's part is one call for thousands of records, so that neither reading them (as kcat must) nor Python is what is
measured. The library is the one inside the package confluent-kafka. Prints records a second, from the first record to
the last acknowledgement.
"""

import ctypes
import os
import sys
import time
from importlib.metadata import files
from pathlib import Path

SETTINGS = {"acks": "all", "linger.ms": "5"}
BATCH = 10_000
PRODUCER = 0
ANY_PARTITION = -1
COPY = 2
QUEUE_FULL = -184
REASON_BYTES = 512
FLUSH_LIMIT_MS = 120_000


class Message(ctypes.Structure):
    """librdkafka's rd_kafka_message_t."""

    _fields_ = (
        ("error", ctypes.c_int),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_size", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("private", ctypes.c_void_p),
    )


def load_library() -> ctypes.CDLL:
    """The library that confluent-kafka brings along."""
    for file in files("confluent-kafka") or ():
        if file.name.startswith("librdkafka"):
            library = ctypes.CDLL(str(Path(str(file.locate()))))
            library.rd_kafka_conf_new.restype = ctypes.c_void_p
            library.rd_kafka_new.restype = ctypes.c_void_p
            library.rd_kafka_topic_new.restype = ctypes.c_void_p
            return library
    raise SystemExit("confluent-kafka is not installed as a wheel; its librdkafka is needed")


def open_producer(library: ctypes.CDLL, bootstrap: str) -> ctypes.c_void_p:
    configuration = ctypes.c_void_p(library.rd_kafka_conf_new())
    reason = ctypes.create_string_buffer(REASON_BYTES)
    for name, value in {**SETTINGS, "bootstrap.servers": bootstrap}.items():
        if library.rd_kafka_conf_set(configuration, name.encode(), value.encode(), reason, REASON_BYTES):
            raise SystemExit(reason.value.decode())
    producer = library.rd_kafka_new(PRODUCER, configuration, reason, REASON_BYTES)
    if not producer:
        raise SystemExit(reason.value.decode())
    return ctypes.c_void_p(producer)


def send(library: ctypes.CDLL, producer: ctypes.c_void_p, topic: ctypes.c_void_p, records: int, size: int) -> None:
    """All of them; while the library's own queue is full it is waited for."""
    payload = os.urandom(size)
    batch = (Message * BATCH)(*(Message(payload=payload, size=size) for _ in range(BATCH)))
    sent = 0
    while sent < records:
        taken = library.rd_kafka_produce_batch(topic, ANY_PARTITION, COPY, batch, min(BATCH, records - sent))
        sent += taken
        if not taken:
            if batch[0].error != QUEUE_FULL:
                raise SystemExit(f"librdkafka refuses records with its error {batch[0].error}")
            library.rd_kafka_poll(producer, 1)
    if library.rd_kafka_flush(producer, FLUSH_LIMIT_MS):
        raise SystemExit(f"not all records were acknowledged within {FLUSH_LIMIT_MS // 1000} s")


def main(bootstrap: str, name: str, records: int, size: int) -> None:
    library = load_library()
    producer = open_producer(library, bootstrap)
    topic = ctypes.c_void_p(library.rd_kafka_topic_new(producer, name.encode(), None))
    send(library, producer, topic, 1, size)  # it knows the partitions now
    began = time.perf_counter()
    send(library, producer, topic, records - 1, size)
    print((records - 1) / (time.perf_counter() - began))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
