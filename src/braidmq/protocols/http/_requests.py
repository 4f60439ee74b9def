"""Requests whose bodies are read as their operation says, and not as something near it.

The framework would take `0` for false and `"4"` for 4. Here a body is decoded into the operation's own type, in one
step, and what does not fit is named by its place.
"""

from typing import Any

import msgspec
from litestar import Request
from litestar.datastructures import State
from litestar.exceptions import ValidationException
from litestar.handlers import HTTPRouteHandler


class StrictRequest(Request[Any, Any, State]):
    """The request of every operation."""

    async def json(self) -> Any:
        """The body, as the type that the operation takes. Raises ValidationException."""
        handler = self.scope.get("route_handler")
        field = handler.parsed_data_field if isinstance(handler, HTTPRouteHandler) else None
        wanted = Any if field is None else field.annotation
        try:
            return msgspec.json.decode(await self.body(), type=wanted)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValidationException(detail=f"body: {error}") from error
