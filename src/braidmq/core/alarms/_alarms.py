"""The service: keeps rules, silences and what has fired, and follows the sampler.

Rules and silences are read from the store at every look, so that all nodes obey a change within ten seconds; what fires
is kept when it begins and when it ends, and is known again after a restart, so that nobody is told twice.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Annotated, Final, Literal
from uuid import uuid4

import msgspec
from msgspec import Meta

from braidmq.core.alarms._judge import Facts, Wrong, wrongs
from braidmq.core.alarms._notices import Notice, Notices, Outcome
from braidmq.core.alarms._rules import (
    DEFAULT_RULES,
    THRESHOLDS,
    Rule,
    RuleKind,
    RuleView,
    Severity,
    check_rule,
    matches,
)
from braidmq.core.alarms._states import Course, State
from braidmq.core.desk import Page, PageAsk, page_of
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.timing import Clock
from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.model.errors import AlreadyExists, InvalidRequest, UnknownRule, UnknownSilence
from braidmq.model.saying import Saying, say
from braidmq.store import Document, DocumentRows

RULES_MAX: Final = 500
SILENCES_MAX: Final = 500
HISTORY_MAX: Final = 1_000
OUTCOMES_MAX: Final = 40
_REMOVED: Final = b""

_logger = get_logger(__name__)


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was wrong for long enough."""

    id: str
    node: Annotated[str, Meta(examples=["node-1"])]
    rule: Annotated[str, Meta(examples=["growing-dead-letters"])]
    kind: RuleKind
    subject: Annotated[str, Meta(examples=["group billing"])]
    severity: Severity
    state: State
    value: Annotated[float, Meta(description="What was measured last.")]
    threshold: float
    text: Annotated[str, Meta(examples=["the group billing gives up 25 messages in a minute"])]
    since_ms: Annotated[int, Meta(description="When it began to be wrong.")]
    fired_ms: int
    ended_ms: int | None = None
    silenced: Annotated[bool, Meta(description="Whether nobody was told, because of a silence.")] = False
    notices: list[Outcome] = []
    said: Annotated[Saying | None, Meta(description="The text as a pattern and what fills it in.")] = None


class SilenceAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom not to tell of what, until when and why. `*` stands for any characters."""

    reason: Annotated[str, Meta(min_length=1, max_length=500, examples=["the disk is being replaced"])]
    until_ms: Annotated[int, Meta(ge=0, le=1 << 53, description="When it ends.")]
    rule: Annotated[str, Meta(min_length=1, max_length=255, examples=["disk-*"])] = "*"
    subject: Annotated[str, Meta(min_length=1, max_length=600, examples=["group billing"])] = "*"


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """A silence that is in force."""

    id: str
    reason: str
    until_ms: int
    rule: str
    subject: str
    begun_ms: int


_encode = msgspec.msgpack.Encoder().encode
_rule = msgspec.msgpack.Decoder(Rule).decode
_silence = msgspec.msgpack.Decoder(Silence).decode
_alarm = msgspec.msgpack.Decoder(Alarm).decode

_Place = tuple[str, str]
"""A rule's name and a subject."""


