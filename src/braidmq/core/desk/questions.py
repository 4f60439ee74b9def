"""What operators ask of a consumer's program: its stacks, and whether it can work on a message that made trouble."""

from typing import Annotated, Final, Protocol

import msgspec
from msgspec import Meta

from braidmq.core.desk._named import named_message, named_partition, named_topic
from braidmq.core.query import Query
from braidmq.core.questions import Outcome, Questions
from braidmq.core.timing import Clock
from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, Topic

WAIT_S: Final = 10.0
WAIT_MAX_S: Final = 30.0


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def topic(self, instance: str, name: str) -> Topic | None: ...


class StackTrace(msgspec.Struct, frozen=True, kw_only=True):
    """What the threads of a consumer do, as its client wrote it."""

    group: Annotated[str, Meta(examples=["settlement"])]
    client_id: Annotated[str, Meta(examples=["payments-1@1234@0@x"])]
    stack_trace: Annotated[str, Meta(examples=["main\n\tat java.lang.Object.wait(Native Method)\n"])]


class VerifyAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The message that a consumer is to try."""

    topic: Annotated[str, Meta(examples=["orders"])]
    partition: Annotated[int, Meta(examples=[0], ge=0)]
    offset: Annotated[int, Meta(examples=[42], ge=0)]


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What a consumer made of the message."""

    group: Annotated[str, Meta(examples=["settlement"])]
    client_id: Annotated[str, Meta(examples=["payments-1@1234@0@x"])]
    outcome: Annotated[
        Outcome,
        Meta(
            examples=["consumed"],
            description="`failed` where its listener did not take it; `corrupt` where it could not be read.",
        ),
    ]
    remark: Annotated[str, Meta(description="What the client says beyond that; often nothing.")]
    spent_ms: Annotated[int, Meta(examples=[12], description="From the question to the answer.")]


class QuestionDesk:
    """Made by the node, shared by the HTTP interface and the console."""

    def __init__(self, catalog: Catalog, log: Log, query: Query, questions: Questions, clock: Clock) -> None:
        self._catalog = catalog
        self._log = log
        self._query = query
        self._questions = questions
        self._clock = clock

    async def stack_trace(self, group: str, client_id: str, *, wait_s: float = WAIT_S) -> StackTrace:
        """Raises UnknownMember, MemberSilent, MemberCannotAnswer."""
        told = await self._questions.stack_trace(group, client_id, timeout_s=wait_s)
        return StackTrace(group=group, client_id=client_id, stack_trace=told)

    async def verify(
        self,
        group: str,
        client_id: str,
        ask: VerifyAsk,
        *,
        wait_s: float = WAIT_S,
        instance: str = DEFAULT_INSTANCE,
    ) -> Verified:
        """Let a member's listener work on a message now. Nothing is acknowledged, and no attempt is counted. Raises
        UnknownTopic, UnknownPartition, UnknownMessage, UnknownMember, MemberSilent, MemberCannotAnswer."""
        topic = named_topic(self._catalog, ask.topic, instance)
        message = await named_message(self._query, self._log, topic, ask.partition, ask.offset)
        number = named_partition(topic, ask.partition)
        began_ms = self._clock.passed_ms()
        verdict = await self._questions.try_message(group, client_id, message, number, timeout_s=wait_s)
        return Verified(
            group=group,
            client_id=client_id,
            outcome=verdict.outcome,
            remark=verdict.remark,
            spent_ms=round(self._clock.passed_ms() - began_ms),
        )
