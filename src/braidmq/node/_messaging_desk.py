"""The desk of messages, made from the services of a node."""

from typing import TYPE_CHECKING, Final

from braidmq.core.desk.checks import PolledChecks
from braidmq.core.desk.dead_letters import DeadLetterDesk
from braidmq.core.desk.halves import HalfDesk
from braidmq.core.desk.messages import Messages
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.desk.questions import QuestionDesk
from braidmq.core.desk.receivers import Receivers
from braidmq.core.desk.receiving import Receiving
from braidmq.core.desk.sending import Sending
from braidmq.core.desk.tail import Tail
from braidmq.core.desk.timers import TimerDesk
from braidmq.core.desk.traces import Traces
from braidmq.core.publish import Publisher
from braidmq.core.telemetry import Inlet, Outlet
from braidmq.core.timing import LoopClock

if TYPE_CHECKING:
    from braidmq.node._node import Node

HTTP: Final = "http"
"""The protocol, as usage is counted by it."""


def messaging_desk(node: "Node") -> MessagingDesk:
    """The desk of a node whose services are there. What it publishes and gives out is counted as HTTP's."""
    clock = LoopClock()
    publisher = Publisher(
        node.log,
        node.admissions,
        node.timers,
        node.halves,
        clock.now_ms,
        limits=node.publisher.limits,
        tally=Inlet(HTTP, node.counters, node.usage),
    )
    outlet = Outlet(HTTP, node.counters, node.usage)
    checks = PolledChecks(node.members, clock)
    node.halves.ask_through(checks)
    catalog, from_start = node.catalog, node.settings.rocketmq.new_group_from_start == "on"
    return MessagingDesk(
        messages=Messages(catalog, node.log, node.puller, node.query, node.retries, publisher, outlet),
        sending=Sending(node.topics, publisher, clock.now_ms),
        receiving=Receiving(
            catalog,
            node.cursors,
            node.retries,
            outlet,
            Receivers(node.members, clock),
            new_group_from_start=from_start,
        ),
        checks=checks,
        tail=Tail(catalog, node.log, node.puller),
        dead_letters=DeadLetterDesk(
            catalog, node.log, node.dead_letters, clock.now_ms, lambda group: _is_known(node, group)
        ),
        timers=TimerDesk(catalog, node.timers),
        halves=HalfDesk(catalog, node.halves),
        traces=Traces(catalog, node.lives),
        questions=QuestionDesk(catalog, node.log, node.query, node.questions, clock),
    )


def _is_known(node: "Node", group: str) -> bool:
    """Whether somebody is in the group, or it has come somewhere."""
    is_there = node.groups.find(group) is not None or bool(node.members.consumers(group))
    return is_there or bool(node.groups.offsets(group)) or bool(node.cursors.views(group))
