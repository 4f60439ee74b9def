"""What a peer did wrong: by a whole connection, or by one stream of it."""

import enum

from braidmq.model import BraidError


class ErrorCode(enum.IntEnum):
    """HTTP/2's own numbers (RFC 9113, section 7)."""

    NO_ERROR = 0x0
    PROTOCOL_ERROR = 0x1
    INTERNAL_ERROR = 0x2
    FLOW_CONTROL_ERROR = 0x3
    SETTINGS_TIMEOUT = 0x4
    STREAM_CLOSED = 0x5
    FRAME_SIZE_ERROR = 0x6
    REFUSED_STREAM = 0x7
    CANCEL = 0x8
    COMPRESSION_ERROR = 0x9
    CONNECT_ERROR = 0xA
    ENHANCE_YOUR_CALM = 0xB


class Http2Error(BraidError):
    """The peer broke the rules of HTTP/2, and the connection ends."""

    code = "http2_error"

    def __init__(self, number: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.number = number


class StreamError(BraidError):
    """The peer broke the rules on one stream, which ends; the others go on."""

    code = "http2_stream_error"

    def __init__(self, stream_id: int, number: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.stream_id = stream_id
        self.number = number
