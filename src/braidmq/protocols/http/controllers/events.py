"""Live events, for pages that move."""

from collections.abc import AsyncIterator

import msgspec
from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.response import ServerSentEvent

from braidmq.core.access import Action, ResourceKind
from braidmq.core.live import LiveEvents
from braidmq.model.errors import TooManyListeners
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._operations_services import OperationsServices


class EventsController(Controller):
    """Server-sent events, once a second."""

    path = "/api/v1/events"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)
    tags = ("operations",)

    @get(operation_id="listen_to_events", summary="Rates, lag and alarms, once a second, as server-sent events")
    async def listen_to_events(self, operations: NamedDependency[OperationsServices]) -> ServerSentEvent:
        """Each event has the name `live`; its content is a LiveEvent as JSON. The stream ends when the node stops."""
        if operations.live.is_full:
            raise TooManyListeners
        return ServerSentEvent(_texts(operations.live), event_type="live")


async def _texts(live: LiveEvents) -> AsyncIterator[str]:
    async for event in live.listen():
        yield msgspec.json.encode(event).decode()
