"""Transactions: who may write, how they end, and what becomes of them when somebody does not come back."""

import asyncio

import pytest
from msgspec.structs import replace

from braidmq.core.transactions import ProducerIdentity
from braidmq.log import Appended, GroupOffset
from braidmq.model import BraidError, TransactionState
from braidmq.model.errors import (
    ConcurrentTransactions,
    InvalidProducerEpoch,
    InvalidProducerId,
    InvalidTransactionState,
    InvalidTransactionTimeout,
    ProducerFenced,
    StorageFull,
    StoreFailed,
    UnknownGroup,
)
from transaction_support import PARTITIONS, TIMEOUT_MS, Desk, batch_in, turns

EPOCH_MAX = (1 << 15) - 1
DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
async def desk() -> Desk:
    return await Desk.make()


def state_of(desk: Desk, id: str = "tx") -> TransactionState:
    transaction = desk.transactions.transaction(id)
    assert transaction is not None
    return transaction.state


def saved_state(desk: Desk) -> TransactionState:
    return desk.rows.by_id["tx"].state


async def opened(desk: Desk, *partitions: int) -> ProducerIdentity:
    """A producer with an open transaction that has a record in each of the partitions."""
    producer = await desk.begin()
    await desk.transactions.add("tx", producer, partitions)
    for number in partitions:
        assert isinstance(await desk.write(producer, number, b"in %d" % number), Appended)
    return producer


# Beginning.


async def test_ids_are_never_given_twice_even_after_a_restart(desk: Desk) -> None:
    given = [await desk.transactions.new_producer_id() for _ in range(2500)]
    await desk.restart()
    given += [await desk.transactions.new_producer_id() for _ in range(10)]
    assert len(set(given)) == len(given)


async def test_many_who_ask_at_once_get_different_ids(desk: Desk) -> None:
    given = await asyncio.gather(*(desk.transactions.new_producer_id() for _ in range(3000)))
    assert len(set(given)) == 3000


async def test_a_new_name_gets_a_new_id_and_the_first_epoch(desk: Desk) -> None:
    one, two = await desk.begin("one"), await desk.begin("two")
    assert (one.epoch, two.epoch) == (0, 0)
    assert one.id != two.id


async def test_each_life_of_a_producer_gets_the_next_epoch(desk: Desk) -> None:
    first = await desk.begin()
    assert await desk.begin() == (first.id, 1)
    await desk.restart()
    assert await desk.begin() == (first.id, 2)


async def test_many_who_begin_with_one_name_at_once_get_different_epochs(desk: Desk) -> None:
    given = await asyncio.gather(*(desk.begin() for _ in range(20)))
    assert {producer.id for producer in given} == {given[0].id}
    assert sorted(producer.epoch for producer in given) == list(range(20))


@pytest.mark.parametrize("timeout_ms", [0, -1, 15 * 60 * 1000 + 1])
async def test_a_transaction_may_not_be_asked_to_stay_open_for_ever(desk: Desk, timeout_ms: int) -> None:
    with pytest.raises(InvalidTransactionTimeout):
        await desk.begin(timeout_ms=timeout_ms)
    assert desk.transactions.transaction("tx") is None


async def test_a_new_life_aborts_what_the_earlier_one_had_open(desk: Desk) -> None:
    earlier = await opened(desk, 1, 2)
    later = await desk.begin()
    assert later == (earlier.id, 2)
    assert desk.open_partitions() == []
    assert await desk.committed(1) == []
    assert isinstance(await desk.write(earlier, 1, b"late", sequence=1), InvalidProducerEpoch)
    (refused,) = await desk.log.append([(1, batch_in(earlier, b"late", sequence=1))])
    assert isinstance(refused, InvalidProducerEpoch), "the partition itself shuts the zombie out"
    with pytest.raises(ProducerFenced):
        await desk.transactions.add("tx", earlier, [3])
    with pytest.raises(ProducerFenced):
        await desk.transactions.end("tx", earlier, commit=True)


async def test_a_producer_that_says_who_it_was_goes_on_with_the_next_epoch(desk: Desk) -> None:
    first = await desk.begin()
    second = await desk.transactions.begin("tx", TIMEOUT_MS, first)
    assert second == (first.id, 1)
    assert await desk.transactions.begin("tx", TIMEOUT_MS, first) == second, "its answer was lost, and it asks again"
    await desk.restart()
    assert await desk.transactions.begin("tx", TIMEOUT_MS, first) == second
    assert await desk.transactions.begin("tx", TIMEOUT_MS, second) == (first.id, 2)


