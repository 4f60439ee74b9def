"""Messages that were found, and those that wait, died or were traced."""

import msgspec

from braidmq.model import HalfState, TraceKind
from braidmq.model.saying import Saying
from braidmq.sdk.values import ErrorView, Message


class PlaceView(msgspec.Struct, frozen=True, kw_only=True):
    """Where a dead letter lies among those of its group."""

    partition: int
    offset: int


class DeadLetterView(msgspec.Struct, frozen=True, kw_only=True):
    """A message that its group could not work on."""

    group: str
    place: PlaceView
    origin_topic: str
    origin_id: str
    attempts: int
    cause: str
    said: Saying
    died_ms: int
    age_ms: int
    message: Message


class DeadLetterPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some dead letters, the oldest of each group first. A page may be short although `cursor` says that there are
    more."""

    items: list[DeadLetterView]
    cursor: str | None


class DeadGroupView(msgspec.Struct, frozen=True, kw_only=True):
    """A group and how many dead letters it has."""

    group: str
    letters: int


class DeadGroups(msgspec.Struct, frozen=True, kw_only=True):
    """All groups that have dead letters, those with most of them first."""

    items: list[DeadGroupView]


class AgeView(msgspec.Struct, frozen=True, kw_only=True):
    """How many dead letters are so old: at least the age, and younger than the next."""

    from_age_ms: int
    letters: int


class DeadAges(msgspec.Struct, frozen=True, kw_only=True):
    """Dead letters by their age, the youngest first. `complete` is false where there are too many groups to look at."""

    items: list[AgeView]
    complete: bool


class DeadFilterAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Which dead letters: all that agree with everything that is said."""

    topic: str | None = None
    key: str | None = None
    id: str | None = None
    from_ms: int | None = None
    until_ms: int | None = None


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one dead letter, or would: where it is now, or why it is nowhere but where it was."""

    place: PlaceView
    message_id: str | None
    topic: str | None
    partition: int | None = None
    offset: int | None = None
    error: ErrorView | None = None


class ReplayView(msgspec.Struct, frozen=True, kw_only=True):
    """One result for each dead letter. With `cursor` the replay of all goes on."""

    results: list[ReplayResult]
    cursor: str | None
    dry_run: bool


class DeletedView(msgspec.Struct, frozen=True, kw_only=True):
    """How many went, or would."""

    deleted: int
    dry_run: bool


class EndedView(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a half. Without a place, a commit that was said before, or that the log takes a little later."""

    message_id: str
    committed: bool
    repeated: bool
    partition: int | None = None
    offset: int | None = None


class HalfView(msgspec.Struct, frozen=True, kw_only=True):
    """A message that waits for its producer's word, or was ended a short time ago."""

    handle: str
    instance: str
    topic: str
    group: str
    message_id: str
    state: HalfState
    prepared_ms: int
    checks: int
    parked: str | None
    size_bytes: int
    message: Message | None = None


class HalfPage(msgspec.Struct, frozen=True, kw_only=True):
    """Halves by the time of their preparation. With `cursor` the list goes on; a page may be short although there are
    more."""

    items: list[HalfView]
    cursor: str | None


class Scanned(msgspec.Struct, frozen=True, kw_only=True):
    """How far a search went."""

    messages: int
    bytes: int
    complete: bool
    explanation: str
    total: int | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found. With `cursor` the same search goes on; null says that it is at its end."""

    items: list[Message]
    cursor: str | None
    scanned: Scanned


class PulledView(msgspec.Struct, frozen=True, kw_only=True):
    """Messages from an offset on, and where to go on."""

    items: list[Message]
    next_offset: int
    start_offset: int
    stable_offset: int
    end_offset: int


class TimerView(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is to be in its topic from a certain time on."""

    handle: str
    instance: str
    topic: str
    partition: int | None
    message_id: str
    due_ms: int
    is_under_way: bool
    attempts: int
    parked: str | None
    size_bytes: int
    message: Message | None = None


class TimerPage(msgspec.Struct, frozen=True, kw_only=True):
    """Timers by their time. With `cursor` the list goes on; null says that it is at its end."""

    items: list[TimerView]
    cursor: str | None


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One step. What is not known, or does not matter to it, is null."""

    kind: TraceKind
    at_ms: int
    topic: str | None
    partition: int | None
    offset: int | None
    group: str | None
    client: str | None
    value: int


class LifeView(msgspec.Struct, frozen=True, kw_only=True):
    """A message's life, in order."""

    id: str
    keys: list[str]
    steps: list[StepView]


class LivesView(msgspec.Struct, frozen=True, kw_only=True):
    """The lives of the messages with one key, the newest first."""

    items: list[LifeView]
