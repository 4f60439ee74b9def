"""Everything that the node's HTTP interface lets administrators do; methods are named as its operations are."""

from types import TracebackType

from braidmq.model import DEFAULT_INSTANCE
from braidmq.sdk._async._transport import AsyncTransport
from braidmq.sdk._async.admin.groups import AsyncGroupOperations
from braidmq.sdk._async.admin.messages import AsyncMessageOperations
from braidmq.sdk._async.admin.operations import AsyncNodeOperations
from braidmq.sdk._async.admin.topics import AsyncTopicOperations
from braidmq.sdk._targets import Target


class AsyncAdmin(AsyncTopicOperations, AsyncGroupOperations, AsyncMessageOperations, AsyncNodeOperations):
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
        self._transport = AsyncTransport(target, timeout_s=timeout_s, retry_s=retry_s)
        self._instance = instance

    async def __aenter__(self) -> "AsyncAdmin":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._transport.aclose()
