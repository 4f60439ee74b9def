"""The numbers of RocketMQ's gRPC interface: what clients branch on, and the house's errors among them."""

import enum
from typing import Any, Final

from braidmq.model import BraidError, TopicKind, errors
from braidmq.protocols.rocketmq_grpc import wire


class Code(enum.IntEnum):
    """How a call went. Errors of clients ride in answers; the calls themselves succeed."""

    OK = 20000
    MULTIPLE_RESULTS = 30000
    BAD_REQUEST = 40000
    ILLEGAL_TOPIC = 40002
    ILLEGAL_CONSUMER_GROUP = 40003
    ILLEGAL_MESSAGE_TAG = 40004
    ILLEGAL_MESSAGE_KEY = 40005
    ILLEGAL_MESSAGE_GROUP = 40006
    ILLEGAL_MESSAGE_PROPERTY_KEY = 40007
    INVALID_TRANSACTION_ID = 40008
    ILLEGAL_MESSAGE_ID = 40009
    ILLEGAL_FILTER_EXPRESSION = 40010
    ILLEGAL_INVISIBLE_TIME = 40011
    ILLEGAL_DELIVERY_TIME = 40012
    INVALID_RECEIPT_HANDLE = 40013
    MESSAGE_PROPERTY_CONFLICT_WITH_TYPE = 40014
    UNRECOGNIZED_CLIENT_TYPE = 40015
    MESSAGE_CORRUPTED = 40016
    CLIENT_ID_REQUIRED = 40017
    ILLEGAL_POLLING_TIME = 40018
    ILLEGAL_OFFSET = 40019
    ILLEGAL_LITE_TOPIC = 40020
    FORBIDDEN = 40300
    NOT_FOUND = 40400
    MESSAGE_NOT_FOUND = 40401
    TOPIC_NOT_FOUND = 40402
    CONSUMER_GROUP_NOT_FOUND = 40403
    OFFSET_NOT_FOUND = 40404
    MESSAGE_BODY_TOO_LARGE = 41301
    MESSAGE_BODY_EMPTY = 41302
    TOO_MANY_REQUESTS = 42900
    LITE_TOPIC_QUOTA_EXCEEDED = 42901
    LITE_SUBSCRIPTION_QUOTA_EXCEEDED = 42902
    MESSAGE_PROPERTIES_TOO_LARGE = 43101
    INTERNAL_SERVER_ERROR = 50001
    HA_NOT_AVAILABLE = 50002
    NOT_IMPLEMENTED = 50100
    UNSUPPORTED = 50500
    FAILED_TO_CONSUME_MESSAGE = 60000
    """Said by clients that were to try a message."""


class MessageType(enum.IntEnum):
    """Of a message, and of what a queue takes."""

    NORMAL = 1
    FIFO = 2
    DELAY = 3
    TRANSACTION = 4
    LITE = 5
    PRIORITY = 6


class ClientType(enum.IntEnum):
    """What a client says that it is."""

    PRODUCER = 1
    PUSH_CONSUMER = 2
    SIMPLE_CONSUMER = 3
    PULL_CONSUMER = 4
    LITE_PUSH_CONSUMER = 5
    LITE_SIMPLE_CONSUMER = 6


class LiteAction(enum.IntEnum):
    """What a client says of the lite topics that it names."""

    PARTIAL_ADD = 0
    PARTIAL_REMOVE = 1
    COMPLETE_ADD = 2
    COMPLETE_REMOVE = 3


class LitePolicy(enum.IntEnum):
    """Where a group goes on in a lite topic."""

    LAST = 0
    MIN = 1
    MAX = 2


class Permission(enum.IntEnum):
    """What clients may do with a queue."""

    NONE = 1
    READ = 2
    WRITE = 3
    READ_WRITE = 4


class Encoding(enum.IntEnum):
    """What was done to a body."""

    IDENTITY = 1
    GZIP = 2


class DigestType(enum.IntEnum):
    """How a body's checksum was made."""

    CRC32 = 1
    MD5 = 2
    SHA1 = 3


