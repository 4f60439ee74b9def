"""What the codec raises: one class for each thing that can be unreadable, and one for what cannot be written."""

from typing import ClassVar

from braidmq.model.errors import BraidError, MalformedRequest


class MalformedFrame(MalformedRequest):
    """The bytes are no frame of RocketMQ's remoting protocol."""

    code: ClassVar[str] = "malformed_frame"


class MalformedHeader(MalformedRequest):
    """A field of a custom header is missing, or is not what it should be. `field` is its name on the wire, if known."""

    code: ClassVar[str] = "malformed_header"

    def __init__(self, message: str | None = None, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class MalformedBody(MalformedRequest):
    """The body of a command is not the JSON that its code asks for."""

    code: ClassVar[str] = "malformed_body"


class MalformedMessage(MalformedRequest):
    """The bytes are no message, batch, message id or compressed body as RocketMQ writes them."""

    code: ClassVar[str] = "malformed_message"


class Unencodable(BraidError):
    """A value does not fit the place that RocketMQ's wire has for it."""

    code: ClassVar[str] = "unencodable"
