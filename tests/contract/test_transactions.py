"""Transactions: committed readers see all of one or nothing, in the order of the log."""

from braidmq.log import AbortedTransaction, Bounds
from braidmq.model.errors import InvalidProducerEpoch
from braidmq.records import Marker
from contract.harness import LogUnderTest, batch_of, marker, sent, stored_batches


async def test_an_open_transaction_holds_committed_readers_back(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"before")
    await under_test.append(number, sent(b"a", sequence=0, transactional=True))
    await under_test.append_each(number, b"behind")
    assert under_test.log.bounds(number) == Bounds(0, 1, 3)
    assert await under_test.committed_values(number) == [b"before"]
    assert await under_test.values(number) == [b"before", b"a", b"behind"]
    assert not (await under_test.read(number, 1, committed=True)).data
    assert not (await under_test.read(number, 2, committed=True)).data


async def test_a_commit_shows_the_transaction(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0, transactional=True))
    await under_test.append(number, sent(b"b", sequence=1, transactional=True))
    ended = await under_test.append(number, marker(Marker.COMMIT))
    assert ended.base_offset == 2
    assert under_test.log.bounds(number) == Bounds(0, 3, 3)
    got = await under_test.read(number, committed=True)
    assert got.aborted == ()
    assert await under_test.committed_values(number) == [b"a", b"b"]


async def test_an_abort_is_told_to_committed_readers_only(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"before")
    await under_test.append(number, sent(b"a", sequence=0, transactional=True))
    await under_test.append(number, marker(Marker.ABORT))
    await under_test.append_each(number, b"behind")
    assert (await under_test.read(number, committed=True)).aborted == (AbortedTransaction(7, 1),)
    assert (await under_test.read(number)).aborted == ()
    assert await under_test.committed_values(number) == [b"before", b"behind"]


async def test_only_aborts_in_the_range_that_was_read_are_told(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0, transactional=True))
    await under_test.append(number, marker(Marker.ABORT))
    await under_test.append_each(number, b"between")
    await under_test.append(number, sent(b"b", sequence=1, transactional=True))
    await under_test.append(number, marker(Marker.ABORT))
    assert (await under_test.read(number, 2, committed=True)).aborted == (AbortedTransaction(7, 3),)
    assert (await under_test.read(number, 1, 1, committed=True)).aborted == (AbortedTransaction(7, 0),)
    assert (await under_test.read(number, 2, 1, committed=True)).aborted == ()


async def test_transactions_of_several_producers_interleave(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    for producer in (1, 2, 3):
        await under_test.append(number, sent(b"%da" % producer, sequence=0, producer=producer, transactional=True))
    for producer in (3, 2, 1):
        await under_test.append(number, sent(b"%db" % producer, sequence=1, producer=producer, transactional=True))
    await under_test.append(number, marker(Marker.COMMIT, producer=2))
    assert under_test.log.bounds(number).stable == 0
    await under_test.append(number, marker(Marker.ABORT, producer=1))
    assert under_test.log.bounds(number).stable == 2
    assert await under_test.committed_values(number) == [b"2a"]
    await under_test.append(number, marker(Marker.COMMIT, producer=3))
    assert under_test.log.bounds(number) == Bounds(0, 9, 9)
    assert await under_test.committed_values(number) == [b"2a", b"3a", b"3b", b"2b"]


async def test_a_producer_may_abort_and_then_commit(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    for sequence, kind in enumerate([Marker.ABORT, Marker.COMMIT, Marker.ABORT, Marker.COMMIT]):
        await under_test.append(number, sent(b"%d" % sequence, sequence=sequence, transactional=True))
        await under_test.append(number, marker(kind))
    assert await under_test.committed_values(number) == [b"1", b"3"]


async def test_sequences_go_on_across_markers(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0, transactional=True))
    await under_test.append(number, marker(Marker.COMMIT))
    assert (await under_test.append(number, sent(b"a", sequence=0, transactional=True))).duplicate
    assert under_test.log.bounds(number).stable == 2
    await under_test.append(number, sent(b"b", sequence=1))


async def test_a_marker_of_a_newer_epoch_fences_the_producer(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0, epoch=1, transactional=True))
    await under_test.append(number, marker(Marker.ABORT, epoch=2))
    late = await under_test.try_append(number, sent(b"b", sequence=1, epoch=1, transactional=True))
    assert isinstance(late, InvalidProducerEpoch)
    assert isinstance(await under_test.try_append(number, marker(Marker.COMMIT, epoch=1)), InvalidProducerEpoch)
    await under_test.append(number, sent(b"c", sequence=0, epoch=2, transactional=True))
    await under_test.append(number, marker(Marker.COMMIT, epoch=2))
    assert await under_test.committed_values(number) == [b"c"]


async def test_a_marker_without_a_transaction_changes_nothing_but_the_end(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"a")
    await under_test.append(number, marker(Marker.ABORT))
    assert under_test.log.bounds(number) == Bounds(0, 2, 2)
    assert (await under_test.read(number, committed=True)).aborted == ()
    assert await under_test.committed_values(number) == [b"a"]


async def test_a_transaction_is_stable_when_its_marker_is_seen_and_not_before(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0, transactional=True))
    ended = under_test.log.append([(number, marker(Marker.COMMIT))])
    _, stable, end = under_test.log.bounds(number)
    assert (stable, end) in {(0, 1), (2, 2)}
    await ended
    assert under_test.log.bounds(number) == Bounds(0, 2, 2)


async def test_deleting_into_an_open_transaction_leaves_the_rest_of_it_undecided(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    for sequence in range(4):
        await under_test.append(number, sent(b"%d" % sequence, sequence=sequence, transactional=True))
    await under_test.log.delete_records(number, 2)
    assert under_test.log.bounds(number) == Bounds(2, 2, 4)
    await under_test.append(number, marker(Marker.ABORT))
    await under_test.append(number, batch_of(b"behind"))
    assert await under_test.committed_values(number, 2) == [b"behind"]


async def test_committed_reads_give_whole_batches_within_the_limit_too(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a" * 100, b"b", sequence=0, transactional=True))
    await under_test.append(number, marker(Marker.COMMIT))
    await under_test.append(number, sent(b"c", sequence=2, transactional=True))
    got = stored_batches(await under_test.read(number, 1, 1, committed=True))
    assert [batch.base_offset for batch in got] == [0]
    got = stored_batches(await under_test.read(number, 1, committed=True))
    assert [batch.base_offset for batch in got] == [0, 2]
