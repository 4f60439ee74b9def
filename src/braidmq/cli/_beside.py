"""`braid up --pipeline`: the data pipeline as a process beside the node. The node does not care how it is."""

import asyncio
import contextlib
import signal
import sys
from typing import Final

from braidmq.cli._pipeline import FOLDER
from braidmq.logger import get_logger
from braidmq.model.errors import InvalidSetting
from braidmq.node import Node

LOG_NAME: Final = "pipeline.log"
AGAIN_S: Final = 10.0
STOP_S: Final = 60.0
"""How long it may take to end between two batches."""

_logger = get_logger(__name__)


class PipelineBeside:
    """Started again when it ends by itself."""

    def __init__(self, node: Node) -> None:
        self._root = node.settings.node.data / FOLDER
        address = node.addresses["kafka"][0]
        self._command = [
            sys.executable, "-m", "braidmq", "pipeline", "run",
            "--bootstrap", str(address), "--path", str(self._root.absolute()),
        ]  # fmt: skip
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, node: Node) -> "PipelineBeside":
        """Raises InvalidSetting where the node does not speak Kafka, and ExtraMissing."""
        if "kafka" not in node.addresses:
            raise InvalidSetting("--pipeline: the pipeline reads by Kafka's protocol, and kafka.listen is off")
        import braidmq.pipeline  # noqa: F401 - says what is missing, before anything has begun

        beside = cls(node)
        beside._root.mkdir(parents=True, exist_ok=True)
        beside._task = asyncio.create_task(beside._keep_running())
        return beside

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _keep_running(self) -> None:
        while True:
            with (self._root / LOG_NAME).open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            _logger.info("pipeline started", pid=self._process.pid, log=str(self._root / LOG_NAME))
            status = await self._process.wait()
            _logger.warning("pipeline ended", status=status, again_in_s=AGAIN_S, log=str(self._root / LOG_NAME))
            await asyncio.sleep(AGAIN_S)
