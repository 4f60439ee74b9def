"""RocketMQ's remoting wire, without input or output: frames in, values out, and back.

From the outside in: `frame_end` and `decode_command` make commands of bytes; `headers` makes typed headers of a
command's fields, and `decode_body` structs of its JSON body; `messages` reads and writes messages as they travel,
`ids` their ids; `mapping` turns them into messages of the house. Readers return a value or raise one of the Malformed
errors, whatever the bytes are; writers raise Unencodable.
"""

from braidmq.protocols.rocketmq.codec._bodies import decode_body, decode_body_list, encode_body
from braidmq.protocols.rocketmq.codec._errors import (
    MalformedBody,
    MalformedFrame,
    MalformedHeader,
    MalformedMessage,
    Unencodable,
)
from braidmq.protocols.rocketmq.codec._frames import (
    FRAME_BYTES_MAX,
    HEADER_BYTES_MAX,
    ONEWAY_FLAG,
    RESPONSE_FLAG,
    Command,
    Serialization,
    decode_command,
    decode_request,
    encode_command,
    encode_head,
    fields_of,
    frame_end,
    wrapped_code,
)
from braidmq.protocols.rocketmq.codec.codes import Audience, Language, RequestCode, ResponseCode
from braidmq.protocols.rocketmq.codec.headers import (
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    read_header,
    read_raw_header,
    write_header,
)
from braidmq.protocols.rocketmq.codec.ids import Host
from braidmq.protocols.rocketmq.codec.mapping import message_of, stored_message
from braidmq.protocols.rocketmq.codec.messages import BatchedMessage, StoredMessage

__all__ = [
    "FRAME_BYTES_MAX",
    "HEADER_BYTES_MAX",
    "ONEWAY_FLAG",
    "REQUEST_HEADERS",
    "RESPONSE_FLAG",
    "RESPONSE_HEADERS",
    "Audience",
    "BatchedMessage",
    "Command",
    "Host",
    "Language",
    "MalformedBody",
    "MalformedFrame",
    "MalformedHeader",
    "MalformedMessage",
    "RequestCode",
    "ResponseCode",
    "Serialization",
    "StoredMessage",
    "Unencodable",
    "decode_body",
    "decode_body_list",
    "decode_command",
    "decode_request",
    "encode_body",
    "encode_command",
    "encode_head",
    "fields_of",
    "frame_end",
    "message_of",
    "read_header",
    "read_raw_header",
    "stored_message",
    "wrapped_code",
    "write_header",
]