class Alarms:
    """Make it, `open` it, and let it follow a sampler with `look`. Changes raise StoreFailed besides what they name."""

    def __init__(
        self,
        node: str,
        rules: DocumentRows,
        silences: DocumentRows,
        history: DocumentRows,
        notices: Notices,
        clock: Clock,
    ) -> None:
        self._node = node
        self._rules = rules
        self._silences = silences
        self._history = history
        self._notices = notices
        self._clock = clock
        self._courses: dict[_Place, Course] = {}
        self._firing: dict[_Place, Alarm] = {}
        self._unkept: dict[str, Alarm] = {}
        """Alarms that have changed and are not in the store as they are."""
        self.is_on: Callable[[], bool] = lambda: True

    async def open(self) -> None:
        """Know again what fired when this node stopped."""
        for document in await self._history.latest(HISTORY_MAX):
            alarm = _alarm(document.content)
            if alarm.node == self._node and alarm.state is State.FIRING:
                place = alarm.rule, alarm.subject
                self._firing[place] = alarm
                self._courses[place] = Course(State.FIRING, alarm.since_ms)

    async def close(self) -> None:
        await self._notices.close()
        await self._keep()

    # Rules.

    async def rules(self, ask: PageAsk) -> Page[RuleView]:
        views = [self._view(rule, stored=stored) for rule, stored in (await self._all_rules()).values()]
        return page_of(
            views,
            ask,
            text=lambda view: f"{view.rule.name} {view.rule.kind} {view.rule.description}",
            sorts={"name": lambda view: view.rule.name, "kind": lambda view: view.rule.kind, "firing": _firing},
            view=list,
        )

    async def rule(self, name: str) -> RuleView:
        """Raises UnknownRule."""
        found = (await self._all_rules()).get(name)
        if found is None:
            raise UnknownRule(say("there is no alarm rule {name}", name=repr(name[:64])))
        return self._view(found[0], stored=found[1])

    async def create_rule(self, rule: Rule) -> RuleView:
        """Raises AlreadyExists, InvalidRequest."""
        known = await self._all_rules()
        if rule.name in known:
            raise AlreadyExists(say("there is an alarm rule {name} already; change it with PUT", name=repr(rule.name)))
        if len(known) >= RULES_MAX:
            raise InvalidRequest(
                say("there are {rules_max} alarm rules, and that is how many there may be", rules_max=RULES_MAX)
            )
        return await self.save_rule(rule)

    async def save_rule(self, rule: Rule) -> RuleView:
        """Create or replace it. Raises InvalidRequest."""
        check_rule(rule)
        await self._rules.put(Document(rule.name, self._clock.now_ms(), _encode(rule)))
        return self._view(rule, stored=True)

    async def delete_rule(self, name: str) -> None:
        """What it has found is over. A rule of the house is remembered as deleted. Raises UnknownRule."""
        await self.rule(name)
        if name in DEFAULT_RULES:
            await self._rules.put(Document(name, self._clock.now_ms(), _REMOVED))
        else:
            await self._rules.delete(name)

    async def test_rule(self, name: str) -> list[Outcome]:
        """Send a notice to all that the rule tells, and what became of each. Raises UnknownRule, InvalidRequest."""
        rule = (await self.rule(name)).rule
        if not rule.notify:
            raise InvalidRequest(
                say("the alarm rule {name} tells nobody: give it web or mail addresses in notify", name=repr(name))
            )
        notice = Notice(
            f"[test] {rule.name}",
            {
                "event": "test",
                "node": self._node,
                "rule": rule.name,
                "severity": rule.severity,
                "text": "This is a test.",
            },
        )
        return list(await asyncio.gather(*(self._notices.send(target, notice) for target in rule.notify)))

    # Silences.

    async def silences(self) -> list[Silence]:
        """Those in force, the latest first."""
        now_ms = self._clock.now_ms()
        found = [_silence(document.content) for document in await self._silences.latest(SILENCES_MAX)]
        return [each for each in found if each.until_ms > now_ms]

    async def silence(self, ask: SilenceAsk) -> Silence:
        """Tell nobody of this until then. Raises InvalidRequest for an end that is over."""
        now_ms = self._clock.now_ms()
        if ask.until_ms <= now_ms:
            raise InvalidRequest("until_ms: the end of a silence is in the future")
        if len(await self.silences()) >= SILENCES_MAX:
            raise InvalidRequest(
                say(
                    "there are {silences_max} silences, and that is how many there may be: end some",
                    silences_max=SILENCES_MAX,
                )
            )
        values = msgspec.structs.asdict(ask)
        silence = Silence(id=uuid4().hex, begun_ms=now_ms, **values)
        # By its end, so that those that are over are the oldest.
        await self._silences.put(Document(silence.id, silence.until_ms, _encode(silence)))
        await self._silences.trim(before_ms=now_ms)
        return silence

    async def end_silence(self, silence_id: str) -> None:
        """Raises UnknownSilence."""
        if not await self._silences.delete(silence_id):
            raise UnknownSilence(say("there is no silence {silence_id}", silence_id=repr(silence_id[:64])))

    # What has fired.

    @property
    def firing(self) -> list[Alarm]:
        """What is wrong on this node."""
        return list(self._firing.values())

    async def alarms(self, ask: PageAsk, state: Literal["", "firing", "ended"] = "") -> Page[Alarm]:
        """The latest first, of all nodes."""
        await self._keep()
        found = [_alarm(document.content) for document in await self._history.latest(HISTORY_MAX)]
        return page_of(
            [each for each in found if state in ("", each.state)],
            ask,
            text=lambda alarm: f"{alarm.rule} {alarm.subject} {alarm.text}",
            sorts={"latest": lambda alarm: -alarm.fired_ms, "rule": lambda alarm: alarm.rule, "severity": _severity},
            view=list,
        )

    def metrics(self) -> Iterator[Metric]:
        by_severity = dict.fromkeys(Severity, 0)
        for alarm in self._firing.values():
            by_severity[alarm.severity] += 1
        for severity, count in by_severity.items():
            labels = {"severity": severity.value}
            yield Metric("braid_alarms_firing", MetricKind.GAUGE, "Alarms that fire.", count, labels)
        for name, value in (("sent", self._notices.sent), ("failed", self._notices.failed)):
            yield Metric(f"braid_alarm_notices_{name}", MetricKind.COUNTER, f"Notices that were {name}.", value)

    # Looking.

    async def look(self, facts: Facts) -> None:
        """Judge by all rules, keep what has changed, and have people told."""
        if not self.is_on():
            return
        rules = {name: rule for name, (rule, _) in (await self._all_rules()).items() if rule.enabled}
        silences = await self.silences()
        now_ms = self._clock.now_ms()
        for rule in rules.values():
            self._judge(rule, wrongs(rule, facts), silences, now_ms)
        for place in [place for place in self._courses if place[0] not in rules]:
            self._step(place, None, None, silences, now_ms)
        await self._keep()

    def _judge(self, rule: Rule, found: dict[str, Wrong], silences: list[Silence], now_ms: int) -> None:
        known = {subject for name, subject in self._courses if name == rule.name}
        for subject in known | found.keys():
            self._step((rule.name, subject), rule, found.get(subject), silences, now_ms)

    def _step(
        self, place: _Place, rule: Rule | None, wrong: Wrong | None, silences: list[Silence], now_ms: int
    ) -> None:
        course = self._courses.setdefault(place, Course())
        for_ms = 0 if rule is None else rule.for_s * 1000
        entered = course.look(now_ms, is_wrong=wrong is not None, for_ms=for_ms)
        if State.FIRING in entered and rule is not None and wrong is not None:
            self._fire(place, rule, wrong, course.since_ms, silences, now_ms)
        elif State.ENDED in entered:
            self._end(place, rule, silences, now_ms)
        elif wrong is not None and place in self._firing:
            self._firing[place] = msgspec.structs.replace(
                self._firing[place], value=wrong.value, text=str(wrong.said), said=wrong.said
            )
        if course.state is State.OK:
            del self._courses[place]

    def _fire(
        self, place: _Place, rule: Rule, wrong: Wrong, since_ms: int, silences: list[Silence], now_ms: int
    ) -> None:
        alarm = Alarm(
            id=uuid4().hex,
            node=self._node,
            rule=rule.name,
            kind=rule.kind,
            subject=wrong.subject,
            severity=rule.severity,
            state=State.FIRING,
            value=wrong.value,
            threshold=rule.threshold,
            text=str(wrong.said),
            said=wrong.said,
            since_ms=since_ms,
            fired_ms=now_ms,
            silenced=_is_silenced(place, silences),
        )
        self._firing[place] = self._unkept[alarm.id] = alarm
        _logger.warning("alarm", rule=rule.name, subject=wrong.subject, text=str(wrong.said))
        self._tell(place, alarm, rule)

    def _end(self, place: _Place, rule: Rule | None, silences: list[Silence], now_ms: int) -> None:
        alarm = self._firing.pop(place, None)
        if alarm is None:
            return
        silenced = _is_silenced(place, silences)
        alarm = msgspec.structs.replace(alarm, state=State.ENDED, ended_ms=now_ms, silenced=silenced)
        self._unkept[alarm.id] = alarm
        _logger.info("alarm ended", rule=alarm.rule, subject=alarm.subject)
        if rule is not None:
            self._tell(place, alarm, rule)

    def _tell(self, place: _Place, alarm: Alarm, rule: Rule) -> None:
        if alarm.silenced:
            return
        payload = {"event": alarm.state.value} | msgspec.to_builtins(alarm)
        del payload["notices"]
        notice = Notice(f"[{alarm.state}] {alarm.severity}: {alarm.text}", payload)
        for target in rule.notify:
            self._notices.send_soon(target, notice, lambda outcome: self._told(place, alarm, outcome))

    def _told(self, place: _Place, alarm: Alarm, outcome: Outcome) -> None:
        """Write the outcome to the alarm as it is by now."""
        now = self._unkept.get(alarm.id) or self._firing.get(place)
        known = now if now is not None and now.id == alarm.id else alarm
        changed = msgspec.structs.replace(known, notices=[*known.notices, outcome][-OUTCOMES_MAX:])
        self._unkept[alarm.id] = changed
        if place in self._firing and self._firing[place].id == alarm.id:
            self._firing[place] = changed

    async def _keep(self) -> None:
        """What cannot be kept now is kept with the next look."""
        if not self._unkept:
            return
        waiting, self._unkept = self._unkept, {}
        for alarm in list(waiting.values()):
            try:
                await self._history.put(Document(alarm.id, alarm.fired_ms, _encode(alarm)))
            except BraidError as error:
                self._unkept = waiting | self._unkept
                _logger.warning("alarms wait to be kept", count=len(waiting), code=error.code, reason=error.message)
                return
            del waiting[alarm.id]
        await self._history.trim(keep_max=HISTORY_MAX)

    async def _all_rules(self) -> dict[str, tuple[Rule, bool]]:
        """Every rule, and whether somebody has saved it."""
        found: dict[str, tuple[Rule, bool]] = {name: (rule, False) for name, rule in DEFAULT_RULES.items()}
        for document in await self._rules.latest(RULES_MAX + len(DEFAULT_RULES)):
            if document.content == _REMOVED:
                found.pop(document.key, None)
            else:
                found[document.key] = (_rule(document.content), True)
        return found

    def _view(self, rule: Rule, *, stored: bool) -> RuleView:
        firing = sum(name == rule.name for name, _ in self._firing)
        return RuleView(
            rule=rule,
            is_default=not stored and rule.name in DEFAULT_RULES,
            measures=THRESHOLDS[rule.kind],
            firing=firing,
        )


def _is_silenced(place: _Place, silences: list[Silence]) -> bool:
    return any(matches(each.rule, place[0]) and matches(each.subject, place[1]) for each in silences)


def _firing(view: RuleView) -> int:
    return view.firing


def _severity(alarm: Alarm) -> int:
    return list(Severity).index(alarm.severity)
