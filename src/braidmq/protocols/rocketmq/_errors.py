"""The house's errors in RocketMQ's numbers: the ones that its clients branch on, and never one that hides a reason."""

from typing import Final

from braidmq.model import BraidError, errors
from braidmq.protocols.rocketmq.codec import MalformedBody, MalformedHeader, MalformedMessage, ResponseCode

_CODES: Final[tuple[tuple[tuple[type[BraidError], ...], ResponseCode], ...]] = (
    ((errors.UnknownTopic,), ResponseCode.TOPIC_NOT_EXIST),
    ((errors.UnknownGroup,), ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST),
    ((errors.UnknownSubscription,), ResponseCode.SUBSCRIPTION_NOT_EXIST),
    ((errors.InvalidFilter,), ResponseCode.SUBSCRIPTION_PARSE_FAILED),
    ((errors.NotPermitted, errors.SettingFixed), ResponseCode.NO_PERMISSION),
    (
        (
            errors.MessageTooLarge,
            errors.InvalidMessage,
            errors.InvalidRecord,
            errors.InvalidTimestamp,
            errors.InvalidBatch,
            errors.DelayTooLong,
            MalformedMessage,
        ),
        ResponseCode.MESSAGE_ILLEGAL,
    ),
    ((errors.HandleExpired,), ResponseCode.NO_MESSAGE),
    ((errors.TooManyReceivers,), ResponseCode.POLLING_FULL),
    (
        (
            errors.InvalidHandle,
            errors.UnknownTimer,
            errors.TooLateToRecall,
            errors.EndTooLate,
            errors.PartitionTaken,
        ),
        ResponseCode.ILLEGAL_OPERATION,
    ),
    (
        (
            errors.UnknownPartition,
            errors.InvalidName,
            errors.InvalidSetting,
            errors.UnknownSetting,
            errors.InvalidPartitions,
            errors.OffsetOutOfRange,
        ),
        ResponseCode.INVALID_PARAMETER,
    ),
    (
        (errors.StorageFull, errors.StorageFailed, errors.TooManyFiles, errors.LogClosed, errors.StoreFailed),
        ResponseCode.SERVICE_NOT_AVAILABLE,
    ),
    ((MalformedHeader, MalformedBody), ResponseCode.SYSTEM_ERROR),
)


def response_code(error: BraidError) -> ResponseCode:
    """What a client is told about this error; the text goes beside it."""
    for kinds, code in _CODES:
        if isinstance(error, kinds):
            return code
    return ResponseCode.SYSTEM_ERROR
