"""Figures in Prometheus' text format, gathered when they are asked for."""

from collections.abc import Iterable, Iterator, Sequence

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from braidmq.core.access import Action, ResourceKind
from braidmq.core.metrics import Metric, MetricKind, MetricSource
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._services import HttpServices

Family = CounterMetricFamily | GaugeMetricFamily

_FAMILIES: dict[MetricKind, type[CounterMetricFamily] | type[GaugeMetricFamily]] = {
    MetricKind.COUNTER: CounterMetricFamily,
    MetricKind.GAUGE: GaugeMetricFamily,
}


class MetricsController(Controller):
    """For Prometheus and whatever reads its format."""

    opt = needs(Action.DESCRIBE, ResourceKind.NODE)
    tags = ("node",)

    @get(
        "/metrics",
        operation_id="metrics",
        summary="The node's figures in Prometheus' text format",
        media_type="text/plain",
        sync_to_thread=False,
    )
    def metrics(self, services: NamedDependency[HttpServices]) -> Response[bytes]:
        text = generate_latest(_registry(services.metric_sources))
        return Response(text, headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4})


class _Sources(Collector):
    """Our sources as one of Prometheus' collectors."""

    def __init__(self, sources: Sequence[MetricSource]) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Family]:
        families: dict[str, Family] = {}
        for metric in self._all():
            family = families.setdefault(metric.name, _family(metric))
            family.add_metric(list(metric.labels.values()), metric.value)
        yield from families.values()

    def _all(self) -> Iterable[Metric]:
        return (metric for source in self._sources for metric in source())


def _family(metric: Metric) -> Family:
    return _FAMILIES[metric.kind](metric.name, metric.help, labels=list(metric.labels))


def _registry(sources: Sequence[MetricSource]) -> CollectorRegistry:
    """Our own registry: the library's global one would show what other parts of a process register."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Sources(sources))
    ProcessCollector(registry=registry)
    return registry
