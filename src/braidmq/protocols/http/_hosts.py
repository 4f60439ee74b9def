"""Who a browser thinks that it talks to. An interface that only this machine reaches is asked by this machine's names.

A page from elsewhere can make its own name point to this machine, and a browser then lets it read our answers. But the
browser says the name that it used.
"""

import ipaddress
from typing import Final

from litestar.exceptions import ClientException
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

_OWN_NAME: Final = "localhost"


class OnlyOwnNames(ASGIMiddleware):
    """Refuses requests that name another host."""

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        host = next((value for name, value in scope.get("headers", ()) if name == b"host"), b"")
        if not is_own_name(host.decode("latin-1")):
            raise ClientException(detail="ask for this node by an IP address or as localhost", status_code=421)
        await next_app(scope, receive, send)


def is_own_name(host: str) -> bool:
    """Whether it is an address, or this machine's name for itself; with a port or without."""
    name = host[: host.find("]") + 1].strip("[]") if host.startswith("[") else host.partition(":")[0]
    if not name or name == _OWN_NAME or name.endswith(f".{_OWN_NAME}"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
