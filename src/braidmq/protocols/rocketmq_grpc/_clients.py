"""Clients, as they introduce themselves on their telemetry streams.

A client is known by the id that it sends with every call. It outlives its stream for a while: one that reconnects finds
itself as it was. While its stream lives, the messages that it was given are renewed for it, and it can be asked about
its half messages.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from braidmq.core.members import Interest, Member, Members
from braidmq.logger import get_logger
from braidmq.model.errors import MemberSilent, TooManyReceivers, UnknownMember
from braidmq.protocols.rocketmq_grpc.codes import ClientType

SILENT_MAX_S: Final = 120.0
UNSENT_MAX: Final = 1_000
"""How many commands may wait for a client to take them."""
ASKED_MAX: Final = 64
"""How many questions may wait for one client's answers."""
CONSUMERS: Final = frozenset(ClientType) - {ClientType.PRODUCER}
LITE_CONSUMERS: Final = frozenset({ClientType.LITE_PUSH_CONSUMER, ClientType.LITE_SIMPLE_CONSUMER})

_logger = get_logger(__name__)


class Writer(Protocol):
    """The server's end of a stream."""

    async def write(self, message: Any) -> None: ...


class Stream:
    """A telemetry stream: commands go out one behind the other."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._unsent: asyncio.Queue[Any] = asyncio.Queue(UNSENT_MAX)

    def tell(self, command: Any) -> bool:
        """Send the command a moment later; False where the client takes nothing."""
        try:
            self._unsent.put_nowait(command)
        except asyncio.QueueFull:
            return False
        return True

    async def send_all(self) -> None:
        """Until it is cancelled, or the stream ends."""
        while True:
            await self._writer.write(await self._unsent.get())


class Client:
    """One client. It is the channel of its members, and the holder of what it was given."""

    def __init__(self, client_id: str) -> None:
        self.id = client_id
        self.address = ""
        self.language = ""
        self.request_s = 0.0
        """How long it waits for any answer, beside what it wants to wait for messages."""
        self.kind: ClientType | None = None
        self.group: str | None = None
        self.topics: tuple[str, ...] = ()
        """What a producer says that it sends to."""
        self.interests: Mapping[str, Interest] = {}
        self.stream: Stream | None = None
        self.seen_s = 0.0
        self.since_s = asyncio.get_running_loop().time()
        self._asked: dict[str, asyncio.Future[Any]] = {}
        """What it was asked and has not answered, by the word that comes back with the answer."""

    @property
    def is_alive(self) -> bool:
        return self.stream is not None

    @property
    def is_consumer(self) -> bool:
        return self.kind in CONSUMERS

    @property
    def is_lite(self) -> bool:
        return self.kind in LITE_CONSUMERS

    def tell(self, command: Any) -> bool:
        return self.stream is not None and self.stream.tell(command)

    async def ask(self, nonce: str, command: Any, *, timeout_s: float) -> Any:
        """Send a command that has this nonce, and wait for the command that answers it. Raises UnknownMember where the
        client has gone, MemberSilent."""
        if len(self._asked) >= ASKED_MAX:
            raise MemberSilent(f"{self.id!r} has left {ASKED_MAX} questions without an answer")
        if not self.tell(command):
            raise UnknownMember(f"{self.id!r} has no telemetry stream now")
        answered = self._asked[nonce] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout_s):
                return await answered
        except TimeoutError as error:
            raise MemberSilent(f"{self.id!r} was asked, and did not answer within {timeout_s:g} s") from error
        finally:
            self._asked.pop(nonce, None)

    def hear(self, nonce: str, command: Any) -> None:
        """An answer. One that nobody waits for any more is nothing."""
        asked = self._asked.get(nonce)
        if asked is not None and not asked.done():
            asked.set_result(command)

    def gone(self) -> None:
        """Nothing is to be expected of it any more."""
        self.stream = None
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(UnknownMember(f"{self.id!r} has gone without an answer"))

    def members(self) -> Iterator[Member]:
        """The client in each of its groups: a producer is in one for each of its topics."""
        groups = (self.group,) if self.is_consumer else self.topics
        for group in groups:
            if group:
                yield Member(
                    id=self.id,
                    group=group,
                    address=self.address,
                    channel=self,
                    language=self.language,
                    interests=self.interests,
                    traits={"protocol": "grpc", "type": "" if self.kind is None else self.kind.name},
                )


class Clients:
    """All clients that this node knows."""

    def __init__(self, members: Members, *, clients_max: int, on_gone: Callable[[str], None]) -> None:
        """`on_gone` is told the id of a client that is gone for good."""
        self._members = members
        self._on_gone = on_gone
        self._clients_max = clients_max
        self._by_id: dict[str, Client] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Client]:
        return iter(self._by_id.values())

    def find(self, client_id: str) -> Client | None:
        return self._by_id.get(client_id)

    def adopt(self, client_id: str) -> Client:
        """The client of this id, known from now on. Raises TooManyReceivers."""
        client = self._by_id.get(client_id)
        if client is None:
            if len(self._by_id) >= self._clients_max:
                raise TooManyReceivers(f"{self._clients_max} clients are known (rocketmq_grpc.connections_max)")
            client = self._by_id[client_id] = Client(client_id)
        return client

    def enrol(self, client: Client) -> None:
        """The client is there, or still there, in all its groups."""
        client.seen_s = asyncio.get_running_loop().time()
        for member in client.members():
            if client.is_consumer:
                self._members.add_consumer(member)
            else:
                self._members.add_producer(member)

    def forget(self, client: Client) -> None:
        """The client is gone for good."""
        self._by_id.pop(client.id, None)
        client.gone()
        self._members.lost(client)
        self._on_gone(client.id)

    def expire(self) -> None:
        """Forget those without a stream that have been silent for too long."""
        before_s = asyncio.get_running_loop().time() - SILENT_MAX_S
        for client in [each for each in self if each.stream is None and each.seen_s < before_s]:
            _logger.info("a client of RocketMQ's is gone without a word", client=client.id, group=client.group)
            self.forget(client)
