# Made by tools/unasync.py from ../_async: change it there.
"""Everything that the node's HTTP interface lets administrators do; methods are named as its operations are."""

from types import TracebackType

from braidmq.model import DEFAULT_INSTANCE
from braidmq.sdk._sync._transport import Transport
from braidmq.sdk._sync.admin.groups import GroupOperations
from braidmq.sdk._sync.admin.messages import MessageOperations
from braidmq.sdk._sync.admin.operations import NodeOperations
from braidmq.sdk._sync.admin.topics import TopicOperations
from braidmq.sdk._targets import Target


class Admin(TopicOperations, GroupOperations, MessageOperations, NodeOperations):
    """Asks and changes one node; topics and groups are those of `instance`.

    Every method raises what the node refuses it for (`UnknownTopic`, `AlreadyExists`, `InvalidSetting`, ...), and
    Unreachable when nobody answered for `retry_s`. Methods with `dry_run` change nothing where it is true, and answer
    with what would be.
    """

    def __init__(
        self,
        target: Target = "http://127.0.0.1:8400",
        *,
        instance: str = DEFAULT_INSTANCE,
        timeout_s: float = 30.0,
        retry_s: float = 30.0,
    ) -> None:
        """Raises Unreachable where the address is none."""
        self._transport = Transport(target, timeout_s=timeout_s, retry_s=retry_s)
        self._instance = instance

    def __enter__(self) -> "Admin":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()
