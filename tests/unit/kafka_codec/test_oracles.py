"""Ours against kio and kafka-python, every message of every version that they know, in both directions."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from braidmq.protocols.kafka.codec import ApiMessage, decode_message, encode_message
from kafka_oracles import kafka_python_oracle, kio_oracle
from kafka_oracles.values import MESSAGE_CLASSES, plain, structs, versions_of

ORACLES = (kio_oracle, kafka_python_oracle)
PAIRS = [
    pytest.param(oracle, kind, id=f"{oracle.NAME}-{kind.__name__}")
    for oracle in ORACLES
    for kind in MESSAGE_CLASSES
    if any(oracle.covers(kind, version) for version in versions_of(kind))
]

ALONE = {
    # Gone from Kafka 4, and not for clients.
    "AlterPartitionRequest": [0, 1],
    "AlterPartitionResponse": [0, 1],
    "CreateDelegationTokenRequest": [0],
    "CreateDelegationTokenResponse": [0],
    "DescribeDelegationTokenRequest": [0],
    "DescribeDelegationTokenResponse": [0],
    "ExpireDelegationTokenRequest": [0],
    "ExpireDelegationTokenResponse": [0],
    "RenewDelegationTokenRequest": [0],
    "RenewDelegationTokenResponse": [0],
    "RequestHeader": [0],
    # New in Kafka 4.4, which the others have yet to reach.
    "ApiVersionsRequest": [5],
    "ApiVersionsResponse": [5],
    "DeleteGroupsRequest": [3],
    "DeleteGroupsResponse": [3],
    "StreamsGroupDescribeRequest": [1],
    "StreamsGroupDescribeResponse": [1],
    "StreamsGroupHeartbeatRequest": [1],
    "StreamsGroupHeartbeatResponse": [1],
    "StreamsGroupTopologyDescriptionUpdateRequest": [0],
    "StreamsGroupTopologyDescriptionUpdateResponse": [0],
    "TxnOffsetCommitRequest": [6],
    "TxnOffsetCommitResponse": [6],
    "UnregisterControllerRequest": [0],
    "UnregisterControllerResponse": [0],
}
"""Held only by Kafka's own classes, in tests/compat."""


@pytest.mark.parametrize(("oracle", "kind"), PAIRS)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_others_read_what_we_write_and_write_what_we_read(
    oracle: ModuleType, kind: type[ApiMessage], data: st.DataObject
) -> None:
    check_against(oracle, kind, data)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("oracle", "kind"), PAIRS)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_others_agree_with_us_over_many_values(oracle: ModuleType, kind: type[ApiMessage], data: st.DataObject) -> None:
    check_against(oracle, kind, data)


def test_each_message_has_an_oracle_in_each_version_but_for_those_that_are_listed() -> None:
    alone = {
        kind.__name__: [
            version for version in versions_of(kind) if not any(oracle.covers(kind, version) for oracle in ORACLES)
        ]
        for kind in MESSAGE_CLASSES
    }
    assert {name: versions for name, versions in alone.items() if versions} == ALONE


def check_against(oracle: ModuleType, kind: type[ApiMessage], data: st.DataObject) -> None:
    for version in versions_of(kind):
        if not oracle.covers(kind, version):
            continue
        message = data.draw(structs(kind, version, oracle.narrow))
        written = encode_message(message, version)
        ours = plain(message, version, absent_is_default=oracle.ABSENT_IS_DEFAULT)
        assert without(oracle.read(kind, version, written), oracle.UNCOMPARED) == without(ours, oracle.UNCOMPARED)
        assert oracle.rewritten(kind, version, written) == written
        assert decode_message(kind, version, written, strict=True) == message


def without(value: Any, names: frozenset[str]) -> Any:
    """The value but for the fields of these names."""
    if isinstance(value, dict):
        return {name: without(element, names) for name, element in value.items() if name not in names}
    return [without(element, names) for element in value] if isinstance(value, list) else value
