"""Idempotent producers: what was sent twice is stored once, and nothing is stored out of order."""

import pytest

from braidmq.log import Appended, ProducerState
from braidmq.model import BraidError
from braidmq.model.errors import InvalidProducerEpoch, InvalidTransactionState, OutOfOrderSequence, UnknownPartition
from braidmq.records import Batch, Marker
from contract.harness import BEGAN_MS, LogUnderTest, batch_of, marker, sent

SEQUENCE_MAX = (1 << 31) - 1


async def refused(under_test: LogUnderTest, number: int, batch: Batch, error: type[BraidError]) -> None:
    before = under_test.log.bounds(number)
    assert isinstance(await under_test.try_append(number, batch), error)
    assert under_test.log.bounds(number) == before


async def test_a_batch_sent_again_is_answered_with_its_old_offsets(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"of others")
    first = await under_test.append(number, sent(b"a", b"b", sequence=0))
    under_test.clock.now_ms += 1000
    again = await under_test.append(number, sent(b"a", b"b", sequence=0))
    assert again == first._replace(duplicate=True)
    assert await under_test.values(number) == [b"of others", b"a", b"b"]


async def test_a_batch_sent_twice_in_one_call_is_stored_once(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    results = await under_test.log.append([(number, sent(b"a", sequence=0))] * 2)
    assert [result.duplicate for result in results if isinstance(result, Appended)] == [False, True]
    assert await under_test.values(number) == [b"a"]


async def test_the_last_five_batches_of_a_producer_are_known_again(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    for sequence in range(7):
        await under_test.append(number, sent(b"%d" % sequence, sequence=sequence))
    for sequence in range(2, 7):
        again = await under_test.append(number, sent(b"%d" % sequence, sequence=sequence))
        assert (again.base_offset, again.duplicate) == (sequence, True)
    await refused(under_test, number, sent(b"1", sequence=1), OutOfOrderSequence)


async def test_a_gap_in_the_sequence_is_refused(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", b"b", sequence=0))
    await refused(under_test, number, sent(b"d", sequence=3), OutOfOrderSequence)
    assert (await under_test.append(number, sent(b"c", sequence=2))).base_offset == 2


async def test_a_batch_that_overlaps_another_is_refused(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", b"b", sequence=0))
    await refused(under_test, number, sent(b"b", b"c", sequence=1), OutOfOrderSequence)
    await refused(under_test, number, sent(b"a", sequence=0), OutOfOrderSequence)


async def test_a_producer_that_is_not_known_may_begin_anywhere(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    assert (await under_test.append(number, sent(b"a", sequence=41))).base_offset == 0
    await refused(under_test, number, sent(b"a", sequence=43), OutOfOrderSequence)


async def test_sequences_go_on_at_zero_behind_the_largest(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=SEQUENCE_MAX - 1))
    await under_test.append(number, sent(b"b", b"c", b"d", sequence=SEQUENCE_MAX))
    assert (await under_test.append(number, sent(b"b", b"c", b"d", sequence=SEQUENCE_MAX))).duplicate
    await refused(under_test, number, sent(b"x", sequence=1), OutOfOrderSequence)
    assert (await under_test.append(number, sent(b"e", sequence=2))).base_offset == 4


async def test_a_newer_epoch_begins_at_zero_and_fences_the_older(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0, epoch=1))
    await refused(under_test, number, sent(b"b", sequence=1, epoch=2), OutOfOrderSequence)
    await under_test.append(number, sent(b"b", sequence=0, epoch=2))
    await refused(under_test, number, sent(b"c", sequence=1, epoch=1), InvalidProducerEpoch)
    await refused(under_test, number, sent(b"a", sequence=0, epoch=1), InvalidProducerEpoch)
    assert (await under_test.append(number, sent(b"b", sequence=0, epoch=2))).duplicate


async def test_producers_and_partitions_are_kept_apart(under_test: LogUnderTest) -> None:
    one, two = (await under_test.make_topic(partitions=2)).partition_numbers
    for number in (one, two):
        for producer in (1, 2):
            assert not (await under_test.append(number, sent(b"a", sequence=0, producer=producer))).duplicate
    await under_test.append(one, sent(b"b", sequence=1, producer=1))
    await refused(under_test, two, sent(b"c", sequence=2, producer=1), OutOfOrderSequence)


async def test_batches_without_a_producer_are_never_duplicates(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    for _ in range(3):
        assert not (await under_test.append(number, batch_of(b"a"))).duplicate
    assert under_test.log.bounds(number).end == 3


async def test_one_refused_entry_leaves_the_others_of_its_call_alone(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    entries = [(number, sent(b"%d" % sequence, sequence=sequence)) for sequence in (0, 5, 1)]
    taken, gap, next_taken = await under_test.log.append(entries)
    assert isinstance(taken, Appended)
    assert isinstance(gap, OutOfOrderSequence)
    assert isinstance(next_taken, Appended)
    assert await under_test.values(number) == [b"0", b"1"]


async def test_a_batch_outside_of_its_producers_open_transaction_is_refused(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0, transactional=True))
    await refused(under_test, number, sent(b"b", sequence=1), InvalidTransactionState)
    await under_test.append(number, sent(b"b", sequence=1, transactional=True))


@pytest.mark.parametrize("idle_ms", [24 * 60 * 60 * 1000 - 1, 24 * 60 * 60 * 1000 + 1])
async def test_a_producer_that_was_silent_for_a_day_is_forgotten(under_test: LogUnderTest, idle_ms: int) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0))
    under_test.clock.now_ms += idle_ms
    await under_test.log.maintain()
    again = await under_test.append(number, sent(b"a", sequence=0))
    assert again.duplicate == (idle_ms < 24 * 60 * 60 * 1000)


async def test_an_open_transaction_keeps_its_producer_known(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0, transactional=True))
    under_test.clock.now_ms += 3 * 24 * 60 * 60 * 1000
    await under_test.log.maintain()
    assert (await under_test.append(number, sent(b"a", sequence=0, transactional=True))).duplicate
    assert under_test.log.bounds(number).stable == 0


async def test_a_marker_alone_makes_a_producer_known_that_then_begins_at_zero(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, marker(Marker.ABORT, epoch=4))
    await refused(under_test, number, sent(b"a", sequence=9, epoch=4), OutOfOrderSequence)
    await refused(under_test, number, sent(b"a", sequence=0, epoch=3), InvalidProducerEpoch)
    await under_test.append(number, sent(b"a", sequence=0, epoch=4))


async def test_a_newer_epoch_may_begin_in_the_middle_of_an_open_transaction(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=5, transactional=True))
    await under_test.append(number, sent(b"b", sequence=0, epoch=1, transactional=True))
    assert under_test.log.bounds(number).stable == 0
    await refused(under_test, number, marker(Marker.COMMIT), InvalidProducerEpoch)
    await under_test.append(number, marker(Marker.COMMIT, epoch=1))
    assert under_test.log.bounds(number).stable == 3


