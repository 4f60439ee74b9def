"""Every error of the house. A class is a kind of failure; its `code` is stable and may be shown to machines.

The docstring is the message when none is given. `retriable` says that the same call may succeed later without any
change by the caller; protocols translate code and retriability into their own numbers. `fix` tells a person in one
sentence what to do about it; it is empty where the message says all.
"""

from collections.abc import Mapping
from typing import ClassVar

from braidmq.model.saying import Saying


class BraidError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    retriable: ClassVar[bool] = False
    fix: str = ""
    said: Saying | None = None
    """The message as it can be said in other languages, where it was given so."""

    def __init__(self, message: str | Saying | None = None, *, fix: str = "") -> None:
        super().__init__(str(message or type(self).__doc__ or self.code))
        if isinstance(message, Saying):
            self.said = message
        if fix:
            self.fix = fix

    @property
    def message(self) -> str:
        return str(self.args[0])


# What the caller asked for cannot be.


class InvalidName(BraidError):
    """The name is not one that a topic, group or instance may have."""

    code = "invalid_name"
    fix = "Take letters, digits and . _ - % | for topics and instances, and no control characters for groups."


class InvalidLiteTopic(InvalidName):
    """The name is not one that a lite topic may have."""

    code = "invalid_lite_topic"
    fix = "Take 1 to 64 letters, digits, _ and - for a lite topic."


class InvalidSetting(BraidError):
    """The setting does not exist or cannot have this value."""

    code = "invalid_setting"
    fix = "Look up the setting's name, type and limits in the list of settings, and send it again."


class InvalidRequest(BraidError):
    """What was asked cannot be answered as it was asked."""

    code = "invalid_request"
    fix = "Correct what the detail names, and ask again."


class InvalidFilter(BraidError):
    """The filter is not one that messages can be chosen by."""

    code = "invalid_filter"
    fix = "Correct the expression; docs/filters.md shows the three kinds with examples."


class IndexOff(BraidError):
    """Messages are found by id and key only where an index of them is kept (query.index)."""

    code = "index_off"
    fix = "Set query.index = on and start the node again, or look by topic and time."


class NotArchived(BraidError):
    """What is not in the archive yet cannot be deleted where the archive is required."""

    code = "not_archived"
    fix = "Wait until the archive job has caught up, or set the topic's braid.archive to off."


class UnknownTopic(BraidError):
    """There is no such topic."""

    code = "unknown_topic"
    fix = "Check the name and the instance against the list of topics, or create the topic first."


class UnknownPartition(BraidError):
    """The topic has no such partition."""

    code = "unknown_partition"
    fix = "Take one of the partitions that the topic's description lists; they count from 0."


class UnknownGroup(BraidError):
    """There is no such group."""

    code = "unknown_group"
    fix = "Check the name and the instance against the list of groups; a group exists once it was made or used."


class UnknownInstance(BraidError):
    """There is no such instance."""

    code = "unknown_instance"
    fix = "Check the name against the list of instances, or create the instance first."


class UnknownMessage(BraidError):
    """There is no such message: its topic does not keep it any more, or it never was."""

    code = "unknown_message"
    fix = "Check topic, partition and offset; what retention has removed may still be in the archive."


class AlreadyExists(BraidError):
    """A thing of this name exists already."""

    code = "already_exists"
    fix = "Choose another name, or change the one that exists."


class InstanceInUse(BraidError):
    """The instance cannot be deleted while it holds topics."""

    code = "instance_in_use"
    fix = "Delete its topics first; the default instance always stays."


class InvalidPartitions(BraidError):
    """The number of partitions is not possible; it can only grow."""

    code = "invalid_partitions"
    fix = "Ask for more partitions than there are; a topic never shrinks."


class InvalidReplication(BraidError):
    """The number of replicas is not possible."""

    code = "invalid_replication"
    fix = "Ask for one replica, or for -1 to leave it to the node."


class InvalidAssignment(BraidError):
    """Partitions cannot be kept where the caller wants them."""

    code = "invalid_assignment"


