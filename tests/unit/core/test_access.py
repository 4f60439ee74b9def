"""No operation without a declaration of what it needs."""

import pytest

from braidmq.core.access import Action, Need, Operations, ResourceKind, UndeclaredOperation


def test_a_handler_without_a_declaration_cannot_be_registered() -> None:
    operations: Operations[int, str] = Operations("kafka")
    with pytest.raises(UndeclaredOperation, match="kafka 0: declare"):
        operations.register(0, None, "produce")
    assert operations.get(0) is None


def test_one_key_has_one_handler() -> None:
    operations: Operations[int, str] = Operations("kafka")
    operations.register(0, Need(Action.PUBLISH, ResourceKind.TOPIC), "produce")
    with pytest.raises(UndeclaredOperation, match="registered already"):
        operations.register(0, Need(Action.CONSUME, ResourceKind.TOPIC), "fetch")


def test_the_decorator_registers_the_function_with_its_need() -> None:
    operations: Operations[int, object] = Operations("kafka")

    @operations.handles(1, Action.CONSUME, ResourceKind.TOPIC)
    def fetch() -> None: ...

    (operation,) = operations
    assert operation.handler is fetch
    assert operation.need == (Action.CONSUME, ResourceKind.TOPIC)
