"""`braid up`: runs a node in the foreground, tells where it listens, and stops it on a signal or a failure.

The first SIGINT or SIGTERM stops cleanly; the second leaves at once, which costs no acknowledged message: the log is
made for being cut off at any moment.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from braidmq.cli import _errors
from braidmq.cli._limits import is_worth_a_word, judge_file_limit, raise_file_limit
from braidmq.cli._logging import set_up_logging
from braidmq.cli._ready import announce, remove_ready_file, write_ready_file
from braidmq.logger import get_logger
from braidmq.node import Node
from braidmq.settings import Settings, files_needed

_logger = get_logger(__name__)

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_node(
    settings: Settings,
    ready_file: Path | None,
    *,
    with_pipeline: bool = False,
    origins: Mapping[str, str] | None = None,
) -> int:
    """Until told to stop, or until the node fails; the exit status. Raises what prevents the start."""
    set_up_logging(settings.logging)
    _raise_file_limit(settings)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_run(settings, origins, ready_file, with_pipeline=with_pipeline))


def _raise_file_limit(settings: Settings) -> None:
    allowed = raise_file_limit(files_needed(settings).in_all)
    if is_worth_a_word(settings, allowed):
        finding = judge_file_limit(settings, allowed)
        _logger.warning("few open files are allowed", reason=finding.found, fix=finding.advice)


def _loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    """uvloop where it exists; everything works without it, more slowly."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.Loop


async def _run(
    settings: Settings, origins: Mapping[str, str] | None, ready_file: Path | None, *, with_pipeline: bool
) -> int:
    stop = _stop_on_signals()
    if ready_file is not None:
        remove_ready_file(ready_file)
    starting = asyncio.create_task(Node.start(settings, origins))
    await _first(starting, stop)
    if stop.done():
        starting.cancel()
    try:
        node = await starting
    except asyncio.CancelledError:
        return _errors.DONE
    try:
        async with _beside(node) if with_pipeline else contextlib.nullcontext():
            return await _serve(node, ready_file, stop)
    finally:
        await node.stop()


@contextlib.asynccontextmanager
async def _beside(node: Node) -> AsyncIterator[None]:
    from braidmq.cli._beside import PipelineBeside

    beside = await PipelineBeside.start(node)
    try:
        yield
    finally:
        await beside.stop()


async def _serve(node: Node, ready_file: Path | None, stop: "asyncio.Future[None]") -> int:
    announce(node)
    if ready_file is not None:
        write_ready_file(ready_file, node)
    try:
        return await _until_stopped(node, stop)
    finally:
        if ready_file is not None:
            remove_ready_file(ready_file)


async def _until_stopped(node: Node, stop: "asyncio.Future[None]") -> int:
    failing = asyncio.create_task(node.failed())
    await _first(failing, stop)
    if failing.done():
        _errors.say_error(failing.result())
        return _errors.STORAGE
    failing.cancel()
    return _errors.DONE


async def _first(*waiting: "asyncio.Future[Any]") -> None:
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)


def _tell(words: str) -> None:
    with contextlib.suppress(OSError):  # who started it may have gone, and it must stop all the same
        print(f"braid: {words}", file=sys.stderr, flush=True)


def _stop_on_signals() -> "asyncio.Future[None]":
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[None] = loop.create_future()

    def heard() -> None:
        if stop.done():
            _tell("left at once")
            os._exit(_errors.INTERRUPTED)
        stop.set_result(None)
        _tell("stopping (once more to leave at once)")

    for number in _SIGNALS:
        loop.add_signal_handler(number, heard)
    return stop
