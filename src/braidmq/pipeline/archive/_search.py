"""`find`: looks messages up in a process of its own, so that no question can harm the one who asks.

A worker is started for an archive when it is first asked, and stays. One that does not answer in time is ended, and the
next question starts another.
"""

import atexit
import contextlib
import queue
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

import msgspec

from braidmq.model import BraidError
from braidmq.pipeline.archive._layout import Folders
from braidmq.pipeline.archive._lookup import LIMIT, LIMIT_MAX, Found, Question
from braidmq.pipeline.errors import InvalidOption
from braidmq.pipeline.tables import Table, TableError

ANSWER_LIMIT_S: Final = 5.0
START_LIMIT_S: Final = 30.0
_SIZE_BYTES: Final = 4


class SearchTimeout(BraidError):
    """The search took too long. Ask for a shorter time, or for an id or a key."""

    code = "search_timeout"
    retriable = True


class SearchFailed(BraidError):
    """The search failed."""

    code = "search_failed"


class Answer(msgspec.Struct):
    """What the worker says: the messages, or why there are none."""

    rows: list[Found] = []
    error: str | None = None


class Searcher:
    """A worker for one archive. Not for use by several threads at once: questions wait for each other."""

    def __init__(self, path: str | Path) -> None:
        self._path = str(Folders(path).root)
        if not Table.exists(Folders(path).messages):
            raise TableError(f"there is no archive at {path}")
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def find(
        self,
        *,
        id: str | None = None,
        key: str | None = None,
        topic: str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int = LIMIT,
        timeout_s: float = ANSWER_LIMIT_S,
    ) -> list[Found]:
        """See `find` of the archive."""
        question = _checked(id, key, topic, start, end, limit)
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            answer = self._ask(msgspec.msgpack.encode(question), timeout_s)
        if answer.error is not None:
            raise SearchFailed(answer.error)
        return answer.rows

    def close(self) -> None:
        with self._lock:
            self._end()

    def __enter__(self) -> "Searcher":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        self._end()
        command = [sys.executable, "-m", "braidmq.pipeline.archive._worker", self._path]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._answers = queue.SimpleQueue()
        reader = threading.Thread(
            target=_gather, args=(self._process.stdout, self._answers), name="archive-search", daemon=True
        )
        reader.start()
        ready = self._wait(START_LIMIT_S)
        if ready.error is not None:
            raise SearchFailed(ready.error)

    def _ask(self, question: bytes, timeout_s: float) -> Answer:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            send(self._process.stdin, question)
        except BrokenPipeError:
            self._end()
            raise SearchFailed("the search worker has ended; ask again") from None
        return self._wait(timeout_s)

    def _wait(self, limit_s: float) -> Answer:
        try:
            answer = self._answers.get(timeout=limit_s)
        except queue.Empty:
            self._end()
            raise SearchTimeout(f"no answer within {limit_s:.0f} s; {SearchTimeout.__doc__}") from None
        if answer is None:
            self._end()
            raise SearchFailed("the search worker has ended; ask again")
        return msgspec.msgpack.decode(answer, type=Answer)

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process = None


_searchers: dict[str, Searcher] = {}
_searchers_lock = threading.Lock()


def find(
    path: str | Path,
    *,
    id: str | None = None,
    key: str | None = None,
    topic: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    limit: int = LIMIT,
) -> list[Found]:
    """The messages of the archive at `path` for which all that is given holds, oldest first, at most `limit` (up to
    1,000). At least one of id, key and topic is given; times without a zone are UTC, and `end` is exclusive.

    Raises InvalidOption, TableError where there is no archive, SearchTimeout after 5 seconds, SearchFailed.
    """
    name = str(Folders(path).root)
    with _searchers_lock:
        if name not in _searchers:
            _searchers[name] = Searcher(name)
        searcher = _searchers[name]
    return searcher.find(id=id, key=key, topic=topic, start=start, end=end, limit=limit)


@atexit.register
def close_searchers() -> None:
    """Ends the workers that `find` has started."""
    with _searchers_lock:
        for searcher in _searchers.values():
            searcher.close()
        _searchers.clear()


def _checked(
    id: str | None, key: str | None, topic: str | None, start: datetime | None, end: datetime | None, limit: int
) -> Question:
    if id is None and key is None and topic is None:
        raise InvalidOption("say what to look for: an id, a key, or a topic")
    if not 1 <= limit <= LIMIT_MAX:
        raise InvalidOption(f"limit is {limit}; it can be 1 to {LIMIT_MAX}")
    times = [moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment for moment in (start, end)]
    return Question(id=id, key=key, topic=topic, start=times[0], end=times[1], limit=limit)


def send(stream: IO[bytes], block: bytes) -> None:
    stream.write(len(block).to_bytes(_SIZE_BYTES, "little") + block)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    size = stream.read(_SIZE_BYTES)
    return stream.read(int.from_bytes(size, "little")) if len(size) == _SIZE_BYTES else None


def _gather(stream: IO[bytes], answers: "queue.SimpleQueue[bytes | None]") -> None:
    """Puts what the worker says where it can be waited for with a limit; None when it has ended."""
    with contextlib.suppress(OSError, ValueError):
        while (block := receive(stream)) is not None:
            answers.put(block)
    answers.put(None)
