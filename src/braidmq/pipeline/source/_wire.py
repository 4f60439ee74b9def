"""One connection to a broker, and the few requests of the Kafka protocol that reading takes. Hot path: `receive`.

Why not a client library: what costs the most in a reader is the copying of bytes, and of making objects of them. Here
an answer is received into one buffer, which is used again for the next, and the batches in it are decoded where they
lie (docs/decisions/pipeline-reads-the-wire.md). Requests have the versions that every Kafka from 2.1 on speaks.
"""

import base64
import enum
import hashlib
import hmac
import os
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from braidmq.pipeline.errors import ReadFailed
from braidmq.pipeline.source._options import Security

ANSWER_BYTES_MAX: Final = 256 * 1024 * 1024
_CONNECT_LIMIT_S: Final = 10.0
_RECEIVE_BUFFER_BYTES: Final = 4 * 1024 * 1024
_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_Item = TypeVar("_Item")


class Api(enum.Enum):
    """(key, version)"""

    FETCH = (1, 10)
    LIST_OFFSETS = (2, 2)
    METADATA = (3, 4)
    SASL_HANDSHAKE = (17, 1)
    DESCRIBE_CONFIGS = (32, 1)
    SASL_AUTHENTICATE = (36, 0)


def int8(number: int) -> bytes:
    return _INT8.pack(number)


def int16(number: int) -> bytes:
    return _INT16.pack(number)


def int32(number: int) -> bytes:
    return _INT32.pack(number)


def int64(number: int) -> bytes:
    return _INT64.pack(number)


def text(words: str) -> bytes:
    encoded = words.encode()
    return _INT16.pack(len(encoded)) + encoded


def array(items: Iterable[bytes] | None) -> bytes:
    if items is None:
        return int32(-1)
    listed = list(items)
    return int32(len(listed)) + b"".join(listed)


class Answer:
    """Reads an answer from its beginning to its end."""

    def __init__(self, buffer: bytearray, end: int) -> None:
        self.buffer = buffer
        self._at = 4
        self._end = end

    def int8(self) -> int:
        return self._number(_INT8)

    def int16(self) -> int:
        return self._number(_INT16)

    def int32(self) -> int:
        return self._number(_INT32)

    def int64(self) -> int:
        return self._number(_INT64)

    def text(self) -> str:
        """Empty for none."""
        start, end = self._span(self.int16())
        return self.buffer[start:end].decode()

    def span(self) -> tuple[int, int]:
        """Where some bytes lie in the buffer."""
        return self._span(self.int32())

    def array(self, item: Callable[[], _Item]) -> list[_Item]:
        return [item() for _ in range(self.int32())]

    def _number(self, kind: struct.Struct) -> int:
        start, _ = self._span(kind.size)
        found: int = kind.unpack_from(self.buffer, start)[0]
        return found

    def _span(self, size: int) -> tuple[int, int]:
        start = self._at
        self._at += max(size, 0)
        if self._at > self._end:
            raise ReadFailed("a broker's answer ends before it should")
        return start, self._at


class BrokerConnection:
    """A socket, with TLS and a login where the options say so. One request at a time."""

    def __init__(self, host: str, port: int, security: Security, limit_s: float) -> None:
        self._client = text(security.client_id)
        self._waiting_for = 0
        self._buffer = bytearray(64 * 1024)
        self._socket = socket.create_connection((host, port), _CONNECT_LIMIT_S)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
            self._socket.settimeout(limit_s)
            if (context := security.context()) is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=host)
            if security.mechanism:
                self._log_in(security)
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def ask(self, api: Api, body: bytes) -> Answer:
        self.send(api, body)
        return self.receive()

    def send(self, api: Api, body: bytes) -> None:
        self._waiting_for += 1
        key, version = api.value
        message = struct.pack(">hhi", key, version, self._waiting_for) + self._client + body
        self._socket.sendall(int32(len(message)) + message)

    def receive(self) -> Answer:
        """What the broker answers to the last request. It is good until the next is received."""
        head = memoryview(bytearray(8))
        self._fill(head)
        size, number = struct.unpack(">ii", head)
        if number != self._waiting_for or not 4 <= size <= ANSWER_BYTES_MAX:
            raise OSError(f"a broker answered to request {number} with {size} bytes, and {self._waiting_for} was asked")
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        with memoryview(self._buffer) as view:
            self._fill(view[4:size])
        return Answer(self._buffer, size)

    def _fill(self, view: memoryview) -> None:
        received = 0
        while received < len(view):
            count = self._socket.recv_into(view[received:])
            if not count:
                raise OSError("the broker closed the connection")
            received += count

    def _log_in(self, security: Security) -> None:
        answer = self.ask(Api.SASL_HANDSHAKE, text(security.mechanism))
        if answer.int16():
            offered = ", ".join(answer.array(answer.text))
            raise ReadFailed(f"the broker does not take {security.mechanism}; it takes {offered}")
        if security.mechanism == "PLAIN":
            self._authenticate(f"\0{security.username}\0{security.password}".encode())
            return
        exchange = Scram(security.mechanism, security.username, security.password)
        first = self._authenticate(exchange.first())
        exchange.check(self._authenticate(exchange.final(first)))

    def _authenticate(self, token: bytes) -> bytes:
        answer = self.ask(Api.SASL_AUTHENTICATE, int32(len(token)) + token)
        code, reason = answer.int16(), answer.text()
        if code:
            raise ReadFailed(f"the broker refused the login: {reason or f'error {code}'}")
        start, end = answer.span()
        return bytes(answer.buffer[start:end])


class Scram:
    """The client's side of SCRAM (RFC 5802), without channel binding."""

    def __init__(self, mechanism: str, username: str, password: str, nonce: str | None = None) -> None:
        self._hash = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[mechanism]
        self._password = password.encode()
        self._nonce = nonce or base64.b64encode(os.urandom(24)).decode()
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self._nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        said = _fields(server_first)
        if not said.get("r", "").startswith(self._nonce) or not said.get("i", "").isdigit() or "s" not in said:
            raise ReadFailed("the broker's part of the login is not one of SCRAM")
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, base64.b64decode(said["s"]), int(said["i"]))
        client_key = self._sign(salted, b"Client Key")
        without_proof = f"c=biws,r={said['r']}"
        signed = f"{self._bare},{server_first.decode()},{without_proof}".encode()
        signature = self._sign(hashlib.new(self._hash, client_key).digest(), signed)
        proof = bytes(mine ^ other for mine, other in zip(client_key, signature, strict=True))
        self._server_signature = self._sign(self._sign(salted, b"Server Key"), signed)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, server_final: bytes) -> None:
        """Whether the broker knows the password, too. Raises ReadFailed."""
        said = _fields(server_final)
        if not hmac.compare_digest(base64.b64decode(said.get("v", "")), self._server_signature):
            raise ReadFailed(f"the broker did not prove who it is: {said.get('e', 'wrong signature')}")

    def _sign(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._hash).digest()


def _fields(message: bytes) -> dict[str, str]:
    return dict(part.split("=", 1) for part in message.decode().split(",") if "=" in part)


def by_topic(places: Sequence[tuple[str, bytes]]) -> bytes:
    """The array that most requests have: topics, each with its partitions."""
    topics: dict[str, list[bytes]] = {}
    for topic, partition in places:
        topics.setdefault(topic, []).append(partition)
    return array(text(topic) + array(partitions) for topic, partitions in topics.items())
