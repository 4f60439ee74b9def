"""The steps that a transactional id can take, as functions from what is kept of it to what is to be kept next.

        given an epoch        members added           decided                     all are told
    EMPTY ----------> EMPTY --------------> ONGOING ----------> COMMITTING ------------------> COMMITTED
      ^                                     |  ^  |  ------> ABORTING -------------------------> ABORTED
      |                                     |  |  | fenced or timed out: ABORTING with a higher epoch
      |                                     +--+  more members
      +---- a new life of the producer, or its recovery from an error: from EMPTY, COMMITTED, ABORTED

A step only says what should be; it counts once the coordinator has saved it. Epochs are what shuts out a producer's
earlier lives. They are 16 bits wide, and the largest one is set aside, so that a producer can always be fenced: a
producer that comes to the end of its epochs gets a new id.

There are two ways in which clients end a transaction. In the older one the epoch stays, and a repeated end is known by
its state. In the newer one (`bumps_epoch`) every end also raises the epoch, so that nothing of an ended transaction can
slip into the next one; a repeated end is known by the epoch before.
"""

from typing import NamedTuple

from msgspec.structs import replace

from braidmq.model import NO_EPOCH, NO_PRODUCER_ID, Transaction, TransactionState
from braidmq.model.errors import InvalidProducerId, InvalidTransactionState, ProducerFenced

EPOCH_MAX = (1 << 15) - 1


class ProducerIdentity(NamedTuple):
    """What a producer puts into its batches to say who it is."""

    id: int
    epoch: int


def identity_of(transaction: Transaction) -> ProducerIdentity:
    """Who the producer is to be from now on."""
    if transaction.next_producer_id != NO_PRODUCER_ID:
        return ProducerIdentity(transaction.next_producer_id, 0)
    return ProducerIdentity(transaction.producer_id, transaction.epoch)


def is_epoch_exhausted(epoch: int) -> bool:
    """Whether no producer may get a higher one: the largest is set aside for fencing."""
    return epoch >= EPOCH_MAX - 1


# A producer begins, or begins again.


