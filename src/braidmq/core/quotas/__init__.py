"""Quotas: how much of a node clients may use, and how long they are to wait when they used more.

Whoever carries requests asks `Quotas`; what a wait means on its wire is its own business.
"""

from braidmq.core.quotas._accounts import ACCOUNTS_MAX, BURST_S, Account, Accounts
from braidmq.core.quotas._quotas import Quotas
from braidmq.core.quotas._rules import check_holder, check_value, host_address, may_have

__all__ = [
    "ACCOUNTS_MAX",
    "BURST_S",
    "Account",
    "Accounts",
    "Quotas",
    "check_holder",
    "check_value",
    "host_address",
    "may_have",
]
