"""Which nodes there are, and where they listen: each says so in the catalog, again and again.

A node that has said nothing for a while counts as gone. One that stops takes its word back.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from braidmq.core.timing import Clock
from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.store import Catalog

REPORT_S: Final = 30.0
GONE_MS: Final = 120_000
_PREFIX: Final = "nodes/"

_logger = get_logger(__name__)


class NodeReport(NamedTuple):
    """A node's own word."""

    name: str
    listeners: Mapping[str, Sequence[str]]
    """The addresses that clients can use, by protocol."""
    seen_ms: int


_decoder = msgspec.json.Decoder(dict[str, list[str]])


class Presence:
    """This node among the others. Made by the node, `start`ed when its listeners listen."""

    def __init__(self, catalog: Catalog, clock: Clock, name: str) -> None:
        self._catalog = catalog
        self._clock = clock
        self._name = name
        self._task: asyncio.Task[None] | None = None

    async def start(self, listeners: Mapping[str, Sequence[str]]) -> None:
        """Report now, and from now on. Raises StoreFailed."""
        text = msgspec.json.encode({name: list(places) for name, places in listeners.items()}).decode()
        await self._report(text)
        self._task = asyncio.create_task(self._repeat(text), name="presence")

    async def close(self) -> None:
        """Gone, as far as others can be told."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait((self._task,))
        try:
            await self._catalog.unset_setting(_PREFIX + self._name)
        except BraidError as error:
            _logger.warning("the others were not told that this node stops", reason=error.message)

    def nodes(self) -> list[NodeReport]:
        """Those that have reported lately, by name."""
        since_ms = self._clock.now_ms() - GONE_MS
        found = []
        for setting in self._catalog.settings():
            if setting.name.startswith(_PREFIX) and setting.changed_ms >= since_ms:
                name = setting.name.removeprefix(_PREFIX)
                found.append(NodeReport(name, _decoder.decode(setting.value), setting.changed_ms))
        return sorted(found)

    async def _report(self, text: str) -> None:
        await self._catalog.set_setting(_PREFIX + self._name, text, changed_by=self._name)

    async def _repeat(self, text: str) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            try:
                await self._report(text)
            except BraidError as error:
                _logger.warning("this node could not report; others may take it for gone", reason=error.message)
