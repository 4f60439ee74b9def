"""What every operation needs: an action on a kind of resource, said where its handler is registered.

Each protocol keeps one `Operations` table from its own key (an API number, a command code, a method and
path) to the handler. A handler without a declaration cannot get into the table, so what accounts are
allowed to do never depends on somebody having remembered a check.
"""

import enum
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

from braidmq.model import BraidError


class Action(enum.StrEnum):
    """What is done to a resource. `PROBE` asks whether the node lives and is open to everybody."""

    PROBE = "probe"
    DESCRIBE = "describe"
    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"
    PUBLISH = "publish"
    CONSUME = "consume"


class ResourceKind(enum.StrEnum):
    """What a permission can be given for."""

    NODE = "node"
    INSTANCE = "instance"
    TOPIC = "topic"
    GROUP = "group"
    TRANSACTION = "transaction"
    SETTING = "setting"
    ACCOUNT = "account"
    CELL = "cell"


class Need(NamedTuple):
    """What a caller must be allowed to do."""

    action: Action
    resource: ResourceKind


class UndeclaredOperation(BraidError):
    """An operation must declare the action and the resource that it needs."""

    code = "undeclared_operation"


KeyT = TypeVar("KeyT", bound=Hashable)
HandlerT = TypeVar("HandlerT")


class Operation(NamedTuple, Generic[KeyT, HandlerT]):
    """One thing that a protocol can be asked."""

    protocol: str
    key: KeyT
    need: Need
    handler: HandlerT


class Operations(Generic[KeyT, HandlerT]):
    """All operations of one protocol, by the key that names them on its wire."""

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self._by_key: dict[KeyT, Operation[KeyT, HandlerT]] = {}

    def register(self, key: KeyT, need: Need | None, handler: HandlerT) -> None:
        """Raises UndeclaredOperation without a need, and where the key is taken."""
        if need is None:
            raise UndeclaredOperation(f"{self.protocol} {key}: declare the action and the resource it needs")
        if key in self._by_key:
            raise UndeclaredOperation(f"{self.protocol} {key}: is registered already")
        self._by_key[key] = Operation(self.protocol, key, need, handler)

    def handles(self, key: KeyT, action: Action, resource: ResourceKind) -> Callable[[HandlerT], HandlerT]:
        """A decorator that registers the function below it."""

        def register(handler: HandlerT) -> HandlerT:
            self.register(key, Need(action, resource), handler)
            return handler

        return register

    def get(self, key: KeyT) -> Operation[KeyT, HandlerT] | None:
        """The operation, or None for a key that this protocol does not know."""
        return self._by_key.get(key)

    def __iter__(self) -> Iterator[Operation[KeyT, HandlerT]]:
        return iter(self._by_key.values())
