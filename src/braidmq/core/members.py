"""Who is connected: producers that can be asked, and consumers that share a topic among themselves.

For protocols in which consumers divide the partitions by themselves: they must all see the same list of members, and
hear when it changes. Members say again and again that they live; one that is silent for too long, or whose connection
ends, is out.

Members of one group should want the same of the same topics, for a message may come to any of them. Where they do not,
messages are lost without anybody noticing; so it is noticed here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Protocol

import msgspec

from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.timing import Clock
from braidmq.logger import get_logger
from braidmq.model import FilterKind

SILENT_MAX_MS: Final = 120_000

_logger = get_logger(__name__)


class Channel(Protocol):
    """A member's connection, as its protocol knows it. Compared by identity."""


class Interest(NamedTuple):
    """What a member wants of a topic. `version` grows when it changes its mind."""

    kind: FilterKind
    expression: str
    version: int = 0

    @property
    def choice(self) -> tuple[FilterKind, str]:
        """What must be the same for all members."""
        return self.kind, self.expression


class Member(msgspec.Struct, kw_only=True, eq=False):
    """A client in a group, as a producer or as a consumer."""

    id: str
    group: str
    address: str
    channel: Channel
    language: str = ""
    version: int = 0
    seen_ms: int = 0
    heard_ms: float = 0.0
    """The same by a clock that does not jump: nobody is struck because the time of day was set."""
    joined_ms: int = 0
    interests: Mapping[str, Interest] = {}
    """By topic; of consumers only."""
    traits: Mapping[str, str] = {}
    """What its protocol says of it beyond that, such as how it gets its messages."""
    is_broadcast: bool = False


class Difference(NamedTuple):
    """Members of one group that do not want the same of a topic: each wish, and who has it."""

    group: str
    topic: str
    wishes: Mapping[str, tuple[str, ...]]


Roster = dict[str, dict[str, Member]]
OnChange = Callable[[str, Iterable[Member]], None]


