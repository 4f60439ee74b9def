"""Where tables may lie: in a folder of this machine, or one that is mounted."""

import re
from pathlib import Path
from typing import Final

from braidmq.pipeline.errors import InvalidOption

_OWN: Final = re.compile(r"file:(//)?(?=/)")
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*:/", re.IGNORECASE)


def local_folder(text: str | Path) -> Path:
    """The whole path. Raises InvalidOption for an address of anything else."""
    path = _OWN.sub("", str(text), count=1) if _OWN.match(str(text)) else str(text)
    if _ADDRESS.match(path):
        raise InvalidOption(f"{text}: tables lie in a local or mounted file system; object stores are not served")
    return Path(path).absolute()
