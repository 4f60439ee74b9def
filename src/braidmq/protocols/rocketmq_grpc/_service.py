"""The calls of the table: what is parsed, who answers, and what becomes of errors. Hot path."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.protocols.rocketmq_grpc import handlers, wire
from braidmq.protocols.rocketmq_grpc._call import Call, Port
from braidmq.protocols.rocketmq_grpc._context import OK_BLOCK, Aborted, Context, GrpcStatus, trailers_block
from braidmq.protocols.rocketmq_grpc._operations import TELEMETRY, Handle, operations
from braidmq.protocols.rocketmq_grpc.codes import Code, status, status_of

__all__ = ["Method", "Service", "handlers"]

_NO_FAULT: Final = "something went wrong here, and not by the client's fault; the node's log says what"

_logger = get_logger(__name__)


class Method(NamedTuple):
    """One call of the interface. `streams` says that its handler writes the answers itself, `reads_stream` that its
    client goes on speaking."""

    name: str
    handle: Handle
    streams: bool
    reads_stream: bool
    parse: Callable[[bytes], Any]
    answered: Any
    serialize: Callable[[Any], bytes]


class Service:
    """Answers calls, and counts them."""

    def __init__(self, port: Port, *, calls_max: int) -> None:
        self._port = port
        self._calls_max = calls_max
        self._calls = 0
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self.requests: Counter[str] = Counter()
        self.methods: Mapping[str, Method] = {
            f"/{wire.SERVICE}/{each.key}": _method(each.key, each.handler) for each in operations
        }
        """By the path that names them."""

    @property
    def has_room(self) -> bool:
        return self._calls < self._calls_max

    async def idle(self, timeout_s: float) -> None:
        """When no plain call is under way, or the time is over. Streams are not waited for: most only wait."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            _logger.info("calls were cut off", calls=self._under_way)

    async def answer(self, method: Method, message: Any, context: Context) -> None:
        """One call, from what was asked to the end of its answer."""
        self.requests[method.name] += 1
        self._calls += 1
        try:
            if method.streams:
                await self._stream(method, message, context)
            else:
                await self._plain(method, message, context)
        finally:
            self._calls -= 1

    async def _plain(self, method: Method, message: Any, context: Context) -> None:
        self._under_way += 1
        self._idle.clear()
        try:
            answer = await method.handle(Call(self._port, message, context))
        except BraidError as error:
            answer = method.answered(status=status_of(error))
        except Exception:  # told to the client and to the operator; the next call may be better
            _logger.exception("a call failed", call=method.name)
            answer = method.answered(status=status(Code.INTERNAL_SERVER_ERROR, _NO_FAULT))
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()
        context.say(method.serialize(answer))
        context.end()

    async def _stream(self, method: Method, message: Any, context: Context) -> None:
        block = OK_BLOCK
        try:
            await method.handle(Call(self._port, message, context))
        except BraidError as error:
            context.say(method.serialize(method.answered(status=status_of(error))))
            if method.reads_stream:
                block = trailers_block(GrpcStatus.INVALID_ARGUMENT, error.message)
        except Aborted as aborted:
            block = trailers_block(aborted.status, aborted.detail)
        except Exception:  # told to the client and to the operator; the next call may be better
            _logger.exception("a call failed", call=method.name)
            context.say(method.serialize(method.answered(status=status(Code.INTERNAL_SERVER_ERROR, _NO_FAULT))))
        context.end(block)


def _method(name: str, handler: Any) -> Method:
    is_telemetry = name == TELEMETRY
    asked = wire.TelemetryCommand if is_telemetry else getattr(wire, f"{name}Request")
    answered = wire.TelemetryCommand if is_telemetry else getattr(wire, f"{name}Response")
    return Method(
        name=name,
        handle=handler.handle,
        streams=handler.streams,
        reads_stream=is_telemetry,
        parse=asked.FromString,
        answered=answered,
        serialize=answered.SerializeToString,
    )