def created(id: str, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
    """A transactional id that was not known."""
    return Transaction(id=id, producer_id=producer_id, epoch=NO_EPOCH, timeout_ms=timeout_ms, changed_ms=now_ms)


def repeats_beginning(transaction: Transaction, expected: ProducerIdentity) -> bool:
    """Whether a producer that says who it was asks again for what it has been given, because it never saw the answer;
    if not, it is still who it says. Raises ProducerFenced where it is neither.

    A producer that was forgotten, and has no epoch yet, may come with anything.
    """
    if transaction.epoch == NO_EPOCH or expected == (transaction.producer_id, transaction.epoch):
        return False
    was_before = expected.id in (transaction.producer_id, transaction.previous_producer_id)
    if was_before and expected.epoch == transaction.last_epoch != NO_EPOCH:
        return True
    raise ProducerFenced(
        f"{transaction.id!r} is producer {transaction.producer_id} with epoch {transaction.epoch} by now;"
        f" it came as {expected.id} with {expected.epoch}"
    )


def begun(
    transaction: Transaction,
    producer: ProducerIdentity,
    expected: ProducerIdentity | None,
    *,
    timeout_ms: int,
    now_ms: int,
) -> Transaction:
    """A new life of the producer, or the same one after an error (`expected`), which has nothing open."""
    return Transaction(
        id=transaction.id,
        producer_id=producer.id,
        epoch=producer.epoch,
        last_epoch=NO_EPOCH if expected is None else expected.epoch,
        previous_producer_id=transaction.producer_id if expected is None else expected.id,
        timeout_ms=timeout_ms,
        changed_ms=now_ms,
    )


# A transaction grows.


def check_producer(transaction: Transaction, producer: ProducerIdentity) -> None:
    """Raises InvalidProducerId, ProducerFenced."""
    if transaction.producer_id != producer.id:
        raise _other_producer(transaction, producer)
    if transaction.epoch != producer.epoch:
        raise _fenced(transaction, producer.epoch)


def with_members(
    transaction: Transaction, partitions: frozenset[int], groups: frozenset[str], now_ms: int
) -> Transaction:
    """Open, with these besides what it has."""
    is_new = transaction.state is not TransactionState.ONGOING
    return replace(
        transaction,
        state=TransactionState.ONGOING,
        partitions=partitions if is_new else transaction.partitions | partitions,
        groups=groups if is_new else transaction.groups | groups,
        started_ms=now_ms if is_new else transaction.started_ms,
        changed_ms=now_ms,
    )


# A transaction ends.


def check_end(transaction: Transaction, producer: ProducerIdentity, *, commit: bool, bumps_epoch: bool) -> bool:
    """Whether this end is new; False when it repeats one that was carried out. Raises InvalidProducerId,
    ProducerFenced, InvalidTransactionState."""
    state = transaction.state
    is_repeated = transaction.bumps_epoch and _has_end(state) and _is_before(transaction, producer)
    if not is_repeated:
        check_producer(transaction, producer)
    if state is TransactionState.ONGOING:
        return True
    ended_so = TransactionState.COMMITTED if commit else TransactionState.ABORTED
    if state is ended_so and (is_repeated or not (transaction.bumps_epoch or bumps_epoch)):
        return False
    if bumps_epoch and not commit and not is_repeated:
        # Such a client need not know whether anything of it got as far as here before it gave up.
        return True
    raise InvalidTransactionState(
        f"{transaction.id!r} cannot be {'committed' if commit else 'aborted'}: it is {transaction.state}"
    )


def decided(
    transaction: Transaction, *, commit: bool, bumps_epoch: bool, next_producer_id: int, now_ms: int
) -> Transaction:
    """The end is decided, and will be carried out whatever happens."""
    return replace(
        transaction,
        state=TransactionState.COMMITTING if commit else TransactionState.ABORTING,
        epoch=transaction.epoch + 1 if bumps_epoch else transaction.epoch,
        last_epoch=transaction.epoch if bumps_epoch else transaction.last_epoch,
        next_producer_id=next_producer_id,
        bumps_epoch=bumps_epoch,
        started_ms=transaction.started_ms if transaction.state is TransactionState.ONGOING else now_ms,
        changed_ms=now_ms,
    )


def fenced(transaction: Transaction, now_ms: int, *, last_epoch: int = NO_EPOCH) -> Transaction:
    """Aborted without its producer, which is shut out: nobody has been given this epoch. With `last_epoch`, its
    producer may come back."""
    return replace(
        transaction,
        state=TransactionState.ABORTING,
        epoch=transaction.epoch + 1,
        last_epoch=last_epoch,
        bumps_epoch=False,
        changed_ms=now_ms,
    )


def ended(transaction: Transaction, now_ms: int) -> Transaction:
    """All partitions and groups know of the end."""
    producer = identity_of(transaction)
    has_new_id = producer.id != transaction.producer_id
    return replace(
        transaction,
        state=(
            TransactionState.COMMITTED if transaction.state is TransactionState.COMMITTING else TransactionState.ABORTED
        ),
        producer_id=producer.id,
        epoch=producer.epoch,
        previous_producer_id=transaction.producer_id if has_new_id else transaction.previous_producer_id,
        next_producer_id=NO_PRODUCER_ID,
        partitions=frozenset(),
        groups=frozenset(),
        changed_ms=now_ms,
    )


def _has_end(state: TransactionState) -> bool:
    return state not in (TransactionState.EMPTY, TransactionState.ONGOING)


def _is_before(transaction: Transaction, producer: ProducerIdentity) -> bool:
    """Whether this is who the producer was before its last end."""
    if producer.id == transaction.producer_id:
        return producer.epoch + 1 == transaction.epoch
    used_up = producer.epoch == EPOCH_MAX - 1 and transaction.epoch == 0
    return used_up and producer.id == transaction.previous_producer_id


def _other_producer(transaction: Transaction, producer: ProducerIdentity) -> InvalidProducerId:
    return InvalidProducerId(f"{transaction.id!r} belongs to producer {transaction.producer_id}, not to {producer.id}")


def _fenced(transaction: Transaction, epoch: int) -> ProducerFenced:
    return ProducerFenced(f"{transaction.id!r} has epoch {transaction.epoch} by now; its producer came with {epoch}")
