"""Topics, groups and offsets, as tools manage them."""

from braidmq.protocols.rocketmq.codec.headers._base import CustomHeader, Int, RpcRequestHeader, TopicRequestHeader


class CloneGroupOffsetRequestHeader(RpcRequestHeader, kw_only=True):
    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False


class CreateTopicListRequestHeader(RpcRequestHeader, kw_only=True):
    """No fields of its own."""


class CreateTopicRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    default_topic: str
    read_queue_nums: Int
    write_queue_nums: Int
    perm: Int
    topic_filter_type: str
    topic_sys_flag: Int | None = None
    order: bool = False
    attributes: str | None = None
    force: bool = False


class DeleteSubscriptionGroupRequestHeader(RpcRequestHeader, kw_only=True):
    group_name: str
    clean_offset: bool = False


class DeleteTopicRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str


class GetAllProducerInfoRequestHeader(CustomHeader, kw_only=True):
    """No fields of its own."""


class GetBrokerConfigResponseHeader(CustomHeader, kw_only=True):
    version: str


class GetConsumeStatsInBrokerHeader(CustomHeader, kw_only=True):
    is_order: bool = False


class GetConsumeStatsRequestHeader(TopicRequestHeader, kw_only=True):
    consumer_group: str
    topic: str | None = None
    topic_list: str | None = None


class GetConsumerConnectionListRequestHeader(RpcRequestHeader, kw_only=True):
    consumer_group: str


class GetProducerConnectionListRequestHeader(RpcRequestHeader, kw_only=True):
    producer_group: str


class GetSubscriptionGroupConfigRequestHeader(RpcRequestHeader, kw_only=True):
    group: str


class GetTopicConfigRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str


class GetTopicStatsInfoRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str


class QueryConsumeTimeSpanRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    group: str


class QueryCorrectionOffsetHeader(TopicRequestHeader, kw_only=True):
    filter_groups: str | None = None
    compare_group: str
    topic: str


class QuerySubscriptionByConsumerRequestHeader(TopicRequestHeader, kw_only=True):
    group: str
    topic: str | None = None


class QueryTopicConsumeByWhoRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str


class QueryTopicsByConsumerRequestHeader(RpcRequestHeader, kw_only=True):
    group: str


class ResumeCheckHalfMessageRequestHeader(CustomHeader, kw_only=True):
    topic: str | None = None
    msg_id: str | None = None


class UpdateGroupForbiddenRequestHeader(TopicRequestHeader, kw_only=True):
    group: str
    topic: str
    readable: bool | None = None


class ViewBrokerStatsDataRequestHeader(CustomHeader, kw_only=True):
    stats_name: str
    stats_key: str


class GetAllTopicConfigRequestHeader(CustomHeader, kw_only=True):
    """Since 5.3.4 the table may be asked for in pages; before, and without these fields, it comes whole."""

    topic_seq: Int = 0
    max_topic_num: Int | None = None
    data_version: str | None = None


class GetAllTopicConfigResponseHeader(CustomHeader, kw_only=True):
    total_topic_num: Int


class GetAllSubscriptionGroupRequestHeader(CustomHeader, kw_only=True):
    """In pages since 5.3.4, as the table of topics."""

    group_seq: Int = 0
    max_group_num: Int | None = None
    data_version: str | None = None


class GetAllSubscriptionGroupResponseHeader(CustomHeader, kw_only=True):
    total_group_num: Int