async def test_a_producer_that_says_who_it_was_is_refused_when_another_took_over(desk: Desk) -> None:
    first = await desk.begin()
    later = await desk.begin()
    with pytest.raises(ProducerFenced):
        await desk.transactions.begin("tx", TIMEOUT_MS, first)
    await desk.transactions.add("tx", later, [1])
    with pytest.raises(ProducerFenced):
        await desk.transactions.begin("tx", TIMEOUT_MS, ProducerIdentity(first.id + 1, 0))
    with pytest.raises(ProducerFenced):
        await desk.transactions.begin("tx", TIMEOUT_MS, first)
    assert state_of(desk) is TransactionState.ONGOING, "who is refused aborts nothing"


async def test_a_producer_that_says_who_it_was_aborts_its_own_open_transaction(desk: Desk) -> None:
    first = await opened(desk, 1)
    second = await desk.transactions.begin("tx", TIMEOUT_MS, first)
    assert second == (first.id, 2)
    assert desk.open_partitions() == []
    assert await desk.transactions.begin("tx", TIMEOUT_MS, first) == second


async def test_a_producer_that_was_forgotten_may_come_with_what_it_had(desk: Desk) -> None:
    producer = await desk.transactions.begin("tx", TIMEOUT_MS, ProducerIdentity(77, 5))
    assert producer.epoch == 0
    assert await desk.transactions.begin("tx", TIMEOUT_MS, ProducerIdentity(77, 5)) == producer


@pytest.mark.parametrize("epoch", [EPOCH_MAX - 2, EPOCH_MAX - 1])
async def test_a_producer_whose_epochs_are_used_up_gets_a_new_id(desk: Desk, epoch: int) -> None:
    first = await desk.begin()
    desk.rows.by_id["tx"] = replace(desk.rows.by_id["tx"], epoch=epoch)
    await desk.restart()
    following = await desk.begin()
    if epoch == EPOCH_MAX - 2:
        assert following == (first.id, EPOCH_MAX - 1)
        following = await desk.begin()
    assert following.id != first.id
    assert following.epoch == 0
    with pytest.raises(InvalidProducerId):
        await desk.transactions.add("tx", first, [1])


async def test_the_largest_epoch_is_kept_for_fencing(desk: Desk) -> None:
    first = await desk.begin()
    desk.rows.by_id["tx"] = replace(desk.rows.by_id["tx"], epoch=EPOCH_MAX - 1)
    await desk.restart()
    last = ProducerIdentity(first.id, EPOCH_MAX - 1)
    await desk.transactions.add("tx", last, [1])
    assert isinstance(await desk.write(last, 1, b"a"), Appended)
    following = await desk.transactions.begin("tx", TIMEOUT_MS, last)
    assert following.id != first.id
    assert following.epoch == 0
    assert desk.open_partitions() == []
    assert await desk.transactions.begin("tx", TIMEOUT_MS, last) == following, "the call is repeated"
    (marker,) = [each for each in desk.log.producers(1) if each.producer_id == first.id]
    assert marker.epoch == EPOCH_MAX


# Growing.


async def test_a_record_needs_a_transaction_that_its_partition_was_added_to(desk: Desk) -> None:
    producer = await desk.begin()
    assert isinstance(await desk.write(producer, 1, b"early"), InvalidTransactionState)
    await desk.transactions.add("tx", producer, [1])
    assert isinstance(await desk.write(producer, 1, b"a"), Appended)
    assert isinstance(await desk.write(producer, 2, b"b"), InvalidTransactionState)
    await desk.transactions.add("tx", producer, [1, 2])
    assert isinstance(await desk.write(producer, 2, b"b"), Appended)
    stranger = ProducerIdentity(producer.id + 1, 0)
    assert isinstance(await desk.write(stranger, 1, b"c"), InvalidProducerId)
    assert isinstance(await desk.write(ProducerIdentity(producer.id, 1), 1, b"d"), InvalidProducerEpoch)


async def test_what_is_in_the_transaction_already_is_not_saved_again(desk: Desk) -> None:
    producer = await opened(desk, 1, 2)
    before = desk.rows.saves
    await desk.transactions.add("tx", producer, [2])
    await desk.transactions.add("tx", producer, [1, 2])
    assert desk.rows.saves == before


