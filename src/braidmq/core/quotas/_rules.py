"""Which quotas can be."""

import ipaddress
import math
from typing import Final

from braidmq.model.errors import InvalidQuota
from braidmq.model.limits import OTHERS, UNNAMED, Holder, Limit

WHOLE_MAX: Final = {
    Limit.PUBLISHED_BYTES: 2.0**63,
    Limit.CONSUMED_BYTES: 2.0**63,
    Limit.CONNECTIONS: 2.0**31 - 1,
}
"""Those that are whole numbers, and how large each may be."""
_NEARLY: Final = 1e-6


def check_holder(holder: Holder) -> None:
    """Raises InvalidQuota for one that nothing can be set for."""
    if holder == Holder():
        raise InvalidQuota("a quota is for a user, a client, both together, or a host; this one is for nobody")
    if holder.host != UNNAMED:
        if holder.user != UNNAMED or holder.client != UNNAMED:
            raise InvalidQuota("a quota for a host is for nobody else; set another one for the user or the client")
        if holder.host != OTHERS and host_address(holder.host[1:]) is None:
            raise InvalidQuota(f"{holder.host[1:]} is not a valid IP address; names of hosts are not looked up here")


def host_address(text: str) -> str | None:
    """The address as sockets spell it; None where it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def may_have(holder: Holder, limit: Limit) -> bool:
    """Only connections are counted by host, and by nothing else."""
    return (holder.host != UNNAMED) == (limit is Limit.CONNECTIONS)


def check_value(limit: Limit, value: float, called: str | None = None) -> None:
    """Raises InvalidQuota for a value that the limit cannot have; `called` is what the caller calls it."""
    name = called or limit.value
    if not value > 0:
        raise InvalidQuota(f"Quota {name} must be greater than 0")
    if limit not in WHOLE_MAX:
        if not math.isfinite(value):
            raise InvalidQuota(f"Quota {name} must be a number; remove it to have no limit")
        return
    if value > WHOLE_MAX[limit]:
        raise InvalidQuota(f"Proposed value for {name} is too large: at most {WHOLE_MAX[limit]:.0f}")
    if value % 1 > _NEARLY:
        raise InvalidQuota(f"{name} cannot be a fractional value.")