class OffsetOutOfRange(BraidError):
    """The offset lies before the start or behind the end of the partition."""

    code = "offset_out_of_range"
    fix = "Take an offset between the partition's start and end, which its description shows."

    def __init__(self, message: str | Saying | None = None, *, start_offset: int = -1, end_offset: int = -1) -> None:
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
    fix = "Send a smaller message, or raise the topic's max.message.bytes."


class InvalidMessage(BraidError):
    """The message is not one that can be taken."""

    code = "invalid_message"


class WrongMessageKind(InvalidMessage):
    """The topic does not take messages of this kind."""

    code = "wrong_message_kind"
    fix = "Send to a topic of that kind, or change the topic's kind to mixed."


class NotPermitted(BraidError):
    """Somebody who may say so has forbidden it."""

    code = "not_permitted"
    fix = "Undo what forbids it: resume the group, or allow it in the topic's or group's settings."


class UnknownSubscription(BraidError):
    """The reader's group has not said what it wants of this topic."""

    code = "unknown_subscription"
    fix = "Subscribe the group to the topic first."


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
    fix = "Choose an earlier time, or raise timers.delay_max_s."


class InvalidHandle(BraidError):
    """This is not a handle that was given out here."""

    code = "invalid_handle"
    fix = "Send the handle exactly as it was given out by this cluster."


class HandleExpired(BraidError):
    """The message was this receiver's, and is not any more: its time is over, or it is done."""

    code = "handle_expired"
    fix = "Receive the message again, and ask for a longer invisible time or extend it in time."


class TooManyReceivers(BraidError):
    """So many receivers wait for messages that no more may; ask again later, or without waiting."""

    code = "too_many_receivers"
    fix = "Ask again later, ask without waiting, or raise cursors.waiting_max."
    retriable = True


class TooManyLiteTopics(BraidError):
    """The topic has as many lite topics as one may have."""

    code = "too_many_lite_topics"
    fix = "Let idle lite topics go sooner (lite.topic.expiration of the topic), or raise lite.topics_max."


class TooManyLiteSubscriptions(BraidError):
    """The client subscribes to as many lite topics as one may."""

    code = "too_many_lite_subscriptions"
    fix = "Unsubscribe from lite topics that are not needed, or raise lite.subscriptions_max."


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


class MemberSilent(BraidError):
    """The member was asked, and did not answer in time."""

    code = "member_silent"
    fix = "Ask again with a longer wait; a client that is hung or busy answers late or never."


class MemberCannotAnswer(BraidError):
    """The member's client has no answer to such a question."""

    code = "member_cannot_answer"
    fix = "Ask a member of RocketMQ's protocols; a message can be tried by push consumers only."


class MemberIdRequired(BraidError):
    """The member has been given an id, and is to join again with it."""

    code = "member_id_required"

    def __init__(self, message: str | None = None, *, member_id: str = "") -> None:
        super().__init__(message)
        self.member_id = member_id


class StaleGeneration(BraidError):
    """The member speaks of another generation of the group than the present one."""

    code = "stale_generation"


class PartitionTaken(BraidError):
    """Another member of the group works on the partition, or did so since: what this one says of it does not count."""

    code = "partition_taken"
    fix = "Let the member that works on the partition say how far it is, or stop the group's members first."


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
    fix = "Ask again when the group is stable."
    retriable = True


class GroupFull(BraidError):
    """The group has as many members as it may have."""

    code = "group_full"
    fix = "Stop members that are not needed, or raise kafka.group_members_max."


class GroupNotEmpty(BraidError):
    """The group has members."""

    code = "group_not_empty"
    fix = "Stop the group's members, wait until they are gone, and ask again."


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
    fix = "Correct the regular expression; RE2's syntax is taken."


class InvalidHeartbeat(BraidError):
    """The heartbeat says too little, or things that do not go together."""

    code = "invalid_heartbeat"


class TopicInUse(BraidError):
    """The group's members read this topic."""

    code = "topic_in_use"
    fix = "Stop the members that read the topic, or let them leave it, and ask again."


class MetadataTooLarge(BraidError):
    """The text beside the offset is too long."""

    code = "metadata_too_large"


# What the machine cannot do.


