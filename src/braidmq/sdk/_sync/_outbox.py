# Made by tools/unasync.py from ../_async: change it there.
"""Messages that are sent if and only if the user's own transaction is committed.

They are written to a table in that transaction. A relay takes them from there, a batch at a time: it writes down which
rows make the batch, sends them under the batch's key, and deletes them. A relay that was killed in between finds the
batch as it was and sends it again under the same key, which the node knows: no message is lost, and none is there
twice.
"""

import logging
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any, Unpack

import msgspec

from braidmq.model import BraidError
from braidmq.model.errors import AnswerNotKept
from braidmq.sdk._backoff import Backoff
from braidmq.sdk._concurrency import Condition, Tasks
from braidmq.sdk._outbox_table import DEFAULT_TABLE, OutboxTable, positions
from braidmq.sdk._sql import Row, commit, ended, execute, opened
from braidmq.sdk._sync._buffer import BATCH_BYTES_MAX, BATCH_MAX
from braidmq.sdk._sync._producer import Producer
from braidmq.sdk._tracing import sending
from braidmq.sdk.values import Body, Outgoing, SendOptions, Sent, at_a_moment, wire

_logger = logging.getLogger("braidmq.sdk")


class Outbox:
    """The table in the user's database. Every method works inside the transaction of the connection it is given: a
    connection or session of SQLAlchemy, or a connection of a DB-API driver."""

    def __init__(self, table: str = DEFAULT_TABLE) -> None:
        """Raises ValueError for a name that cannot be."""
        self._table = OutboxTable(table)

    @property
    def ddl(self) -> str:
        """The statement that makes the table, for migrations."""
        return self._table.create

    def create_table(self, connection: Any) -> None:
        execute(connection, self._table.create)

    def add(self, connection: Any, topic: str, body: Body, **options: Unpack[SendOptions]) -> str:
        """The message will be sent when the connection's transaction is committed; its id."""
        message = at_a_moment(wire(Outgoing(body=body, **options)))
        with sending(topic, [message]):
            text = msgspec.json.encode(message).decode()
        execute(connection, self._table.add, id=message["id"], position=positions.next(), topic=topic, message=text)
        return str(message["id"])

    def parked(self, connection: Any) -> list[tuple[str, str, str]]:
        """Messages that the node has refused: id, topic and why."""
        return [(row[0], row[1], row[2]) for row in execute(connection, self._table.parked)]

    def release(self, connection: Any) -> None:
        """Parked messages are tried again."""
        execute(connection, self._table.release)


class OutboxRelay:
    """Sends what is in an outbox. `connect` makes a connection of its own, such as `engine.connect`. Several relays may
    work on one table. Use it in a `with` block, and it works beside the caller; or call `run_once`."""

    def __init__(
        self,
        connect: Callable[[], Any],
        producer: Producer,
        *,
        table: str = DEFAULT_TABLE,
        pause_s: float = 1.0,
    ) -> None:
        """`pause_s` is how long it waits when there is nothing to send. Raises ValueError as `Outbox` does."""
        self._connect = connect
        self._producer = producer
        self._table = OutboxTable(table)
        self._pause_s = pause_s
        self._tasks = Tasks()
        self._changed = Condition()
        self._is_closing = False

    def __enter__(self) -> "OutboxRelay":
        self._tasks.spawn(self.run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends after the batch that is under way."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._tasks.join(60.0)

    def run(self) -> None:
        """Sends until it is closed; errors of node and database are logged, and it goes on when they are over."""
        backoff = Backoff()
        while not self._is_closing:
            pause_s = self._pause_s
            try:
                self.run_once()
                backoff.reset()
            except Exception as error:  # nothing is lost: what is in the table stays there until it is sent
                _logger.warning("the outbox cannot be emptied now: %s", error)
                pause_s = backoff.next_s()
            with self._changed:
                self._changed.wait_until(lambda: self._is_closing, pause_s)

    def run_once(self) -> int:
        """Sends all that waits; how many messages that were. Raises what the database raises, and Unreachable."""
        count = 0
        connection = opened(self._connect)
        try:
            while not self._is_closing and (batch := self._next(connection)):
                count += self._relay(connection, batch)
        finally:
            ended(connection)
        return count

    def _next(self, connection: Any) -> str | None:
        """The key of the batch to send; its rows are written down."""
        begun = execute(connection, self._table.begun)
        if begun:
            commit(connection)
            return str(begun[0][0])
        rows = _fitting(execute(connection, self._table.waiting, most=BATCH_MAX))
        batch = uuid.uuid4().hex
        for row in rows:
            execute(connection, self._table.claim, batch=batch, id=row[0])
        commit(connection)
        return batch if rows else None

    def _relay(self, connection: Any, batch: str) -> int:
        rows = execute(connection, self._table.of_batch, batch=batch)
        commit(connection)
        if not rows:
            return 0  # another relay was faster
        outcomes = self._send(rows, batch)
        for row, outcome in zip(rows, outcomes, strict=True):
            if isinstance(outcome, Sent):
                execute(connection, self._table.remove, id=row[0], batch=batch)
            else:
                problem = None if outcome.retriable else f"{outcome.code}: {outcome.message}"
                execute(connection, self._table.free, id=row[0], batch=batch, problem=problem)
        commit(connection)
        return sum(isinstance(outcome, Sent) for outcome in outcomes)

    def _send(self, rows: list[Row], batch: str) -> list[Sent | BraidError]:
        """A refusal of them all is a refusal of each; what may succeed later is raised, and stays as it is."""
        content = msgspec.json.encode({"messages": [msgspec.Raw(row[2].encode()) for row in rows]})
        try:
            return self._producer.send_encoded(rows[0][1], content, f"outbox-{batch}")
        except AnswerNotKept:
            return [Sent(id=row[0]) for row in rows]
        except BraidError as error:
            if error.retriable:
                raise
            return [error] * len(rows)


def _fitting(rows: list[Row]) -> list[Row]:
    """The first of them that make one request: of one topic, and not too large."""
    size = 0
    fitting: list[Row] = []
    for row in rows:
        size += len(row[2])
        if fitting and (row[1] != fitting[0][1] or size > BATCH_BYTES_MAX):
            break
        fitting.append(row)
    return fitting
