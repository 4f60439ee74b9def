"""Every error leaves as problem+json (RFC 9457) with a stable `code`; an unexpected one shows no inside."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap

from braidmq.model import BraidError
from braidmq.model import errors as model

_logger = structlog.get_logger(__name__)

_STATUS: Mapping[type[BraidError], HTTPStatus] = {
    model.UnknownTopic: HTTPStatus.NOT_FOUND,
    model.UnknownPartition: HTTPStatus.NOT_FOUND,
    model.UnknownGroup: HTTPStatus.NOT_FOUND,
    model.UnknownInstance: HTTPStatus.NOT_FOUND,
    model.AlreadyExists: HTTPStatus.CONFLICT,
    model.ProducerFenced: HTTPStatus.CONFLICT,
    model.OutOfOrderSequence: HTTPStatus.CONFLICT,
    model.InvalidTransactionState: HTTPStatus.CONFLICT,
    model.MessageTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    model.StorageFull: HTTPStatus.INSUFFICIENT_STORAGE,
    model.StorageFailed: HTTPStatus.SERVICE_UNAVAILABLE,
    model.LogClosed: HTTPStatus.SERVICE_UNAVAILABLE,
    model.StoreFailed: HTTPStatus.SERVICE_UNAVAILABLE,
    model.DamagedLog: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""What is not named here is the caller's mistake: 400."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer that is not a success."""

    title: str
    status: int
    code: str
    detail: str
    retriable: bool = False


def exception_handlers() -> ExceptionHandlersMap:
    """For the application: errors of the house, errors of the framework, and everything else."""
    return {BraidError: _answer_house_error, HTTPException: _answer_http_error, Exception: _answer_unexpected}


def respond(problem: Problem, headers: Mapping[str, str] | None = None) -> Response[Problem]:
    """The problem as a response."""
    return Response(
        problem,
        status_code=problem.status,
        media_type="application/problem+json",
        headers=dict(headers or {}),
    )


def _answer_house_error(_: Request, error: BraidError) -> Response[Problem]:  # type: ignore[type-arg]
    status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), HTTPStatus.BAD_REQUEST)
    return respond(_problem(status, error.code, error.message, retriable=error.retriable))


def _answer_http_error(_: Request, error: HTTPException) -> Response[Problem]:  # type: ignore[type-arg]
    status = HTTPStatus(error.status_code)
    return respond(_problem(status, status.name.lower(), error.detail), error.headers)


def _answer_unexpected(request: Request, error: Exception) -> Response[Problem]:  # type: ignore[type-arg]
    _logger.error("request failed", method=request.method, path=request.url.path, exc_info=error)
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return respond(_problem(status, "internal_error", "The node made a mistake; its log has the details."))


def _problem(status: HTTPStatus, code: str, detail: str, *, retriable: bool = False) -> Problem:
    return Problem(title=status.phrase, status=status, code=code, detail=detail, retriable=retriable)
