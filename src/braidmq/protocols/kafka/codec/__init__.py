"""Kafka's wire, without input or output: frames in, values out, and back.

The contract of every reader: it is given a complete frame as `bytes`, without its size, and returns a value or raises;
it never asks for more, keeps nothing, and makes no more elements than the frame has room for. Whatever the bytes are, a
request that cannot be read is `MalformedRequest`, a response `MalformedResponse`, and nothing else.

Messages are structs in `messages`, one module for each API, one class for all versions, such as
`messages.produce.ProduceRequest`. A field that a version lacks has its default after decoding; encoding refuses a value
that the version would lose, unless Kafka lets it be dropped. `None` is null, or a tagged struct that is absent. Topic
ids are the sixteen bytes of a UUID. Records are opaque: views of the frame when decoded, any buffer of bytes when
encoded. Unknown tagged fields are skipped.
"""

from braidmq.model.errors import MalformedRequest, MalformedResponse
from braidmq.protocols.kafka.codec._apis import APIS, Api, ApiKey
from braidmq.protocols.kafka.codec._errors import Unencodable, UnsupportedVersion
from braidmq.protocols.kafka.codec._frames import (
    RequestBeginning,
    decode_message,
    decode_request,
    decode_response,
    encode_message,
    encode_request,
    encode_response,
    encode_response_pieces,
    peek_request,
    request_class,
    response_class,
)
from braidmq.protocols.kafka.codec._schema import NO_UUID, ApiMessage, Buffer, Struct, Uuid
from braidmq.protocols.kafka.codec.error_codes import ErrorCode
from braidmq.protocols.kafka.codec.messages.headers import RequestHeader

__all__ = [
    "APIS",
    "NO_UUID",
    "Api",
    "ApiKey",
    "ApiMessage",
    "Buffer",
    "ErrorCode",
    "MalformedRequest",
    "MalformedResponse",
    "RequestBeginning",
    "RequestHeader",
    "Struct",
    "Unencodable",
    "UnsupportedVersion",
    "Uuid",
    "decode_message",
    "decode_request",
    "decode_response",
    "encode_message",
    "encode_request",
    "encode_response",
    "encode_response_pieces",
    "peek_request",
    "request_class",
    "response_class",
]
