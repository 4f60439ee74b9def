"""Every error of the house. A class is a kind of failure; its `code` is stable and may be shown to machines.

The docstring is the message when none is given. `retriable` says that the same call may succeed later without any
change by the caller; protocols translate code and retriability into their own numbers.
"""

from collections.abc import Mapping
from typing import ClassVar


class BraidError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    retriable: ClassVar[bool] = False

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or type(self).__doc__ or self.code)

    @property
    def message(self) -> str:
        return str(self.args[0])


# What the caller asked for cannot be.


class InvalidName(BraidError):
    """The name is not one that a topic, group or instance may have."""

    code = "invalid_name"


class InvalidSetting(BraidError):
    """The setting does not exist or cannot have this value."""

    code = "invalid_setting"


class InvalidFilter(BraidError):
    """The filter is not one that messages can be chosen by."""

    code = "invalid_filter"


class IndexOff(BraidError):
    """Messages are found by id and key only where an index of them is kept (query.index)."""

    code = "index_off"


class NotArchived(BraidError):
    """What is not in the archive yet cannot be deleted where the archive is required."""

    code = "not_archived"


class UnknownTopic(BraidError):
    """There is no such topic."""

    code = "unknown_topic"


class UnknownPartition(BraidError):
    """The topic has no such partition."""

    code = "unknown_partition"


class UnknownGroup(BraidError):
    """There is no such group."""

    code = "unknown_group"


class UnknownInstance(BraidError):
    """There is no such instance."""

    code = "unknown_instance"


class UnknownMessage(BraidError):
    """There is no such message: its topic does not keep it any more, or it never was."""

    code = "unknown_message"


class AlreadyExists(BraidError):
    """A thing of this name exists already."""

    code = "already_exists"


class InstanceInUse(BraidError):
    """The instance cannot be deleted while it holds topics."""

    code = "instance_in_use"


class InvalidPartitions(BraidError):
    """The number of partitions is not possible; it can only grow."""

    code = "invalid_partitions"


class InvalidReplication(BraidError):
    """The number of replicas is not possible."""

    code = "invalid_replication"


class InvalidAssignment(BraidError):
    """Partitions cannot be kept where the caller wants them."""

    code = "invalid_assignment"


class OffsetOutOfRange(BraidError):
    """The offset lies before the start or behind the end of the partition."""

    code = "offset_out_of_range"

    def __init__(self, message: str | None = None, *, start_offset: int = -1, end_offset: int = -1) -> None:
        super().__init__(message)
        self.start_offset = start_offset
        self.end_offset = end_offset


# What the caller sent is not what it should be.


class MalformedRequest(BraidError):
    """The request cannot be read."""

    code = "malformed_request"


class MalformedResponse(BraidError):
    """A peer's answer cannot be read."""

    code = "malformed_response"


class InvalidBatch(BraidError):
    """The record batch is malformed."""

    code = "invalid_batch"


class CorruptBatch(InvalidBatch):
    """The record batch does not match its checksum."""

    code = "corrupt_batch"
    retriable = True


class UnsupportedCompression(InvalidBatch):
    """The record batch is compressed in a way that is not known here."""

    code = "unsupported_compression"


class MessageTooLarge(BraidError):
    """The message is larger than the topic allows."""

    code = "message_too_large"


class InvalidMessage(BraidError):
    """The message is not one that can be taken."""

    code = "invalid_message"


class WrongMessageKind(InvalidMessage):
    """The topic does not take messages of this kind."""

    code = "wrong_message_kind"


class NotPermitted(BraidError):
    """Somebody who may say so has forbidden it."""

    code = "not_permitted"


class UnknownSubscription(BraidError):
    """The reader's group has not said what it wants of this topic."""

    code = "unknown_subscription"


class InvalidTimestamp(BraidError):
    """The message's time is too far from now for its topic."""

    code = "invalid_timestamp"


class InvalidRecord(BraidError):
    """A record is not one that its topic takes. `rejected` says which records of the batch, and why."""

    code = "invalid_record"

    def __init__(self, message: str | None = None, *, rejected: Mapping[int, str] | None = None) -> None:
        super().__init__(message)
        self.rejected = rejected or {}


class OutOfOrderSequence(BraidError):
    """The producer's sequence number is not the next one."""

    code = "out_of_order_sequence"


class ProducerFenced(BraidError):
    """A newer instance of this producer has taken over."""

    code = "producer_fenced"


class InvalidProducerEpoch(ProducerFenced):
    """The batch is of an earlier epoch of its producer than the partition knows."""

    code = "invalid_producer_epoch"


class InvalidProducerId(BraidError):
    """The producer id is not the one that belongs to this transactional id."""

    code = "invalid_producer_id"


class InvalidTransactionTimeout(BraidError):
    """A transaction may not stay open for so long."""

    code = "invalid_transaction_timeout"


