"""The machine itself: Python, what is compiled, limits on open files, and the clock."""

import ctypes
import importlib.metadata
import importlib.util
import platform
import sys
import time

from braidmq.cli._limits import judge_file_limit
from braidmq.model.finding import Finding, fail, ok, warn
from braidmq.settings import Settings, file_limits

COMPILED = (
    "braidmq.core.query._entries",
    "braidmq.log.embedded._lanes",
    "braidmq.log.embedded._many_files",
    "braidmq.pipeline._places",
    "braidmq.protocols.framed._room",
    "braidmq.protocols.kafka.codec._produces",
    "braidmq.protocols.rocketmq.codec._deliveries",
    "braidmq.protocols.rocketmq.codec._sends",
    "braidmq.records._crc32c",
    "braidmq.records._packing",
)
"""Modules whose source is Cython; everything works without them."""

_CLOCK_UNSYNCHRONISED = 5
_TIMEX_BYTES = 512  # the kernel's struct timex is smaller on every architecture
_STEP_S_MAX = 0.05
_RELEASED_S = 1_735_689_600  # 2025-01-01: a clock before this is certainly wrong


def check_python() -> Finding:
    found = f"{platform.python_implementation()} {platform.python_version()}"
    try:
        return ok("python", f"{found}, uvloop {importlib.metadata.version('uvloop')}")
    except importlib.metadata.PackageNotFoundError:
        return warn("python", f"{found} without uvloop", "install uvloop: the node is 2 to 4 times faster with it")


def check_compiled() -> Finding:
    """Hot paths that are compiled where a compiler was at hand."""
    missing = [name for name in COMPILED if importlib.util.find_spec(name) is None]
    if not missing:
        return ok("hot paths", "compiled")
    return warn(
        "hot paths",
        f"interpreted: {', '.join(missing)}",
        "install a C compiler and Python's headers (on Debian: gcc, python3-dev), then start ./braid up again;"
        " wheels have them compiled",
    )


def check_file_limits(settings: Settings) -> Finding:
    """`braid up` raises the soft limit by itself, so the hard one counts."""
    _, hard = file_limits()
    return judge_file_limit(settings, hard)


class ClockWatch:
    """Made at the beginning, asked at the end: meanwhile the wall clock must have gone as the monotonic one did."""

    def __init__(self) -> None:
        self._wall_s, self._monotonic_s = time.time(), time.monotonic()

    def check(self) -> Finding:
        step_s = (time.time() - self._wall_s) - (time.monotonic() - self._monotonic_s)
        now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        if time.time() < _RELEASED_S:
            return fail("clock", f"it says {now}", "set the clock: retention, delays and tokens depend on it")
        if abs(step_s) > _STEP_S_MAX:
            return warn(
                "clock", f"it jumped by {step_s * 1000:.0f} ms", "let it be slewed, not stepped (chrony, ntpd -x)"
            )
        if _kernel_says_unsynchronised():
            return warn("clock", f"{now}, not synchronised", "run chrony, ntpd or systemd-timesyncd")
        return ok("clock", now)


def _kernel_says_unsynchronised() -> bool:
    """The kernel's own word, which needs neither network nor a daemon's tools; False where it cannot be asked."""
    if sys.platform != "linux":
        return False
    adjtimex = getattr(ctypes.CDLL(None), "adjtimex", None)
    nothing_to_change = ctypes.create_string_buffer(_TIMEX_BYTES)
    return adjtimex is not None and adjtimex(nothing_to_change) == _CLOCK_UNSYNCHRONISED
