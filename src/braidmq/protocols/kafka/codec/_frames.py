"""Frames: a header and a message behind it. Hot path: one call for every request and every response.

For each API and version, the function that reads or writes is compiled when it is first needed, and kept.
"""

import functools
import importlib
import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from braidmq.model.errors import MalformedRequest, MalformedResponse
from braidmq.protocols.kafka.codec._apis import APIS, Api, ApiKey
from braidmq.protocols.kafka.codec._decoder import Part, Unreadable, compile_decoder
from braidmq.protocols.kafka.codec._encoder import Encoder, Unwritable, compile_encoder
from braidmq.protocols.kafka.codec._errors import Unencodable, UnsupportedVersion
from braidmq.protocols.kafka.codec._schema import ApiMessage, Buffer
from braidmq.protocols.kafka.codec._varint import BadVarint
from braidmq.protocols.kafka.codec.messages.headers import RequestHeader, ResponseHeader

_UNREADABLE: Final = (struct.error, IndexError, Unreadable, BadVarint)
_UNWRITABLE: Final = (struct.error, TypeError, AttributeError, OverflowError, UnicodeEncodeError, Unwritable)

_SIZE: Final = struct.Struct(">i")
_BEGINNING: Final = struct.Struct(">hhi")

Decoder = Callable[[bytes, bool], Any]
AnyMessage = TypeVar("AnyMessage", bound=ApiMessage)


class RequestBeginning(NamedTuple):
    """What every request begins with, whatever its version."""

    api_key: int
    api_version: int
    correlation_id: int


def peek_request(frame: bytes) -> RequestBeginning:
    """Which request this is, and in which version, without reading it. Raises MalformedRequest if it is too short."""
    if len(frame) < _BEGINNING.size:
        raise MalformedRequest(f"a request has at least {_BEGINNING.size} bytes, this one has {len(frame)}")
    return RequestBeginning._make(_BEGINNING.unpack_from(frame))


def decode_request(frame: bytes, *, strict: bool = False) -> tuple[RequestHeader, ApiMessage]:
    """Header and request of a complete frame, without its size.

    Raises MalformedRequest for whatever is no request, and its kind UnsupportedVersion where the API or the version is
    not known. Bytes behind the last field are passed over, as Kafka does; `strict` refuses them.
    """
    decode = _request_decoders.get(frame[:4]) or _new_request_decoder(frame)
    try:
        found: tuple[RequestHeader, ApiMessage] = decode(frame, strict)
    except _UNREADABLE as error:
        api_key, api_version, _ = peek_request(frame)
        raise MalformedRequest(_unreadable(f"{APIS[api_key].name} request", api_version, frame, error)) from error
    return found


def encode_response(header: RequestHeader, response: ApiMessage) -> bytes:
    """The answer to the request that had this header: a frame with its size, ready to be sent. Raises Unencodable."""
    wire = _response_wire(header)
    pieces: list[Buffer] = []
    try:
        wire.encode(response, pieces)
        body = b"".join(pieces)
        return wire.prefix.pack(wire.prefix.size - 4 + len(body), header.correlation_id) + body
    except _UNWRITABLE as error:
        raise _unencodable(response, header.request_api_version, error) from error


def encode_response_pieces(header: RequestHeader, response: ApiMessage) -> list[Buffer]:
    """The same frame in pieces, records as they were given: for answers too large to copy. Raises Unencodable."""
    wire = _response_wire(header)
    pieces: list[Buffer] = [b""]
    try:
        wire.encode(response, pieces)
        pieces[0] = wire.prefix.pack(wire.prefix.size - 4 + sum(map(len, pieces)), header.correlation_id)
    except _UNWRITABLE as error:
        raise _unencodable(response, header.request_api_version, error) from error
    return pieces


def encode_request(header: RequestHeader, request: ApiMessage) -> bytes:
    """A request as a client sends it: a frame with its size. Raises Unencodable, or UnsupportedVersion."""
    api = _api(header.request_api_key, header.request_api_version)
    pieces: list[Buffer] = [b""]
    try:
        _encoder(RequestHeader, _request_header_version(api, header.request_api_version))(header, pieces)
        _encoder(request_class(api.key), header.request_api_version)(request, pieces)
        pieces[0] = _SIZE.pack(sum(map(len, pieces)))
        return b"".join(pieces)
    except _UNWRITABLE as error:
        raise _unencodable(request, header.request_api_version, error) from error


def decode_response(api_key: int, api_version: int, frame: bytes, *, strict: bool = False) -> tuple[int, ApiMessage]:
    """Correlation id and response of a complete frame, without its size, as a client reads it.

    Raises MalformedResponse for whatever is no response to such a request, UnsupportedVersion where there is none.
    """
    decode = _response_decoder(api_key, api_version)
    try:
        header, response = decode(frame, strict)
    except _UNREADABLE as error:
        raise MalformedResponse(_unreadable(f"{APIS[api_key].name} response", api_version, frame, error)) from error
    return header.correlation_id, response


