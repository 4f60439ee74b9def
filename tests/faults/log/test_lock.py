"""One process at a time works on a folder; the next is told who has it, and gets it as soon as the owner is gone."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from braidmq.log.embedded import EmbeddedLog
from braidmq.model.errors import DataFolderInUse

OWNER = """
import asyncio, sys
from pathlib import Path
from braidmq.log.embedded import EmbeddedLog, LogOptions

async def main():
    log = await EmbeddedLog.open(Path(sys.argv[1]), LogOptions(reserve_bytes=0))
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
LIMIT_S = 20.0


@pytest.fixture
async def owner(tmp_path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process that has the log open."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(LIMIT_S):
        assert await process.stdout.readline() == b"ready\n"
    yield process
    if process.returncode is None:
        process.kill()
    await process.communicate()  # only the end of its pipes closes them


async def test_a_second_process_is_refused_and_told_who_the_owner_is(
    tmp_path: Path, owner: asyncio.subprocess.Process
) -> None:
    with pytest.raises(DataFolderInUse) as refused:
        await EmbeddedLog.open(tmp_path)
    for word in (str(owner.pid), socket.gethostname(), str(tmp_path), "stop that process or choose another folder"):
        assert word in refused.value.message


async def test_the_refused_process_leaves_the_owner_alone(tmp_path: Path, owner: asyncio.subprocess.Process) -> None:
    for _ in range(3):
        with pytest.raises(DataFolderInUse, match=f"process {owner.pid} "):
            await EmbeddedLog.open(tmp_path)
    assert owner.returncode is None


async def test_the_folder_opens_at_once_when_its_owner_was_killed(
    tmp_path: Path, owner: asyncio.subprocess.Process
) -> None:
    owner.kill()
    await owner.wait()
    log = await EmbeddedLog.open(tmp_path)
    with pytest.raises(DataFolderInUse, match=f"process {os.getpid()} "):
        await EmbeddedLog.open(tmp_path)
    await log.close()


async def test_a_closed_log_can_be_opened_again_in_the_same_process(tmp_path: Path) -> None:
    for _ in range(2):
        log = await EmbeddedLog.open(tmp_path)
        await log.close()
