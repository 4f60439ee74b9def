"""Records as RocketMQ 5 clients are given them."""

import pytest

from braidmq.model import BORN_HEADER, HTTP_HEADER, HTTP_MARK, PRIORITY_HEADER, ROCKETMQ_HEADER
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc.messages import DELIVER_AT, wire_message
from braidmq.records import Record


@pytest.mark.parametrize("said", ["²", "", "-1", "1" * 40, "soon"])
def test_headers_that_should_be_numbers_and_are_none_are_passed_over(said: str) -> None:
    headers = tuple((name, said.encode()) for name in (BORN_HEADER, PRIORITY_HEADER, DELIVER_AT))
    given = wire_message(Record(0, 1_000, None, b"x", headers), wire.Resource(name="orders"), 0, 1, "127.0.0.1:1")
    assert given.system_properties.born_timestamp.seconds == 1
    assert not given.system_properties.HasField("priority")
    assert not given.system_properties.HasField("delivery_timestamp")


def test_the_marks_of_protocols_are_no_properties_of_users() -> None:
    headers = ((HTTP_HEADER, HTTP_MARK), (ROCKETMQ_HEADER, b""), ("region", b"north"))
    given = wire_message(Record(0, 1_000, None, b"x", headers), wire.Resource(name="orders"), 0, 1, "127.0.0.1:1")
    assert dict(given.user_properties) == {"region": "north"}
