"""Every error leaves as problem+json (RFC 9457) with a stable `code`; an unexpected one shows no inside."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Final

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap
from msgspec import Meta

from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.model import errors as model

_logger = get_logger(__name__)

_STATUS_OF: Mapping[HTTPStatus, tuple[type[BraidError], ...]] = {
    HTTPStatus.FORBIDDEN: (model.NotPermitted,),
    HTTPStatus.NOT_FOUND: (
        model.UnknownTopic,
        model.UnknownPartition,
        model.UnknownGroup,
        model.UnknownInstance,
        model.UnknownMessage,
        model.UnknownMember,
        model.UnknownSubscription,
        model.UnknownTimer,
        model.UnknownHalf,
        model.UnknownRule,
        model.UnknownSilence,
        model.UnknownInspection,
        model.UnknownReport,
        model.UnknownSetting,
        model.UnknownCredential,
    ),
    HTTPStatus.CONFLICT: (
        model.AlreadyExists,
        model.InstanceInUse,
        model.TopicInUse,
        model.GroupNotEmpty,
        model.RebalanceInProgress,
        model.NotArchived,
        model.TooLateToRecall,
        model.HalfEndedOtherwise,
        model.EndTooLate,
        model.ProducerFenced,
        model.InstanceFenced,
        model.InstanceUnreleased,
        model.EpochFenced,
        model.StaleEpoch,
        model.StaleGeneration,
        model.PartitionTaken,
        model.OutOfOrderSequence,
        model.ConcurrentTransactions,
        model.InvalidTransactionState,
        model.IndexOff,
        model.ArchiveOff,
        model.SettingFixed,
        model.IdempotencyKeyReused,
        model.RequestInProgress,
        model.AnswerNotKept,
        model.MemberCannotAnswer,
    ),
    HTTPStatus.PRECONDITION_FAILED: (model.ChangedMeanwhile,),
    HTTPStatus.GONE: (model.HandleExpired,),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (model.MessageTooLarge,),
    HTTPStatus.UNPROCESSABLE_ENTITY: (
        model.InvalidSetting,
        model.InvalidPartitions,
        model.InvalidReplication,
        model.InvalidAssignment,
        model.InvalidFilter,
        model.InvalidExpression,
        model.InvalidMessage,
        model.InvalidRecord,
        model.InvalidTimestamp,
        model.InvalidBatch,
        model.DelayTooLong,
        model.OffsetOutOfRange,
        model.MetadataTooLarge,
    ),
    HTTPStatus.TOO_MANY_REQUESTS: (
        model.TooManyReceivers,
        model.GroupFull,
        model.TooManyListeners,
        model.TooManyLiteTopics,
        model.TooManyLiteSubscriptions,
    ),
    HTTPStatus.INTERNAL_SERVER_ERROR: (model.DamagedLog,),
    HTTPStatus.SERVICE_UNAVAILABLE: (
        model.StorageFailed,
        model.TooManyFiles,
        model.LogClosed,
        model.StoreFailed,
        model.HistoryFailed,
    ),
    HTTPStatus.GATEWAY_TIMEOUT: (model.MemberSilent,),
    HTTPStatus.INSUFFICIENT_STORAGE: (model.StorageFull,),
}
_STATUS = {kind: status for status, kinds in _STATUS_OF.items() for kind in kinds}
"""What is not named here, nor derived from what is, is the caller's mistake: 400."""


MEDIA_TYPE: Final = "application/problem+json"
REASONS_MAX: Final = 10
_FRAMEWORK_FIXES: Mapping[HTTPStatus, str] = {
    HTTPStatus.BAD_REQUEST: "Correct what the detail names; /schema describes every request.",
    HTTPStatus.NOT_FOUND: "Check the path; /schema lists every one.",
    HTTPStatus.METHOD_NOT_ALLOWED: "Use one of the methods in the Allow header.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Send less in one request, or raise http.body_bytes_max.",
}

_RETRY_AFTER_S = "1"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer that is not a success."""

    title: Annotated[str, Meta(examples=["Not Found"])]
    status: Annotated[int, Meta(examples=[404])]
    code: Annotated[str, Meta(examples=["unknown_topic"], description="Stable: programs may compare it.")]
    detail: Annotated[str, Meta(examples=["there is no topic 'orders'"], description="What happened, to which thing.")]
    fix: Annotated[str, Meta(description="What to do about it, in one sentence; may be empty.")] = ""
    retriable: Annotated[bool, Meta(description="Whether the same request may succeed later.")] = False


def exception_handlers() -> ExceptionHandlersMap:
    """For the application: errors of the house, errors of the framework, and everything else."""
    return {BraidError: _answer_house_error, HTTPException: _answer_http_error, Exception: _answer_unexpected}


def status_of(error: BraidError) -> HTTPStatus:
    """The status that the error is answered with."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), HTTPStatus.BAD_REQUEST)


def respond(problem: Problem, headers: Mapping[str, str] | None = None) -> Response[Problem]:
    """The problem as a response."""
    return Response(
        problem,
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=dict(headers or {}),
    )


def _answer_house_error(_: Request, error: BraidError) -> Response[Problem]:  # type: ignore[type-arg]  # of any user and state
    status = status_of(error)
    headers = {"Retry-After": _RETRY_AFTER_S} if status is HTTPStatus.TOO_MANY_REQUESTS else None
    problem = _problem(status, error.code, error.message, fix=error.fix, retriable=error.retriable)
    return respond(problem, headers)


def _answer_http_error(_: Request, error: HTTPException) -> Response[Problem]:  # type: ignore[type-arg]  # of any user and state
    status = HTTPStatus(error.status_code)
    fix = _FRAMEWORK_FIXES.get(status, "")
    return respond(_problem(status, status.name.lower(), _full_detail(error), fix=fix), error.headers)


def _full_detail(error: HTTPException) -> str:
    """With the fields and parameters that a request was refused for, which the framework keeps beside the text."""
    if not isinstance(error.extra, list):
        return error.detail
    wrong = [_reason(each.get("key", ""), each.get("message", "")) for each in error.extra if isinstance(each, dict)]
    return "; ".join(wrong[:REASONS_MAX]) or error.detail


def _reason(key: str, message: str) -> str:
    """The framework calls the body `data`, and says of what is missing only its name."""
    place = "body" if key in ("", "data") else key
    return f"{place}: {'is missing' if message == repr(key) else message}"


def _answer_unexpected(request: Request, error: Exception) -> Response[Problem]:  # type: ignore[type-arg]  # of any user and state
    _logger.error("request failed", method=request.method, path=request.url.path, exc_info=error)
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return respond(_problem(status, "internal_error", "The node made a mistake; its log has the details."))


def _problem(status: HTTPStatus, code: str, detail: str, *, fix: str = "", retriable: bool = False) -> Problem:
    return Problem(title=status.phrase, status=status, code=code, detail=detail, fix=fix, retriable=retriable)
