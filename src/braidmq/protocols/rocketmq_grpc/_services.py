"""What the handlers of this protocol reach for: the core's services, and who this node is to its clients."""

from typing import NamedTuple

from braidmq.core.cursors import Cursors
from braidmq.core.group_offsets import ResetBoard
from braidmq.core.groups import Groups
from braidmq.core.halves import Halves
from braidmq.core.lite import Lite
from braidmq.core.members import Members
from braidmq.core.publish import Publisher
from braidmq.core.pull import Puller
from braidmq.core.questions import Questions
from braidmq.core.retry import Retries
from braidmq.core.telemetry import Outlet
from braidmq.core.timers import Timers
from braidmq.core.topics import Topics
from braidmq.log import Log
from braidmq.protocols.listener import HasFileRoom, always_room
from braidmq.store import Catalog


class GrpcFacts(NamedTuple):
    """Who this node is, and how it behaves where the interface leaves a choice."""

    broker: str
    new_group_from_start: bool
    auto_create: bool
    """Whether topics are made when somebody asks for their route."""


class GrpcServices(NamedTuple):
    """Made by the node, shared by all calls."""

    facts: GrpcFacts
    log: Log
    catalog: Catalog
    topics: Topics
    groups: Groups
    members: Members
    questions: Questions
    publisher: Publisher
    puller: Puller
    cursors: Cursors
    lite: Lite
    timers: Timers
    halves: Halves
    retries: Retries
    resets: ResetBoard
    outlet: Outlet


class GrpcLimits(NamedTuple):
    """How much clients may ask for."""

    request_bytes_max: int
    connections_max: int
    calls_max: int
    buffer_bytes_max: int
    has_file_room: HasFileRoom = always_room
