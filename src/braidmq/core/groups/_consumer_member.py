"""One member of a group that we assign to, and how far it has come with what it is to do."""

import enum

import msgspec

from braidmq.core.groups._rows import ClassicSide, ConsumerMemberRow
from braidmq.core.timing import Deadline

LEFT_FOR_A_WHILE = -2
"""The epoch of an instance that has gone and will come back."""


class Progress(enum.StrEnum):
    """A member gives up what it is not to have any more (`revoking`), then gets what others have given up (`waiting`
    while they have not), until it has all that it is to have."""

    STABLE = "stable"
    REVOKING = "revoking"
    WAITING = "waiting"


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """What a member reads, and how it wants to be assigned to."""

    topics: frozenset[str] = frozenset()
    pattern: str = ""
    assignor: str = ""
    rack: str | None = None
    rebalance_ms: int = 45_000


class ConsumerMember:
    """`assigned` is what it has or may take, `revoking` what it was told to give up and has not. `session` is when it
    counts as gone, `giving_up` when its time to give up is over: with a `classic` side, to come back or to ask for what
    it was assigned."""

    __slots__ = (
        "assigned",
        "classic",
        "client_host",
        "client_id",
        "epoch",
        "giving_up",
        "id",
        "instance_id",
        "previous_epoch",
        "progress",
        "revoking",
        "session",
        "subscription",
    )

    def __init__(self, member_id: str, instance_id: str | None, session: Deadline, giving_up: Deadline) -> None:
        self.id = member_id
        self.instance_id = instance_id
        self.session = session
        self.giving_up = giving_up
        self.client_id = ""
        self.client_host = ""
        self.subscription = Subscription()
        self.classic: ClassicSide | None = None
        self.epoch = 0
        self.previous_epoch = 0
        self.progress = Progress.STABLE
        self.assigned: frozenset[int] = frozenset()
        self.revoking: frozenset[int] = frozenset()

    @property
    def place(self) -> str:
        """Where it stands among the members; an instance always at the same place."""
        return f"1{self.id}" if self.instance_id is None else f"0{self.instance_id}"

    def is_reconciled(self, target_epoch: int) -> bool:
        return self.progress is Progress.STABLE and self.epoch == target_epoch

    def enter(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.previous_epoch, self.epoch = self.epoch, epoch

    def end(self) -> None:
        self.session.cancel()
        self.giving_up.cancel()

    def row(self, target: frozenset[int]) -> ConsumerMemberRow:
        """What is kept of the member."""
        subscription = self.subscription
        return ConsumerMemberRow(
            instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            topics=tuple(sorted(subscription.topics)),
            pattern=subscription.pattern,
            assignor=subscription.assignor,
            rack=subscription.rack,
            rebalance_ms=subscription.rebalance_ms,
            epoch=self.epoch,
            previous_epoch=self.previous_epoch,
            progress=self.progress.value,
            assigned=tuple(sorted(self.assigned)),
            revoking=tuple(sorted(self.revoking)),
            target=tuple(sorted(target)),
            classic=self.classic,
        )

    def restore(self, row: ConsumerMemberRow) -> None:
        """Become what was kept."""
        self.client_id, self.client_host = row.client_id, row.client_host
        self.subscription = Subscription(
            topics=frozenset(row.topics),
            pattern=row.pattern,
            assignor=row.assignor,
            rack=row.rack,
            rebalance_ms=row.rebalance_ms,
        )
        self.classic = row.classic
        self.epoch, self.previous_epoch = row.epoch, row.previous_epoch
        self.progress = Progress(row.progress)
        self.assigned, self.revoking = frozenset(row.assigned), frozenset(row.revoking)
