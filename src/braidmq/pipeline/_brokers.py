"""What the pipeline asks of brokers besides messages: which topics there are, and where they end."""

import concurrent.futures
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka import admin as kafka_admin
from confluent_kafka.admin import AdminClient

from braidmq.pipeline.errors import BrokerUnreachable

ASK_S: Final = 30

_ADMIN: Final[Any] = kafka_admin
"""Its types do not say all that it has."""
_UNKNOWN_TOPIC: Final = "UNKNOWN_TOPIC_OR_PART"
LATEST: Final[Any] = _ADMIN.OffsetSpec.latest()
EARLIEST: Final[Any] = _ADMIN.OffsetSpec.earliest()


def admin_client(bootstrap: str, settings: Mapping[str, str] | None = None) -> AdminClient:
    """Silent: what goes wrong is raised."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, **(settings or {})})


def topics_at(bootstrap: str, settings: Mapping[str, str]) -> dict[str, list[int]]:
    """The topics there, and their partitions. Raises BrokerUnreachable."""
    try:
        found = admin_client(bootstrap, settings).list_topics(timeout=ASK_S).topics
    except KafkaException as error:
        raise BrokerUnreachable(f"{bootstrap}: {error}") from error
    return {name: sorted(topic.partitions) for name, topic in found.items()}


def topic_ids(bootstrap: str, topics: Collection[str], settings: Mapping[str, str]) -> dict[str, str]:
    """The ids of those of the topics that exist; empty ones where the brokers are too old to give any. Raises
    BrokerUnreachable."""
    found: dict[str, str] = {}
    if not topics:
        return found
    try:
        admin = admin_client(bootstrap, settings)
        answers = admin.describe_topics(TopicCollection(sorted(topics)), request_timeout=ASK_S)
        for topic, answer in answers.items():
            try:
                found[topic] = _known_id(answer.result(ASK_S).topic_id)
            except KafkaException as error:
                if error.args[0].name() != _UNKNOWN_TOPIC:
                    raise
    except (KafkaException, concurrent.futures.TimeoutError) as error:
        raise BrokerUnreachable(f"{bootstrap}: the ids of the topics are not known: {error}") from error
    return found


def other_ids(known: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """The topics whose id has changed, and a sentence about it. An id that nobody knows is none."""
    return {
        topic: f"{topic} was deleted and made anew: the table has messages of another topic of this name"
        for topic, each in found.items()
        if each and known.get(topic) and known[topic] != each
    }


def _known_id(given: Any) -> str:
    is_zero = given.get_most_significant_bits() == given.get_least_significant_bits() == 0
    return "" if is_zero else str(given)


def offsets_at(admin: Any, places: Iterable[tuple[str, int]], spec: Any) -> dict[tuple[str, int], int]:
    """The first or the next offsets of partitions; those that are gone are left out."""
    found = {}
    asked = {TopicPartition(topic, partition): spec for topic, partition in sorted(places)}
    for place, answer in (admin.list_offsets(asked) if asked else {}).items():
        try:
            found[place.topic, place.partition] = answer.result(ASK_S).offset
        except KafkaException:
            continue
    return found
