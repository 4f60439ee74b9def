"""Alarms, figures, settings, reports and the audit log, as the node tells of them."""

import msgspec

from braidmq.model.finding import Standing
from braidmq.model.saying import Saying


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a notice."""

    target: str
    at_ms: int
    outcome: str
    attempts: int


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was wrong for long enough."""

    id: str
    node: str
    rule: str
    kind: str
    subject: str
    severity: str
    state: str
    value: float
    threshold: float
    text: str
    since_ms: int
    fired_ms: int
    ended_ms: int | None = None
    silenced: bool = False
    notices: list[Outcome] = []
    said: Saying | None = None


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong when, and who is told."""

    name: str
    kind: str
    threshold: float = 0.0
    for_s: int = 0
    scope: str = "*"
    severity: str = "warning"
    notify: list[str] = []
    enabled: bool = True
    description: str = ""


class RuleView(msgspec.Struct, frozen=True, kw_only=True):
    """A rule as it is shown."""

    rule: Rule
    is_default: bool
    measures: str
    firing: int


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the notices of a test."""

    outcomes: list[Outcome]


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """A silence that is in force."""

    id: str
    reason: str
    until_ms: int
    rule: str
    subject: str
    begun_ms: int


class Silences(msgspec.Struct, frozen=True, kw_only=True):
    """The silences in force."""

    items: list[Silence]


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change that somebody asked for."""

    id: int
    at_ms: int
    node: str
    actor: str
    protocol: str
    operation: str
    resource: str
    name: str
    outcome: str
    detail: str


class ArchivedHeader(msgspec.Struct, frozen=True, kw_only=True):
    """`value` is null where it is no text; then it is in `value_base64`."""

    name: str
    value: str | None
    value_base64: str | None = None


class ArchivedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of long ago. Texts are null where bytes are none; then they are in the field with `_base64`."""

    instance: str
    topic: str
    partition: int
    offset: int
    id: str | None
    tag: str | None
    keys: list[str]
    key: str | None
    key_base64: str | None
    body: str | None
    body_base64: str | None
    size_bytes: int
    stored_ms: int
    born_ms: int | None
    protocol: str
    traffic: str
    trace_id: str | None
    headers: list[ArchivedHeader]


class ArchivedMessages(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, the oldest first."""

    items: list[ArchivedMessage]
    more: bool


class ReportEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A report that can be had."""

    name: str
    title: str
    from_ms: int
    until_ms: int


class Reports(msgspec.Struct, frozen=True, kw_only=True):
    """The reports that can be had."""

    items: list[ReportEntry]


class ReportLine(msgspec.Struct, frozen=True, kw_only=True):
    """An inspection in the list of them."""

    id: str
    at_ms: int
    node: str
    cause: str
    took_ms: int
    standing: Standing
    counts: dict[str, int]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the doctor, or of an inspection. `subject` is the thing it is about, `command` what mends it."""

    check: str
    standing: Standing
    found: str
    advice: str = ""
    subject: str = ""
    command: str = ""
    said: Saying | None = None


class Report(ReportLine, frozen=True, kw_only=True):
    """An inspection with all that it found, the worst first."""

    findings: list[Finding]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over time."""

    name: str
    description: str
    points: list[tuple[int, float]]


class SamplesView(msgspec.Struct, frozen=True, kw_only=True):
    """Samples of one thing, and which figures there are of its kind."""

    scope: str
    from_ms: int
    until_ms: int
    step_s: int
    series: list[Series]
    names: dict[str, str]


class NodeSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as it is on this node, and what the centre says of it."""

    key: str
    value: str
    origin: str
    default: str
    type: str
    description: str
    changeable: bool
    secret: bool
    central: str | None = None
    changed_by: str = ""
    changed_ms: int = 0
    etag: str


class LiveRate(msgspec.Struct, frozen=True, kw_only=True):
    """What one protocol does, in a second."""

    messages_in: float = 0.0
    bytes_in: float = 0.0
    messages_out: float = 0.0
    bytes_out: float = 0.0


class LiveAlarm(msgspec.Struct, frozen=True, kw_only=True):
    """Something that fires."""

    rule: str
    subject: str
    severity: str
    text: str
    fired_ms: int


class LiveEvent(msgspec.Struct, frozen=True, kw_only=True):
    """How the node is now. `rates` are by protocol; `all` is the sum."""

    at_ms: int
    rates: dict[str, LiveRate]
    lag: int
    connections: int
    storage_bytes: int
    alarms_firing: int
    alarms: list[LiveAlarm]
