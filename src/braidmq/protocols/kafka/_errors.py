"""Our errors in Kafka's numbers."""

from collections.abc import Mapping

from braidmq.model import BraidError, errors
from braidmq.protocols.kafka.codec import ErrorCode


class CloseConnection(BraidError):
    """Raised by a handler whose protocol has no other way to say no."""

    code = "close_connection"


class InvalidResource(BraidError):
    """There is no such thing to be described or changed."""

    code = "invalid_resource"


class QuotaExceeded(BraidError):
    """A quota is used up, and clients of this kind are refused then."""

    code = "quota_exceeded"
    retriable = True


_CODES: Mapping[type[BraidError], ErrorCode] = {
    errors.InvalidName: ErrorCode.INVALID_TOPIC_EXCEPTION,
    errors.InvalidFilter: ErrorCode.INVALID_TOPIC_EXCEPTION,
    errors.InvalidSetting: ErrorCode.INVALID_CONFIG,
    errors.NotArchived: ErrorCode.POLICY_VIOLATION,
    errors.UnknownTopic: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    errors.UnknownPartition: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    errors.UnknownGroup: ErrorCode.GROUP_ID_NOT_FOUND,
    errors.AlreadyExists: ErrorCode.TOPIC_ALREADY_EXISTS,
    errors.InvalidPartitions: ErrorCode.INVALID_PARTITIONS,
    errors.InvalidReplication: ErrorCode.INVALID_REPLICATION_FACTOR,
    errors.InvalidAssignment: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    errors.OffsetOutOfRange: ErrorCode.OFFSET_OUT_OF_RANGE,
    errors.InvalidBatch: ErrorCode.CORRUPT_MESSAGE,
    errors.UnsupportedCompression: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    errors.MessageTooLarge: ErrorCode.MESSAGE_TOO_LARGE,
    errors.InvalidTimestamp: ErrorCode.INVALID_TIMESTAMP,
    errors.InvalidRecord: ErrorCode.INVALID_RECORD,
    errors.OutOfOrderSequence: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    errors.ProducerFenced: ErrorCode.PRODUCER_FENCED,
    errors.InvalidProducerEpoch: ErrorCode.INVALID_PRODUCER_EPOCH,
    errors.InvalidProducerId: ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    errors.InvalidTransactionTimeout: ErrorCode.INVALID_TRANSACTION_TIMEOUT,
    errors.ConcurrentTransactions: ErrorCode.CONCURRENT_TRANSACTIONS,
    errors.InvalidTransactionState: ErrorCode.INVALID_TXN_STATE,
    errors.StoreFailed: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    errors.StoreFull: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    errors.StorageFull: ErrorCode.KAFKA_STORAGE_ERROR,
    errors.StorageFailed: ErrorCode.KAFKA_STORAGE_ERROR,
    errors.TooManyFiles: ErrorCode.KAFKA_STORAGE_ERROR,
    errors.LogClosed: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    errors.DamagedLog: ErrorCode.KAFKA_STORAGE_ERROR,
    InvalidResource: ErrorCode.INVALID_REQUEST,
    errors.InvalidGroup: ErrorCode.INVALID_GROUP_ID,
    errors.UnknownMember: ErrorCode.UNKNOWN_MEMBER_ID,
    errors.MemberIdRequired: ErrorCode.MEMBER_ID_REQUIRED,
    errors.StaleGeneration: ErrorCode.ILLEGAL_GENERATION,
    errors.InstanceFenced: ErrorCode.FENCED_INSTANCE_ID,
    errors.InconsistentProtocol: ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    errors.InvalidSession: ErrorCode.INVALID_SESSION_TIMEOUT,
    errors.RebalanceInProgress: ErrorCode.REBALANCE_IN_PROGRESS,
    errors.GroupFull: ErrorCode.GROUP_MAX_SIZE_REACHED,
    errors.GroupNotEmpty: ErrorCode.NON_EMPTY_GROUP,
    errors.EpochFenced: ErrorCode.FENCED_MEMBER_EPOCH,
    errors.StaleEpoch: ErrorCode.STALE_MEMBER_EPOCH,
    errors.InstanceUnreleased: ErrorCode.UNRELEASED_INSTANCE_ID,
    errors.UnknownAssignor: ErrorCode.UNSUPPORTED_ASSIGNOR,
    errors.InvalidExpression: ErrorCode.INVALID_REGULAR_EXPRESSION,
    errors.InvalidHeartbeat: ErrorCode.INVALID_REQUEST,
    errors.TopicInUse: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    errors.MetadataTooLarge: ErrorCode.OFFSET_METADATA_TOO_LARGE,
    errors.HandleExpired: ErrorCode.INVALID_RECORD_STATE,
    errors.InvalidHandle: ErrorCode.INVALID_RECORD_STATE,
    errors.InvalidQuota: ErrorCode.INVALID_REQUEST,
    errors.UnknownMechanism: ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    errors.InvalidCredential: ErrorCode.UNACCEPTABLE_CREDENTIAL,
    errors.UnknownCredential: ErrorCode.RESOURCE_NOT_FOUND,
    QuotaExceeded: ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    errors.TooManyReceivers: ErrorCode.SHARE_SESSION_LIMIT_REACHED,
}


def error_code(error: BraidError) -> ErrorCode:
    """Kafka's number for the error, or for the kind of error that it is one of."""
    for kind in type(error).__mro__:
        if (code := _CODES.get(kind)) is not None:
            return code
    return ErrorCode.UNKNOWN_SERVER_ERROR


_UNAVAILABLE = (errors.StoreFailed, errors.StorageFull, errors.StorageFailed, errors.TooManyFiles, errors.LogClosed)


def group_error_code(error: BraidError) -> ErrorCode:
    """As `error_code`, where a group was asked: what we cannot keep now is a coordinator that is not available, which
    every client takes as a reason to ask again."""
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if isinstance(error, _UNAVAILABLE) else error_code(error)
