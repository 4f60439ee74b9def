"""Asking consumers for their stacks, and to try a message, by the requests that RocketMQ's own tools relay."""

from collections.abc import Mapping
from typing import Final, TypeVar

from braidmq.core.members import Member
from braidmq.core.questions import Outcome, Verdict
from braidmq.model import Message
from braidmq.model.errors import MemberCannotAnswer, MemberSilent, UnknownMember
from braidmq.protocols.rocketmq._connection import ClientGone, ClientSilent, Connection
from braidmq.protocols.rocketmq._delivered import delivered
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import Command, MalformedBody, RequestCode, ResponseCode, decode_body
from braidmq.protocols.rocketmq.codec.bodies import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from braidmq.protocols.rocketmq.codec.ids import physical_offset, write_offset_id
from braidmq.protocols.rocketmq.codec.messages import encode_message

ANSWER_BYTES_MAX: Final = 8 << 20
RESULTS: Final[Mapping[str, Outcome]] = {
    "CR_SUCCESS": Outcome.CONSUMED,
    "CR_COMMIT": Outcome.CONSUMED,
    "CR_LATER": Outcome.FAILED,
    "CR_ROLLBACK": Outcome.FAILED,
    "CR_THROW_EXCEPTION": Outcome.FAILED,
    "CR_RETURN_NULL": Outcome.CORRUPT,
}

Told = TypeVar("Told", ConsumerRunningInfo, ConsumeMessageDirectlyResult)


class ConsumerQuestions:
    """See `core.questions.Asker`."""

    def __init__(self, services: RocketMQServices) -> None:
        self._services = services

    def reaches(self, member: Member) -> bool:
        return isinstance(member.channel, Connection)

    async def stack_trace(self, member: Member, *, timeout_s: float) -> str:
        fields = {"consumerGroup": member.group, "clientId": member.id, "jstackEnable": "true"}
        code = RequestCode.GET_CONSUMER_RUNNING_INFO
        answer = await _answer(member, code, fields, timeout_s=timeout_s)
        return _read(member, ConsumerRunningInfo, answer).jstack or ""

    async def try_message(self, member: Member, message: Message, number: int, *, timeout_s: float) -> Verdict:
        host = _connection(member).store_host
        place = physical_offset(number, message.offset)
        fields = {
            "consumerGroup": member.group,
            "clientId": member.id,
            "msgId": write_offset_id(host, place),
            "brokerName": self._services.facts.broker,
            "topic": message.topic,
        }
        added = self._services.facts.every_message
        body = encode_message(delivered(message, message.partition, place, host, added))
        code = RequestCode.CONSUME_MESSAGE_DIRECTLY
        answer = await _answer(member, code, fields, body, timeout_s=timeout_s)
        found = _read(member, ConsumeMessageDirectlyResult, answer)
        return Verdict(RESULTS.get(found.consume_result or "", Outcome.CORRUPT), found.remark or "")


def _connection(member: Member) -> Connection:
    """Raises UnknownMember."""
    if not isinstance(member.channel, Connection):
        raise UnknownMember(f"{member.id!r} is not connected any more")
    return member.channel


async def _answer(
    member: Member, code: RequestCode, fields: Mapping[str, str], body: bytes = b"", *, timeout_s: float
) -> Command:
    """Raises UnknownMember, MemberSilent, MemberCannotAnswer."""
    try:
        answer = await _connection(member).ask(code, fields, body, timeout_s=timeout_s)
    except ClientSilent as error:
        raise MemberSilent(f"{member.id!r} was asked, and did not answer within {timeout_s:g} s") from error
    except ClientGone as error:
        raise UnknownMember(f"{member.id!r} has gone without an answer") from error
    if answer.code != ResponseCode.SUCCESS:
        raise MemberCannotAnswer(f"{member.id!r} answered with {answer.code}: {(answer.remark or '')[:1000]}")
    return answer


def _read(member: Member, kind: type[Told], answer: Command) -> Told:
    """Raises MemberCannotAnswer."""
    try:
        return decode_body(kind, answer.body, ANSWER_BYTES_MAX)
    except MalformedBody as error:
        raise MemberCannotAnswer(f"what {member.id!r} answered cannot be read: {error.message}") from error
