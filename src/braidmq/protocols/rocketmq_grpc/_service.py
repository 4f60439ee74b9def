"""The calls of the table, as gRPC's server wants them. Hot path."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import grpc
import structlog

from braidmq.model import BraidError
from braidmq.protocols.rocketmq_grpc import handlers, wire
from braidmq.protocols.rocketmq_grpc._call import Call, Port
from braidmq.protocols.rocketmq_grpc._operations import TELEMETRY, Handle, operations
from braidmq.protocols.rocketmq_grpc.codes import Code, status, status_of

__all__ = ["Service", "handlers"]

_NO_FAULT: Final = "something went wrong here, and not by the client's fault; the node's log says what"

_logger = structlog.get_logger(__name__)


class Service:
    """Answers calls, and counts them."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self.requests: Counter[str] = Counter()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def handler(self) -> grpc.GenericRpcHandler:
        methods = {
            each.key: self._streamed(each.key, each.handler.handle)
            if each.handler.streams
            else self._plain(each.key, each.handler.handle)
            for each in operations
        }
        return grpc.method_handlers_generic_handler(wire.SERVICE, methods)

    async def idle(self, timeout_s: float) -> None:
        """When no plain call is under way, or the time is over. Streams are not waited for: most only wait."""
        try:
            await asyncio.wait_for(self._idle.wait(), timeout_s)
        except TimeoutError:
            _logger.info("calls were cut off", calls=self._under_way)

    def _plain(self, name: str, handle: Handle) -> "grpc.RpcMethodHandler[Any, Any]":
        asked, answered = getattr(wire, f"{name}Request"), getattr(wire, f"{name}Response")

        async def answer(request: Any, context: Any) -> Any:
            self.requests[name] += 1
            self._under_way += 1
            self._idle.clear()
            try:
                return await handle(Call(self._port, request, context))
            except BraidError as error:
                return answered(status=status_of(error))
            except Exception:  # told to the client and to the operator; the next call may be better
                _logger.exception("a call failed", call=name)
                return answered(status=status(Code.INTERNAL_SERVER_ERROR, _NO_FAULT))
            finally:
                self._under_way -= 1
                if not self._under_way:
                    self._idle.set()

        return grpc.unary_unary_rpc_method_handler(
            answer, request_deserializer=asked.FromString, response_serializer=answered.SerializeToString
        )

    def _streamed(self, name: str, handle: Handle) -> "grpc.RpcMethodHandler[Any, Any]":
        is_telemetry = name == TELEMETRY
        asked = wire.TelemetryCommand if is_telemetry else getattr(wire, f"{name}Request")
        answered = wire.TelemetryCommand if is_telemetry else getattr(wire, f"{name}Response")

        async def answer(request: Any, context: Any) -> None:
            self.requests[name] += 1
            try:
                await handle(Call(self._port, request, context))
            except BraidError as error:
                await context.write(answered(status=status_of(error)))
                if is_telemetry:
                    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, error.message)
            except grpc.aio.AbortError:
                raise
            except Exception:
                if context.cancelled() or context.done():
                    return  # the client has gone in the middle of it, and nobody is left to be told
                _logger.exception("a call failed", call=name)
                await context.write(answered(status=status(Code.INTERNAL_SERVER_ERROR, _NO_FAULT)))

        make: Callable[..., grpc.RpcMethodHandler[Any, Any]] = (
            grpc.stream_stream_rpc_method_handler if is_telemetry else grpc.unary_stream_rpc_method_handler
        )
        return make(answer, request_deserializer=asked.FromString, response_serializer=answered.SerializeToString)
