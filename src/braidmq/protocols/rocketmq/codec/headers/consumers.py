"""What consumers that keep their own offsets send and are asked."""

import msgspec

from braidmq.protocols.rocketmq.codec.headers._base import (
    BoundaryType,
    CustomHeader,
    Int,
    Long,
    RpcRequestHeader,
    TopicRequestHeader,
)


class ConsumeMessageDirectlyResultRequestHeader(TopicRequestHeader, kw_only=True):
    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = None
    topic_sys_flag: Int | None = None
    group_sys_flag: Int | None = None


class ConsumerSendMsgBackRequestHeader(RpcRequestHeader, kw_only=True):
    offset: Long
    group: str
    delay_level: Int
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: Int | None = None


class GetConsumerListByGroupRequestHeader(RpcRequestHeader, kw_only=True):
    consumer_group: str


class GetConsumerRunningInfoRequestHeader(RpcRequestHeader, kw_only=True):
    consumer_group: str
    client_id: str
    jstack_enable: bool = False


class GetConsumerStatusRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    group: str
    client_addr: str | None = None


class GetEarliestMsgStoretimeRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    queue_id: Int


class GetEarliestMsgStoretimeResponseHeader(CustomHeader, kw_only=True):
    timestamp: Long


class GetMaxOffsetRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    queue_id: Int
    committed: bool = True


class GetMaxOffsetResponseHeader(CustomHeader, kw_only=True):
    offset: Long


class GetMinOffsetRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    queue_id: Int


class GetMinOffsetResponseHeader(CustomHeader, kw_only=True):
    offset: Long


class HeartbeatRequestHeader(RpcRequestHeader, kw_only=True):
    """No fields of its own."""


class LockBatchMqRequestHeader(RpcRequestHeader, kw_only=True):
    """No fields of its own."""


class NotifyConsumerIdsChangedRequestHeader(RpcRequestHeader, kw_only=True):
    consumer_group: str


class PullMessageRequestHeader(TopicRequestHeader, kw_only=True):
    consumer_group: str
    topic: str
    queue_id: Int
    queue_offset: Long
    max_msg_nums: Int
    sys_flag: Int
    commit_offset: Long
    suspend_timeout_millis: Long
    subscription: str | None = None
    sub_version: Long
    expression_type: str | None = None
    max_msg_bytes: Int | None = None
    request_source: Int | None = None
    proxy_forward_client_id: str | None = msgspec.field(default=None, name="proxyFrowardClientId")


class PullMessageResponseHeader(CustomHeader, kw_only=True):
    suggest_which_broker_id: Long
    next_begin_offset: Long
    min_offset: Long
    max_offset: Long
    offset_delta: Long | None = None
    topic_sys_flag: Int | None = None
    group_sys_flag: Int | None = None
    forbidden_type: Int | None = None


class QueryConsumerOffsetRequestHeader(TopicRequestHeader, kw_only=True):
    consumer_group: str
    topic: str
    queue_id: Int
    set_zero_if_not_found: bool | None = None


class QueryConsumerOffsetResponseHeader(CustomHeader, kw_only=True):
    offset: Long


class ResetOffsetRequestHeader(TopicRequestHeader, kw_only=True):
    group: str
    topic: str
    queue_id: Int = -1
    offset: Long | None = None
    timestamp: Long = 0
    is_force: bool = False


class SearchOffsetRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    queue_id: Int
    timestamp: Long
    boundary_type: BoundaryType = BoundaryType.LOWER


class SearchOffsetResponseHeader(CustomHeader, kw_only=True):
    offset: Long


class UnlockBatchMqRequestHeader(RpcRequestHeader, kw_only=True):
    """No fields of its own."""


class UnregisterClientRequestHeader(RpcRequestHeader, kw_only=True):
    client_id: str = msgspec.field(name="clientID")
    producer_group: str | None = None
    consumer_group: str | None = None


class UpdateConsumerOffsetRequestHeader(TopicRequestHeader, kw_only=True):
    consumer_group: str
    topic: str
    queue_id: Int
    commit_offset: Long
