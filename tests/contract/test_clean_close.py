"""A closed embedded log opens by its manifest alone, whatever was under way when it was closed."""

from pathlib import Path
from typing import Literal

import pytest

from braidmq.log.embedded import EmbeddedLog, LogOptions
from contract.harness import Clock, LogUnderTest, batch_of

TURNS = 14
"""Each takes one page of the journal, whose files have two: enough to pass the point where a checkpoint is due."""


@pytest.mark.parametrize("flush", ["commit", "interval"])
async def test_a_closed_log_opens_clean(tmp_path: Path, flush: Literal["commit", "interval"]) -> None:
    options = LogOptions(flush=flush, journal_file_bytes=8 * 1024, reserve_bytes=64 * 1024)

    async def open_log(clock: Clock) -> EmbeddedLog:
        return await EmbeddedLog.open(tmp_path, options, clock=clock)

    under_test = await LogUnderTest.start(open_log)
    number = await under_test.make_partition()
    found_clean = []
    for appends in range(TURNS):
        for _ in range(appends):
            await under_test.append(number, batch_of(b"a"))
        await under_test.reopen()
        assert isinstance(under_test.log, EmbeddedLog)
        found_clean.append(under_test.log.recovery.clean)
    await under_test.log.close()
    assert all(found_clean)