async def test_a_name_nobody_began_with_has_no_transactions(desk: Desk) -> None:
    producer = ProducerIdentity(1, 0)
    for call in (
        desk.transactions.add("new", producer, [1]),
        desk.transactions.end("new", producer, commit=True),
        desk.transactions.commit_offsets("new", producer, "g", None, {}),
    ):
        with pytest.raises(InvalidProducerId):
            await call


async def test_the_wrong_producer_changes_nothing(desk: Desk) -> None:
    producer = await opened(desk, 1)
    with pytest.raises(InvalidProducerId):
        await desk.transactions.add("tx", ProducerIdentity(producer.id + 1, 0), [2])
    with pytest.raises(InvalidProducerId):
        await desk.transactions.end("tx", ProducerIdentity(producer.id + 1, 0), commit=True)
    with pytest.raises(ProducerFenced):
        await desk.transactions.end("tx", ProducerIdentity(producer.id, 1), commit=True)
    assert state_of(desk) is TransactionState.ONGOING
    assert desk.transactions.contains("tx", producer, 1)
    assert not desk.transactions.contains("tx", producer, 2)


async def test_what_follows_an_addition_is_done_in_turn(desk: Desk) -> None:
    producer = await desk.begin()
    done: list[str] = []
    desk.rows.may_go_on.clear()
    first = asyncio.ensure_future(desk.transactions.add("tx", producer, [1], then=lambda: done.append("first")))
    second = asyncio.ensure_future(desk.transactions.add("tx", producer, [1], then=lambda: done.append("second")))
    await turns()
    assert desk.transactions.is_changing(producer.id)
    assert done == []
    desk.rows.may_go_on.set()
    await asyncio.gather(first, second)
    assert done == ["first", "second"]
    assert not desk.transactions.is_changing(producer.id)


# Ending.


@pytest.mark.parametrize("commit", [True, False])
async def test_an_end_reaches_all_partitions_and_is_seen_when_it_is_answered(desk: Desk, commit: bool) -> None:
    producer = await opened(desk, *PARTITIONS)
    assert desk.open_partitions() == list(PARTITIONS)
    assert await desk.transactions.end("tx", producer, commit=commit) == producer
    assert desk.open_partitions() == []
    for number in PARTITIONS:
        assert await desk.committed(number) == ([b"in %d" % number] if commit else [])


async def test_a_producer_goes_from_one_transaction_to_the_next(desk: Desk) -> None:
    producer = await desk.begin()
    for attempt in range(6):
        await desk.transactions.add("tx", producer, [1])
        assert isinstance(await desk.write(producer, 1, b"%d" % attempt, sequence=attempt), Appended)
        await desk.transactions.end("tx", producer, commit=attempt % 2 == 0)
    assert await desk.committed(1) == [b"0", b"2", b"4"]


async def test_a_repeated_end_is_answered_as_the_first_and_the_other_end_is_refused(desk: Desk) -> None:
    for commit in (True, False):
        producer = await opened(desk, 1)
        await desk.transactions.end("tx", producer, commit=commit)
        end = desk.log.bounds(1).end
        await desk.transactions.end("tx", producer, commit=commit)
        await desk.restart()
        await desk.transactions.end("tx", producer, commit=commit)
        with pytest.raises(InvalidTransactionState):
            await desk.transactions.end("tx", producer, commit=not commit)
        assert desk.log.bounds(1).end in (end, end + 1), "at most the restart told it again"


async def test_nothing_can_be_ended_before_it_was_opened(desk: Desk) -> None:
    producer = await desk.begin()
    for commit in (True, False):
        with pytest.raises(InvalidTransactionState):
            await desk.transactions.end("tx", producer, commit=commit)


async def test_no_record_gets_in_from_the_moment_an_end_is_begun(desk: Desk) -> None:
    producer = await opened(desk, 1)
    desk.rows.may_go_on.clear()
    ending = asyncio.ensure_future(desk.transactions.end("tx", producer, commit=True))
    await turns()
    assert isinstance(await desk.write(producer, 1, b"late", sequence=1), InvalidTransactionState)
    desk.rows.may_go_on.set()
    await ending
    assert await desk.committed(1) == [b"in 1"]


async def test_an_end_goes_on_when_the_client_has_gone(desk: Desk) -> None:
    producer = await opened(desk, 1)
    desk.rows.may_go_on.clear()
    ending = asyncio.ensure_future(desk.transactions.end("tx", producer, commit=True))
    await turns()
    ending.cancel()
    desk.rows.may_go_on.set()
    await turns()
    assert await desk.committed(1) == [b"in 1"]
    assert state_of(desk) is TransactionState.COMMITTED


