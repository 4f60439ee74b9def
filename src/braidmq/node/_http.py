"""The HTTP interface of a node: the desks that it shows, its listener and the console.

This comes last in a start. It takes longer to import and to put together than all the rest, and no message waits for
it; so it is imported and put together in another thread, while the other listeners serve. Only wiring, which is quick,
is done on the loop.
"""

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from braidmq import __version__
from braidmq.console import ROOT, Part, console_routes, kept_token, part_of
from braidmq.node._desk import make_catalogue
from braidmq.node._messaging_desk import messaging_desk
from braidmq.protocols.http import HttpListener, HttpServices, LateRoutes
from braidmq.protocols.listener import Address

if TYPE_CHECKING:
    from braidmq.node._node import Node


def wire_http(node: "Node", listen: Address, sockets: list[socket.socket]) -> Callable[[], HttpListener]:
    """What is to be called, in any thread, to put the listener together. It will serve the sockets, which listen."""
    node.catalogue = make_catalogue(node, node.connections)
    node.messaging = messaging_desk(node)
    services = HttpServices(
        node.settings.node.name,
        __version__,
        node.health,
        [node.metrics],
        node.presence.nodes,
        operations=node.desk.services(),
        catalogue=node.catalogue,
        messaging=node.messaging,
    )
    http = node.settings.http
    late_routes = _console(node, listen)
    return lambda: HttpListener(
        listen,
        sockets,
        services,
        body_bytes_max=http.body_bytes_max,
        connections_max=http.connections_max,
        waiting_max=http.waiting_max,
        has_file_room=node.has_file_room,
        late_routes=late_routes,
    )


def _console(node: "Node", listen: Address) -> LateRoutes[Part] | None:
    """The console's pages; None where it is off, or where others than this machine's users could come to it."""
    if node.settings.http.console == "off" or not listen.is_loopback:
        return None
    node.console_token = token = kept_token(node.settings.node.data)
    return LateRoutes(ROOT, part_of, lambda part: console_routes(token, part), entrance=part_of(ROOT))