class FilterType(enum.IntEnum):
    """How a subscription chooses."""

    TAG = 1
    SQL = 2


class AddressScheme(enum.IntEnum):
    """What the hosts of endpoints are."""

    IPV4 = 1
    IPV6 = 2
    DOMAIN_NAME = 3


class Resolution(enum.IntEnum):
    """A producer's word on its half message."""

    COMMIT = 1
    ROLLBACK = 2


class Source(enum.IntEnum):
    """Whether it said so by itself."""

    CLIENT = 1
    SERVER_CHECK = 2


class OffsetPolicy(enum.IntEnum):
    """Which offset of a queue is wanted."""

    BEGINNING = 0
    END = 1
    TIMESTAMP = 2


KINDS: Final = {
    MessageType.NORMAL: TopicKind.NORMAL,
    MessageType.FIFO: TopicKind.FIFO,
    MessageType.DELAY: TopicKind.DELAY,
    MessageType.TRANSACTION: TopicKind.TRANSACTION,
    MessageType.PRIORITY: TopicKind.PRIORITY,
    MessageType.LITE: TopicKind.LITE,
}


class Refused(BraidError):
    """The request is not one that can be answered. `status_code` is what its client is told."""

    code = "refused"

    def __init__(self, status_code: Code, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code


_CODES: Final[tuple[tuple[tuple[type[BraidError], ...], Code], ...]] = (
    ((errors.UnknownTopic, errors.UnknownPartition), Code.TOPIC_NOT_FOUND),
    ((errors.UnknownGroup,), Code.CONSUMER_GROUP_NOT_FOUND),
    ((errors.InvalidGroup,), Code.ILLEGAL_CONSUMER_GROUP),
    ((errors.InvalidLiteTopic,), Code.ILLEGAL_LITE_TOPIC),
    ((errors.InvalidName,), Code.ILLEGAL_TOPIC),
    ((errors.InvalidFilter,), Code.ILLEGAL_FILTER_EXPRESSION),
    ((errors.NotPermitted,), Code.FORBIDDEN),
    ((errors.MessageTooLarge,), Code.MESSAGE_BODY_TOO_LARGE),
    ((errors.WrongMessageKind,), Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
    ((errors.DelayTooLong,), Code.ILLEGAL_DELIVERY_TIME),
    ((errors.InvalidHandle, errors.HandleExpired), Code.INVALID_RECEIPT_HANDLE),
    ((errors.UnknownHalf, errors.EndTooLate, errors.HalfEndedOtherwise), Code.INVALID_TRANSACTION_ID),
    ((errors.UnknownTimer, errors.TooLateToRecall), Code.NOT_FOUND),
    ((errors.OffsetOutOfRange,), Code.ILLEGAL_OFFSET),
    ((errors.TooManyReceivers,), Code.TOO_MANY_REQUESTS),
    ((errors.TooManyLiteTopics,), Code.LITE_TOPIC_QUOTA_EXCEEDED),
    ((errors.TooManyLiteSubscriptions,), Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED),
    (
        (
            errors.InvalidMessage,
            errors.InvalidRecord,
            errors.InvalidTimestamp,
            errors.InvalidBatch,
            errors.InvalidRequest,
        ),
        Code.BAD_REQUEST,
    ),
    (
        (errors.StorageFull, errors.StorageFailed, errors.TooManyFiles, errors.LogClosed, errors.StoreFailed),
        Code.HA_NOT_AVAILABLE,
    ),
)


def code_of(error: BraidError) -> Code:
    """What a client is told about this error; the text goes beside it."""
    if isinstance(error, Refused):
        return error.status_code
    for kinds, code in _CODES:
        if isinstance(error, kinds):
            return code
    return Code.INTERNAL_SERVER_ERROR


def status(code: Code, message: str = "") -> Any:
    return wire.Status(code=code, message=message or code.name)


def status_of(error: BraidError) -> Any:
    return status(code_of(error), error.message)


OK: Final = status(Code.OK)