async def test_a_batch_may_wrap_around_the_largest_sequence_in_a_transaction(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", b"b", sequence=SEQUENCE_MAX, transactional=True))
    await under_test.append(number, marker(Marker.COMMIT))
    await under_test.append(number, sent(b"c", sequence=1, transactional=True))
    assert (await under_test.append(number, sent(b"a", b"b", sequence=SEQUENCE_MAX, transactional=True))).duplicate


async def test_a_partition_tells_what_it_knows_of_its_producers(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    assert list(under_test.log.producers(number)) == []
    await under_test.append(number, batch_of(b"of nobody"))
    await under_test.append(number, sent(b"a", b"b", sequence=0, producer=7))
    await under_test.append(number, sent(b"c", sequence=8, producer=9, epoch=2, transactional=True))
    await under_test.append(number, marker(Marker.ABORT, producer=11, epoch=1))
    assert sorted(under_test.log.producers(number)) == [
        ProducerState(7, 0, 1, -1, BEGAN_MS),
        ProducerState(9, 2, 8, 3, BEGAN_MS),
        ProducerState(11, 1, -1, -1, BEGAN_MS),
    ]
    await under_test.append(number, marker(Marker.COMMIT, producer=9, epoch=3))
    assert sorted(under_test.log.producers(number))[1] == ProducerState(9, 3, -1, -1, BEGAN_MS)
    with pytest.raises(UnknownPartition):
        under_test.log.producers(number + 1)


async def test_producers_are_known_after_a_restart(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition()
    await persistent.append(number, sent(b"c", sequence=8, producer=9, epoch=2, transactional=True))
    before = list(persistent.log.producers(number))
    await persistent.reopen()
    assert list(persistent.log.producers(number)) == before
    assert persistent.log.bounds(number).stable == 0
