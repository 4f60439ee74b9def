"""The name server: routes, settings by key, brokers that register."""

from braidmq.protocols.rocketmq.codec.headers._base import CustomHeader, Int, Long, TopicRequestHeader


class GetTopicsByClusterRequestHeader(CustomHeader, kw_only=True):
    cluster: str


class AddWritePermOfBrokerRequestHeader(CustomHeader, kw_only=True):
    broker_name: str


class AddWritePermOfBrokerResponseHeader(CustomHeader, kw_only=True):
    add_topic_count: Int


class BrokerHeartbeatRequestHeader(CustomHeader, kw_only=True):
    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: Long | None = None
    epoch: Int | None = None
    max_offset: Long | None = None
    confirm_offset: Long | None = None
    heartbeat_timeout_mills: Long | None = None
    election_priority: Int | None = None


class DeleteKVConfigRequestHeader(CustomHeader, kw_only=True):
    namespace: str
    key: str


class DeleteTopicFromNamesrvRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    cluster_name: str | None = None


class GetKVConfigRequestHeader(CustomHeader, kw_only=True):
    namespace: str
    key: str


class GetKVConfigResponseHeader(CustomHeader, kw_only=True):
    value: str | None = None


class GetKVListByNamespaceRequestHeader(CustomHeader, kw_only=True):
    namespace: str


class GetRouteInfoRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str
    accept_standard_json_only: bool | None = None


class PutKVConfigRequestHeader(CustomHeader, kw_only=True):
    namespace: str
    key: str
    value: str


class QueryDataVersionRequestHeader(CustomHeader, kw_only=True):
    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Long


class QueryDataVersionResponseHeader(CustomHeader, kw_only=True):
    changed: bool


class RegisterBrokerRequestHeader(CustomHeader, kw_only=True):
    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Long
    heartbeat_timeout_millis: Long | None = None
    enable_acting_master: bool | None = None
    compressed: bool = False
    body_crc32: Int = 0


class RegisterBrokerResponseHeader(CustomHeader, kw_only=True):
    ha_server_addr: str | None = None
    master_addr: str | None = None


class RegisterTopicRequestHeader(TopicRequestHeader, kw_only=True):
    topic: str


class UnRegisterBrokerRequestHeader(CustomHeader, kw_only=True):
    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Long


class WipeWritePermOfBrokerRequestHeader(CustomHeader, kw_only=True):
    broker_name: str


class WipeWritePermOfBrokerResponseHeader(CustomHeader, kw_only=True):
    wipe_topic_count: Int
