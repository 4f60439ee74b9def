"""What the handlers of this protocol reach for: the core's services, and who this node is to RocketMQ clients."""

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from braidmq.core.audit import UNAUDITED, Auditor
from braidmq.core.central import CentralSettings
from braidmq.core.counters import Counters
from braidmq.core.cursors import Cursors
from braidmq.core.group_offsets import GroupOffsets, ResetBoard
from braidmq.core.groups import Groups
from braidmq.core.halves import Halves
from braidmq.core.locks import PartitionLocks
from braidmq.core.members import Members
from braidmq.core.publish import Publisher
from braidmq.core.pull import Puller
from braidmq.core.query import Query
from braidmq.core.questions import Questions
from braidmq.core.retry import Retries
from braidmq.core.telemetry import Outlet
from braidmq.core.timers import Timers
from braidmq.core.topics import Topics
from braidmq.core.trace import Tracer
from braidmq.log import Log
from braidmq.store import Catalog

if TYPE_CHECKING:
    from braidmq.protocols.rocketmq._commits import Commits

BROKER_VERSION: Final = 479
"""What we say we are: 5.3.3. Clients ask for nothing that it does not have."""


REGION: Final = "DefaultRegion"


class BrokerFacts(msgspec.Struct, kw_only=True):
    """Who this node is, and how it behaves where RocketMQ leaves a choice. Numbers may change while it runs."""

    cluster: str
    broker: str
    default_queues: int
    """The most queues of a topic that is made by being sent to."""
    pull_messages_max: int
    new_group_from_start: bool
    """A group that is new to a partition which still has its first message begins there, as with RocketMQ."""

    @property
    def every_message(self) -> str:
        """The properties that RocketMQ's clients expect of every message that they get."""
        return f"MSG_REGION\x01{REGION}\x02TRACE_ON\x01true\x02CLUSTER\x01{self.cluster}\x02"


class RocketMQServices(NamedTuple):
    """Made by the node, shared by all connections."""

    facts: BrokerFacts
    log: Log
    catalog: Catalog
    topics: Topics
    groups: Groups
    members: Members
    questions: Questions
    publisher: Publisher
    puller: Puller
    cursors: Cursors
    timers: Timers
    halves: Halves
    retries: Retries
    locks: PartitionLocks
    resets: ResetBoard
    group_offsets: GroupOffsets
    query: Query
    tracer: Tracer
    commits: "Commits"
    counters: Counters
    outlet: Outlet
    settings: CentralSettings
    auditor: Auditor = UNAUDITED
