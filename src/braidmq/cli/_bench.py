"""`braid bench NAME`: runs bench/NAME.py of the checkout. Benches are not part of an installed package."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import braidmq
from braidmq.model.errors import InvalidSetting

_CHECKOUT = Path(braidmq.__file__).parents[2]


def bench_names(folder: Path = _CHECKOUT / "bench") -> list[str]:
    """What there is in this checkout; nothing in an installed package."""
    return list(_benches(folder))


def _benches(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("[!_]*.py"))}


def run_bench(name: str, arguments: Sequence[str], folder: Path = _CHECKOUT / "bench") -> int:
    """The bench's own exit status. Raises InvalidSetting where there is no such bench."""
    benches = _benches(folder)
    if not benches:
        raise InvalidSetting(
            "there are no benches here: `braid bench` works in a checkout of the source, as ./braid bench"
        )
    if name not in benches:
        raise InvalidSetting(f"there is no bench {name!r}; there are: {', '.join(benches)}")
    return subprocess.run([sys.executable, str(benches[name]), *arguments], check=False).returncode
