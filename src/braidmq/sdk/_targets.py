"""Where a client goes: the address of a node, or something in this process that behaves like one."""

import os
import socket
import ssl
import uuid
from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote

import httpx

from braidmq import __version__
from braidmq.sdk.errors import Unreachable

API: Final = "/api/v1"
KEY_HEADER: Final = "idempotency-key"
CLIENT_ID_HEADER: Final = "braid-client-id"
SOFTWARE: Final = f"braidmq-python/{__version__}"
CONNECTIONS_MAX: Final = 100


class InProcess(Protocol):
    """What stands in for a node without a network; see `braidmq.testing`."""

    @property
    def transport(self) -> httpx.BaseTransport: ...

    @property
    def async_transport(self) -> httpx.AsyncBaseTransport: ...


Target = str | InProcess


def path_of(*parts: object) -> str:
    """A path of the interface; names may hold any character."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def said(query: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was not said; truth as JSON has it."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None
    }


def new_client_id() -> str:
    """A name by which people find this process among the members of a group."""
    return f"{socket.gethostname()}@{os.getpid()}-{uuid.uuid4().hex[:8]}"


def client(target: Target, timeout_s: float, client_id: str = "") -> httpx.Client:
    """Raises Unreachable where the address is none."""
    transport = None if isinstance(target, str) else target.transport
    return httpx.Client(transport=transport, headers=_headers(client_id), **_options(target, timeout_s))


def async_client(target: Target, timeout_s: float, client_id: str = "") -> httpx.AsyncClient:
    """Raises Unreachable where the address is none."""
    transport = None if isinstance(target, str) else target.async_transport
    return httpx.AsyncClient(transport=transport, headers=_headers(client_id), **_options(target, timeout_s))


def _headers(client_id: str) -> dict[str, str]:
    named = {CLIENT_ID_HEADER: client_id} if client_id else {}
    return {"user-agent": SOFTWARE, **named}


def _options(target: Target, timeout_s: float) -> dict[str, Any]:
    url = target if isinstance(target, str) else "http://memory"
    parsed = _parsed(url)
    # Reading all certificates takes longer than most programs need; without TLS there are none to check.
    verify: ssl.SSLContext | bool = True if parsed.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    limits = httpx.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX)
    return {"base_url": url.rstrip("/"), "timeout": timeout_s, "trust_env": False, "verify": verify, "limits": limits}


def _parsed(url: str) -> httpx.URL:
    fix = "Name the node's HTTP address: http://127.0.0.1:8400"
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise Unreachable(f"{url!r} is no address: {error}", fix=fix) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise Unreachable(f"{url!r} is no address", fix=fix)
    return parsed
