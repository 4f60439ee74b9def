"""What is said of accounts and permissions while a node has none."""

from typing import Final

NO_ACCOUNTS: Final = "this node has no accounts, so everybody may do everything and nothing can be permitted or denied"
