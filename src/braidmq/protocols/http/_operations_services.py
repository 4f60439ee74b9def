"""What the node hands to the controllers that watch over it."""

from typing import NamedTuple

from braidmq.core.alarms import Alarms
from braidmq.core.answers import Answers
from braidmq.core.audit import Audit
from braidmq.core.central import CentralSettings
from braidmq.core.history import History
from braidmq.core.inspection import Inspection
from braidmq.core.live import LiveEvents
from braidmq.core.samples import Samples


class OperationsServices(NamedTuple):
    """Samples, alarms, inspection, settings, audit, and what is asked of the pipeline's tables."""

    samples: Samples
    audit: Audit
    answers: Answers
    alarms: Alarms
    inspection: Inspection
    settings: CentralSettings
    live: LiveEvents
    history: History
