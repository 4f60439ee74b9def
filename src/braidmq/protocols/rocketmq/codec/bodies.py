"""The bodies of commands, named and spelled as RocketMQ's classes are.

Every field has a default, the one that Java's class has: clients of different ages leave different fields out. What is
None is not written. A map whose keys are message queues is written with objects as keys; see `_fastjson`.
"""

import enum
from typing import Final

import msgspec

from braidmq.protocols.rocketmq.codec.headers import Int, Long


class Body(msgspec.Struct, kw_only=True, rename="camel"):
    """Something that a command's body says in JSON."""


class MessageQueue(msgspec.Struct, frozen=True, order=True, rename="camel"):
    """One partition of a topic, on the broker of that name."""

    topic: str = ""
    broker_name: str = ""
    queue_id: Int = 0


class ConsumeType(enum.StrEnum):
    """How a consumer gets its messages."""

    CONSUME_ACTIVELY = "CONSUME_ACTIVELY"
    CONSUME_PASSIVELY = "CONSUME_PASSIVELY"
    CONSUME_POP = "CONSUME_POP"


class MessageModel(enum.StrEnum):
    """Whether a message goes to one member of the group, or to all."""

    BROADCASTING = "BROADCASTING"
    CLUSTERING = "CLUSTERING"


class ConsumeFromWhere(enum.StrEnum):
    """Where a group begins that has no offset yet."""

    CONSUME_FROM_LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST"
    CONSUME_FROM_MIN_OFFSET = "CONSUME_FROM_MIN_OFFSET"
    CONSUME_FROM_MAX_OFFSET = "CONSUME_FROM_MAX_OFFSET"
    CONSUME_FROM_FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    CONSUME_FROM_TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class MessageRequestMode(enum.StrEnum):
    """How a group takes messages of a queue."""

    PULL = "PULL"
    POP = "POP"


WORDS: Final[dict[str, tuple[str, ...]]] = {
    "consumeType": tuple(ConsumeType),
    "messageModel": tuple(MessageModel),
    "consumeFromWhere": tuple(ConsumeFromWhere),
}
"""The members that are one of some words, and these in the order in which Java's classes count them."""


# Routes


class BrokerData(Body, kw_only=True):
    """One broker: its addresses by id, of which 0 is the master."""

    cluster: str = ""
    broker_name: str = ""
    broker_addrs: dict[Long, str] = {}
    zone_name: str | None = None
    enable_acting_master: bool = False


class QueueData(Body, kw_only=True):
    """How many queues of a topic a broker has, and what may be done with them (4 read, 2 write)."""

    broker_name: str = ""
    read_queue_nums: Int = 0
    write_queue_nums: Int = 0
    perm: Int = 0
    topic_sys_flag: Int = 0


class TopicRouteData(Body, kw_only=True):
    order_topic_conf: str | None = None
    queue_datas: list[QueueData] = []
    broker_datas: list[BrokerData] = []
    filter_server_table: dict[str, list[str]] = {}


class ClusterInfo(Body, kw_only=True):
    broker_addr_table: dict[str, BrokerData] = {}
    cluster_addr_table: dict[str, list[str]] = {}


class TopicList(Body, kw_only=True):
    topic_list: list[str] = []
    broker_addr: str | None = None


class KVTable(Body, kw_only=True):
    table: dict[str, str] = {}


class DataVersion(Body, kw_only=True):
    """How often a table has changed."""

    state_version: Long = 0
    timestamp: Long = 0
    counter: Long = 0


# Clients and groups


class SubscriptionData(Body, kw_only=True):
    topic: str = ""
    sub_string: str = ""
    tags_set: list[str] = []
    code_set: list[Int] = []
    sub_version: Long = 0
    expression_type: str = "TAG"
    class_filter_mode: bool = False


class ProducerData(Body, kw_only=True):
    group_name: str = ""


