"""One call: what was asked, by whom."""

from typing import Any, Final

from braidmq.protocols.listener import Address
from braidmq.protocols.rocketmq.codec import Host
from braidmq.protocols.rocketmq_grpc._clients import Client, Clients
from braidmq.protocols.rocketmq_grpc._context import Context
from braidmq.protocols.rocketmq_grpc._services import GrpcServices
from braidmq.protocols.rocketmq_grpc.codes import Code, Refused

CLIENT_ID: Final = "x-mq-client-id"
LANGUAGE: Final = "x-mq-language"
CLIENT_ID_LENGTH_MAX: Final = 512


class Port:
    """What all calls to one listener share."""

    def __init__(self, services: GrpcServices, clients: Clients) -> None:
        self.services = services
        self.clients = clients
        self.address = Address("127.0.0.1", 0)
        """Where clients are sent that do not say how they reached us."""
        self.advertised: Address | None = None
        """Where clients are sent in any case."""
        self.store_host = Host.of("127.0.0.1", 0)

    def listens_at(self, bound: Address, advertised: Address | None) -> None:
        self.address, self.advertised = bound, advertised
        self.store_host = Host.of((advertised or bound).host, (advertised or bound).port)


class Call:
    """`context` is what may be done with the call beyond answering it."""

    __slots__ = ("client_id", "context", "metadata", "port", "request", "services")

    def __init__(self, port: Port, request: Any, context: Context) -> None:
        """Raises Refused for a client that does not say who it is."""
        self.port = port
        self.services = port.services
        self.request = request
        self.context = context
        self.metadata = context.metadata
        self.client_id = self.metadata.get(CLIENT_ID, "")
        if not isinstance(self.client_id, str) or not 0 < len(self.client_id) <= CLIENT_ID_LENGTH_MAX:
            raise Refused(Code.CLIENT_ID_REQUIRED, f"{CLIENT_ID} has 1 to {CLIENT_ID_LENGTH_MAX} characters")

    @property
    def client(self) -> Client | None:
        return self.port.clients.find(self.client_id)

    @property
    def peer(self) -> Address:
        return self.context.peer

    def wait_s(self, asked_s: float, longest_s: float, margin_s: float) -> float:
        """How long the call may wait: as long as it says, and not beyond its deadline."""
        left_s = self.context.time_remaining()
        wait_s = min(max(asked_s, 0.0), longest_s)
        return wait_s if left_s is None else max(min(wait_s, left_s - margin_s), 0.0)
