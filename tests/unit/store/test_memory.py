"""The catalog's memory, by itself: it becomes any snapshot, in whatever order the database gives the rows."""

import itertools
from collections.abc import Sequence
from uuid import UUID

from braidmq.model import DEFAULT_INSTANCE, Instance, Topic
from braidmq.store import TopicChanged
from braidmq.store._journal import Entry, Snapshot
from braidmq.store._memory import Memory
from braidmq.store._things import Kind, Thing


def snapshot(revision: int, topics: Sequence[Topic]) -> Snapshot:
    default = Instance(name=DEFAULT_INSTANCE)
    things: dict[Kind, Sequence[Thing]] = {kind: [] for kind in Kind}
    things |= {Kind.INSTANCE: [default], Kind.TOPIC: topics}
    return Snapshot(revision, things)


def topic(number: int, *, deleting: bool = False) -> Topic:
    return Topic(id=UUID(int=number), name="orders", partition_numbers=(number,), deleting=deleting)


def test_a_name_that_has_passed_to_a_new_topic_is_found_in_whatever_order_the_topics_come() -> None:
    now = [topic(1, deleting=True), topic(2, deleting=True), topic(3)]
    for order in itertools.permutations(now):
        memory = Memory(snapshot(1, [topic(1)]))
        memory.replace(snapshot(9, order))
        assert memory.topics_by_name == {(DEFAULT_INSTANCE, "orders"): topic(3)}
        assert vars(memory) == vars(Memory(snapshot(9, now)))


def test_what_is_older_than_the_memory_changes_nothing() -> None:
    memory = Memory(snapshot(5, [topic(1)]))
    assert memory.replace(snapshot(5, [])) == []
    assert memory.replace(snapshot(4, [])) == []
    assert memory.apply([Entry(5, Kind.TOPIC, (UUID(int=1),), None)]) == []
    assert memory.topics_by_number == {1: topic(1)}


def test_a_snapshot_tells_only_what_is_different() -> None:
    memory = Memory(snapshot(1, [topic(1)]))
    assert memory.replace(snapshot(3, [topic(1)])) == []
    assert memory.replace(snapshot(4, [])) == [TopicChanged(4, topic(1), None)]
    assert memory.revision == 4
