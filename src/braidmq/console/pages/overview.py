"""How the whole is doing, at a glance, and the stream that keeps pages moving."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec
from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import ServerSentEvent

from braidmq.console._charts import chart
from braidmq.console._pictures import spark
from braidmq.console._render import ConsoleRequest, render
from braidmq.console._words import Say, language_of, speaker
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.groups import GroupChoice
from braidmq.core.live import LiveEvent, LiveEvents
from braidmq.core.samples import SampleAsk
from braidmq.model.errors import TooManyListeners
from braidmq.protocols.http import HttpServices, OperationsServices, needs

PROTOCOLS: Final[Mapping[str, str]] = {
    "kafka": "Kafka",
    "http": "HTTP",
    "rocketmq": "RocketMQ",
    "rocketmq_grpc": "RocketMQ 5",
}
ROWS: Final = 6
STEP_S: Final = 10
"""How often the node's samples are taken."""


class OverviewPage(Controller):
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)

    @get("/")
    async def overview(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        catalogue: NamedDependency[Catalogue],
        operations: NamedDependency[OperationsServices],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        most, behind = PageAsk(sort="-lag", page_size=ROWS), GroupChoice(behind=True)
        groups = await catalogue.groups.page(most, only=behind, instance=instance)
        names = [each.name for each in groups.items]
        points = await operations.samples.last_hour("lag", groups=names, instance=instance)
        alarms = sorted(operations.alarms.firing, key=lambda alarm: -alarm.fired_ms)
        now_ms = operations.samples.now_ms()
        return render(
            request,
            "overview.html.j2",
            place="overview",
            node=services.node_name,
            overview=await catalogue.overview.look(),
            topics=(await catalogue.topics.page(PageAsk(page_size=1), instance=instance)).total,
            groups=groups,
            sparks={name: spark(found, now_ms) for name, found in points.items()},
            alarms=alarms[:ROWS],
            protocols=PROTOCOLS,
        )

    @get("/charts/{name:str}")
    async def chart(
        self, request: ConsoleRequest, name: FromPath[str], operations: NamedDependency[OperationsServices]
    ) -> Response[Any]:
        """The last hour of the node."""
        labels = _labels(name, speaker(language_of(request)))
        view = await operations.samples.query(SampleAsk(names=tuple(labels), step_s=STEP_S))
        return chart(view, labels, missing=0.0)

    @get("/events")
    async def events(self, operations: NamedDependency[OperationsServices]) -> ServerSentEvent:
        """What moves on every page, once a second."""
        if operations.live.is_full:
            raise TooManyListeners
        return ServerSentEvent(_texts(operations.live))


async def _texts(live: LiveEvents) -> AsyncIterator[str]:
    async for event in live.listen():
        yield msgspec.json.encode({"at_ms": event.at_ms, "figures": figures_of(event)}).decode()


def figures_of(event: LiveEvent) -> dict[str, float]:
    """Under the names that samples have, so that charts go on where samples end. A protocol without traffic stands
    still at nothing."""
    figures: dict[str, float] = {
        "lag": event.lag,
        "connections": event.connections,
        "storage_bytes": event.storage_bytes,
        "alarms": event.alarms_firing,
    }
    for direction in ("messages_in", "messages_out"):
        figures |= {f"{direction}.{protocol}": 0.0 for protocol in PROTOCOLS}
        for protocol, rate in event.rates.items():
            name = direction if protocol == "all" else f"{direction}.{protocol}"
            figures[name] = round(getattr(rate, direction), 1)
    return figures


def _labels(name: str, say: Say) -> Mapping[str, str]:
    """Which figures a chart of the node shows, and how it calls them."""
    if name in ("messages_in", "messages_out"):
        return {f"{name}.{protocol}": title for protocol, title in PROTOCOLS.items()}
    titles = {"lag": "Lag", "storage_bytes": "Storage", "connections": "Connections"}
    if name not in titles:
        raise NotFoundException(f"there is no chart {name!r}")
    return {name: say(titles[name])}
