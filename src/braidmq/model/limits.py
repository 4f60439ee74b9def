"""What may be limited for clients, and for whom: the words of quotas, whichever protocol clients speak.

A holder says whom a quota is for: a user, a client by the id that it gives itself, one of the two together, or a host.
Each part is one of three things, as a text: nobody in particular (`UNNAMED`), everybody who has no quota of his own
(`OTHERS`), or somebody by name (`named`).
"""

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

UNNAMED: Final = ""
OTHERS: Final = "*"


def named(name: str) -> str:
    """Somebody by name."""
    return f"={name}"


class Holder(NamedTuple):
    """Whom a quota is for."""

    user: str = UNNAMED
    client: str = UNNAMED
    host: str = UNNAMED


class Limit(enum.StrEnum):
    """What is limited. A share of time is of the node's one thread, so that 100 is all of it."""

    PUBLISHED_BYTES = "published_bytes_per_s"
    CONSUMED_BYTES = "consumed_bytes_per_s"
    BUSY_PERCENT = "busy_percent"
    CHANGED_PARTITIONS = "changed_partitions_per_s"
    CONNECTIONS = "connections_per_s"


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """What a holder is limited to, by the names of the limits."""

    user: str = UNNAMED
    client: str = UNNAMED
    host: str = UNNAMED
    limits: Mapping[str, float] = {}

    @property
    def holder(self) -> Holder:
        return Holder(self.user, self.client, self.host)
