"""Every API by its key: its name, and the versions that this codec reads and writes.

Made by tools/generate_kafka_codec.py from kafka-clients-3.9.1 and kafka-clients-4.4.0; do not edit.
"""

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple

from braidmq.protocols.kafka.codec._schema import VERSION_MAX


class ApiKey(enum.IntEnum):
    """The numbers under which requests are known."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93
    UNREGISTER_CONTROLLER = 94


class Api(NamedTuple):
    """One API. `module` is where its messages are, `stable_max` the newest version that Kafka itself exposes."""

    key: ApiKey
    name: str
    module: str
    version_min: int
    version_max: int
    stable_max: int
    flexible_since: int


APIS: Final[Mapping[int, Api]] = {
    api.key: api
    for api in (
        Api(ApiKey.PRODUCE, "Produce", "produce", 0, 13, 13, 9),
        Api(ApiKey.FETCH, "Fetch", "fetch", 0, 18, 18, 12),
        Api(ApiKey.LIST_OFFSETS, "ListOffsets", "list_offsets", 0, 11, 11, 6),
        Api(ApiKey.METADATA, "Metadata", "metadata", 0, 13, 13, 9),
        Api(ApiKey.OFFSET_COMMIT, "OffsetCommit", "offset_commit", 0, 10, 10, 8),
        Api(ApiKey.OFFSET_FETCH, "OffsetFetch", "offset_fetch", 0, 10, 10, 6),
        Api(ApiKey.FIND_COORDINATOR, "FindCoordinator", "find_coordinator", 0, 6, 6, 3),
        Api(ApiKey.JOIN_GROUP, "JoinGroup", "join_group", 0, 9, 9, 6),
        Api(ApiKey.HEARTBEAT, "Heartbeat", "heartbeat", 0, 4, 4, 4),
        Api(ApiKey.LEAVE_GROUP, "LeaveGroup", "leave_group", 0, 5, 5, 4),
        Api(ApiKey.SYNC_GROUP, "SyncGroup", "sync_group", 0, 5, 5, 4),
        Api(ApiKey.DESCRIBE_GROUPS, "DescribeGroups", "describe_groups", 0, 6, 6, 5),
        Api(ApiKey.LIST_GROUPS, "ListGroups", "list_groups", 0, 5, 5, 3),
        Api(ApiKey.SASL_HANDSHAKE, "SaslHandshake", "sasl_handshake", 0, 1, 1, VERSION_MAX),
        Api(ApiKey.API_VERSIONS, "ApiVersions", "api_versions", 0, 5, 5, 3),
        Api(ApiKey.CREATE_TOPICS, "CreateTopics", "create_topics", 0, 7, 7, 5),
        Api(ApiKey.DELETE_TOPICS, "DeleteTopics", "delete_topics", 0, 6, 6, 4),
        Api(ApiKey.DELETE_RECORDS, "DeleteRecords", "delete_records", 0, 2, 2, 2),
        Api(ApiKey.INIT_PRODUCER_ID, "InitProducerId", "init_producer_id", 0, 6, 5, 2),
        Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, "OffsetForLeaderEpoch", "offset_for_leader_epoch", 0, 4, 4, 4),
        Api(ApiKey.ADD_PARTITIONS_TO_TXN, "AddPartitionsToTxn", "add_partitions_to_txn", 0, 5, 5, 3),
        Api(ApiKey.ADD_OFFSETS_TO_TXN, "AddOffsetsToTxn", "add_offsets_to_txn", 0, 4, 4, 3),
        Api(ApiKey.END_TXN, "EndTxn", "end_txn", 0, 5, 5, 3),
        Api(ApiKey.WRITE_TXN_MARKERS, "WriteTxnMarkers", "write_txn_markers", 0, 2, 2, 1),
        Api(ApiKey.TXN_OFFSET_COMMIT, "TxnOffsetCommit", "txn_offset_commit", 0, 6, 6, 3),
        Api(ApiKey.DESCRIBE_ACLS, "DescribeAcls", "describe_acls", 0, 3, 3, 2),
        Api(ApiKey.CREATE_ACLS, "CreateAcls", "create_acls", 0, 3, 3, 2),
        Api(ApiKey.DELETE_ACLS, "DeleteAcls", "delete_acls", 0, 3, 3, 2),
        Api(ApiKey.DESCRIBE_CONFIGS, "DescribeConfigs", "describe_configs", 0, 4, 4, 4),
        Api(ApiKey.ALTER_CONFIGS, "AlterConfigs", "alter_configs", 0, 2, 2, 2),
        Api(ApiKey.ALTER_REPLICA_LOG_DIRS, "AlterReplicaLogDirs", "alter_replica_log_dirs", 0, 2, 2, 2),
        Api(ApiKey.DESCRIBE_LOG_DIRS, "DescribeLogDirs", "describe_log_dirs", 0, 5, 5, 2),
        Api(ApiKey.SASL_AUTHENTICATE, "SaslAuthenticate", "sasl_authenticate", 0, 2, 2, 2),
        Api(ApiKey.CREATE_PARTITIONS, "CreatePartitions", "create_partitions", 0, 3, 3, 2),
        Api(ApiKey.CREATE_DELEGATION_TOKEN, "CreateDelegationToken", "create_delegation_token", 0, 3, 3, 2),
        Api(ApiKey.RENEW_DELEGATION_TOKEN, "RenewDelegationToken", "renew_delegation_token", 0, 2, 2, 2),
        Api(ApiKey.EXPIRE_DELEGATION_TOKEN, "ExpireDelegationToken", "expire_delegation_token", 0, 2, 2, 2),
        Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, "DescribeDelegationToken", "describe_delegation_token", 0, 3, 3, 2),
        Api(ApiKey.DELETE_GROUPS, "DeleteGroups", "delete_groups", 0, 3, 3, 2),
        Api(ApiKey.ELECT_LEADERS, "ElectLeaders", "elect_leaders", 0, 2, 2, 2),
        Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, "IncrementalAlterConfigs", "incremental_alter_configs", 0, 1, 1, 1),
        Api(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            "AlterPartitionReassignments",
            "alter_partition_reassignments",
            0,
            1,
            1,
            0,
        ),
        Api(
            ApiKey.LIST_PARTITION_REASSIGNMENTS,
            "ListPartitionReassignments",
            "list_partition_reassignments",
            0,
            0,
            0,
            0,
        ),
        Api(ApiKey.OFFSET_DELETE, "OffsetDelete", "offset_delete", 0, 0, 0, VERSION_MAX),
        Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, "DescribeClientQuotas", "describe_client_quotas", 0, 1, 1, 1),
        Api(ApiKey.ALTER_CLIENT_QUOTAS, "AlterClientQuotas", "alter_client_quotas", 0, 1, 1, 1),
        Api(
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
            "DescribeUserScramCredentials",
            "describe_user_scram_credentials",
            0,
            0,
            0,
            0,
        ),
        Api(
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "AlterUserScramCredentials", "alter_user_scram_credentials", 0, 0, 0, 0
        ),
        Api(ApiKey.VOTE, "Vote", "vote", 0, 2, 2, 0),
        Api(ApiKey.BEGIN_QUORUM_EPOCH, "BeginQuorumEpoch", "begin_quorum_epoch", 0, 1, 1, 1),
        Api(ApiKey.END_QUORUM_EPOCH, "EndQuorumEpoch", "end_quorum_epoch", 0, 1, 1, 1),
        Api(ApiKey.DESCRIBE_QUORUM, "DescribeQuorum", "describe_quorum", 0, 2, 2, 0),
        Api(ApiKey.ALTER_PARTITION, "AlterPartition", "alter_partition", 0, 3, 3, 0),
        Api(ApiKey.UPDATE_FEATURES, "UpdateFeatures", "update_features", 0, 2, 2, 0),
        Api(ApiKey.ENVELOPE, "Envelope", "envelope", 0, 0, 0, 0),
        Api(ApiKey.FETCH_SNAPSHOT, "FetchSnapshot", "fetch_snapshot", 0, 1, 1, 0),
        Api(ApiKey.DESCRIBE_CLUSTER, "DescribeCluster", "describe_cluster", 0, 2, 2, 0),
        Api(ApiKey.DESCRIBE_PRODUCERS, "DescribeProducers", "describe_producers", 0, 0, 0, 0),
        Api(ApiKey.BROKER_REGISTRATION, "BrokerRegistration", "broker_registration", 0, 4, 4, 0),
        Api(ApiKey.BROKER_HEARTBEAT, "BrokerHeartbeat", "broker_heartbeat", 0, 2, 2, 0),
        Api(ApiKey.UNREGISTER_BROKER, "UnregisterBroker", "unregister_broker", 0, 0, 0, 0),
        Api(ApiKey.DESCRIBE_TRANSACTIONS, "DescribeTransactions", "describe_transactions", 0, 0, 0, 0),
        Api(ApiKey.LIST_TRANSACTIONS, "ListTransactions", "list_transactions", 0, 2, 2, 0),
        Api(ApiKey.ALLOCATE_PRODUCER_IDS, "AllocateProducerIds", "allocate_producer_ids", 0, 0, 0, 0),
        Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, "ConsumerGroupHeartbeat", "consumer_group_heartbeat", 0, 1, 1, 0),
        Api(ApiKey.CONSUMER_GROUP_DESCRIBE, "ConsumerGroupDescribe", "consumer_group_describe", 0, 1, 1, 0),
        Api(ApiKey.CONTROLLER_REGISTRATION, "ControllerRegistration", "controller_registration", 0, 0, 0, 0),
        Api(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, "GetTelemetrySubscriptions", "get_telemetry_subscriptions", 0, 0, 0, 0),
        Api(ApiKey.PUSH_TELEMETRY, "PushTelemetry", "push_telemetry", 0, 0, 0, 0),
        Api(ApiKey.ASSIGN_REPLICAS_TO_DIRS, "AssignReplicasToDirs", "assign_replicas_to_dirs", 0, 0, 0, 0),
        Api(ApiKey.LIST_CONFIG_RESOURCES, "ListConfigResources", "list_config_resources", 0, 1, 1, 0),
        Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "DescribeTopicPartitions", "describe_topic_partitions", 0, 0, 0, 0),
        Api(ApiKey.SHARE_GROUP_HEARTBEAT, "ShareGroupHeartbeat", "share_group_heartbeat", 1, 1, 1, 0),
        Api(ApiKey.SHARE_GROUP_DESCRIBE, "ShareGroupDescribe", "share_group_describe", 1, 1, 1, 0),
        Api(ApiKey.SHARE_FETCH, "ShareFetch", "share_fetch", 1, 2, 2, 0),
        Api(ApiKey.SHARE_ACKNOWLEDGE, "ShareAcknowledge", "share_acknowledge", 1, 2, 2, 0),
        Api(ApiKey.ADD_RAFT_VOTER, "AddRaftVoter", "add_raft_voter", 0, 1, 1, 0),
        Api(ApiKey.REMOVE_RAFT_VOTER, "RemoveRaftVoter", "remove_raft_voter", 0, 0, 0, 0),
        Api(ApiKey.UPDATE_RAFT_VOTER, "UpdateRaftVoter", "update_raft_voter", 0, 0, 0, 0),
        Api(
            ApiKey.INITIALIZE_SHARE_GROUP_STATE, "InitializeShareGroupState", "initialize_share_group_state", 0, 0, 0, 0
        ),
        Api(ApiKey.READ_SHARE_GROUP_STATE, "ReadShareGroupState", "read_share_group_state", 0, 0, 0, 0),
        Api(ApiKey.WRITE_SHARE_GROUP_STATE, "WriteShareGroupState", "write_share_group_state", 0, 1, 1, 0),
        Api(ApiKey.DELETE_SHARE_GROUP_STATE, "DeleteShareGroupState", "delete_share_group_state", 0, 0, 0, 0),
        Api(
            ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
            "ReadShareGroupStateSummary",
            "read_share_group_state_summary",
            0,
            1,
            1,
            0,
        ),
        Api(ApiKey.STREAMS_GROUP_HEARTBEAT, "StreamsGroupHeartbeat", "streams_group_heartbeat", 0, 1, 1, 0),
        Api(ApiKey.STREAMS_GROUP_DESCRIBE, "StreamsGroupDescribe", "streams_group_describe", 0, 1, 1, 0),
        Api(
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, "DescribeShareGroupOffsets", "describe_share_group_offsets", 0, 1, 1, 0
        ),
        Api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, "AlterShareGroupOffsets", "alter_share_group_offsets", 0, 0, 0, 0),
        Api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, "DeleteShareGroupOffsets", "delete_share_group_offsets", 0, 0, 0, 0),
        Api(
            ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
            "StreamsGroupTopologyDescriptionUpdate",
            "streams_group_topology_description_update",
            0,
            0,
            0,
            0,
        ),
        Api(ApiKey.UNREGISTER_CONTROLLER, "UnregisterController", "unregister_controller", 0, 0, 0, 0),
    )
}
