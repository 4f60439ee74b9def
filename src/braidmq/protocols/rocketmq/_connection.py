"""One client's connection: requests in, answers out, each as soon as it is there. Hot path.

Answers carry the number of their request, so their order is free: a pull that waits keeps nobody waiting. The other way
round, the server asks clients on the same connection, with numbers of its own.
"""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final, Protocol

from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.protocols.framed import WRITE_BUFFER_BYTES, FramedConnection, RequestMemory
from braidmq.protocols.framed import Home as FramedHome
from braidmq.protocols.listener import Address
from braidmq.protocols.rocketmq import _audit
from braidmq.protocols.rocketmq._call import NO_FIELDS, Answer, Call
from braidmq.protocols.rocketmq._operations import Later, Result, operations
from braidmq.protocols.rocketmq._plain_sends import PLAIN, take_plain
from braidmq.protocols.rocketmq._services import BROKER_VERSION, REGION, RocketMQServices
from braidmq.protocols.rocketmq.codec import (
    ONEWAY_FLAG,
    RESPONSE_FLAG,
    Command,
    Host,
    MalformedFrame,
    RequestCode,
    ResponseCode,
    Serialization,
    Unencodable,
    decode_request,
    encode_command,
    encode_head,
)
from braidmq.protocols.rocketmq.codec.ids import OFFSET_BITS, write_offset_id
from braidmq.protocols.rocketmq.codec.sent import encode_sent

UNKNOWN_CODE: Final = -1
"""What requests are counted under that nobody knows."""
_UNDER_WAY_MAX: Final = 16_384
"""More requests than this of one client are not read before some are answered."""
_ASKED_MAX: Final = 1_024
_ENDING_WITH_CLIENT: Final = frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE})
"""Requests whose answers nobody needs when the client is gone. All others are brought to their end: a client that sent
a last word and left meant it."""
_LARGE_BODY_BYTES: Final = 4096
_TURNS: Final = 8
"""How many answers of one client that were waited for are made at the same time."""

_logger = get_logger(__name__)


class ClientGone(BraidError):
    """The client's connection has ended."""

    code = "client_gone"


class ClientSilent(BraidError):
    """The client did not answer in time."""

    code = "client_silent"


class Home(FramedHome, Protocol):
    """What a connection needs of its listener."""

    services: RocketMQServices
    requests: Counter[int]
    """How many there were, by code."""
    audited: frozenset[int]
    """The codes of requests that change something, which the audit log tells of."""

    def broker_address(self, here: Address) -> Address:
        """Where a client that reached us here reaches the broker."""
        ...


