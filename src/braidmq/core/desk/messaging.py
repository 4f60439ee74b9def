"""The desk of messages: all services by which people and programs without a client of their own deal with them."""

from typing import NamedTuple

from braidmq.core.desk.checks import PolledChecks
from braidmq.core.desk.dead_letters import DeadLetterDesk
from braidmq.core.desk.halves import HalfDesk
from braidmq.core.desk.messages import Messages
from braidmq.core.desk.questions import QuestionDesk
from braidmq.core.desk.receiving import Receiving
from braidmq.core.desk.sending import Sending
from braidmq.core.desk.tail import Tail
from braidmq.core.desk.timers import TimerDesk
from braidmq.core.desk.traces import Traces


class MessagingDesk(NamedTuple):
    """Made by the node, shared by the HTTP interface and the console."""

    messages: Messages
    sending: Sending
    receiving: Receiving
    checks: PolledChecks
    tail: Tail
    dead_letters: DeadLetterDesk
    timers: TimerDesk
    halves: HalfDesk
    traces: Traces
    questions: QuestionDesk
