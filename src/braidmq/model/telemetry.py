"""What a node tells of itself in its own topics, as JSON: one struct for each kind of sample, told apart by `kind`.

This is the one place that says what the samples look like; the pipeline's jobs read them by these names, and
`docs/pipeline-jobs.md` shows them. A new field comes with a default, so that older samples are still read.
"""

from typing import Final

import msgspec

from braidmq.model._resources import DEFAULT_INSTANCE

USAGE_TOPIC: Final = "__braid.usage"
LAG_TOPIC: Final = "__braid.lag"
TRACE_TOPIC: Final = "__braid.trace"

NORMAL: Final = "normal"
PRESSURE: Final = "pressure"

IN: Final = "in"
"""Messages that came to a topic; `latency_ms` from their own time to their storing."""
OUT: Final = "out"
"""Messages that were given to readers; `latency_ms` from their own time to their leaving."""
ACKNOWLEDGED: Final = "acknowledged"
"""How far a group has gone on, in offsets."""
KEPT: Final = "kept"
"""How much a topic takes up."""


class Sample(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What all of them have."""

    version: int = 1
    node: str
    life_ms: int
    """When the node was started: a new life counts anew."""


class UsageSample(Sample, frozen=True, kw_only=True, omit_defaults=True, tag="usage"):
    """What came and went between two moments, about a minute apart, in one direction. Only written where something
    did."""

    from_ms: int
    until_ms: int
    instance: str = DEFAULT_INSTANCE
    topic: str = ""
    group: str = ""
    """Empty where nobody says: Kafka's clients read without naming their group."""
    protocol: str = ""
    """Empty where it does not matter: groups acknowledge the same way in all of them."""
    traffic: str = NORMAL
    direction: str
    messages: int = 0
    bytes: int = 0
    times: int = 0
    """In how many goes: batches that came, answers that were given."""
    failures: int = 0
    """Messages that were refused."""
    retries: int = 0
    """Messages that the group sent back."""
    dead: int = 0
    """Messages that the group gave up."""
    latency_ms: dict[str, int] = {}
    """See `model.histogram`. A batch counts with its latest message's time."""
    storage_bytes: int = -1
    """-1 where it is not told."""


class MinuteSample(Sample, frozen=True, kw_only=True, tag="minute"):
    """The end of a minute's samples. A minute without it is not whole: the node was down, or died in it."""

    from_ms: int
    until_ms: int
    samples: int
    """How many went before."""
    dropped: int
    """How many samples of all kinds could not be kept, since the node was started."""
    trace_dropped: int
    """How many notes of what happened to messages were dropped, since the node was started."""


class LagSample(Sample, frozen=True, kw_only=True, tag="lag"):
    """How far a group has come in a partition. Written when something has changed, and from time to time while the
    group is behind."""

    at_ms: int
    instance: str = DEFAULT_INSTANCE
    group: str
    topic: str
    partition: int
    start: int
    committed: int
    end: int
    members: int
    """How many are in the group."""


class DiskSample(Sample, frozen=True, kw_only=True, tag="disk"):
    """How full the place of the log is."""

    at_ms: int
    total_bytes: int
    free_bytes: int
    log_bytes: int
    """What the messages of all topics take up."""


class TraceSample(Sample, frozen=True, kw_only=True, omit_defaults=True, tag="trace"):
    """One step of a message (`message_id`, perhaps with its place), or of all messages between two offsets (`first`,
    and `until`, which is not included; `message_ids`, where they are known). See `TraceKind` for the steps."""

    step: str
    at_ms: int
    instance: str = DEFAULT_INSTANCE
    topic: str = ""
    partition: int = -1
    offset: int = -1
    first: int = -1
    until: int = -1
    message_id: str = ""
    message_ids: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    group: str = ""
    client: str = ""
    value: int = -1
