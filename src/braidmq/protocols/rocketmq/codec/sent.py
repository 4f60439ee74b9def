"""The answer to a send, written without a detour. Hot path.

It is what `encode_command` makes of the same fields, byte for byte, where all of them are texts that JSON takes as they
are; for others it makes nothing.
"""

import struct
from typing import Final

_TWO_WORDS: Final = struct.Struct(">iI")


def encode_sent(
    opaque: int, version: int, region: str, msg_id: str, queue_id: int, queue_offset: int, unique_id: str
) -> bytes | None:
    """The frame, in the JSON dress; None where the general way must be gone."""
    if not (unique_id.isalnum() and unique_id.isascii()):
        return None
    return write_sent(opaque, version, region, msg_id, queue_id, queue_offset, unique_id)


def write_sent(
    opaque: int, version: int, region: str, msg_id: str, queue_id: int, queue_offset: int, unique_id: str
) -> bytes:
    """The same where the unique id is known to be letters and digits."""
    header = (
        f'{{"code":0,"opaque":{opaque},"flag":1,"language":"JAVA","version":{version},'
        f'"serializeTypeCurrentRPC":"JSON","extFields":{{"msgId":"{msg_id}","queueId":"{queue_id}",'
        f'"queueOffset":"{queue_offset}","transactionId":"{unique_id}","MSG_REGION":"{region}","TRACE_ON":"true"}}}}'
    ).encode()
    return _TWO_WORDS.pack(4 + len(header), len(header)) + header