class Members:
    """All members that are connected to this node, by group."""

    def __init__(self, clock: Clock, *, silent_max_ms: int = SILENT_MAX_MS) -> None:
        self._clock = clock
        self._silent_max_ms = silent_max_ms
        self._producers: Roster = {}
        self._consumers: Roster = {}
        self._on_change: list[OnChange] = []
        self._differences: dict[tuple[str, str], Difference] = {}

    def when_changed(self, on_change: OnChange) -> None:
        """Call back with a group and its consumers when one came, went, or wants something else."""
        self._on_change.append(on_change)

    # Coming and going.

    def add_producer(self, member: Member) -> None:
        """A producer is there, or still there."""
        self._enrol(self._producers, member)

    def add_consumer(self, member: Member) -> bool:
        """A consumer is there, or still there; whether that is news for its group."""
        known = self._enrol(self._consumers, member)
        is_news = known is None or known.channel is not member.channel
        if known is None or _choices(known.interests) != _choices(member.interests):
            self._compare(member.group)
            is_news = True
        if is_news:
            self._tell(member.group)
        return is_news

    def heard(self, member: Member) -> None:
        """It lives."""
        member.seen_ms = self._clock.now_ms()
        member.heard_ms = self._clock.passed_ms()

    def remove(self, client_id: str, *, producer_group: str | None = None, consumer_group: str | None = None) -> None:
        """A client leaves a group, in either of the two roles."""
        if producer_group is not None:
            _strike(self._producers, producer_group, client_id)
        if consumer_group is not None and _strike(self._consumers, consumer_group, client_id):
            self._left(consumer_group)

    def lost(self, channel: Channel) -> list[Member]:
        """A connection ended; the consumers that it was."""
        for member in [each for each in _all(self._producers) if each.channel is channel]:
            _strike(self._producers, member.group, member.id)
        return self._strike_consumers([each for each in _all(self._consumers) if each.channel is channel])

    def expire(self) -> list[Member]:
        """Strike those that have been silent for too long; the consumers among them."""
        before_ms = self._clock.passed_ms() - self._silent_max_ms
        for member in [each for each in _all(self._producers) if each.heard_ms < before_ms]:
            _strike(self._producers, member.group, member.id)
        return self._strike_consumers([each for each in _all(self._consumers) if each.heard_ms < before_ms])

    # Lookups.

    def consumers(self, group: str) -> list[Member]:
        return list(self._consumers.get(group, {}).values())

    def consumer(self, group: str, client_id: str) -> Member | None:
        return self._consumers.get(group, {}).get(client_id)

    def producers(self, group: str) -> list[Member]:
        return list(self._producers.get(group, {}).values())

    def producer_named(self, client_id: str) -> Member | None:
        """A producer by its client's name, in whatever group."""
        return next((each[client_id] for each in self._producers.values() if client_id in each), None)

    def consumer_groups(self) -> list[str]:
        return sorted(self._consumers)

    def producer_groups(self) -> list[str]:
        return sorted(self._producers)

    def groups_of_topic(self, topic: str) -> list[str]:
        """The groups with a member that wants something of this topic."""
        return sorted(
            group
            for group, members in self._consumers.items()
            if any(topic in member.interests for member in members.values())
        )

    def reads(self, group: str, topic: str) -> bool:
        """Whether a live member of the group wants something of the topic."""
        return any(topic in member.interests for member in self._consumers.get(group, {}).values())

    def interest(self, group: str, topic: str, channel: Channel) -> Interest | None:
        """What the member behind this connection wants of the topic; if it has not said, what another member wants."""
        other: Interest | None = None
        for member in self._consumers.get(group, {}).values():
            found = member.interests.get(topic)
            if found is not None and member.channel is channel:
                return found
            other = other or found
        return other

    def differences(self, group: str | None = None) -> list[Difference]:
        """Where members of a group, or of any, do not want the same."""
        return [each for each in self._differences.values() if group is None or each.group == group]

    def metrics(self) -> Iterator[Metric]:
        """How many there are, and how many groups are at odds."""
        for role, roster in (("producer", self._producers), ("consumer", self._consumers)):
            count = sum(len(members) for members in roster.values())
            yield Metric("braid_members", MetricKind.GAUGE, "Clients in groups.", count, {"role": role})
        yield Metric(
            "braid_members_differences",
            MetricKind.GAUGE,
            "Topics of which members of one group do not want the same.",
            len(self._differences),
        )

    # How it is kept.

    def _enrol(self, roster: Roster, member: Member) -> Member | None:
        members = roster.setdefault(member.group, {})
        known = members.get(member.id)
        self.heard(member)
        member.joined_ms = member.seen_ms if known is None else known.joined_ms
        members[member.id] = member
        return known

    def _strike_consumers(self, gone: list[Member]) -> list[Member]:
        for member in gone:
            _strike(self._consumers, member.group, member.id)
        for group in {member.group for member in gone}:
            self._left(group)
        return gone

    def _left(self, group: str) -> None:
        self._compare(group)
        self._tell(group)

    def _tell(self, group: str) -> None:
        members = self.consumers(group)
        for on_change in self._on_change:
            on_change(group, members)

    def _compare(self, group: str) -> None:
        """Notice what members of the group do not agree on, and when they agree again."""
        found = {(each.group, each.topic): each for each in _differences(group, self.consumers(group))}
        for key in [key for key in self._differences if key[0] == group and key not in found]:
            del self._differences[key]
            _logger.info("members of a group agree again", group=key[0], topic=key[1])
        for key, difference in found.items():
            if self._differences.get(key) != difference:
                _logger.warning(
                    "members of a group do not want the same; messages of this topic are lost for them",
                    group=group,
                    topic=difference.topic,
                    wishes={wish: list(members) for wish, members in difference.wishes.items()},
                )
                self._differences[key] = difference


def _differences(group: str, members: list[Member]) -> Iterator[Difference]:
    if len(members) < 2:
        return
    for topic in sorted({topic for member in members for topic in member.interests}):
        wishes: dict[str, list[str]] = {}
        for member in members:
            interest = member.interests.get(topic)
            wish = "nothing" if interest is None else f"{interest.kind.value} {interest.expression}".strip()
            wishes.setdefault(wish, []).append(member.id)
        if len(wishes) > 1:
            yield Difference(group, topic, {wish: tuple(sorted(ids)) for wish, ids in sorted(wishes.items())})


def _choices(interests: Mapping[str, Interest]) -> dict[str, tuple[FilterKind, str]]:
    return {topic: interest.choice for topic, interest in interests.items()}


def _all(roster: Roster) -> Iterator[Member]:
    for members in roster.values():
        yield from members.values()


def _strike(roster: Roster, group: str, client_id: str) -> bool:
    members = roster.get(group, {})
    is_known = members.pop(client_id, None) is not None
    if not members:
        roster.pop(group, None)
    return is_known
