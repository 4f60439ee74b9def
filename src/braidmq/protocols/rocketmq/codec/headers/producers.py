"""What producers send and are asked."""

from braidmq.protocols.rocketmq.codec.headers._base import (
    CustomHeader,
    Int,
    Long,
    RpcRequestHeader,
    TopicRequestHeader,
    TransactionEnd,
)


class CheckTransactionStateRequestHeader(RpcRequestHeader, kw_only=True):
    topic: str | None = None
    tran_state_table_offset: Long
    commit_log_offset: Long
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None


class CheckTransactionStateResponseHeader(CustomHeader, kw_only=True):
    producer_group: str
    tran_state_table_offset: Long
    commit_log_offset: Long
    commit_or_rollback: TransactionEnd


class EndTransactionRequestHeader(RpcRequestHeader, kw_only=True):
    topic: str | None = None
    producer_group: str
    tran_state_table_offset: Long
    commit_log_offset: Long
    commit_or_rollback: TransactionEnd
    from_transaction_check: bool = False
    msg_id: str
    transaction_id: str | None = None


class RecallMessageRequestHeader(TopicRequestHeader, kw_only=True):
    producer_group: str | None = None
    topic: str
    recall_handle: str


class RecallMessageResponseHeader(CustomHeader, kw_only=True):
    msg_id: str


class ReplyMessageRequestHeader(TopicRequestHeader, kw_only=True):
    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int
    queue_id: Int
    sys_flag: Int
    born_timestamp: Long
    flag: Int
    properties: str | None = None
    reconsume_times: Int | None = None
    unit_mode: bool = False
    born_host: str
    store_host: str
    store_timestamp: Long = 0


class SendMessageRequestHeader(TopicRequestHeader, kw_only=True):
    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int
    queue_id: Int
    sys_flag: Int
    born_timestamp: Long
    flag: Int
    properties: str | None = None
    reconsume_times: Int | None = None
    unit_mode: bool | None = None
    batch: bool | None = None
    max_reconsume_times: Int | None = None


class SendMessageRequestHeaderV2(
    TopicRequestHeader,
    kw_only=True,
    rename={
        "producer_group": "a",
        "topic": "b",
        "default_topic": "c",
        "default_topic_queue_nums": "d",
        "queue_id": "e",
        "sys_flag": "f",
        "born_timestamp": "g",
        "flag": "h",
        "properties": "i",
        "reconsume_times": "j",
        "unit_mode": "k",
        "max_reconsume_times": "l",
        "batch": "m",
        "broker_name": "n",
    },
):
    """The same as SendMessageRequestHeader in letters, for speed; it alone names the broker among them."""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int
    queue_id: Int
    sys_flag: Int
    born_timestamp: Long
    flag: Int
    properties: str | None = None
    reconsume_times: Int | None = None
    unit_mode: bool | None = None
    batch: bool | None = None
    max_reconsume_times: Int | None = None
    broker_name: str | None = None


class SendMessageResponseHeader(CustomHeader, kw_only=True):
    msg_id: str
    queue_id: Int
    queue_offset: Long
    transaction_id: str | None = None
    batch_uniq_id: str | None = None
    recall_handle: str | None = None
