"""What a partition remembers of its producers: the short way for most batches says the same as the long one."""

from hypothesis import given
from hypothesis import strategies as st

from braidmq.log._producers import SEQUENCE_MASK, Producers
from braidmq.model import BraidError
from braidmq.records import Batch, Record, build_batch

STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),  # producer
        st.integers(0, 1),  # epoch
        st.integers(-2, 1),  # how far from the next in sequence
        st.integers(1, 3),  # records
        st.sampled_from([False, False, False, True]),  # in a transaction
    ),
    max_size=30,
)


def batch_of(producer: int, epoch: int, sequence: int, records: int, *, transactional: bool) -> Batch:
    content = [Record(offset, 0, None, b"x", ()) for offset in range(records)]
    return build_batch(
        content,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence & SEQUENCE_MASK,
        transactional=transactional,
    )


def stored(producers: Producers, batch: Batch, offset: int) -> bool:
    """The long way: whether the batch was taken."""
    if producers.find_duplicate(batch) is not None:
        return False
    try:
        producers.check(batch)
    except BraidError:
        return False
    producers.store(batch, offset, offset * 10)
    return True


@given(STEPS, st.sampled_from([0, SEQUENCE_MASK - 4]))
def test_the_next_batch_of_a_producer_is_stored_as_any_other(
    steps: list[tuple[int, int, int, int, bool]], begin: int
) -> None:
    short, long = Producers(), Producers()
    for producers in (short, long):
        for producer in (0, 1):
            producers.store(batch_of(producer, 0, begin, 1, transactional=False), producer, 0)
    followed = {0: begin, 1: begin}
    offset = 2
    for producer, epoch, off, records, transactional in steps:
        batch = batch_of(producer, epoch, followed[producer] + 1 + off, records, transactional=transactional)
        known = dict(short.by_id)
        before = short.store_next(batch, offset, offset * 10)
        if before is not None:
            assert before.producer == known[producer]
            now = short.by_id[producer]
            short.undo(before)
            assert short.by_id == known
            short.by_id[producer] = now
        else:
            assert short.by_id == known, "nothing has changed"
            stored(short, batch, offset)
        if stored(long, batch, offset):
            followed[producer] = batch.last_sequence
            offset += records
        else:
            assert before is None, "what the long way refuses, or knows already, is not for the short one"
        assert short.by_id == long.by_id
        assert short.stable_offset(offset) == long.stable_offset(offset)


def test_most_batches_take_the_short_way() -> None:
    producers = Producers()
    producers.store(batch_of(7, 0, 0, 2, transactional=False), 0, 0)
    assert producers.store_next(batch_of(7, 0, 2, 1, transactional=False), 2, 1) is not None
    assert producers.store_next(batch_of(7, 0, 3, 1, transactional=True), 3, 1) is None
    assert producers.store_next(batch_of(8, 0, 0, 1, transactional=False), 3, 1) is None
