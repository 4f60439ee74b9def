"""Types that tests of the command share."""

from collections.abc import Callable
from typing import Any

Braid = Callable[..., Any]
Started = Callable[..., Any]
