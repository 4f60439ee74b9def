"""Topics: the list, making one, and one looked at closely."""

from typing import Any, Final
from urllib.parse import quote

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, FromQuery

from braidmq.console._charts import chart
from braidmq.console._form_fields import Form, leads_to, text, whole
from braidmq.console._pictures import share, spark
from braidmq.console._render import ConsoleRequest, render
from braidmq.console._words import language_of, speaker
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.topic_views import PartitionView, TopicDetail
from braidmq.core.samples import SampleAsk
from braidmq.model import TopicKind
from braidmq.model.errors import InvalidRequest
from braidmq.model.names import read_lite_topic_name
from braidmq.model.saying import say
from braidmq.protocols.http import OperationsServices, needs

TABS: Final = ("overview", "lite", "subscribers", "partitions", "groups", "producers", "settings", "live")
LITE_TABS: Final = ("lite", "subscribers")
"""Only topics that hold lite topics have these."""
KINDS: Final = tuple(kind.value for kind in TopicKind)
STEP_S: Final = 60
"""How often topics are sampled."""
_FIGURES: Final = {
    "messages": {"messages_in": "In", "messages_out": "Out"},
    "bytes": {"bytes_in": "In", "bytes_out": "Out"},
    "size": {"size_bytes": "Size"},
}


class TopicPages(Controller):
    opt = needs(Action.DESCRIBE, ResourceKind.TOPIC)

    @get("/topics")
    async def page(
        self,
        request: ConsoleRequest,
        catalogue: NamedDependency[Catalogue],
        operations: NamedDependency[OperationsServices],
        page_ask: NamedDependency[PageAsk],
        instance: NamedDependency[str],
        kind: FromQuery[str] = "",
        internal: FromQuery[str] = "",
    ) -> Response[Any]:
        wanted, is_internal = _kind(kind), internal == "true"
        topics = await catalogue.topics.page(page_ask, kind=wanted, internal=is_internal, instance=instance)
        names = [each.name for each in topics.items]
        points = await operations.samples.last_hour("messages_in", topics=names, instance=instance)
        now_ms = operations.samples.now_ms()
        sparks = {name: spark(found, now_ms) for name, found in points.items()}
        return render(request, "topics.html.j2", place="topics", topics=topics, sparks=sparks, kinds=KINDS)

    @get("/new-topic")
    async def new(self, request: ConsoleRequest) -> Response[Any]:
        return render(request, "topic_new.html.j2", kinds=KINDS)

    @post("/topics", opt=needs(Action.CREATE, ResourceKind.TOPIC), status_code=200, operation_id="console_create_topic")
    async def create(
        self, request: ConsoleRequest, catalogue: NamedDependency[Catalogue], instance: NamedDependency[str], data: Form
    ) -> Response[Any]:
        name, hours = text(data, "name"), whole(data, "retention_hours")
        settings = {} if hours is None else {"retention.ms": str(hours * 3_600_000 if hours >= 0 else -1)}
        kind = _kind(text(data, "kind")) or TopicKind.MIXED
        partitions = whole(data, "partitions")
        await catalogue.topics.create(name, partitions=partitions, kind=kind, settings=settings, instance=instance)
        return leads_to(request, topic_path(name))

    @get("/topics/{name:str}")
    async def detail(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        page_ask: NamedDependency[PageAsk],
        instance: NamedDependency[str],
        tab: FromQuery[str] = TABS[0],
    ) -> Response[Any]:
        if tab not in TABS:
            raise NotFoundException(f"there is no tab {tab[:40]!r}")
        topic = await catalogue.topics.describe(name, instance=instance)
        shown: dict[str, Any] = {}
        if tab == "lite":
            shown = {"lites": await catalogue.lite.page(name, page_ask, instance=instance)}
        elif tab == "subscribers":
            shown = {"subscriptions": catalogue.lite.subscriptions(name, page_ask, instance=instance)}
        elif tab == "partitions":
            shown = _skew(catalogue.topics.partitions(name, instance=instance))
        elif tab == "groups":
            shown = {"groups": catalogue.topics.groups(name, instance=instance)}
        elif tab == "producers":
            shown = {"producers": catalogue.topics.producers(name, instance=instance)}
        elif tab == "settings":
            shown = {"settings": catalogue.topics.settings(name, instance=instance)}
        called = read_lite_topic_name(name)
        shown |= {"topic": topic, "tab": tab, "tabs": _tabs(topic), "parent": None if called is None else called.parent}
        return render(request, f"topic_{tab}.html.j2", place="topics", base=topic_path(name), **shown)

    @get("/topics/{name:str}/charts/{figure:str}")
    async def chart(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        figure: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        operations: NamedDependency[OperationsServices],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        """The last hour of a topic, and how it is now."""
        if figure not in _FIGURES:
            raise NotFoundException(f"there is no chart {figure!r}")
        topic = await catalogue.topics.describe(name, instance=instance)
        say = speaker(language_of(request))
        labels = {field: say(label) for field, label in _FIGURES[figure].items()}
        ask = SampleAsk(names=tuple(labels), topic=name, instance=instance, step_s=STEP_S)
        view = await operations.samples.query(ask)
        now = {"messages_in": topic.rate_in, "messages_out": topic.rate_out, "size_bytes": float(topic.size_bytes)}
        return chart(view, labels, now={field: value for field, value in now.items() if field in labels})


def topic_path(name: str) -> str:
    return f"/console/topics/{quote(name, safe='')}"


def _tabs(topic: TopicDetail) -> list[str]:
    return [tab for tab in TABS if topic.kind is TopicKind.LITE or tab not in LITE_TABS]


def _kind(said: str) -> TopicKind | None:
    """Raises InvalidRequest."""
    if said and said not in KINDS:
        raise InvalidRequest(
            say("kind: cannot be {said}; it is one of {choices}", said=repr(said[:40]), choices=", ".join(KINDS))
        )
    return TopicKind(said) if said else None


def _skew(partitions: list[PartitionView]) -> dict[str, Any]:
    """How unevenly messages lie: the largest partition against the average."""
    counts = [each.end_offset - each.start_offset for each in partitions]
    largest, average = max(counts, default=0), sum(counts) / max(1, len(counts))
    return {
        "partitions": partitions,
        "shares": [share(count, largest) for count in counts],
        "skew": largest / average if average else 0.0,
    }
