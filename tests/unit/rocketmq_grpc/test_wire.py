"""The messages of the table are the interface's: the same fields, the same bytes as RocketMQ's own client has."""

from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given, settings
from hypothesis import strategies as st
from rocketmq.grpc_protocol import definition_pb2, service_pb2  # type: ignore[import-untyped]

from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc._operations import operations
from braidmq.protocols.rocketmq_grpc._service import Service
from braidmq.protocols.rocketmq_grpc.codes import Code

THEIRS = {
    name: message
    for module in (definition_pb2, service_pb2)
    for name, message in module.DESCRIPTOR.message_types_by_name.items()
}
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
PLAIN: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_FLOAT: st.floats(width=32, allow_nan=False),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=50),
}


def shape(field: FieldDescriptor) -> tuple[Any, ...]:
    kind = FieldDescriptor.TYPE_INT32 if field.type == FieldDescriptor.TYPE_ENUM else field.type
    choice = field.containing_oneof
    return (
        field.number,
        kind,
        field.is_repeated,
        field.has_presence,
        None if choice is None else choice.name,
        None if field.message_type is None else field.message_type.full_name,
    )


@pytest.mark.parametrize("name", THEIRS)
def test_a_message_has_the_fields_of_the_interface(name: str) -> None:
    ours = getattr(wire, name).DESCRIPTOR
    assert {field.name: shape(field) for field in ours.fields} == {
        field.name: shape(field) for field in THEIRS[name].fields
    }


def filled(made: Any, data: st.DataObject, depth: int = 0) -> Any:
    """The message with some of its fields set, to what can be said by both."""
    for field in made.DESCRIPTOR.fields:
        if not data.draw(st.booleans()):
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            getattr(made, field.name).update(data.draw(st.dictionaries(TEXTS, TEXTS, max_size=1)))
        elif field.message_type is not None:
            if depth < 3:
                held = getattr(made, field.name)
                filled(held.add() if field.is_repeated else held, data, depth + 1)
        elif field.is_repeated:
            getattr(made, field.name).extend(data.draw(st.lists(PLAIN[field.type], max_size=2)))
        else:
            setattr(made, field.name, data.draw(PLAIN[field.type]))
    return made


@pytest.mark.parametrize(
    "name", ["Message", "Settings", "TelemetryCommand", "ReceiveMessageResponse", "QueryRouteResponse"]
)
@settings(deadline=None)  # the machine may be busy
@given(data=st.data())
def test_bytes_are_those_that_other_clients_read_and_write(name: str, data: st.DataObject) -> None:
    ours = filled(getattr(wire, name)(), data)
    module = definition_pb2 if hasattr(definition_pb2, name) else service_pb2
    raw = ours.SerializeToString(deterministic=True)
    theirs = getattr(module, name).FromString(raw)
    assert theirs.SerializeToString(deterministic=True) == raw


def test_every_call_of_the_interface_is_answered() -> None:
    methods = service_pb2.DESCRIPTOR.services_by_name["MessagingService"].methods
    assert {method.name for method in methods} == {operation.key for operation in operations}
    streams = {method.name for method in methods if method.server_streaming}
    assert {operation.key for operation in operations if operation.handler.streams} == streams
    assert Service.__name__  # importing it registered the handlers


def test_numbers_of_statuses_are_the_interfaces() -> None:
    theirs = definition_pb2.DESCRIPTOR.enum_types_by_name["Code"].values_by_name
    for code in Code:
        assert theirs[code.name].number == code


def test_a_message_that_does_not_exist_is_said_to() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = wire.Nonsense
