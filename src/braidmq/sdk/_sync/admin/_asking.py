# Made by tools/unasync.py from ../_async: change it there.
"""What the parts of the administrator's client have in common."""

from braidmq.sdk._sync._transport import Transport


class Asking:
    """One who asks a node about an instance."""

    _transport: Transport
    _instance: str
