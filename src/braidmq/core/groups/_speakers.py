"""Members of a group that we assign to, who speak as if they divided the work themselves.

While the clients of a group are changed over one by one, some speak the classic protocol and others do not. To the
former it looks as if somebody else led: they join, ask for their assignment and send heartbeats as ever. Their
generation is their own epoch here, and nobody is called together: each is told by its heartbeat to join again when
there is a new target, when it is to give something up, and when what it waits for is free. By joining it says what it
still holds: nothing, if it gave up everything before (as eager clients do), or what it owns (as cooperative ones say).

Who was told to come has its time to do so, and who came has as much to ask for its assignment.
"""

import asyncio
from typing import Protocol

from braidmq.core.groups._consumer import ConsumerGroup
from braidmq.core.groups._consumer_member import ConsumerMember, Progress, Subscription
from braidmq.core.groups._rows import ClassicMemberRow, ClassicRow, ClassicSide, ConsumerMemberRow, ConsumerRow
from braidmq.core.groups._words import (
    CONSUMER_PROTOCOL,
    GroupState,
    Join,
    Joined,
    MemberIdentity,
    Speech,
    Spoken,
    Sync,
    Synced,
)
from braidmq.model.errors import (
    InconsistentProtocol,
    MemberIdRequired,
    RebalanceInProgress,
    StaleGeneration,
    UnknownMember,
)

Kept = asyncio.Future[None] | None


class Home(Protocol):
    """What is needed of the service."""

    def draw_id(self) -> str: ...

    @property
    def speech(self) -> Speech: ...


def join(group: ConsumerGroup, home: Home, asked: Join) -> tuple[Joined, Kept]:
    """The answer, and when it may be given. Raises GroupFull, InconsistentProtocol, MemberIdRequired, UnknownMember,
    InstanceFenced."""
    if asked.member_id not in group.members and asked.instance_id is None:
        group.check_room()
    spoken = _understood(group, home, asked)
    member_id = asked.member_id
    if not member_id:
        member_id = f"{asked.client_id if asked.instance_id is None else asked.instance_id}-{home.draw_id()}"
        if asked.instance_id is None and asked.asks_id_first:
            raise MemberIdRequired(member_id=member_id)
    elif asked.instance_id is not None:
        group.find(member_id, asked.instance_id)
    member = group.enroll(member_id, asked.instance_id, is_classic=True)
    group.describe(
        member,
        Subscription(topics=spoken.topics, rack=spoken.rack, rebalance_ms=asked.rebalance_ms),
        ClassicSide(
            session_ms=asked.session_ms, protocols=tuple((each.name, each.metadata) for each in asked.protocols)
        ),
        (asked.client_id, asked.client_host),
    )
    group.settle(member, spoken.held)
    member.session.set(asked.session_ms)
    member.giving_up.set(asked.rebalance_ms)
    return Joined(member.id, member.epoch, CONSUMER_PROTOCOL, asked.protocols[0].name, leader=""), group.keep()


def sync(group: ConsumerGroup, home: Home, asked: Sync) -> tuple[Synced, Kept]:
    """The answer, and when it may be given. Raises UnknownMember, InstanceFenced, StaleGeneration,
    InconsistentProtocol, RebalanceInProgress."""
    member, side = _speaking(group, asked.member)
    if asked.protocol_type not in (None, CONSUMER_PROTOCOL) or asked.protocol not in (None, side.protocol):
        raise InconsistentProtocol(f"member {member.id} of {group.name!r} works by {CONSUMER_PROTOCOL} {side.protocol}")
    if group.epoch > member.epoch and member.progress is not Progress.REVOKING:
        _call_back(member)
        raise RebalanceInProgress()
    member.giving_up.cancel()
    member.session.set(side.session_ms)
    assignment = home.speech.assignment(member.assigned, side.metadata)
    return Synced(asked.protocol_type, asked.protocol, assignment), group.keep()


def heartbeat(group: ConsumerGroup, identity: MemberIdentity) -> None:
    """Raises UnknownMember, InstanceFenced, StaleGeneration, RebalanceInProgress."""
    member, side = _speaking(group, identity)
    member.session.set(side.session_ms)
    group.refresh_topics()
    group.keep()
    has_room = member.progress is Progress.WAITING and group.is_all_free(member)
    if group.epoch > member.epoch or member.progress is Progress.REVOKING or has_room:
        _call_back(member)
        raise RebalanceInProgress()


def _call_back(member: ConsumerMember) -> None:
    if not member.giving_up.is_set:
        member.giving_up.set(member.subscription.rebalance_ms)


