"""How the OpenAPI tells of errors: every operation may answer with a problem, which is described once.

The framework describes a 400 of its own shape for each operation; nobody is ever sent that.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from litestar import Litestar
from litestar.openapi.spec import (
    OpenAPIMediaType,
    OpenAPIResponse,
    OpenAPIType,
    Operation,
    Schema,
)

from braidmq.protocols.http._problems import MEDIA_TYPE

_BAD_REQUEST: Final = str(HTTPStatus.BAD_REQUEST.value)

_PROBLEM: Final = Schema(
    type=OpenAPIType.OBJECT,
    title="Problem",
    description="The body of every answer that is not a success (RFC 9457).",
    required=["title", "status", "code", "detail", "fix", "retriable"],
    properties={
        "title": Schema(type=OpenAPIType.STRING, examples=["Not Found"]),
        "status": Schema(type=OpenAPIType.INTEGER, examples=[404]),
        "code": Schema(type=OpenAPIType.STRING, description="Stable.", examples=["unknown_topic"]),
        "detail": Schema(type=OpenAPIType.STRING, description="What happened, to which thing."),
        "fix": Schema(type=OpenAPIType.STRING, description="What to do about it; may be empty."),
        "retriable": Schema(type=OpenAPIType.BOOLEAN, description="Whether to try again as it is."),
    },
)


@dataclass
class DescribedOperation(Operation):
    """An operation with its problems."""

    def __post_init__(self) -> None:
        content = {MEDIA_TYPE: OpenAPIMediaType(schema=_PROBLEM)}
        responses = {status: answer for status, answer in (self.responses or {}).items() if status != _BAD_REQUEST}
        self.responses = responses | {"default": OpenAPIResponse(description="What went wrong.", content=content)}


def describe_problems(app: Litestar) -> None:
    """Before the description is first made."""
    for route in app.routes:
        for handler in route.route_handlers if hasattr(route, "route_handlers") else ():
            handler.operation_class = DescribedOperation
