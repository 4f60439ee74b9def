"""The certificate that clients are shown which want TLS and check nothing: made at the first start, and kept."""

import datetime
import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Final

VALID_DAYS: Final = 3650
RENEW_DAYS: Final = 30
MAKE_S: Final = 60.0
"""It takes a quarter of a second, on a machine that is not overloaded."""


def server_tls(file: Path, *, is_own: bool) -> ssl.SSLContext:
    """From a file with key and certificate. `is_own` makes one where there is none, or where it will not be valid much
    longer. Blocks. Raises OSError (ssl.SSLError is one), subprocess.TimeoutExpired."""
    if is_own and not _is_young(file):
        _make(file)
    try:
        return _loaded(file)
    except ssl.SSLError:
        if not is_own:
            raise
    _make(file)  # somebody has damaged it
    return _loaded(file)


def _loaded(file: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(file)
    context.set_alpn_protocols(["h2"])
    return context


def _is_young(file: Path) -> bool:
    """By when it was made, and not by a look inside: what could look inside takes 12 MB."""
    try:
        made = datetime.datetime.fromtimestamp(file.stat().st_mtime, datetime.UTC)
    except FileNotFoundError:
        return False
    return _now() < made + datetime.timedelta(days=VALID_DAYS - RENEW_DAYS)


def _make(file: Path) -> None:
    """All or nothing, and for this user only."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(_self_signed())
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)


def _self_signed() -> bytes:
    """Made by another process: what makes it takes 12 MB, which would stay with the node for its whole life."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("_self_signed.py")), str(VALID_DAYS)]
    made = subprocess.run(command, capture_output=True, timeout=MAKE_S, check=False)
    if made.returncode:
        said = made.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise OSError(f"none could be made: {said[-1]}")
    return made.stdout


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
