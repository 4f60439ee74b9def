"""One file for each page. A page is listed here to be served."""

from litestar.types import ControllerRouterHandler

from braidmq.console.pages.alarms import AlarmsPage
from braidmq.console.pages.archive import ArchivePage
from braidmq.console.pages.audit import AuditPage
from braidmq.console.pages.connections import ConnectionsPage
from braidmq.console.pages.dead_letters import DeadLettersPage
from braidmq.console.pages.group_reset import GroupReset
from braidmq.console.pages.group_subscriptions import GroupSubscriptions
from braidmq.console.pages.groups import GroupPages
from braidmq.console.pages.inspection import InspectionPage
from braidmq.console.pages.instances import InstancePages
from braidmq.console.pages.messages import MessagesPage
from braidmq.console.pages.overview import OverviewPage
from braidmq.console.pages.reports import ReportsPage
from braidmq.console.pages.settings import SettingsPage
from braidmq.console.pages.timers import TimersPage
from braidmq.console.pages.topic_changes import TopicChanges
from braidmq.console.pages.topic_lite import TopicLite
from braidmq.console.pages.topic_tail import TopicTail
from braidmq.console.pages.topics import TopicPages
from braidmq.console.pages.traces import TracesPage
from braidmq.console.pages.transactions import TransactionsPage

PAGES: tuple[ControllerRouterHandler, ...] = (
    AlarmsPage,
    ArchivePage,
    AuditPage,
    ConnectionsPage,
    DeadLettersPage,
    GroupPages,
    GroupReset,
    GroupSubscriptions,
    InspectionPage,
    InstancePages,
    MessagesPage,
    OverviewPage,
    ReportsPage,
    SettingsPage,
    TimersPage,
    TopicChanges,
    TopicLite,
    TopicPages,
    TopicTail,
    TracesPage,
    TransactionsPage,
)

__all__ = ["PAGES"]
