"""Asking producers whether their half messages count."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from braidmq.core.halves import Question
from braidmq.model import BraidError
from braidmq.protocols.rocketmq._connection import Connection
from braidmq.protocols.rocketmq._deferred import numbers_of
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode, stored_message, write_header
from braidmq.protocols.rocketmq.codec.headers import CheckTransactionStateRequestHeader
from braidmq.protocols.rocketmq.codec.ids import write_offset_id
from braidmq.protocols.rocketmq.codec.messages import encode_message

_CHECKS_PROPERTY: Final = "TRANSACTION_CHECK_TIMES"
"""Tells a producer how often it was asked, this time included."""


class ProducerChecks:
    """See `core.halves.Checker`."""

    def __init__(self, services: RocketMQServices) -> None:
        self._members = services.members
        self._broker = services.facts.broker

    def live(self) -> Mapping[str, Sequence[str]]:
        live = {
            group: [member.id for member in self._members.producers(group) if isinstance(member.channel, Connection)]
            for group in self._members.producer_groups()
        }
        return {group: producers for group, producers in live.items() if producers}

    def ask(self, group: str, producer: str, question: Question) -> bool:
        member = next((each for each in self._members.producers(group) if each.id == producer), None)
        if member is None or not isinstance(member.channel, Connection):
            return False
        try:
            return self._ask(member.channel, question)
        except BraidError:
            return False  # a row that cannot be read is not for producers; it is parked in the end

    def _ask(self, connection: Connection, question: Question) -> bool:
        half = question.half
        first, second = numbers_of(UUID(question.handle))
        message = question.message()
        asked = (_CHECKS_PROPERTY, str(half.checks).encode())
        message = msgspec.structs.replace(message, headers=(*message.headers, asked))
        stored = stored_message(
            message, queue_id=max(half.partition, 0), physical_offset=second, store_host=connection.store_host
        )
        stored.topic, stored.queue_offset = half.topic, first
        header = CheckTransactionStateRequestHeader(
            topic=half.topic,
            tran_state_table_offset=first,
            commit_log_offset=second,
            msg_id=half.message_id,
            transaction_id=half.message_id,
            offset_msg_id=write_offset_id(connection.store_host, second),
            bname=self._broker,
        )
        return connection.tell(RequestCode.CHECK_TRANSACTION_STATE, write_header(header), encode_message(stored))
