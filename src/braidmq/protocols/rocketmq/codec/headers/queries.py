"""Looking for messages."""

from braidmq.protocols.rocketmq.codec.headers._base import CustomHeader, Int, Long, TopicRequestHeader


class QueryConsumeQueueRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str | None = None
    queue_id: Int = 0
    index: Long = 0
    count: Int = 0
    consumer_group: str | None = None


class QueryMessageRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    key: str
    max_num: Int
    begin_timestamp: Long
    end_timestamp: Long


class QueryMessageResponseHeader(CustomHeader, kw_only=True):
    index_last_update_timestamp: Long
    index_last_update_phyoffset: Long


class ViewMessageRequestHeader(CustomHeader, kw_only=True):
    topic: str | None = None
    offset: Long
