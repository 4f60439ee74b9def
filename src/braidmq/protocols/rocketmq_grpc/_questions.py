"""Asking consumers, by their telemetry streams, for their stacks, and to try a message.

A question carries a word of its own (a nonce), and so does its answer: clients answer when they like.
"""

import secrets
from collections.abc import Mapping
from typing import Final

from braidmq.core.members import Member
from braidmq.core.questions import Outcome, Verdict
from braidmq.model import Message
from braidmq.model.errors import MemberCannotAnswer, UnknownMember
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc._call import Port
from braidmq.protocols.rocketmq_grpc._clients import Client
from braidmq.protocols.rocketmq_grpc.codes import ClientType, Code
from braidmq.protocols.rocketmq_grpc.messages import wire_message
from braidmq.records import Record

LISTENERS: Final = frozenset({ClientType.PUSH_CONSUMER, ClientType.LITE_PUSH_CONSUMER})
_OUTCOMES: Final[Mapping[int, Outcome]] = {
    Code.OK: Outcome.CONSUMED,
    Code.FAILED_TO_CONSUME_MESSAGE: Outcome.FAILED,
    Code.MESSAGE_CORRUPTED: Outcome.CORRUPT,
}


class TelemetryQuestions:
    """See `core.questions.Asker`."""

    def __init__(self, port: Port) -> None:
        self._port = port

    def reaches(self, member: Member) -> bool:
        return isinstance(member.channel, Client)

    async def stack_trace(self, member: Member, *, timeout_s: float) -> str:
        nonce = secrets.token_hex(16)
        command = wire.TelemetryCommand(print_thread_stack_trace_command=wire.PrintThreadStackTraceCommand(nonce=nonce))
        answer = await _client(member).ask(nonce, command, timeout_s=timeout_s)
        _check_status(member, answer.status)
        return str(answer.thread_stack_trace.thread_stack_trace)

    async def try_message(self, member: Member, message: Message, number: int, *, timeout_s: float) -> Verdict:
        client = _client(member)
        if client.kind not in LISTENERS:
            raise MemberCannotAnswer(
                f"{member.id!r} is not a push consumer: it has no listener that could try a message"
            )
        nonce = secrets.token_hex(16)
        record = Record(message.offset, message.born_ms, message.key, message.body, message.headers)
        host = f"{self._port.store_host.address}:{self._port.store_host.port}"
        shown = wire_message(record, wire.Resource(name=message.topic), message.partition, number, host)
        command = wire.TelemetryCommand(verify_message_command=wire.VerifyMessageCommand(nonce=nonce, message=shown))
        status = (await client.ask(nonce, command, timeout_s=timeout_s)).status
        return Verdict(_outcome(member, status), status.message)


def _client(member: Member) -> Client:
    """Raises UnknownMember."""
    if not isinstance(member.channel, Client):
        raise UnknownMember(f"{member.id!r} is not connected by gRPC any more")
    return member.channel


def _outcome(member: Member, status: "wire.Status") -> Outcome:
    if status.code not in _OUTCOMES:
        _check_status(member, status)
    return _OUTCOMES.get(status.code, Outcome.CONSUMED)


def _check_status(member: Member, status: "wire.Status") -> None:
    """Clients that answer at all may leave the status out. Raises MemberCannotAnswer."""
    if status.code not in (0, Code.OK):
        raise MemberCannotAnswer(f"{member.id!r} answered with {status.code}: {status.message[:1000]}")
