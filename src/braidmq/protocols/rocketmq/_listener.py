"""The listener: name server and broker, on one port or on several.

Every port answers every request, for the two roles never use the same code. Clients that ask for a route are sent to
the broker's own address where there is one, else to where they are. The port two below the broker's is the one that
clients with the VIP channel turned on use for sending.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from braidmq.core.metrics import Metric, MetricKind
from braidmq.protocols.framed import FramedLimits, FramedListener
from braidmq.protocols.listener import Address, Endpoint
from braidmq.protocols.rocketmq import (
    _audit,
    handlers,  # noqa: F401 - importing it registers them
)
from braidmq.protocols.rocketmq._checks import ProducerChecks
from braidmq.protocols.rocketmq._connection import Connection
from braidmq.protocols.rocketmq._members import MemberNotices
from braidmq.protocols.rocketmq._questions import ConsumerQuestions
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode

VIP_DISTANCE: Final = 2
_ANY_HOSTS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_CODE_NAMES: Final = {int(code): code.name for code in RequestCode}


class RocketMQListener(FramedListener):
    """See `protocols.listener.Listener`. `endpoints` are given to clients as the name server."""

    name = "rocketmq"

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        brokers: Iterable[Endpoint],
        services: RocketMQServices,
        limits: FramedLimits,
        *,
        with_vip: bool,
    ) -> None:
        super().__init__(endpoints, limits)
        self.services = services
        self.requests: Counter[int] = Counter()
        self.audited = _audit.changing()
        self._brokers = tuple(brokers)
        self._with_vip = with_vip
        self._bound: list[tuple[Address, Endpoint]] = []
        """Where the broker listens in fact, and by which endpoint."""
        self._vip_ports: set[int] = set()
        self._notices = MemberNotices(services)
        services.halves.ask_through(ProducerChecks(services))
        services.questions.ask_through(ConsumerQuestions(services))

    async def start(self) -> tuple[Address, ...]:
        addresses = [*await super().start()]
        for endpoint in self._brokers:
            bound = await self._listen(endpoint)
            self._bound += [(address, endpoint) for address in bound]
            addresses += bound
        if self._with_vip:
            for endpoint in self._brokers or self._endpoints:
                addresses += await self._listen_for_vip(endpoint)
        self._notices.start()
        return tuple(addresses)

    async def _listen_for_vip(self, endpoint: Endpoint) -> tuple[Address, ...]:
        """Whoever comes there is told the broker's address. A port that the system chose has no other one two below it
        that we could count on."""
        port = endpoint.listen.port - VIP_DISTANCE
        if port <= 0:
            return ()
        sockets = await self._listen(Endpoint(endpoint.listen._replace(port=port), endpoint.advertised))
        self._vip_ports.add(port)
        return sockets

    async def close(self) -> None:
        self._notices.close()
        await super().close()
        await self.services.commits.close()

    def _connect(self, advertise: Callable[[Address], Address]) -> Connection:
        return Connection(self, advertise)

    def broker_address(self, here: Address) -> Address:
        """Where a client that reached us at this address of ours reaches the broker: by the same host, unless told."""
        if here.port in self._vip_ports:
            here = here._replace(port=here.port + VIP_DISTANCE)
        if not self._bound or any(here in (bound, endpoint.advertised) for bound, endpoint in self._bound):
            return here
        bound, endpoint = min(self._bound, key=lambda each: each[0].host not in (here.host, *_ANY_HOSTS))
        return endpoint.advertised or Address(here.host if bound.host in _ANY_HOSTS else bound.host, bound.port)

    def metrics(self) -> Iterator[Metric]:
        """Who is connected, and what they ask."""
        connected = len(self._connections)
        yield Metric("braid_rocketmq_connections", MetricKind.GAUGE, "RocketMQ clients connected.", connected)
        held = self.memory.partial_bytes + self.memory.whole_bytes
        yield Metric("braid_rocketmq_request_bytes", MetricKind.GAUGE, "Bytes of requests under way.", held)
        for code, count in sorted(self.requests.items()):
            labels = {"request": _CODE_NAMES.get(code, "unknown")}
            yield Metric("braid_rocketmq_requests", MetricKind.COUNTER, "Requests, by code.", count, labels)