class ConsumerData(Body, kw_only=True):
    group_name: str = ""
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None
    subscription_data_set: list[SubscriptionData] = []
    unit_mode: bool = False


class HeartbeatData(Body, kw_only=True):
    client_id: str = msgspec.field(default="", name="clientID")
    producer_data_set: list[ProducerData] = []
    consumer_data_set: list[ConsumerData] = []
    heartbeat_fingerprint: Int = 0
    without_sub: bool = False


class CheckClientRequestBody(Body, kw_only=True):
    client_id: str = ""
    group: str = ""
    subscription_data: SubscriptionData | None = None
    namespace: str | None = None


class GetConsumerListByGroupResponseBody(Body, kw_only=True):
    consumer_id_list: list[str] = []


class Connection(Body, kw_only=True):
    client_id: str = ""
    client_addr: str = ""
    language: str = "JAVA"
    version: Int = 0


class ConsumerConnection(Body, kw_only=True):
    connection_set: list[Connection] = []
    subscription_table: dict[str, SubscriptionData] = {}
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None


class ProducerConnection(Body, kw_only=True):
    connection_set: list[Connection] = []


class ProducerInfo(Body, kw_only=True):
    client_id: str = ""
    remote_ip: str = msgspec.field(default="", name="remoteIP")
    language: str = "JAVA"
    version: Int = 0
    last_update_timestamp: Long = 0


class ProducerTableInfo(Body, kw_only=True):
    data: dict[str, list[ProducerInfo]] = {}


class GroupList(Body, kw_only=True):
    group_list: list[str] = []


class QuerySubscriptionResponseBody(Body, kw_only=True):
    subscription_data: SubscriptionData | None = None
    group: str = ""
    topic: str = ""


# Who reads which queue


class LockBatchRequestBody(Body, kw_only=True):
    consumer_group: str = ""
    client_id: str = ""
    only_this_broker: bool = False
    mq_set: list[MessageQueue] = []


class UnlockBatchRequestBody(Body, kw_only=True):
    consumer_group: str = ""
    client_id: str = ""
    only_this_broker: bool = False
    mq_set: list[MessageQueue] = []


class LockBatchResponseBody(Body, kw_only=True):
    lock_ok_mq_set: list[MessageQueue] = msgspec.field(default_factory=list, name="lockOKMQSet")


class QueryAssignmentRequestBody(Body, kw_only=True):
    topic: str = ""
    consumer_group: str = ""
    client_id: str = ""
    strategy_name: str | None = None
    message_model: MessageModel | None = None


class MessageQueueAssignment(Body, kw_only=True):
    message_queue: MessageQueue | None = None
    mode: MessageRequestMode = MessageRequestMode.PULL
    attachments: dict[str, str] | None = None


class QueryAssignmentResponseBody(Body, kw_only=True):
    """None tells the client to keep what it has."""

    message_queue_assignments: list[MessageQueueAssignment] | None = None


class SetMessageRequestModeRequestBody(Body, kw_only=True):
    topic: str = ""
    consumer_group: str = ""
    mode: MessageRequestMode = MessageRequestMode.PULL
    pop_share_queue_num: Int = 0


class BatchAck(msgspec.Struct, kw_only=True):
    """Acknowledgements of one checkpoint. `bit_set` has bit n for the offset `start_offset` + n, as Java's BitSet does:
    little-endian bytes."""

    consumer_group: str = msgspec.field(default="", name="c")
    topic: str = msgspec.field(default="", name="t")
    retry: str = msgspec.field(default="0", name="r")
    start_offset: Long = msgspec.field(default=0, name="so")
    queue_id: Int = msgspec.field(default=0, name="q")
    revive_queue_id: Int = msgspec.field(default=0, name="rq")
    pop_time: Long = msgspec.field(default=0, name="pt")
    invisible_time: Long = msgspec.field(default=0, name="it")
    bit_set: bytes = msgspec.field(default=b"", name="b")


