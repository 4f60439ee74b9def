"""Who receives without a connection of its own: a client is a member of a group for as long as it keeps asking.

One idea: asking is living. A client that waits is there, and one that was answered has a while to come again or to say
what became of its messages; who does neither has gone, and so has one whose last connection ended. A client is known by
the name that it gives itself, and one without a name by its address.
"""

from typing import Final, NamedTuple

from braidmq.core.members import Interest, Member, Members
from braidmq.core.timing import Clock, Deadline

AWAY_MAX_MS: Final = 10_000
"""How long a client counts as there after its last word."""
CLIENTS_MAX: Final = 10_000
"""How many are known at a time; others are served, and not shown."""
PEERS_MAX: Final = 16
TOPICS_MAX: Final = 1_000
NAME_LENGTH_MAX: Final = 255


class Caller(NamedTuple):
    """Who asks, as the request tells."""

    host: str = ""
    port: int = 0
    client_id: str = ""
    """As it calls itself."""
    software: str = ""

    @property
    def address(self) -> str:
        if not self.host:
            return ""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def name(self) -> str:
        return (self.client_id or self.address)[:NAME_LENGTH_MAX]


class Receiver:
    """One client, in all its groups. It is the channel of its members."""

    def __init__(self, name: str, deadline: Deadline) -> None:
        self.name = name
        self.deadline = deadline
        self.members: dict[str, Member] = {}
        """By group."""
        self.peers: dict[tuple[str, int], None] = {}
        """Where it asked from, the latest last."""


class Receivers:
    """Those who ask this node."""

    def __init__(self, members: Members, clock: Clock) -> None:
        self._members = members
        self._clock = clock
        self._receivers: dict[str, Receiver] = {}
        self._peers: dict[tuple[str, int], Receiver] = {}

    def __len__(self) -> int:
        return len(self._receivers)

    def at(self, host: str, port: int) -> Receiver | None:
        """The client that asked from there last."""
        return self._peers.get((host, port))

    def asks(self, caller: Caller, group: str, topic: str, interest: Interest, *, wait_s: float = 0.0) -> None:
        """A client wants messages of the topic, and waits so long for them. Hot path."""
        receiver = self._receiver(caller)
        if receiver is None:
            return
        member = receiver.members.get(group)
        if member is None or member.interests.get(topic) != interest or member.address != caller.address:
            self._enrol(receiver, caller, group, topic, interest)
        else:
            self._members.heard(member)
        receiver.deadline.set(wait_s * 1000 + AWAY_MAX_MS)

    def speaks(self, caller: Caller, group: str) -> None:
        """A client says what became of messages; it is still there."""
        receiver = self._receivers.get(caller.name)
        if receiver is not None and group in receiver.members:
            self._members.heard(receiver.members[group])
            receiver.deadline.set(AWAY_MAX_MS)

    def left(self, host: str, port: int) -> None:
        """A connection has ended; with its last one a client has gone."""
        receiver = self._peers.get((host, port))
        if receiver is not None:
            self._forget_peer(receiver, (host, port))
            if not receiver.peers:
                receiver.deadline.cancel()
                self._strike(receiver.name)

    def _receiver(self, caller: Caller) -> Receiver | None:
        """The client, known from now on; None where nobody can tell who asks, or too many are known."""
        receiver = self._receivers.get(caller.name)
        if receiver is None:
            if not caller.name or len(self._receivers) >= CLIENTS_MAX:
                return None
            receiver = Receiver(caller.name, Deadline(self._clock, lambda: self._strike(caller.name)))
            self._receivers[caller.name] = receiver
        self._note_peer(receiver, (caller.host, caller.port))
        return receiver

    def _note_peer(self, receiver: Receiver, peer: tuple[str, int]) -> None:
        self._peers[peer] = receiver
        receiver.peers.pop(peer, None)
        receiver.peers[peer] = None
        if len(receiver.peers) > PEERS_MAX:
            self._forget_peer(receiver, next(iter(receiver.peers)))

    def _forget_peer(self, receiver: Receiver, peer: tuple[str, int]) -> None:
        del receiver.peers[peer]
        if self._peers.get(peer) is receiver:
            del self._peers[peer]

    def _enrol(self, receiver: Receiver, caller: Caller, group: str, topic: str, interest: Interest) -> None:
        known = receiver.members.get(group)
        interests = {} if known is None else dict(known.interests)
        if len(interests) < TOPICS_MAX:
            interests[topic] = interest
        member = receiver.members[group] = Member(
            id=receiver.name,
            group=group,
            address=caller.address,
            channel=receiver,
            language=caller.software,
            interests=interests,
            traits={"protocol": "http"},
        )
        self._members.add_consumer(member)

    def _strike(self, name: str) -> None:
        receiver = self._receivers.pop(name)
        for peer in list(receiver.peers):
            self._forget_peer(receiver, peer)
        self._members.lost(receiver)
