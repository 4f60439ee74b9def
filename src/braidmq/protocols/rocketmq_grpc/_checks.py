"""Asking producers, by their telemetry streams, whether their half messages count."""

from collections.abc import Mapping, Sequence
from typing import Any

from braidmq.core.halves import Question
from braidmq.core.members import Members
from braidmq.model import BraidError
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc._call import Port
from braidmq.protocols.rocketmq_grpc._clients import Client
from braidmq.protocols.rocketmq_grpc.messages import wire_message
from braidmq.records import Record


class TelemetryChecks:
    """See `core.halves.Checker`. A producer is in a group for each topic that it sends to."""

    def __init__(self, members: Members, port: Port) -> None:
        self._members = members
        self._port = port

    def live(self) -> Mapping[str, Sequence[str]]:
        live = {group: [client.id for client in self._clients(group)] for group in self._members.producer_groups()}
        return {group: producers for group, producers in live.items() if producers}

    def ask(self, group: str, producer: str, question: Question) -> bool:
        client = next((each for each in self._clients(group) if each.id == producer), None)
        if client is None:
            return False
        try:
            command = self._command(question)
        except BraidError:
            return False  # a row that cannot be read is not for producers; it is parked in the end
        return client.tell(command)

    def _clients(self, group: str) -> list[Client]:
        channels = (member.channel for member in self._members.producers(group))
        return [each for each in channels if isinstance(each, Client) and each.is_alive]

    def _command(self, question: Question) -> Any:
        half, message = question.half, question.message()
        record = Record(0, message.born_ms, message.key, message.body, message.headers)
        host = f"{self._port.store_host.address}:{self._port.store_host.port}"
        asked = wire_message(record, wire.Resource(name=half.topic), max(half.partition, 0), 0, host)
        asked.system_properties.message_id = half.message_id
        return wire.TelemetryCommand(
            recover_orphaned_transaction_command=wire.RecoverOrphanedTransactionCommand(
                message=asked, transaction_id=question.handle
            )
        )
