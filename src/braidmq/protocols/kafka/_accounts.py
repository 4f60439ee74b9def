"""Who clients are, and what is said of accounts and permissions, while a node has none."""

from typing import Final

ANONYMOUS: Final = "ANONYMOUS"
"""The user that everybody is, by the name that Kafka gives to those who did not log in."""

NO_ACCOUNTS: Final = "this node has no accounts, so everybody may do everything and nothing can be permitted or denied"