class ConcurrentTransactions(BraidError):
    """The producer's last transaction is still being ended."""

    code = "concurrent_transactions"
    retriable = True


class InvalidTransactionState(BraidError):
    """The producer has no transaction in which this batch could be."""

    code = "invalid_transaction_state"


class DelayTooLong(BraidError):
    """The message's time is further ahead than messages are kept for."""

    code = "delay_too_long"


class InvalidHandle(BraidError):
    """This is not a handle that was given out here."""

    code = "invalid_handle"


class HandleExpired(BraidError):
    """The message was this receiver's, and is not any more: its time is over, or it is done."""

    code = "handle_expired"


class TooManyReceivers(BraidError):
    """So many receivers wait for messages that no more may; ask again later, or without waiting."""

    code = "too_many_receivers"


class UnknownTimer(BraidError):
    """No message waits under this handle: it was recalled or cancelled, or never was."""

    code = "unknown_timer"


class TooLateToRecall(BraidError):
    """The message is being delivered, or has been."""

    code = "too_late_to_recall"


class UnknownHalf(BraidError):
    """No half message is known under this handle: it was ended a while ago, or never was."""

    code = "unknown_half"


class HalfEndedOtherwise(BraidError):
    """The half message was ended in the other way before."""

    code = "half_ended_otherwise"


class EndTooLate(BraidError):
    """The time for the producer's own word is over; it is asked, and the answer to that counts."""

    code = "end_too_late"


# What a group does not let its members do.


class InvalidGroup(InvalidName):
    """A group of this name cannot have members."""

    code = "invalid_group"


class UnknownMember(BraidError):
    """The group has no such member; it has to join again."""

    code = "unknown_member"


class MemberIdRequired(BraidError):
    """The member has been given an id, and is to join again with it."""

    code = "member_id_required"

    def __init__(self, message: str | None = None, *, member_id: str = "") -> None:
        super().__init__(message)
        self.member_id = member_id


class StaleGeneration(BraidError):
    """The member speaks of another generation of the group than the present one."""

    code = "stale_generation"


class InstanceFenced(BraidError):
    """Another process has taken the place of this instance."""

    code = "instance_fenced"


class InconsistentProtocol(BraidError):
    """The member has no protocol in common with the other members."""

    code = "inconsistent_protocol"


class InvalidSession(BraidError):
    """The session timeout is shorter or longer than allowed."""

    code = "invalid_session"


class RebalanceInProgress(BraidError):
    """The group is dividing its work anew; the member is to join again."""

    code = "rebalance_in_progress"


class GroupFull(BraidError):
    """The group has as many members as it may have."""

    code = "group_full"


class GroupNotEmpty(BraidError):
    """The group has members."""

    code = "group_not_empty"


class EpochFenced(BraidError):
    """The member is in another epoch; it is to give up all that it holds and to join again."""

    code = "epoch_fenced"


class StaleEpoch(BraidError):
    """The member speaks of another epoch than the one that it is in."""

    code = "stale_epoch"


class InstanceUnreleased(BraidError):
    """The instance is a member already, and has not left."""

    code = "instance_unreleased"


class UnknownAssignor(BraidError):
    """There is no such way to assign."""

    code = "unknown_assignor"


class InvalidExpression(BraidError):
    """The regular expression cannot be read."""

    code = "invalid_expression"


class InvalidHeartbeat(BraidError):
    """The heartbeat says too little, or things that do not go together."""

    code = "invalid_heartbeat"


class TopicInUse(BraidError):
    """The group's members read this topic."""

    code = "topic_in_use"


class MetadataTooLarge(BraidError):
    """The text beside the offset is too long."""

    code = "metadata_too_large"


# What the machine cannot do.


class StorageFull(BraidError):
    """The disk is full: writes are refused until space is free again; reading and deleting go on."""

    code = "storage_full"
    retriable = True


class StorageFailed(BraidError):
    """The disk failed: nothing more is acknowledged until a restart has read it again."""

    code = "storage_failed"


class LogClosed(BraidError):
    """The log is closed."""

    code = "log_closed"


class DamagedLog(BraidError):
    """Stored data is damaged; the message names the file and the place."""

    code = "damaged_log"

    def __init__(self, message: str | None = None, *, path: str = "", position: int = -1, offset: int = -1) -> None:
        super().__init__(message)
        self.path = path
        self.position = position
        self.offset = offset


class DataFolderInUse(BraidError):
    """Another process works on this data folder."""

    code = "data_folder_in_use"


class DataFolderUnusable(BraidError):
    """The data folder cannot be made or written."""

    code = "data_folder_unusable"


class ListenFailed(BraidError):
    """A listener cannot have its address."""

    code = "listen_failed"


class StoreFailed(BraidError):
    """The database did not carry out the statement."""

    code = "store_failed"
