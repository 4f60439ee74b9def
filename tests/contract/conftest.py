"""The adapters under the contract. A new adapter joins by a line in `ADAPTERS`."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from braidmq.log import Log
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.log.memory import MemoryLog
from contract.harness import Clock, LogUnderTest, Open

PERSISTENT = ["embedded-commit", "embedded-interval"]
ADAPTERS = ["memory", *PERSISTENT]


def opener(name: str, folder: Path) -> Open:
    """How the adapter is opened. Files are small, so that they are changed, reused and saved all the time."""
    flush: Literal["commit", "interval"] = "commit" if name == "embedded-commit" else "interval"

    async def open_log(clock: Clock) -> Log:
        if name == "memory":
            return MemoryLog(clock)
        options = LogOptions(flush=flush, journal_file_bytes=16 * 1024, reserve_bytes=64 * 1024)
        return await EmbeddedLog.open(folder / "log", options, clock=clock)

    return open_log


@pytest.fixture(params=ADAPTERS)
async def under_test(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LogUnderTest]:
    """Every adapter in turn: what uses it is a promise of all."""
    started = await LogUnderTest.start(opener(request.param, tmp_path))
    yield started
    await started.log.close()


@pytest.fixture(params=PERSISTENT)
async def persistent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LogUnderTest]:
    """The adapters that keep what they hold when they are closed."""
    started = await LogUnderTest.start(opener(request.param, tmp_path))
    yield started
    await started.log.close()
