"""What is written is what is read, for every message of every version."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from braidmq.protocols.kafka.codec import ApiMessage, decode_message, encode_message
from kafka_oracles.values import MESSAGE_CLASSES, structs, versions_of


@pytest.mark.parametrize("kind", MESSAGE_CLASSES, ids=lambda kind: kind.__name__)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_message_of_every_version_is_read_as_it_was_written(kind: type[ApiMessage], data: st.DataObject) -> None:
    for version in versions_of(kind):
        message = data.draw(structs(kind, version))
        assert decode_message(kind, version, encode_message(message, version), strict=True) == message
