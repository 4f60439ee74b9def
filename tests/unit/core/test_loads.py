"""Messages that go to one partition together: as few batches as the topic takes, and no refusal holds up another."""

import pytest

from braidmq.core.admission import Admission
from braidmq.core.loads import Loaded, loaded, partition_for
from braidmq.model import Message
from braidmq.model.errors import BraidError, InvalidBatch, InvalidRecord, InvalidTimestamp, MessageTooLarge
from braidmq.records import Batch, messages_of
from contract.harness import BEGAN_MS


def message(body: bytes, key: bytes | None = b"k", born_ms: int = BEGAN_MS) -> Message:
    return Message(body=body, key=key, born_ms=born_ms)


def runs(messages: list[Message], admission: Admission) -> list[Loaded]:
    return list(loaded(messages, admission, BEGAN_MS))


def bodies(load: Loaded) -> list[bytes | None]:
    assert isinstance(load.batch, Batch)
    return [each.body for each in messages_of(load.batch)]


def test_all_messages_that_fit_share_one_batch() -> None:
    (load,) = runs([message(b"%d" % number) for number in range(100)], Admission())
    assert (load.begin, load.end) == (0, 100)
    assert bodies(load) == [b"%d" % number for number in range(100)]


def test_no_messages_make_no_batch() -> None:
    assert runs([], Admission()) == []


def test_messages_that_do_not_fit_one_batch_are_cut_in_order() -> None:
    loads = runs([message(bytes(400)) for _ in range(7)], Admission(message_bytes_max=1000))
    assert [(load.begin, load.end) for load in loads] == [(0, 2), (2, 4), (4, 6), (6, 7)]
    assert all(isinstance(load.batch, Batch) for load in loads)


def test_a_message_that_is_refused_stands_alone_with_its_refusal() -> None:
    messages = [message(b"%d" % number, key=None if number == 5 else b"k") for number in range(8)]
    loads = runs(messages, Admission(needs_keys=True))
    (refused,) = [load for load in loads if isinstance(load.batch, BraidError)]
    assert (refused.begin, refused.end) == (5, 6)
    assert isinstance(refused.batch, InvalidRecord)
    kept = [body for load in loads if isinstance(load.batch, Batch) for body in bodies(load)]
    assert kept == [b"0", b"1", b"2", b"3", b"4", b"6", b"7"]


def test_every_message_is_in_exactly_one_run_whatever_is_refused() -> None:
    sizes = [100, 5000, 100, 100, 5000, 5000, 100]
    loads = runs([message(bytes(size)) for size in sizes], Admission(message_bytes_max=1000))
    assert [place for load in loads for place in range(load.begin, load.end)] == list(range(len(sizes)))
    refused = [load.begin for load in loads if isinstance(load.batch, MessageTooLarge)]
    assert refused == [1, 4, 5]


@pytest.mark.parametrize("born_ms", [(1 << 63) - 1, (1 << 63) - 2, 1 << 62, BEGAN_MS * 2])
def test_a_time_that_no_record_can_have_refuses_only_its_message(born_ms: int) -> None:
    messages = [message(b"a"), message(b"never", born_ms=born_ms), message(b"b")]
    loads = runs(messages, Admission())
    assert [body for load in loads if isinstance(load.batch, Batch) for body in bodies(load)] == [b"a", b"b"]
    (refused,) = [load for load in loads if isinstance(load.batch, InvalidBatch | InvalidTimestamp)]
    assert (refused.begin, refused.end) == (1, 2)


def test_a_key_has_its_partition_for_ever() -> None:
    chosen = {key: partition_for(key, 7) for key in (b"a", b"b", b"order-1", b"", "ключ".encode())}
    assert all(0 <= partition < 7 for partition in chosen.values())
    assert chosen == {key: partition_for(key, 7) for key in chosen}
