"""One request on its way to an answer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from braidmq.model import BraidError
from braidmq.protocols.rocketmq._errors import response_code
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import Command, ResponseCode, write_header
from braidmq.protocols.rocketmq.codec.headers import CustomHeader

if TYPE_CHECKING:
    from braidmq.protocols.rocketmq._connection import Connection

HeaderT = TypeVar("HeaderT", bound=CustomHeader)

NO_FIELDS: Mapping[str, str] = {}


class Answer(NamedTuple):
    """What a client is told. The body may come in pieces."""

    code: int = ResponseCode.SUCCESS
    fields: Mapping[str, str] = NO_FIELDS
    body: bytes = b""
    remark: str | None = None

    @classmethod
    def with_header(cls, header: CustomHeader, body: bytes = b"") -> "Answer":
        return cls(ResponseCode.SUCCESS, write_header(header), body)

    @classmethod
    def of_error(cls, error: BraidError) -> "Answer":
        return cls(response_code(error), remark=error.message)


class Call(Generic[HeaderT]):
    """A request, with the client it came from."""

    __slots__ = ("command", "connection", "frame_bytes", "header", "services")

    def __init__(self, command: Command, header: HeaderT, connection: "Connection", frame_bytes: int) -> None:
        self.command = command
        self.header = header
        self.connection = connection
        self.services: RocketMQServices = connection.services
        self.frame_bytes = frame_bytes

    def reply(self, answer: Answer) -> None:
        """For handlers that answered LATER: exactly once."""
        self.connection.answer(self, answer)

    def fail(self, error: BraidError) -> None:
        self.connection.answer(self, Answer.of_error(error))