def _speaking(group: ConsumerGroup, identity: MemberIdentity) -> tuple[ConsumerMember, ClassicSide]:
    member = group.find(identity.member_id, identity.instance_id)
    if member.classic is None:
        raise UnknownMember(f"member {member.id} of {group.name!r} is assigned to by its heartbeats")
    if identity.generation != member.epoch:
        raise StaleGeneration(f"member {member.id} of {group.name!r} is in epoch {member.epoch}")
    return member, member.classic


def _understood(group: ConsumerGroup, home: Home, asked: Join) -> Spoken:
    """What the member says, where it can work with the others. Raises InconsistentProtocol."""
    others = [
        each.classic for each in group.members.values() if each.classic is not None and each.id != asked.member_id
    ]
    common = {each.name for each in asked.protocols}
    for other in others:
        common &= {name for name, _ in other.protocols}
    if asked.protocol_type != CONSUMER_PROTOCOL or not common:
        raise InconsistentProtocol(
            f"the members of {group.name!r} have no protocol of type {asked.protocol_type!r} in common with this one"
        )
    spoken = home.speech.spoken(asked.protocols[0].metadata)
    if spoken is None:
        raise InconsistentProtocol(
            f"the members of {group.name!r} are assigned to by the node, and what this one reads cannot be assigned so"
        )
    return spoken


# Changing over.


def as_assigned(
    row: ClassicRow, members: dict[str, ClassicMemberRow], speech: Speech
) -> tuple[ConsumerRow, dict[str, ConsumerMemberRow]] | str:
    """What is kept of a group whose members have divided the work, as if it had been divided for them; or why that
    cannot be."""
    if row.protocol_type != CONSUMER_PROTOCOL:
        return "its members do not divide partitions of topics"
    given: dict[int, str] = {}
    said: dict[str, Spoken] = {}
    for member_id, member in members.items():
        numbers = speech.held_by(member.assignment)
        if numbers is None:
            return "its members' assignor writes more than partitions; let them use a usual one first"
        spoken = speech.spoken(dict(member.protocols).get(row.protocol or "", member.protocols[0][1]))
        if spoken is None:
            return f"what member {member_id} reads cannot be assigned by the node"
        given |= dict.fromkeys(numbers, member_id)
        said[member_id] = spoken
    for member_id, spoken in said.items():  # who has not heard of its latest assignment still has what it said it had
        given = dict.fromkeys(spoken.held, member_id) | given
    assigned: dict[str, ConsumerMemberRow] = {}
    for member_id, member in members.items():
        held = tuple(sorted(number for number, holder in given.items() if holder == member_id))
        assigned[member_id] = ConsumerMemberRow(
            instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            topics=tuple(sorted(said[member_id].topics)),
            pattern="",
            assignor="",
            rack=said[member_id].rack,
            rebalance_ms=member.rebalance_ms,
            epoch=row.generation,
            previous_epoch=row.generation,
            progress=Progress.STABLE.value,
            assigned=held,
            revoking=(),
            target=held,
            classic=ClassicSide(session_ms=member.session_ms, protocols=member.protocols),
        )
    return ConsumerRow(epoch=row.generation, target_epoch=row.generation, assignor="", topics=""), assigned


def as_classic(group: ConsumerGroup, speech: Speech, changed_ms: int) -> tuple[ClassicRow, dict[str, ClassicMemberRow]]:
    """What is kept of a group all of whose members speak the classic protocol, as if they had divided the work. They
    begin anew, unless each has what it is to have; in a generation that they know."""
    sides = {member.id: member.classic for member in group.members.values() if member.classic is not None}
    known = set.intersection(*({name for name, _ in side.protocols} for side in sides.values()))
    row = ClassicRow(
        generation=group.target_epoch,
        protocol_type=CONSUMER_PROTOCOL,
        protocol=next(name for side in sides.values() for name, _ in side.protocols if name in known),
        leader=next(iter(sides)),
        is_rebalancing=group.state is not GroupState.STABLE,
        changed_ms=changed_ms,
    )
    members = {
        member_id: ClassicMemberRow(
            instance_id=group.members[member_id].instance_id,
            client_id=group.members[member_id].client_id,
            client_host=group.members[member_id].client_host,
            session_ms=side.session_ms,
            rebalance_ms=group.members[member_id].subscription.rebalance_ms,
            protocols=side.protocols,
            assignment=speech.assignment(group.target(member_id), dict(side.protocols)[row.protocol or ""]),
        )
        for member_id, side in sides.items()
    }
    return row, members
