"""The words between groups and those who ask: what a member says, and what it is told."""

import enum
from typing import Final, NamedTuple
from typing import Protocol as TypingProtocol

import msgspec

NO_GENERATION = -1
"""Said by those who are in no generation: administrators, and consumers that share their work without a group."""

CONSUMER_PROTOCOL = "consumer"
"""The kind of protocol whose members say which topics they read."""

METADATA_LENGTH_MAX = 4096
"""How long the text beside a committed offset may be, in characters."""


class GroupState(enum.StrEnum):
    """What a group is doing. The first five are those of groups that assign by themselves."""

    EMPTY = "empty"
    PREPARING = "preparing"
    COMPLETING = "completing"
    STABLE = "stable"
    DEAD = "dead"
    ASSIGNING = "assigning"
    RECONCILING = "reconciling"


class GroupKind(enum.StrEnum):
    """Who divides the work: a member that the others chose (classic), we (consumer), or nobody, because messages are
    handed out one by one (share)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


class Migration(enum.StrEnum):
    """Whether a group with members in it may become one of the other kind (classic, consumer), so that its clients can
    be changed over one by one."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def may_upgrade(self) -> bool:
        return self in (Migration.BIDIRECTIONAL, Migration.UPGRADE)

    @property
    def may_downgrade(self) -> bool:
        return self in (Migration.BIDIRECTIONAL, Migration.DOWNGRADE)


class GroupLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What members may ask for, and how long things take."""

    initial_delay_ms: int = 0
    """How long an empty group waits for more members when the first has come."""
    session_min_ms: int = 6_000
    session_max_ms: int = 1_800_000
    members_max: int = 100_000
    new_member_ms: int = 300_000
    """How long a new member waits for the others before it is forgotten: it has no session yet."""
    offsets_retention_ms: int = 7 * 24 * 60 * 60 * 1000
    """How long offsets are kept that nobody uses."""
    sweep_ms: int = 600_000
    """How often unused offsets and groups are looked for."""
    heartbeat_ms: int = 5_000
    """How often members that we assign to are to say that they live."""
    consumer_session_ms: int = 45_000
    """How long such a member may be silent."""
    migration: Migration = Migration.BIDIRECTIONAL


class MemberIdentity(NamedTuple):
    """Who a member says it is. `generation` is also the epoch of a member that we assign to."""

    member_id: str
    generation: int = NO_GENERATION
    instance_id: str | None = None


class Protocol(NamedTuple):
    """A way to divide the work that a member knows, and what it tells the leader about itself in it."""

    name: str
    metadata: bytes


class Join(msgspec.Struct, frozen=True, kw_only=True):
    """A member wants to be in the group's next generation."""

    group: str
    member_id: str = ""
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_ms: int
    rebalance_ms: int
    protocol_type: str
    protocols: tuple[Protocol, ...]
    asks_id_first: bool = True
    """The client can be given its id first and come back with it, so that none is lost with an answer."""
    may_skip_assignment: bool = True
    """A leader that returns can be told that there is nothing to assign."""
    reason: str | None = None


class JoinedMember(NamedTuple):
    """A member as its leader sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class Joined(NamedTuple):
    """The generation that a member is in. Only the leader is told of the others."""

    member_id: str
    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


class Sync(msgspec.Struct, frozen=True, kw_only=True):
    """A member wants its assignment; the leader brings those of all."""

    group: str
    member: MemberIdentity
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: dict[str, bytes] = {}


class Synced(NamedTuple):
    """What a member is to do; opaque to us."""

    protocol_type: str | None
    protocol: str | None
    assignment: bytes


class Leaver(NamedTuple):
    """Who leaves: a member by its id, or by its instance alone when an administrator removes it."""

    member_id: str
    instance_id: str | None = None
    reason: str | None = None


class MemberView(NamedTuple):
    """A member as an administrator sees it. Metadata and assignment are empty while the group is not stable."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class GroupView(NamedTuple):
    """A group as an administrator sees it."""

    name: str
    kind: GroupKind
    state: GroupState
    protocol_type: str
    protocol: str
    members: tuple[MemberView, ...] = ()


class Pulse(msgspec.Struct, frozen=True, kw_only=True):
    """The heartbeat of a member that we assign to; None says that nothing has changed.

    Epoch 0 joins, -1 leaves, -2 leaves for a while. `held` are the numbers of the partitions that it holds.
    """

    group: str
    member_id: str
    epoch: int
    instance_id: str | None = None
    rack: str | None = None
    rebalance_ms: int = -1
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    assignor: str | None = None
    held: frozenset[int] | None = None
    client_id: str = ""
    client_host: str = ""

    @property
    def is_full(self) -> bool:
        """The member says everything, because it is new here or has missed something."""
        says_topics = self.topics is not None or self.pattern is not None
        return self.epoch == 0 or (self.rebalance_ms >= 0 and says_topics and self.held is not None)


class PulseAnswer(NamedTuple):
    """Which partitions the member is to hold, by their numbers; None if that is as before."""

    member_id: str
    epoch: int
    heartbeat_ms: int
    assigned: frozenset[int] | None


class ConsumerMemberView(NamedTuple):
    """A member that we assign to, as an administrator sees it."""

    member_id: str
    instance_id: str | None
    rack: str | None
    epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    pattern: str | None
    assigned: frozenset[int]
    target: frozenset[int]
    is_classic: bool = False
    """It speaks as if the members divided the work themselves."""


class ConsumerGroupView(NamedTuple):
    """A group that we assign to, as an administrator sees it."""

    name: str
    state: GroupState
    epoch: int
    target_epoch: int
    assignor: str
    members: tuple[ConsumerMemberView, ...]


class Spoken(NamedTuple):
    """What a member says of itself to who divides the work: what it reads, which partitions it holds, where it is."""

    topics: frozenset[str]
    held: frozenset[int]
    rack: str | None


class Speech(TypingProtocol):
    """What members that assign by themselves write to each other, as far as it can be read and written here. Kafka's
    consumers write to each other in their "consumer protocol"."""

    def topics_of(self, metadata: bytes) -> frozenset[str] | None:
        """Which topics a member reads, from its metadata; None where it cannot be read."""
        ...

    def idle_of(self, protocol_type: str, protocol: str) -> bytes | None:
        """The assignment of a member that is to read nothing, in its type of protocol and the protocol that was chosen;
        None where nobody but the members' own leader can write one."""
        ...

    def spoken(self, metadata: bytes) -> Spoken | None:
        """The member's metadata; None where it cannot be read, or wants what only its leader can give."""
        ...

    def held_by(self, assignment: bytes) -> frozenset[int] | None:
        """The partitions of an assignment; None where it cannot be read, or says more than that."""
        ...

    def assignment(self, numbers: frozenset[int], metadata: bytes) -> bytes:
        """These partitions, written for a member with this metadata."""
        ...


class _Silence:
    """Nothing can be read."""

    def topics_of(self, metadata: bytes) -> frozenset[str] | None: ...
    def idle_of(self, protocol_type: str, protocol: str) -> bytes | None: ...
    def spoken(self, metadata: bytes) -> Spoken | None: ...
    def held_by(self, assignment: bytes) -> frozenset[int] | None: ...
    def assignment(self, numbers: frozenset[int], metadata: bytes) -> bytes:  # noqa: ARG002 - says nothing
        return b""


SILENCE: Final[Speech] = _Silence()
