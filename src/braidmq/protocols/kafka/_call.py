"""One request on its way through a handler."""

from typing import Final, Generic, TypeVar

from braidmq.protocols.kafka._accounts import ANONYMOUS
from braidmq.protocols.kafka._bound import BoundTo
from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka.codec import ApiMessage, RequestHeader
from braidmq.protocols.listener import Address

RequestT = TypeVar("RequestT", bound=ApiMessage)

UNKNOWN: Final = "unknown"
"""The software of a client that does not tell."""


class Client:
    """Who is at the other end of a connection, as far as it told us, and where it finds us."""

    __slots__ = ("advertised", "bound", "host", "id", "software_name", "software_version", "user")

    def __init__(self, host: str, advertised: Address) -> None:
        self.host = host
        """The peer's address."""
        self.advertised = advertised
        """Where this client is to connect to reach this node."""
        self.id = ""
        """The name that its last request gave."""
        self.bound: BoundTo = set()
        """What ends with this connection."""
        self.user = ANONYMOUS
        """Who is logged in."""
        self.software_name = UNKNOWN
        self.software_version = UNKNOWN

    def lose(self) -> None:
        """The connection is gone."""
        for each in list(self.bound):
            each.lose()


class Call(Generic[RequestT]):
    """What a handler is given."""

    __slots__ = ("client", "header", "request", "services")

    def __init__(self, header: RequestHeader, request: RequestT, client: Client, services: KafkaServices) -> None:
        self.header = header
        self.request = request
        self.client = client
        self.services = services

    @property
    def version(self) -> int:
        return self.header.request_api_version

    @property
    def client_id(self) -> str:
        return self.header.client_id or ""