def encode_message(message: ApiMessage, version: int) -> bytes:
    """A message alone, without header and size. Raises Unencodable."""
    pieces: list[Buffer] = []
    try:
        _encoder(type(message), version)(message, pieces)
        return b"".join(pieces)
    except _UNWRITABLE as error:
        raise _unencodable(message, version, error) from error


def decode_message(kind: type[AnyMessage], version: int, data: bytes, *, strict: bool = False) -> AnyMessage:
    """A message alone, as encode_message makes it. Raises MalformedRequest."""
    try:
        message: AnyMessage = _message_decoder(kind, version)(data, strict)[0]
    except _UNREADABLE as error:
        raise MalformedRequest(_unreadable(kind.__name__, version, data, error)) from error
    return message


@functools.cache
def request_class(api_key: int) -> type[ApiMessage]:
    """The class of an API's requests. Its module is loaded when it is first asked for."""
    return _class_of(APIS[api_key], "Request")


@functools.cache
def response_class(api_key: int) -> type[ApiMessage]:
    """The class of an API's responses."""
    return _class_of(APIS[api_key], "Response")


class _ResponseWire(NamedTuple):
    """How the responses of one version are written. `prefix` is size and header in one."""

    encode: Encoder
    prefix: struct.Struct


_request_decoders: dict[bytes, Decoder] = {}
"""By a frame's first four bytes, API key and version: the shortest way from a frame to its function."""

_response_wires: dict[int, _ResponseWire] = {}


def _new_request_decoder(frame: bytes) -> Decoder:
    beginning = peek_request(frame)
    api = _api(*beginning)
    header = Part(RequestHeader, _request_header_version(api, beginning.api_version))
    body = Part(request_class(api.key), beginning.api_version)
    decoder = compile_decoder(f"read {api.name} request {beginning.api_version}", [header, body])
    return _request_decoders.setdefault(frame[:4], decoder)


@functools.cache
def _response_decoder(api_key: int, api_version: int) -> Decoder:
    api = _api(api_key, api_version)
    header = Part(ResponseHeader, _response_header_version(api, api_version))
    return compile_decoder(
        f"read {api.name} response {api_version}", [header, Part(response_class(api.key), api_version)]
    )


@functools.cache
def _message_decoder(kind: type[ApiMessage], version: int) -> Decoder:
    _check_version(kind, version)
    return compile_decoder(f"read {kind.__name__} {version}", [Part(kind, version)])


@functools.cache
def _encoder(kind: type[ApiMessage], version: int) -> Encoder:
    _check_version(kind, version)
    return compile_encoder(f"write {kind.__name__} {version}", kind, version)


def _response_wire(header: RequestHeader) -> _ResponseWire:
    key = header.request_api_key << 16 | header.request_api_version
    return _response_wires.get(key) or _new_response_wire(key, header)


def _new_response_wire(key: int, header: RequestHeader) -> _ResponseWire:
    api = _api(header.request_api_key, header.request_api_version)
    prefix = struct.Struct(">iix" if _response_header_version(api, header.request_api_version) else ">ii")
    wire = _ResponseWire(_encoder(response_class(api.key), header.request_api_version), prefix)
    return _response_wires.setdefault(key, wire)


def _api(api_key: int, api_version: int, correlation_id: int = -1) -> Api:
    api = APIS.get(api_key)
    if api is not None and api.version_min <= api_version <= api.version_max:
        return api
    known = "there is no such API" if api is None else f"{api.name} has versions {api.version_min} to {api.version_max}"
    raise UnsupportedVersion(
        f"API {api_key} version {api_version} is not known: {known}",
        api_key=api_key,
        api_version=api_version,
        correlation_id=correlation_id,
    )


def _check_version(kind: type[ApiMessage], version: int) -> None:
    first, last = kind.VERSIONS
    if not first <= version <= last:
        raise UnsupportedVersion(
            f"{kind.__name__} has versions {first} to {last}, not {version}", api_key=kind.API_KEY, api_version=version
        )


def _request_header_version(api: Api, version: int) -> int:
    return 2 if version >= api.flexible_since else 1


def _response_header_version(api: Api, version: int) -> int:
    """A client that does not know our versions yet must be able to read the answer to ApiVersions: header 0, always."""
    return int(version >= api.flexible_since and api.key is not ApiKey.API_VERSIONS)


def _class_of(api: Api, kind: str) -> type[ApiMessage]:
    module = importlib.import_module(f"braidmq.protocols.kafka.codec.messages.{api.module}")
    found: type[ApiMessage] = getattr(module, api.name + kind)
    return found


def _unreadable(what: str, version: int, data: bytes, error: Exception) -> str:
    why = str(error) if isinstance(error, ValueError) else "it ends too early, or a length in it is wrong"
    return f"{what} version {version} of {len(data)} bytes cannot be read: {why}"


def _unencodable(message: ApiMessage, version: int, error: Exception) -> Unencodable:
    return Unencodable(f"{type(message).__name__} cannot be written in version {version}: {error}")
