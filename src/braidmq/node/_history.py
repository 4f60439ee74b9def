"""The pipeline's tables, read by processes of the pipeline: nothing of it is loaded into the node.

A search worker is started with the first question, and stays; one that does not answer in time is ended, and the next
question starts another. A report is a process of its own.
"""

import asyncio
import contextlib
import importlib.util
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from braidmq.core.history import ArchiveAsk, Kept
from braidmq.model.errors import ArchiveOff, HistoryFailed

FOLDER_NAME: Final = "pipeline"
_NEEDED: Final = ("duckdb", "deltalake", "pyarrow")
_SEARCH: Final = "braidmq.pipeline.archive._worker"
_REPORT: Final = "braidmq.pipeline.reports._worker"
_START_LIMIT_S: Final = 30.0
_ANSWER_LIMIT_S: Final = 5.0
_REPORT_LIMIT_S: Final = 60.0
_ANSWER_BYTES_MAX: Final = 256 << 20
_SIZE_BYTES: Final = 4


class _Answer(msgspec.Struct):
    rows: list[Kept] = []
    error: str | None = None


class PipelineHistory:
    """See `core.history.HistoryPort`."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._lock = asyncio.Lock()
        self._worker: asyncio.subprocess.Process | None = None

    def check(self) -> None:
        missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
        if missing:
            raise ArchiveOff(f"the archive is read with {', '.join(missing)}, which are not installed")
        if not self._folder().is_dir():
            raise ArchiveOff(f"the pipeline has made no tables in {self._folder()} (archive.folder)")

    async def close(self) -> None:
        await self._end()

    async def find(self, ask: ArchiveAsk) -> list[Kept]:
        question = {
            "id": ask.id or None,
            "key": ask.key or None,
            "topic": ask.topic or None,
            "start": _moment(ask.from_ms),
            "end": _moment(ask.until_ms),
            "limit": ask.limit,
            "instance": ask.instance,
        }
        async with self._lock:
            worker = await self._started()
            answer = await self._ask(worker, msgspec.msgpack.encode(question), _ANSWER_LIMIT_S)
        if answer.error is not None:
            raise HistoryFailed(f"the search failed: {answer.error[:300]}")
        return answer.rows

    async def report(self, from_ms: int, until_ms: int, *, pressure: bool) -> dict[str, Any]:
        arguments = [str(self._folder()), str(from_ms), str(until_ms), "pressure" if pressure else "normal"]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", _REPORT, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(_REPORT_LIMIT_S):
                output, said = await process.communicate()
        except TimeoutError as error:
            raise HistoryFailed(f"the report took longer than {_REPORT_LIMIT_S:.0f} s; ask for less time") from error
        finally:
            await _ended(process)
        if process.returncode:
            raise HistoryFailed(f"the report cannot be made: {said.decode(errors='replace').strip()[-300:]}")
        made: dict[str, Any] = msgspec.json.decode(output)
        return made

    async def _started(self) -> asyncio.subprocess.Process:
        if self._worker is not None and self._worker.returncode is None:
            return self._worker
        archive = str(self._folder() / "archive")
        self._worker = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            _SEARCH,
            archive,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        ready = await self._hear(self._worker, _START_LIMIT_S)
        if ready.error is not None:
            await self._end()
            raise ArchiveOff(f"there is no archive in {archive}: {ready.error[:300]}")
        return self._worker

    async def _ask(self, worker: asyncio.subprocess.Process, question: bytes, limit_s: float) -> _Answer:
        assert worker.stdin is not None, "it was started with one"
        worker.stdin.write(len(question).to_bytes(_SIZE_BYTES, "little") + question)
        return await self._hear(worker, limit_s)

    async def _hear(self, worker: asyncio.subprocess.Process, limit_s: float) -> _Answer:
        """Whatever interrupts it, a worker whose answer was not read to its end is not asked again."""
        assert worker.stdout is not None, "it was started with one"
        try:
            async with asyncio.timeout(limit_s):
                size = int.from_bytes(await worker.stdout.readexactly(_SIZE_BYTES), "little")
                if size > _ANSWER_BYTES_MAX:
                    raise HistoryFailed("the answer is too large: ask for fewer messages")
                return msgspec.msgpack.decode(await worker.stdout.readexactly(size), type=_Answer)
        except TimeoutError as error:
            await self._end()
            raise HistoryFailed("the search took too long: ask for a shorter time, or for an id or a key") from error
        except asyncio.IncompleteReadError as error:
            await self._end()
            raise HistoryFailed("the search worker has ended") from error
        except BaseException:
            await self._end()
            raise

    async def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await _ended(worker)


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    await process.communicate()  # only the end of its pipes closes them


def _moment(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
