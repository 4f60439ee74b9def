"""POP: consumers that acknowledge each message, and leave offsets to the server."""

from braidmq.protocols.rocketmq.codec.headers._base import CustomHeader, Int, Long, TopicRequestHeader


class AckMessageRequestHeader(TopicRequestHeader, kw_only=True):
    consumer_group: str
    topic: str
    queue_id: Int
    extra_info: str
    offset: Long


class ChangeInvisibleTimeRequestHeader(TopicRequestHeader, kw_only=True):
    consumer_group: str
    topic: str
    queue_id: Int
    extra_info: str
    offset: Long
    invisible_time: Long


class ChangeInvisibleTimeResponseHeader(CustomHeader, kw_only=True):
    pop_time: Long = 0
    invisible_time: Long = 0
    revive_qid: Int = 0


class NotificationRequestHeader(TopicRequestHeader, kw_only=True):
    consumer_group: str
    topic: str
    queue_id: Int = 0
    poll_time: Long = 0
    born_time: Long = 0
    order: bool = False
    attempt_id: str | None = None


class NotificationResponseHeader(CustomHeader, kw_only=True):
    has_msg: bool = False
    polling_full: bool = False


class PeekMessageRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    queue_id: Int = 0
    max_msg_nums: Int = 0
    consumer_group: str


class PollingInfoRequestHeader(TopicRequestHeader, kw_only=True):
    consumer_group: str
    topic: str
    queue_id: Int = 0


class PollingInfoResponseHeader(CustomHeader, kw_only=True):
    polling_num: Int = 0


class PopMessageRequestHeader(TopicRequestHeader, kw_only=True):
    consumer_group: str
    topic: str
    queue_id: Int = 0
    max_msg_nums: Int = 0
    invisible_time: Long = 0
    poll_time: Long = 0
    born_time: Long = 0
    init_mode: Int = 0
    exp_type: str | None = None
    exp: str | None = None
    order: bool = False
    attempt_id: str | None = None


class PopMessageResponseHeader(CustomHeader, kw_only=True):
    pop_time: Long = 0
    invisible_time: Long = 0
    revive_qid: Int = 0
    rest_num: Long = 0
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None
