"""What the handlers of this protocol reach for: the core's services, and who this node is to Kafka clients."""

from typing import NamedTuple

from braidmq.core.admission import Admissions
from braidmq.core.audit import UNAUDITED, Auditor
from braidmq.core.counters import Tally
from braidmq.core.credentials import Credentials
from braidmq.core.cursors import Cursors
from braidmq.core.groups import Groups
from braidmq.core.quotas import Quotas
from braidmq.core.telemetry import Outlet
from braidmq.core.topics import Topics
from braidmq.core.transactions import Transactions
from braidmq.log import Log
from braidmq.protocols.kafka._sessions import FetchSessions
from braidmq.protocols.kafka._share_sessions import ShareSessions
from braidmq.store import Catalog

LEADER_EPOCH = 0
"""One node leads every partition for ever, so there is only the first epoch."""


class NodeFacts(NamedTuple):
    """What clients may know of how this node is set up."""

    listeners: str
    advertised_listeners: str
    log_folder: str
    request_bytes_max: int
    connections_max: int
    idle_ms: int


class KafkaServices(NamedTuple):
    """Made by the node, shared by all connections."""

    node_id: int
    cluster_id: str
    log: Log
    catalog: Catalog
    topics: Topics
    groups: Groups
    cursors: Cursors
    admissions: Admissions
    fetch_sessions: FetchSessions
    share_sessions: ShareSessions
    transactions: Transactions
    tally: Tally
    outlet: Outlet
    quotas: Quotas
    credentials: Credentials
    facts: NodeFacts
    auditor: Auditor = UNAUDITED