class BatchAckMessageRequestBody(Body, kw_only=True):
    broker_name: str | None = None
    acks: list[BatchAck] = []


# Offsets


class TopicOffset(Body, kw_only=True):
    min_offset: Long = 0
    max_offset: Long = 0
    last_update_timestamp: Long = 0


class TopicStatsTable(Body, kw_only=True):
    topic_put_tps: float = 0.0
    offset_table: dict[MessageQueue, TopicOffset] = {}


class OffsetWrapper(Body, kw_only=True):
    broker_offset: Long = 0
    consumer_offset: Long = 0
    pull_offset: Long = 0
    last_timestamp: Long = 0


class ConsumeStats(Body, kw_only=True):
    offset_table: dict[MessageQueue, OffsetWrapper] = {}
    consume_tps: float = 0.0


class ConsumeStatsList(Body, kw_only=True):
    consume_stats_list: list[dict[str, list[ConsumeStats]]] = []
    broker_addr: str | None = None
    total_diff: Long = 0
    total_inflight_diff: Long = 0


class ResetOffsetBody(Body, kw_only=True):
    offset_table: dict[MessageQueue, Long] = {}


class GetConsumerStatusBody(Body, kw_only=True):
    message_queue_table: dict[MessageQueue, Long] = {}
    consumer_table: dict[str, dict[MessageQueue, Long]] = {}


class QueryCorrectionOffsetBody(Body, kw_only=True):
    correction_offsets: dict[Int, Long] = {}


class QueueTimeSpan(Body, kw_only=True):
    message_queue: MessageQueue | None = None
    min_time_stamp: Long = 0
    max_time_stamp: Long = 0
    consume_time_stamp: Long = 0
    delay_time: Long = 0


class QueryConsumeTimeSpanBody(Body, kw_only=True):
    consume_time_span_set: list[QueueTimeSpan] = []


class ConsumeQueueData(Body, kw_only=True):
    physic_offset: Long = 0
    physic_size: Int = 0
    tags_code: Long = 0
    extend_data_json: str | None = None
    bit_map: str | None = None
    eval: bool = False
    msg: str | None = None


class QueryConsumeQueueResponseBody(Body, kw_only=True):
    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    queue_data: list[ConsumeQueueData] = []
    max_queue_index: Long = 0
    min_queue_index: Long = 0


class BrokerStatsItem(Body, kw_only=True):
    sum: Long = 0
    tps: float = 0.0
    avgpt: float = 0.0


class BrokerStatsData(Body, kw_only=True):
    stats_minute: BrokerStatsItem | None = None
    stats_hour: BrokerStatsItem | None = None
    stats_day: BrokerStatsItem | None = None


# What a consumer says of itself


class ProcessQueueInfo(Body, kw_only=True):
    commit_offset: Long = 0
    cached_msg_min_offset: Long = 0
    cached_msg_max_offset: Long = 0
    cached_msg_count: Int = 0
    cached_msg_size_in_mi_b: Int = msgspec.field(default=0, name="cachedMsgSizeInMiB")
    transaction_msg_min_offset: Long = 0
    transaction_msg_max_offset: Long = 0
    transaction_msg_count: Int = 0
    locked: bool = False
    try_unlock_times: Long = 0
    last_lock_timestamp: Long = 0
    dropped: bool = msgspec.field(default=False, name="droped")
    last_pull_timestamp: Long = 0
    last_consume_timestamp: Long = 0


class PopProcessQueueInfo(Body, kw_only=True):
    wait_ack_count: Int = 0
    dropped: bool = msgspec.field(default=False, name="droped")
    last_pop_timestamp: Long = 0


class ConsumeStatus(Body, kw_only=True):
    pull_rt: float = msgspec.field(default=0.0, name="pullRT")
    pull_tps: float = msgspec.field(default=0.0, name="pullTPS")
    consume_rt: float = msgspec.field(default=0.0, name="consumeRT")
    consume_ok_tps: float = msgspec.field(default=0.0, name="consumeOKTPS")
    consume_failed_tps: float = msgspec.field(default=0.0, name="consumeFailedTPS")
    consume_failed_msgs: Long = 0