async def test_partitions_of_deleted_topics_do_not_hold_up_an_end(desk: Desk) -> None:
    producer = await opened(desk, 1)
    await desk.transactions.add("tx", producer, [99])
    await desk.transactions.end("tx", producer, commit=True)
    assert await desk.committed(1) == [b"in 1"]


# The way in which an end gives the next epoch.


@pytest.mark.parametrize("commit", [True, False])
async def test_an_end_may_give_the_next_epoch_and_be_repeated_with_the_last(desk: Desk, commit: bool) -> None:
    first = await opened(desk, 1)
    second = await desk.transactions.end("tx", first, commit=commit, bumps_epoch=True)
    assert second == (first.id, 1)
    assert await desk.transactions.end("tx", first, commit=commit, bumps_epoch=True) == second
    await desk.restart()
    assert await desk.transactions.end("tx", first, commit=commit, bumps_epoch=True) == second
    with pytest.raises(InvalidTransactionState):
        await desk.transactions.end("tx", first, commit=not commit, bumps_epoch=True)
    assert isinstance(await desk.write(first, 1, b"late", sequence=1), InvalidProducerEpoch)
    (refused,) = await desk.log.append([(1, batch_in(first, b"late", sequence=1))])
    assert isinstance(refused, InvalidProducerEpoch)
    await desk.transactions.add("tx", second, [1])
    assert isinstance(await desk.write(second, 1, b"next"), Appended)
    with pytest.raises(ProducerFenced):
        await desk.transactions.end("tx", first, commit=commit, bumps_epoch=True)
    assert await desk.transactions.end("tx", second, commit=True, bumps_epoch=True) == (first.id, 2)
    assert await desk.committed(1) == ([b"in 1", b"next"] if commit else [b"next"])


async def test_nothing_may_be_aborted_but_not_committed_where_ends_give_epochs(desk: Desk) -> None:
    producer = await desk.begin()
    with pytest.raises(InvalidTransactionState):
        await desk.transactions.end("tx", producer, commit=True, bumps_epoch=True)
    for epoch in (1, 2, 3):
        producer = await desk.transactions.end("tx", producer, commit=False, bumps_epoch=True)
        assert producer.epoch == epoch
    with pytest.raises(InvalidTransactionState):
        await desk.transactions.end("tx", producer, commit=True, bumps_epoch=True)


async def test_an_end_that_uses_up_the_epochs_gives_a_new_id(desk: Desk) -> None:
    first = await desk.begin()
    desk.rows.by_id["tx"] = replace(desk.rows.by_id["tx"], epoch=EPOCH_MAX - 1)
    await desk.restart()
    last = ProducerIdentity(first.id, EPOCH_MAX - 1)
    await desk.transactions.add("tx", last, [1])
    assert isinstance(await desk.write(last, 1, b"a"), Appended)
    following = await desk.transactions.end("tx", last, commit=True, bumps_epoch=True)
    assert following.id != last.id
    assert following.epoch == 0
    assert await desk.transactions.end("tx", last, commit=True, bumps_epoch=True) == following
    await desk.restart()
    assert await desk.transactions.end("tx", last, commit=True, bumps_epoch=True) == following
    assert await desk.committed(1) == [b"a"]
    assert isinstance(await desk.write(last, 1, b"late", sequence=1), InvalidProducerId)
    await desk.transactions.add("tx", following, [1])
    assert isinstance(await desk.write(following, 1, b"b"), Appended)


# Group offsets.


async def test_offsets_count_when_the_transaction_is_committed(desk: Desk) -> None:
    producer = await desk.begin()
    await desk.transactions.add("tx", producer, groups=["g"])
    await desk.transactions.commit_offsets("tx", producer, "g", None, {1: GroupOffset(5)})
    assert desk.offsets.committed == {}
    await desk.transactions.end("tx", producer, commit=True)
    assert desk.offsets.committed == {"g": {1: GroupOffset(5)}}
    await desk.transactions.commit_offsets("tx", producer, "g", None, {1: GroupOffset(6)}, adds_group=True)
    await desk.transactions.end("tx", producer, commit=False)
    assert desk.offsets.committed == {"g": {1: GroupOffset(5)}}
    assert desk.offsets.pending == {}


