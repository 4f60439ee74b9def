"""What the C library does with memory that was freed: kept for whoever asks next, or given back to the system.

Blocks that hold many messages are large, and glibc gives such blocks back to the system as soon as they are freed. The
system fills them with zeroes before it lends them again, which takes longer than to fill them with messages. Other C
libraries are left alone.
"""

from typing import Any, Final

_TRIM_THRESHOLD: Final = -1
_MAP_THRESHOLD: Final = -3
_KEPT_BLOCK_BYTES: Final = 32 * 1024 * 1024
"""The largest that glibc takes."""


def keep_freed(kept_bytes: int) -> None:
    """From now on, up to about so much of freed memory stays with this process, but for larger blocks."""
    set_option = _glibc("mallopt")
    if set_option is not None:
        set_option(_TRIM_THRESHOLD, kept_bytes)
        set_option(_MAP_THRESHOLD, _KEPT_BLOCK_BYTES)


def give_back() -> None:
    """All that is free goes back to the system now; meanwhile nobody is given memory."""
    trim = _glibc("malloc_trim")
    if trim is not None:
        trim(0)


def _glibc(function: str) -> Any:
    import ctypes  # takes 4 ms, and a node that is not loaded never comes here

    try:
        return getattr(ctypes.CDLL(None), function, None)
    except OSError:
        return None
