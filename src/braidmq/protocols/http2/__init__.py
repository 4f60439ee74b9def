"""HTTP/2, the server's side: frames and streams without input or output.

`Connection` is given the bytes that came and gives back the bytes to send. What its peer asks for comes to a `Streams`;
bounds on everything that a peer can make us keep are in `Limits`.
"""

from braidmq.protocols.http2._connection import Connection, Limits, Stream, Streams
from braidmq.protocols.http2._errors import ErrorCode, Http2Error
from braidmq.protocols.http2._frames import PREFACE
from braidmq.protocols.http2._headers import Headers, literal_block

__all__ = [
    "PREFACE",
    "Connection",
    "ErrorCode",
    "Headers",
    "Http2Error",
    "Limits",
    "Stream",
    "Streams",
    "literal_block",
]
