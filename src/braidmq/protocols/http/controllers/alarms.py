"""Alarms, their rules, and silences."""

from typing import Annotated, Literal

import msgspec
from litestar import Controller, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from braidmq.core.access import Action, ResourceKind
from braidmq.core.alarms import Alarm, Outcome, Rule, RuleView, Silence, SilenceAsk
from braidmq.core.desk import PAGE_SIZE, PAGE_SIZE_MAX, Page, PageAsk
from braidmq.model.errors import InvalidRequest
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._operations_services import OperationsServices

PageNumber = Annotated[int, QueryParameter(ge=1, le=1_000_000)]
PageSize = Annotated[int, QueryParameter(ge=1, le=PAGE_SIZE_MAX)]


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the notices of a test."""

    outcomes: list[Outcome]


class Silences(msgspec.Struct, frozen=True, kw_only=True):
    """The silences in force."""

    items: list[Silence]


class AlarmsController(Controller):
    """What is wrong, what was, what counts as wrong, and who is told."""

    path = "/api/v1/alarms"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)
    tags = ("alarms",)

    @get(operation_id="list_alarms", summary="What fires and what has ended, the latest first")
    async def list_alarms(
        self,
        operations: NamedDependency[OperationsServices],
        of_state: Annotated[Literal["", "firing", "ended"], QueryParameter(name="state")] = "",
        search: FromQuery[str] = "",
        sort: FromQuery[str] = "",
        page: PageNumber = 1,
        page_size: PageSize = PAGE_SIZE,
    ) -> Page[Alarm]:
        """The last thousand are kept."""
        return await operations.alarms.alarms(PageAsk(search, sort, page, page_size), of_state)

    @get("/rules", operation_id="list_alarm_rules", summary="What counts as wrong")
    async def list_alarm_rules(
        self,
        operations: NamedDependency[OperationsServices],
        search: FromQuery[str] = "",
        sort: FromQuery[str] = "",
        page: PageNumber = 1,
        page_size: PageSize = PAGE_SIZE,
    ) -> Page[RuleView]:
        return await operations.alarms.rules(PageAsk(search, sort, page, page_size))

    @post(
        "/rules",
        operation_id="create_alarm_rule",
        summary="Make a rule",
        opt=needs(Action.CREATE, ResourceKind.SETTING),
    )
    async def create_alarm_rule(
        self, operations: NamedDependency[OperationsServices], data: JSONBody[Rule]
    ) -> RuleView:
        return await operations.alarms.create_rule(data)

    @get("/rules/{name:str}", operation_id="describe_alarm_rule", summary="One rule")
    async def describe_alarm_rule(
        self, operations: NamedDependency[OperationsServices], name: FromPath[str]
    ) -> RuleView:
        return await operations.alarms.rule(name)

    @put(
        "/rules/{name:str}",
        operation_id="save_alarm_rule",
        summary="Make or replace a rule",
        opt=needs(Action.CHANGE, ResourceKind.SETTING),
    )
    async def save_alarm_rule(
        self, operations: NamedDependency[OperationsServices], name: FromPath[str], data: JSONBody[Rule]
    ) -> RuleView:
        if data.name != name:
            raise InvalidRequest(
                f"name: is {data.name!r} in the body and {name[:64]!r} in the path; say the same twice"
            )
        return await operations.alarms.save_rule(data)

    @delete(
        "/rules/{name:str}",
        operation_id="delete_alarm_rule",
        summary="Forget a rule; what it has found is over",
        opt=needs(Action.DELETE, ResourceKind.SETTING),
    )
    async def delete_alarm_rule(self, operations: NamedDependency[OperationsServices], name: FromPath[str]) -> None:
        await operations.alarms.delete_rule(name)

    @post(
        "/rules/{name:str}/test",
        operation_id="test_alarm_rule",
        summary="Send a test to all that the rule tells, and say what became of each",
        opt=needs(Action.CHANGE, ResourceKind.SETTING),
        status_code=200,
    )
    async def test_alarm_rule(self, operations: NamedDependency[OperationsServices], name: FromPath[str]) -> Tested:
        return Tested(outcomes=await operations.alarms.test_rule(name))

    @get("/silences", operation_id="list_silences", summary="Of what nobody is told at the moment")
    async def list_silences(self, operations: NamedDependency[OperationsServices]) -> Silences:
        return Silences(items=await operations.alarms.silences())

    @post(
        "/silences",
        operation_id="create_silence",
        summary="Tell nobody of something until a time",
        opt=needs(Action.CREATE, ResourceKind.SETTING),
    )
    async def create_silence(
        self, operations: NamedDependency[OperationsServices], data: JSONBody[SilenceAsk]
    ) -> Silence:
        return await operations.alarms.silence(data)

    @delete(
        "/silences/{id:str}",
        operation_id="end_silence",
        summary="End a silence before its time",
        opt=needs(Action.DELETE, ResourceKind.SETTING),
    )
    async def end_silence(self, operations: NamedDependency[OperationsServices], id: FromPath[str]) -> None:
        await operations.alarms.end_silence(id)
