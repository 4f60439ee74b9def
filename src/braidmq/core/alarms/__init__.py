"""Alarms: rules that are looked at every ten seconds, and people who are told.

A rule names a kind of trouble, from when on it counts and for how long it must last. Each thing that it finds (a group,
a topic, the node) goes its own way through the states in `_states`. `_judge` says what is wrong, from the sampler's
sight; `_notices` tells people; `_alarms` is the service.
"""

from braidmq.core.alarms._alarms import Alarm, Alarms, Silence, SilenceAsk
from braidmq.core.alarms._judge import Facts
from braidmq.core.alarms._notices import MailServer, Notices, Outcome
from braidmq.core.alarms._rules import DEFAULT_RULES, Rule, RuleKind, RuleView, Severity
from braidmq.core.alarms._states import State

__all__ = [
    "DEFAULT_RULES",
    "Alarm",
    "Alarms",
    "Facts",
    "MailServer",
    "Notices",
    "Outcome",
    "Rule",
    "RuleKind",
    "RuleView",
    "Severity",
    "Silence",
    "SilenceAsk",
    "State",
]
