"""The message: what a user sends, in the one shape that every protocol is translated to and from.

Properties are headers, in order and with repetition as Kafka allows them. Tag, keys and unique id are headers like any
other, under the names that RocketMQ gives them, so that every protocol can read and set them.
"""

from collections.abc import Iterable, Mapping

import msgspec

from braidmq.model.numbers import whole_number

Header = tuple[str, bytes | None]

TAG_HEADER = "TAGS"
KEYS_HEADER = "KEYS"
ID_HEADER = "UNIQ_KEY"
BORN_HEADER = "BORN_TIMESTAMP"
"""When a message was born that came to its topic later: its record has the time of its coming."""
SHARDING_KEY_HEADER = "__SHARDINGKEY"
PRIORITY_HEADER = "_SYS_MSG_PRIORITY_"
"""How urgent a message is in a topic of priorities, as a decimal number; more is sooner."""
LITE_TOPIC_HEADER = "__LITE_TOPIC"
"""The lite topic that a message was sent to, by the name that it has under its parent."""
ATTEMPT_HEADER = "RECONSUME_TIME"
"""How often a message was delivered in vain, as a decimal number; absent before the first time."""
RETRY_TOPIC_HEADER = "RETRY_TOPIC"
"""The topic that a retried message came from."""
ORIGIN_ID_HEADER = "ORIGIN_MESSAGE_ID"
DEAD_TOPIC_HEADER = "DLQ_ORIGIN_TOPIC"
"""The topic that a dead letter came from."""
DEAD_ID_HEADER = "DLQ_ORIGIN_MESSAGE_ID"
REPLAY_HEADER = "DLQ_REPLAY_OF"
"""The dead letter that a message was made of again: topic, partition and offset, with spaces between them."""
HALF_HEADER = "TRAN_MSG"
"""`true` marks a message that was a half first, of a client that says so in the message."""
GROUP_HEADER = "PGROUP"
"""The group of the producer of such a message."""
PRESSURE_HEADER = "__PRESSURE"
"""`true` marks the traffic of a pressure test."""
TRACE_PARENT_HEADER = "traceparent"
"""The trace that a message belongs to, as W3C writes it."""
ROCKETMQ_HEADER = "__rocketmq"
"""What only RocketMQ has, in one compact header: the message came by it."""
HTTP_HEADER = "__http"
"""The same for HTTP, which has nothing of its own but that."""
HTTP_MARK = b"\x01"
"""What is in that header: the version of its form, so that more can follow."""
KEY_SEPARATOR = " "


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message. `topic`, `partition` and `offset` are set once it is stored."""

    body: bytes | None
    """None is a tombstone: it deletes its key in a compacted topic."""
    key: bytes | None = None
    """The record key: what messages are ordered, spread and compacted by."""
    headers: tuple[Header, ...] = ()
    born_ms: int = -1
    topic: str = ""
    partition: int = -1
    offset: int = -1

    @classmethod
    def create(
        cls,
        body: bytes | None,
        *,
        tag: str | None = None,
        keys: Iterable[str] = (),
        sharding_key: str | None = None,
        id: str | None = None,
        properties: Mapping[str, str] | None = None,
        born_ms: int = -1,
    ) -> "Message":
        """A message from a user's words. The record key is the sharding key, or else the first of the keys."""
        key_list = list(keys)
        named = {
            TAG_HEADER: tag,
            KEYS_HEADER: KEY_SEPARATOR.join(key_list) or None,
            ID_HEADER: id,
            SHARDING_KEY_HEADER: sharding_key,
        }
        headers = [(name, value.encode()) for name, value in named.items() if value is not None]
        headers += [(name, value.encode()) for name, value in (properties or {}).items()]
        record_key = sharding_key if sharding_key is not None else (key_list[0] if key_list else None)
        return cls(
            body=body,
            key=None if record_key is None else record_key.encode(),
            headers=tuple(headers),
            born_ms=born_ms,
        )

    def header(self, name: str) -> bytes | None:
        """The last value under this name, as Kafka's `lastHeader` chooses it."""
        found = None
        for header_name, value in self.headers:
            if header_name == name:
                found = value
        return found

    def with_headers(self, headers: Mapping[str, str | None]) -> "Message":
        """The message with these headers in place of all of the same names; None only takes them away. The others stay
        as they are, and in order."""
        kept = tuple(header for header in self.headers if header[0] not in headers)
        added = tuple((name, value.encode()) for name, value in headers.items() if value is not None)
        return msgspec.structs.replace(self, headers=kept + added)

    @property
    def tag(self) -> str | None:
        return self._text(TAG_HEADER)

    @property
    def id(self) -> str | None:
        return self._text(ID_HEADER)

    @property
    def sharding_key(self) -> str | None:
        return self._text(SHARDING_KEY_HEADER)

    @property
    def priority(self) -> int | None:
        """None where none is said, or where what is said is no number."""
        text = self._text(PRIORITY_HEADER)
        return None if text is None else whole_number(text)

    @property
    def is_pressure(self) -> bool:
        """Whether it belongs to a pressure test."""
        return self.header(PRESSURE_HEADER) == b"true"

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys this message can be found by; a producer that only set the record key is found by that."""
        text = self._text(KEYS_HEADER)
        if text is not None:
            return tuple(text.split())
        return () if self.key is None else (self.key.decode(errors="replace"),)

    @property
    def properties(self) -> dict[str, str]:
        """All headers as text; where a name repeats, the last wins."""
        return {name: "" if value is None else value.decode(errors="replace") for name, value in self.headers}

    def _text(self, name: str) -> str | None:
        value = self.header(name)
        return None if value is None else value.decode(errors="replace")