class StorageFull(BraidError):
    """The disk is full: writes are refused until space is free again; reading and deleting go on."""

    code = "storage_full"
    fix = "Free space on the node's disk, shorten retention or delete messages; writing goes on by itself."
    retriable = True


class StorageFailed(BraidError):
    """The disk failed: nothing more is acknowledged until a restart has read it again."""

    code = "storage_failed"
    fix = "Check the disk and the node's log, then start the node again."


class LogClosed(BraidError):
    """The log is closed."""

    code = "log_closed"
    fix = "The node stops or starts; ask again in a moment."
    retriable = True


class TooManyFiles(BraidError):
    """The node has as many files and connections open as it may."""

    code = "too_many_files"
    fix = "Ask again in a moment; if it stays so, raise the limit of open files (`braid doctor` names it)."
    retriable = True


class DamagedLog(BraidError):
    """Stored data is damaged; the message names the file and the place."""

    code = "damaged_log"
    fix = "Read on behind the damaged offsets, and restore them from the archive if they are needed."

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
    fix = "Check that the node's database answers (store.url), and ask again."


class StoreFull(StorageFull, StoreFailed):
    """The database's disk is full: changes are refused until space is free again; reading and deleting go on."""

    code = "store_full"
    fix = "Free space on the database's disk, shorten retention or delete topics; then changes are taken again."


# Operating a node.


class UnknownRule(BraidError):
    """There is no such alarm rule."""

    code = "unknown_rule"
    fix = "Check the name against the list of alarm rules."


class UnknownSilence(BraidError):
    """There is no such silence."""

    code = "unknown_silence"
    fix = "Check the id against the list of silences; one whose end has come is gone."


class UnknownInspection(BraidError):
    """There is no such inspection report; the last hundred are kept."""

    code = "unknown_inspection"
    fix = "Take one of the reports in the list, or inspect anew."


class UnknownReport(BraidError):
    """There is no such report."""

    code = "unknown_report"
    fix = "Take one of the reports in the list."


class UnknownSetting(BraidError):
    """There is no such setting."""

    code = "unknown_setting"
    fix = "Look up the setting's name in the list of settings."


class InvalidQuota(BraidError):
    """There is no such quota, or it cannot have this value."""

    code = "invalid_quota"


class InvalidCredential(BraidError):
    """This cannot be kept as what a user proves a password by."""

    code = "invalid_credential"


class UnknownMechanism(InvalidCredential):
    """There is no such way to prove a password."""

    code = "unknown_mechanism"


class UnknownCredential(BraidError):
    """There is no such credential."""

    code = "unknown_credential"


class SettingFixed(BraidError):
    """The setting cannot be changed while nodes run."""

    code = "setting_fixed"
    fix = "Change it in the file, the environment or a flag, and start the node again."


class ChangedMeanwhile(BraidError):
    """Somebody else has changed it since it was read."""

    code = "changed_meanwhile"
    fix = "Read it again, and send the change with the new ETag in If-Match."


class IdempotencyKeyReused(BraidError):
    """The idempotency key was used for another request within the last 24 hours."""

    code = "idempotency_key_reused"
    fix = "Make a new key for a new request; a key belongs to one request and its repetitions."


class RequestInProgress(BraidError):
    """The first request with this idempotency key is still being worked on."""

    code = "request_in_progress"
    fix = "Ask again in a moment with the same key: the answer of the first request comes back."
    retriable = True


class AnswerNotKept(BraidError):
    """The request with this idempotency key was carried out, but its answer was too large to be kept."""

    code = "answer_not_kept"
    fix = "Look up what the request has made instead of sending it again."


class ArchiveOff(BraidError):
    """This node knows of no archive: archive.folder is not set, or the pipeline is not installed."""

    code = "archive_off"
    fix = "Install braidmq[pipeline] and set archive.folder to the pipeline's folder, then start the node again."


class HistoryFailed(BraidError):
    """The pipeline's tables could not be read."""

    code = "history_failed"
    fix = "See whether the pipeline runs and its folder can be read, and ask again."
    retriable = True


class TooManyListeners(BraidError):
    """So many listen to live events that no more may."""

    code = "too_many_listeners"
    fix = "Close pages that nobody looks at, or ask for samples now and then instead."
    retriable = True