async def test_offsets_need_a_transaction_that_their_group_was_added_to(desk: Desk) -> None:
    producer = await desk.begin()
    for _ in range(2):
        with pytest.raises(InvalidTransactionState):
            await desk.transactions.commit_offsets("tx", producer, "g", None, {1: GroupOffset(5)})
        await desk.transactions.add("tx", producer, [1], ["h"])
    with pytest.raises(ProducerFenced):
        await desk.transactions.commit_offsets("tx", ProducerIdentity(producer.id, 4), "h", None, {})
    desk.offsets.refusal = UnknownGroup()
    with pytest.raises(UnknownGroup):
        await desk.transactions.commit_offsets("tx", producer, "h", None, {1: GroupOffset(5)})


# Time.


async def test_a_transaction_that_is_open_for_too_long_is_aborted_and_its_producer_shut_out(desk: Desk) -> None:
    producer = await opened(desk, 1)
    desk.clock.now_ms += TIMEOUT_MS
    await desk.transactions.sweep()
    assert state_of(desk) is TransactionState.ONGOING
    desk.clock.now_ms += 1
    await desk.transactions.sweep()
    assert state_of(desk) is TransactionState.ABORTED
    assert desk.open_partitions() == []
    assert await desk.committed(1) == []
    assert isinstance(await desk.write(producer, 1, b"late", sequence=1), InvalidProducerEpoch)
    with pytest.raises(ProducerFenced):
        await desk.transactions.end("tx", producer, commit=True)
    with pytest.raises(ProducerFenced):
        await desk.transactions.begin("tx", TIMEOUT_MS, producer)
    assert await desk.begin() == (producer.id, 2)


async def test_what_timed_out_while_the_node_was_down_is_aborted_at_its_start(desk: Desk) -> None:
    await opened(desk, 1)
    desk.clock.now_ms += TIMEOUT_MS + 1
    await desk.restart()
    assert state_of(desk) is TransactionState.ABORTED
    assert desk.open_partitions() == []


async def test_an_open_transaction_goes_on_after_a_restart(desk: Desk) -> None:
    producer = await opened(desk, 1)
    await desk.restart()
    assert isinstance(await desk.write(producer, 1, b"more", sequence=1), Appended)
    await desk.transactions.end("tx", producer, commit=True)
    assert await desk.committed(1) == [b"in 1", b"more"]


async def test_a_name_that_is_not_used_for_a_week_is_forgotten(desk: Desk) -> None:
    idle = await desk.begin("idle")
    used = await desk.begin("used")
    desk.clock.now_ms += 7 * DAY_MS - 1
    await desk.transactions.add("used", used, [1])
    await desk.transactions.sweep()
    assert desk.transactions.transaction("idle") is not None
    desk.clock.now_ms += DAY_MS
    await desk.transactions.sweep()
    assert desk.transactions.transaction("idle") is None
    assert list(desk.rows.by_id) == ["used"]
    with pytest.raises(InvalidProducerId):
        await desk.transactions.add("idle", idle, [1])
    again = await desk.begin("idle")
    assert again.epoch == 0
    assert again.id != idle.id


async def test_an_open_transaction_keeps_its_name_known(desk: Desk) -> None:
    producer = await opened(desk, 1)
    desk.rows.is_failing = True
    desk.clock.now_ms += 8 * DAY_MS
    await desk.transactions.sweep()
    assert state_of(desk) is TransactionState.ONGOING, "its abort cannot be decided yet"
    desk.rows.is_failing = False
    await desk.transactions.sweep()
    assert state_of(desk) is TransactionState.ABORTED
    assert isinstance(await desk.write(producer, 1, b"late"), InvalidProducerEpoch)