class ConsumerRunningInfo(Body, kw_only=True):
    properties: dict[str, str] = {}
    subscription_set: list[SubscriptionData] = []
    mq_table: dict[MessageQueue, ProcessQueueInfo] = {}
    mq_pop_table: dict[MessageQueue, PopProcessQueueInfo] = {}
    status_table: dict[str, ConsumeStatus] = {}
    user_consumer_info: dict[str, str] = {}
    jstack: str | None = None


class ConsumeMessageDirectlyResult(Body, kw_only=True):
    order: bool = False
    auto_commit: bool = True
    consume_result: str | None = None
    remark: str | None = None
    spent_time_mills: Long = 0


# Settings of topics and groups


class TopicConfig(Body, kw_only=True):
    topic_name: str = ""
    read_queue_nums: Int = 16
    write_queue_nums: Int = 16
    perm: Int = 6
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: Int = 0
    order: bool = False
    attributes: dict[str, str] = {}


class CreateTopicListRequestBody(Body, kw_only=True):
    topic_config_list: list[TopicConfig] = []


class TopicConfigSerializeWrapper(Body, kw_only=True):
    topic_config_table: dict[str, TopicConfig] = {}
    data_version: DataVersion = msgspec.field(default_factory=DataVersion)


class ExponentialRetryPolicy(Body, kw_only=True):
    initial: Long = 5_000
    max: Long = 7_200_000
    multiplier: Long = 2


class CustomizedRetryPolicy(Body, kw_only=True):
    next: list[Long] = []


class GroupRetryPolicy(Body, kw_only=True):
    type: str = "CUSTOMIZED"
    exponential_retry_policy: ExponentialRetryPolicy | None = None
    customized_retry_policy: CustomizedRetryPolicy | None = None


class SimpleSubscriptionData(Body, kw_only=True):
    topic: str = ""
    expression_type: str | None = None
    expression: str | None = None
    version: Long = 0


class SubscriptionGroupConfig(Body, kw_only=True):
    group_name: str = ""
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    consume_message_orderly: bool = False
    retry_queue_nums: Int = 1
    retry_max_times: Int = 16
    group_retry_policy: GroupRetryPolicy = msgspec.field(default_factory=GroupRetryPolicy)
    broker_id: Long = 0
    which_broker_when_consume_slowly: Long = 1
    notify_consumer_ids_changed_enable: bool = True
    group_sys_flag: Int = 0
    consume_timeout_minute: Int = 15
    subscription_data_set: list[SimpleSubscriptionData] | None = None
    attributes: dict[str, str] = {}


class SubscriptionGroupList(Body, kw_only=True):
    group_config_list: list[SubscriptionGroupConfig] = []


class SubscriptionGroupWrapper(Body, kw_only=True):
    subscription_group_table: dict[str, SubscriptionGroupConfig] = {}
    forbidden_table: dict[str, dict[str, Int]] | None = None
    data_version: DataVersion = msgspec.field(default_factory=DataVersion)


class GroupForbidden(Body, kw_only=True):
    topic: str = ""
    group: str = ""
    readable: bool | None = None


# Accounts


class UserInfo(Body, kw_only=True):
    username: str | None = None
    password: str | None = None
    user_type: str | None = None
    user_status: str | None = None


class PolicyEntryInfo(Body, kw_only=True):
    resource: str | None = None
    actions: list[str] | None = None
    source_ips: list[str] | None = None
    decision: str | None = None


class PolicyInfo(Body, kw_only=True):
    policy_type: str | None = None
    entries: list[PolicyEntryInfo] | None = None


class AclInfo(Body, kw_only=True):
    subject: str | None = None
    policies: list[PolicyInfo] | None = None
