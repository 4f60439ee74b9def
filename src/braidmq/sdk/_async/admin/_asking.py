"""What the parts of the administrator's client have in common."""

from braidmq.sdk._async._transport import AsyncTransport


class AsyncAsking:
    """One who asks a node about an instance."""

    _transport: AsyncTransport
    _instance: str
