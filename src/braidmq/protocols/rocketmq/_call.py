"""One request on its way to an answer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from braidmq.model import BraidError
from braidmq.protocols.rocketmq._errors import response_code
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import (
    Command,
    ResponseCode,
    fields_of,
    read_header,
    read_raw_header,
    write_header,
)
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
    """A request, with the client it came from. `raw` is its fields as they came, read when they are asked for."""

    __slots__ = ("_raw", "command", "connection", "frame_bytes", "header", "services")

    header: HeaderT

    def __init__(
        self, command: Command, raw: bytes | dict[str, str], connection: "Connection", frame_bytes: int
    ) -> None:
        self.command = command
        self._raw = raw
        self.connection = connection
        self.services: RocketMQServices = connection.services
        self.frame_bytes = frame_bytes

    def read_header(self, kind: type[HeaderT]) -> None:
        """Make the header of the fields. Raises MalformedHeader."""
        header = read_raw_header(kind, self._raw) if isinstance(self._raw, bytes) else None
        self.header = read_header(kind, self.fields) if header is None else header

    @property
    def fields(self) -> dict[str, str]:
        """All fields by name, those that no header has a place for among them."""
        if isinstance(self._raw, bytes):
            self._raw = fields_of(self._raw)
        return self._raw

    def reply(self, answer: Answer) -> None:
        """For handlers that answered LATER: exactly once."""
        self.connection.answer(self, answer)

    def fail(self, error: BraidError) -> None:
        self.connection.answer(self, Answer.of_error(error))
