"""The listener: Kafka's protocol on any number of addresses."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from braidmq.core.metrics import Metric, MetricKind
from braidmq.protocols.framed import FramedConnection, FramedLimits, FramedListener
from braidmq.protocols.kafka import _audit
from braidmq.protocols.kafka._connection import Connection
from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka.codec import APIS
from braidmq.protocols.listener import Address, Endpoint


class KafkaListener(FramedListener):
    """See `protocols.listener.Listener`."""

    name = "kafka"

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        services: KafkaServices,
        limits: FramedLimits,
    ) -> None:
        super().__init__(endpoints, limits)
        self.services = services
        self.quotas = services.quotas
        self.requests: Counter[int] = Counter()
        self.audited = _audit.changing()

    def _connect(self, advertise: Callable[[Address], Address]) -> Connection:
        return Connection(self, advertise)

    def opened(self, connection: FramedConnection) -> bool:
        """Who connects too often is let in, told nothing, and let go after a moment, as Kafka does."""
        if not super().opened(connection):
            return False
        wait_ms = self.quotas.connect(connection.peer.host)
        if wait_ms and isinstance(connection, Connection):
            connection.turn_away(wait_ms)
        return True

    def metrics(self) -> Iterator[Metric]:
        """Who is connected, and what they ask."""
        yield Metric("braid_kafka_connections", MetricKind.GAUGE, "Kafka clients connected.", len(self._connections))
        held = self.memory.partial_bytes + self.memory.whole_bytes
        yield Metric("braid_kafka_request_bytes", MetricKind.GAUGE, "Bytes of requests under way.", held)
        sessions = len(self.services.fetch_sessions)
        yield Metric("braid_kafka_fetch_sessions", MetricKind.GAUGE, "Fetch sessions kept for consumers.", sessions)
        for key, count in sorted(self.requests.items()):
            labels = {"api": APIS[key].name}
            yield Metric("braid_kafka_requests", MetricKind.COUNTER, "Requests answered, by API.", count, labels)
