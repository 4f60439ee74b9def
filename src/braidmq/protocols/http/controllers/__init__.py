"""One file for each resource of the HTTP interface. A controller is listed here to be served."""

from braidmq.protocols.http.controllers.alarms import AlarmsController
from braidmq.protocols.http.controllers.audit import AuditController
from braidmq.protocols.http.controllers.connections import ConnectionController
from braidmq.protocols.http.controllers.dead_letters import DeadLetterController
from braidmq.protocols.http.controllers.events import EventsController
from braidmq.protocols.http.controllers.groups import GroupController
from braidmq.protocols.http.controllers.halves import HalfController
from braidmq.protocols.http.controllers.health import HealthController
from braidmq.protocols.http.controllers.history import ArchiveController, ReportsController
from braidmq.protocols.http.controllers.inspections import InspectionsController
from braidmq.protocols.http.controllers.instances import InstanceController
from braidmq.protocols.http.controllers.lite import LiteTopicController
from braidmq.protocols.http.controllers.messages import MessageController
from braidmq.protocols.http.controllers.metrics import MetricsController
from braidmq.protocols.http.controllers.name_servers import NameServerController
from braidmq.protocols.http.controllers.offsets import OffsetController
from braidmq.protocols.http.controllers.overview import OverviewController
from braidmq.protocols.http.controllers.questions import QuestionController
from braidmq.protocols.http.controllers.receiving import ReceivingController
from braidmq.protocols.http.controllers.samples import SamplesController
from braidmq.protocols.http.controllers.settings import SettingsController
from braidmq.protocols.http.controllers.subscriptions import SubscriptionController
from braidmq.protocols.http.controllers.timers import TimerController
from braidmq.protocols.http.controllers.topics import TopicController
from braidmq.protocols.http.controllers.traces import TraceController
from braidmq.protocols.http.controllers.version import VersionController

CONTROLLERS = (
    AlarmsController,
    ArchiveController,
    AuditController,
    ConnectionController,
    DeadLetterController,
    EventsController,
    GroupController,
    HalfController,
    HealthController,
    InspectionsController,
    InstanceController,
    LiteTopicController,
    MessageController,
    MetricsController,
    NameServerController,
    OffsetController,
    OverviewController,
    QuestionController,
    ReceivingController,
    ReportsController,
    SamplesController,
    SettingsController,
    SubscriptionController,
    TimerController,
    TopicController,
    TraceController,
    VersionController,
)

__all__ = ["CONTROLLERS"]