class Connection(FramedConnection):
    """Made by the listener for each client."""

    __slots__ = (
        "_asked",
        "_held",
        "_large_bytes",
        "_opaque",
        "_reading",
        "_resumed",
        "_tasks",
        "_under_way",
        "_waits",
        "born_host",
        "broker",
        "client_id",
        "offset_id",
        "services",
        "store_host",
    )

    frame_bytes_min = 4
    _home: Home

    def __init__(self, home: Home, advertise: Callable[[Address], Address]) -> None:
        super().__init__(home, advertise)
        self.services = home.services
        self.client_id = ""
        """What the client calls itself in its heartbeats."""
        self._tasks: set[asyncio.Future[Any]] = set()
        """What is under way to its end, whether the client is still there or not."""
        self._waits: set[asyncio.Future[Any]] = set()
        self._under_way = 0
        self._opaque = 0
        self._asked: dict[int, asyncio.Future[Command]] = {}
        """What this client was asked and has not answered, by number."""
        self._held: deque[bytes] = deque()
        """Requests that came while the client did not read its answers; they are begun when it does."""
        self._large_bytes = 0
        """Of large answers that were not handed to the transport yet."""
        self._reading: asyncio.Semaphore | None = None
        self._resumed: asyncio.Event | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.broker = self._home.broker_address(self.here)
        """The address of the broker, as this client is to know it."""
        self.born_host = Host.of(*self.peer)
        self.store_host = Host.of(*self.broker)
        self.offset_id = write_offset_id(self.store_host, 0)[:-16]
        """What all offset ids begin with that this client is told."""

    # Requests.

    def _take(self, frame: bytes) -> None:
        if self._is_flushing or self._held:
            self._held.append(frame)
        else:
            self.take_now(frame)

    def _take_several(self, data: bytes, position: int) -> int:
        if data.startswith(PLAIN, position + 8) and not (
            self._is_flushing or self._held or self._transport.is_closing()
        ):
            return take_plain(self, data, position)
        return position

    def take_now(self, frame: bytes) -> None:
        """A request that was counted in the listener's memory, by the general way."""
        if self._transport.is_closing():
            self._home.memory.free(len(frame))
            return
        try:
            command, fields = decode_request(frame)
        except MalformedFrame as error:
            self._home.memory.free(len(frame))
            self._refuse(error.message)
            return
        if command.flag & RESPONSE_FLAG:
            self._home.memory.free(len(frame))
            self._hear(command)
            return
        self._under_way += 1
        self._begin(Call(command, fields, self, len(frame)))

    def begun(self, code: int, requests: int) -> None:
        """Requests are under way that no calls were made of. Hot path."""
        self._under_way += requests
        self._home.requests[code] += requests

    def _begin(self, call: Call[Any]) -> None:
        command = call.command
        operation = operations.get(command.code)
        if operation is None:
            self._home.requests[UNKNOWN_CODE] += 1
            self.answer(call, _not_supported(command.code))
            return
        self._home.requests[command.code] += 1
        try:
            call.read_header(operation.handler.header)
            result = operation.handler.handle(call)
        except BraidError as error:
            self.answer(call, Answer.of_error(error))
            return
        except Exception as error:  # a fault of ours: this client is told, others go on
            self._fault(call, error)
            return
        self._finish(call, result)

    def _finish(self, call: Call[Any], result: Result) -> None:
        if isinstance(result, Answer):
            self.answer(call, result)
            return
        if isinstance(result, Later):
            return
        task: asyncio.Future[Any] = asyncio.ensure_future(result, loop=self._loop)
        (self._waits if call.command.code in _ENDING_WITH_CLIENT else self._tasks).add(task)
        task.add_done_callback(lambda done: self._task_done(call, done))

    def _task_done(self, call: Call[Any], task: "asyncio.Future[Any]") -> None:
        self._tasks.discard(task)
        self._waits.discard(task)
        if task.cancelled():
            self._free(call)
        elif (error := task.exception()) is None:
            self._finish(call, task.result())
        elif isinstance(error, BraidError):
            self.answer(call, Answer.of_error(error))
        else:
            self._fault(call, error)

    def _fault(self, call: Call[Any], error: BaseException) -> None:
        _logger.error("rocketmq request failed", code=call.command.code, client=self.peer.host, exc_info=error)
        self.answer(call, Answer(ResponseCode.SYSTEM_ERROR, remark="the server made a mistake; its log says which"))

    # Answers.

    def answer(self, call: Call[Any], answer: Answer) -> None:
        """Send the answer, unless nobody waits for it, with all others of this turn."""
        self._free(call)
        request = call.command
        if request.code in self._home.audited:
            _audit.note(self.services.auditor, self.peer.host, call, answer)
        if request.flag & ONEWAY_FLAG or self._transport.is_closing():
            if self._said_all:
                self._write_soon()  # which ends the connection, if this was the last
            return
        code, fields, body, remark = answer
        command = Command(
            code=code,
            opaque=request.opaque,
            flag=RESPONSE_FLAG,
            fields=fields,  # type: ignore[arg-type]  # written, never changed
            remark=remark,
            version=BROKER_VERSION,
            serialization=request.serialization,
        )
        try:
            head = encode_head(command, len(body))
        except Unencodable:
            _logger.exception("rocketmq answer cannot be written", client=self.peer.host)
            self._transport.abort()
            return
        if len(body) >= _LARGE_BODY_BYTES:
            self._output += (head, body)
            self._large_bytes += len(body)
            if self._large_bytes >= WRITE_BUFFER_BYTES:
                # Not at the end of the turn: only a transport that has it can say that the client does not read.
                self._large_bytes = 0
                self._write_output()
        else:
            self._output.append(head + body if body else head)
        self._write_soon()

    def answer_sent(self, call: Call[Any], partition: int, number: int, offset: int, unique_id: str) -> bool:
        """The same for the most frequent of answers: that one message was stored. False where `answer` must say it.
        Hot path."""
        request = call.command
        if request.serialization is not Serialization.JSON or request.flag & ONEWAY_FLAG:
            return False
        msg_id = f"{self.offset_id}{number << OFFSET_BITS | offset:016X}"
        frame = encode_sent(request.opaque, BROKER_VERSION, REGION, msg_id, partition, offset, unique_id)
        if frame is None:
            return False
        self.answered(frame, 1, call.frame_bytes)
        return True

    def answered(self, frames: bytes, requests: int, request_bytes: int) -> None:
        """Send what answers so many requests of so many bytes, with all others of this turn. Hot path."""
        self._under_way -= requests
        self.memory.free(request_bytes)
        if not self._transport.is_closing():
            self._output.append(frames)
            self._write_soon()

    def ended(self, requests: int) -> None:
        """So many requests are carried out to which nobody expects an answer. Hot path."""
        self._under_way -= requests
        if self._said_all:
            self._write_soon()  # which ends the connection, if this was the last

    @property
    def memory(self) -> RequestMemory:
        """What requests are counted in."""
        return self._home.memory

    @property
    def frame_bytes_max(self) -> int:
        return self._home.request_bytes_max

    def _free(self, call: Call[Any]) -> None:
        self._under_way -= 1
        self._home.memory.free(call.frame_bytes)

    def _write_due(self) -> None:
        self._large_bytes = 0
        super()._write_due()
        if not self._is_reading:
            self._regulate()

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """For answers that may be large and were waited for: as many at a time as a client can take, and none while it
        does not read those that it has. Who is inside makes the answer and replies."""
        if self._reading is None:
            self._reading = asyncio.Semaphore(_TURNS)
        async with self._reading:
            while self._is_flushing:
                if self._resumed is None:
                    self._resumed = asyncio.Event()
                await self._resumed.wait()
            yield

    # Asking the client.

    def tell(self, code: RequestCode, fields: Mapping[str, str], body: bytes = b"") -> bool:
        """Send a request that wants no answer; False where the client has gone, or does not read what it is sent."""
        return self._send(code, fields, body, ONEWAY_FLAG) is not None

    async def ask(
        self, code: RequestCode, fields: Mapping[str, str] = NO_FIELDS, body: bytes = b"", *, timeout_s: float = 5.0
    ) -> Command:
        """Send a request, and wait for its answer. Raises ClientGone, ClientSilent."""
        if len(self._asked) >= _ASKED_MAX or (opaque := self._send(code, fields, body, 0)) is None:
            raise ClientGone
        answered: asyncio.Future[Command] = self._loop.create_future()
        self._asked[opaque] = answered
        try:
            async with asyncio.timeout(timeout_s):
                return await answered
        except TimeoutError as error:
            raise ClientSilent from error
        finally:
            self._asked.pop(opaque, None)

    def _send(self, code: RequestCode, fields: Mapping[str, str], body: bytes, flag: int) -> int | None:
        if self._is_flushing or self._transport.is_closing():
            return None
        self._opaque = (self._opaque + 1) & 0x7FFFFFFF
        command = Command(code=code, opaque=self._opaque, flag=flag, fields=dict(fields), body=body)
        command.version = BROKER_VERSION
        self._output.append(encode_command(command))
        self._write_soon()
        return self._opaque

    def _hear(self, command: Command) -> None:
        asked = self._asked.get(command.opaque)
        if asked is not None and not asked.done():
            asked.set_result(command)

    # The base's questions.

    def _is_busy(self) -> bool:
        return self._under_way >= _UNDER_WAY_MAX or bool(self._held)

    def _go_on(self) -> None:
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None
        while self._held and not self._is_flushing:
            self.take_now(self._held.popleft())

    def _lost(self) -> None:
        self._home.memory.free(sum(map(len, self._held)))
        self._held.clear()
        for task in self._waits:
            task.cancel()
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(ClientGone())
        for member in self.services.members.lost(self):
            self.services.locks.lost(member.group, member.id)

    @property
    def is_gone(self) -> bool:
        """Whether the connection has ended, or is about to."""
        return self._transport.is_closing()

    @property
    def client(self) -> tuple[str, str]:
        """Its software is known of its members."""
        return self.client_id, ""

    @property
    def is_idle(self) -> bool:
        return not self._held and self._under_way <= len(self._waits)


def _not_supported(code: int) -> Answer:
    return Answer(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=f"request code {code} is not supported")
