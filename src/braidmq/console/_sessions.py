"""Who may look: whoever shows the token that the node printed. A browser then keeps a sealed cookie instead of it.

The cookie says until when it is good and is sealed with the token, so nothing is kept here, and a new token ends all
sessions.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

COOKIE: Final = "braid_session"
SESSION_S: Final = 12 * 3600
TOKEN_FILE_NAME: Final = "console-token"  # noqa: S105 - where it is, not what it is
_TOKEN_BYTES: Final = 24


class Sessions:
    """Sessions of one node's console."""

    def __init__(self, token: str, *, now_s: Callable[[], float] = time.time) -> None:
        self.token = token
        self._now_s = now_s

    def begin(self, token: str) -> str | None:
        """The cookie for who shows the right token, else None."""
        if not hmac.compare_digest(token.strip().encode(), self.token.encode()):
            return None
        until = str(int(self._now_s()) + SESSION_S)
        return f"{until}.{self._seal(until)}"

    def is_good(self, cookie: str | None) -> bool:
        until, _, seal = (cookie or "").partition(".")
        if not (until.isascii() and until.isdigit() and len(until) <= 12):
            return False
        return hmac.compare_digest(seal.encode(), self._seal(until).encode()) and int(until) > self._now_s()

    def csrf_secret(self) -> str:
        """What tokens of forms are made with; never shown."""
        return self._seal("forms")

    def _seal(self, text: str) -> str:
        return hmac.new(self.token.encode(), text.encode(), hashlib.sha256).hexdigest()


def kept_token(folder: Path) -> str:
    """The token of the node with this data folder: made once, readable by its owner alone."""
    path = folder / TOKEN_FILE_NAME
    if path.is_file() and (known := path.read_text().strip()):
        return known
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    path.touch(mode=0o600)
    path.write_text(f"{token}\n")
    return token
