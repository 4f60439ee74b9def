"""One request on its way through a handler."""

from typing import Generic, TypeVar

from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka.codec import ApiMessage, RequestHeader
from braidmq.protocols.listener import Address

RequestT = TypeVar("RequestT", bound=ApiMessage)


class Client:
    """Who is at the other end of a connection, as far as it told us, and where it finds us."""

    __slots__ = ("advertised", "host", "software_name", "software_version")

    def __init__(self, host: str, advertised: Address) -> None:
        self.host = host
        """The peer's address."""
        self.advertised = advertised
        """Where this client is to connect to reach this node."""
        self.software_name = "unknown"
        self.software_version = "unknown"


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