async def test_the_sweeper_sweeps_by_itself(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braidmq.core.transactions._coordinator.SWEEP_S", 0.001)
    await opened(desk, 1)
    desk.clock.now_ms += TIMEOUT_MS + 1
    desk.transactions.start()
    async with asyncio.timeout(10):
        while state_of(desk) is not TransactionState.ABORTED:  # noqa: ASYNC110 - the state is no event
            await asyncio.sleep(0.001)
    await desk.transactions.close()
    assert saved_state(desk) is TransactionState.ABORTED


# What cannot be done just now.


async def test_a_decision_that_cannot_be_saved_is_none(desk: Desk) -> None:
    producer = await opened(desk, 1)
    desk.rows.is_failing = True
    with pytest.raises(StoreFailed):
        await desk.transactions.end("tx", producer, commit=True)
    assert desk.open_partitions() == [1]
    desk.rows.is_failing = False
    await desk.transactions.end("tx", producer, commit=False)
    assert await desk.committed(1) == []


async def test_a_save_that_failed_but_was_kept_does_not_outlive_the_next_sweep(desk: Desk) -> None:
    producer = await opened(desk, 1)
    desk.rows.is_failing = desk.rows.keeps_what_fails = True
    with pytest.raises(StoreFailed):
        await desk.transactions.end("tx", producer, commit=True)
    assert saved_state(desk) is TransactionState.COMMITTING
    desk.rows.is_failing = False
    await desk.transactions.sweep()
    assert saved_state(desk) is TransactionState.ONGOING
    await desk.restart()
    assert desk.open_partitions() == [1]


async def test_a_decision_that_partitions_cannot_take_is_answered_and_told_later(desk: Desk) -> None:
    producer = await opened(desk, 1, 2)
    desk.log.refusal = StorageFull()
    assert await desk.transactions.end("tx", producer, commit=True) == producer
    assert state_of(desk) is TransactionState.COMMITTING
    assert desk.open_partitions() == [1, 2]
    for call in (
        desk.transactions.end("tx", producer, commit=True),
        desk.transactions.add("tx", producer, [1]),
        desk.begin(),
    ):
        with pytest.raises(ConcurrentTransactions):
            await call
    with pytest.raises(ConcurrentTransactions):
        desk.transactions.contains("tx", producer, 1)
    desk.log.refusal = None
    await desk.transactions.sweep()
    assert state_of(desk) is TransactionState.COMMITTED
    assert saved_state(desk) is TransactionState.COMMITTED
    assert await desk.committed(2) == [b"in 2"]


async def test_a_decision_that_groups_cannot_take_is_told_later(desk: Desk) -> None:
    producer = await desk.begin()
    await desk.transactions.add("tx", producer, [1], ["g"])
    await desk.transactions.commit_offsets("tx", producer, "g", None, {1: GroupOffset(5)})
    desk.offsets.refusal = StoreFailed()
    await desk.transactions.end("tx", producer, commit=True)
    assert desk.offsets.committed == {}
    desk.offsets.refusal = None
    await desk.transactions.end("tx", producer, commit=True)
    assert desk.offsets.committed == {"g": {1: GroupOffset(5)}}


async def test_a_name_that_could_not_be_saved_is_not_known(desk: Desk) -> None:
    desk.rows.is_failing = True
    for _ in range(2):
        with pytest.raises(StoreFailed):
            await desk.begin()
        assert desk.transactions.transactions() == []
    desk.rows.is_failing = False
    calls = await asyncio.gather(desk.begin(), desk.begin())
    assert sorted(producer.epoch for producer in calls) == [0, 1]


async def test_what_all_were_told_is_saved_by_the_next_sweep(desk: Desk) -> None:
    producer = await opened(desk, 1)
    await desk.transactions.end("tx", producer, commit=True)
    assert saved_state(desk) is TransactionState.COMMITTING, "not before the answer"
    await desk.transactions.sweep()
    assert saved_state(desk) is TransactionState.COMMITTED
    saves = desk.rows.saves
    await desk.transactions.sweep()
    assert desk.rows.saves == saves


async def test_closing_leaves_the_rows_as_they_should_be(desk: Desk) -> None:
    producer = await opened(desk, 1)
    desk.transactions.start()
    await desk.transactions.end("tx", producer, commit=True)
    await desk.transactions.close()
    assert saved_state(desk) is TransactionState.COMMITTED


async def test_operators_can_end_what_hangs_in_a_partition(desk: Desk) -> None:
    stranger = ProducerIdentity(5, 0)
    await desk.log.append([(1, batch_in(stranger, b"hangs"))])
    assert desk.open_partitions() == [1]
    unknown, done = await desk.transactions.mark(stranger, [99, 1], commit=False)
    assert isinstance(unknown, BraidError)
    assert isinstance(done, Appended)
    assert desk.open_partitions() == []


async def test_a_transaction_that_only_a_partition_knows_is_aborted_at_the_start(desk: Desk) -> None:
    known = await opened(desk, 1)
    await desk.log.append([(1, batch_in(ProducerIdentity(5, 3), b"marker lost"))])
    await desk.log.append([(2, batch_in(known, b"never added"))])
    await desk.restart()
    assert desk.open_partitions() == [1]
    await desk.transactions.end("tx", known, commit=True)
    assert desk.open_partitions() == []
    assert await desk.committed(1) == [b"in 1"]
    assert await desk.committed(2) == []
