"""Settings from the centre: values in the catalog that all nodes obey at once, while they run.

Which settings there are, what they may be and what they mean is the business of the layer above, which comes in as
`SettingsPort`. Here they are listed, changed with a check against changes of others, and handed out when the catalog
says that one has changed, on whichever node that was.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Final, Protocol

import msgspec
from msgspec import Meta

from braidmq.core.desk import Page, PageAsk, page_of
from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.model.errors import ChangedMeanwhile, InvalidSetting, SettingFixed, UnknownSetting
from braidmq.model.saying import say
from braidmq.store import Catalog, Change, Setting, SettingChanged

PREFIX: Final = "central/"
"""Before the key, in the catalog: other parts keep settings of their own there."""

_logger = get_logger(__name__)


class SettingFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the layer above knows of a setting on this node. Values are texts, without what is secret."""

    key: str
    value: str
    origin: str
    default: str
    allowed: str
    description: str
    is_pushed: bool
    is_secret: bool
    is_own: bool = False
    """Whether this node was given the value by a flag or its environment, which the centre does not beat."""
    number: int | None = None
    """The value, where it is a number, in the unit that the key's name ends with."""


class SettingView(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as it is on this node, and what the centre says of it."""

    key: Annotated[str, Meta(examples=["trace.events"])]
    value: Annotated[str, Meta(description="What this node goes by.", examples=["on"])]
    origin: Annotated[str, Meta(description="Where that comes from.", examples=["default", "central", "--set"])]
    default: Annotated[str, Meta(examples=["on"])]
    type: Annotated[str, Meta(description="What it may be.", examples=["on or off"])]
    description: str
    changeable: Annotated[bool, Meta(description="Whether it can be changed while nodes run.")]
    secret: Annotated[bool, Meta(description="Whether it is shown at all.")]
    central: Annotated[str | None, Meta(description="The value from the centre; null without one.")] = None
    changed_by: str = ""
    changed_ms: int = 0
    etag: Annotated[str, Meta(description="For If-Match; changes with the central value.", examples=['"17"'])]


class SettingsPort(Protocol):
    """What the layer above does; see `node`."""

    def facts(self) -> list[SettingFacts]:
        """Every setting, in order."""
        ...

    def checked(self, key: str, value: str) -> str:
        """The value as it is to be kept. Raises InvalidSetting with what is allowed."""
        ...

    def obey(self, central: Mapping[str, str]) -> None:
        """Go by these values from the centre, and by no others from there."""
        ...


class CentralSettings:
    """Make it, then `open`: from then on the node obeys."""

    def __init__(self, catalog: Catalog, port: SettingsPort) -> None:
        self._catalog = catalog
        self._port = port
        self._unsubscribe: Callable[[], None] | None = None

    def open(self) -> None:
        self._unsubscribe = self._catalog.subscribe(self._hear)

    def close(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()

    def list(self, ask: PageAsk) -> Page[SettingView]:
        """Raises InvalidRequest for pages that cannot be."""
        return page_of(
            [self._view(facts) for facts in self._port.facts()],
            ask,
            text=lambda view: f"{view.key} {view.description}",
            sorts={"key": lambda view: view.key, "origin": lambda view: (view.origin, view.key)},
            view=lambda views: [*views],
        )

    def get(self, key: str) -> SettingView:
        """Raises UnknownSetting."""
        for facts in self._port.facts():
            if facts.key == key:
                return self._view(facts)
        raise _unknown(key)

    def facts(self) -> Mapping[str, SettingFacts]:
        """Every setting as this node goes by it now, by key."""
        return {facts.key: facts for facts in self._port.facts()}

    async def put(
        self, key: str, value: str, *, if_match: str | None, changed_by: str, dry_run: bool = False
    ) -> SettingView:
        """Have all nodes go by this value. Raises UnknownSetting, SettingFixed, InvalidSetting, and ChangedMeanwhile
        where somebody else was faster."""
        expected = self._expected(key, if_match)
        value = self._port.checked(key, value)
        if dry_run:
            return msgspec.structs.replace(self.get(key), central=value)
        await self._catalog.set_setting(PREFIX + key, value, changed_by=changed_by, expected_revision=expected)
        return self.get(key)

    def refusals(self, values: Mapping[str, str]) -> dict[str, BraidError]:
        """Which of these values this node would not go by, and why: UnknownSetting, InvalidSetting, and SettingFixed,
        also where the centre does not beat what the node was given."""
        facts = self.facts()
        refused: dict[str, BraidError] = {}
        for key, value in values.items():
            try:
                self._check_here(key, value, facts.get(key))
            except (UnknownSetting, SettingFixed, InvalidSetting) as error:
                refused[key] = error
        return refused

    def _check_here(self, key: str, value: str, facts: SettingFacts | None) -> None:
        if facts is None:
            raise _unknown(key)
        if not facts.is_pushed:
            raise _fixed(key)
        if facts.is_own:
            raise SettingFixed(
                say(
                    "{key} was given to this node by a flag or its environment, which the centre does not beat", key=key
                )
            )
        self._port.checked(key, value)

    async def put_all(self, values: Mapping[str, str], *, changed_by: str) -> None:
        """Have all nodes go by all of these values, or by none of them. Raises the first of `refusals`."""
        for error in self.refusals(values).values():
            raise error
        checked = {PREFIX + key: self._port.checked(key, value) for key, value in values.items()}
        await self._catalog.set_settings(checked, changed_by=changed_by)

    async def delete(self, key: str, *, if_match: str | None) -> SettingView:
        """Have each node go by what it was started with. Raises as `put`."""
        await self._catalog.unset_setting(PREFIX + key, expected_revision=self._expected(key, if_match))
        return self.get(key)

    def _expected(self, key: str, if_match: str | None) -> int | None:
        """The revision that the caller has seen; None where the caller does not care."""
        view = self.get(key)
        if not view.changeable:
            raise _fixed(key)
        if if_match is None or if_match.strip() == "*":
            return None
        if if_match.strip() != view.etag:
            raise ChangedMeanwhile(
                say("{key} is {etag} by now, not {if_match}", key=key, etag=view.etag, if_match=if_match[:40])
            )
        return int(view.etag.strip('"'))

    def _hear(self, change: Change) -> None:
        if not isinstance(change, SettingChanged):
            return
        setting = change.new or change.old
        if setting is not None and setting.name.startswith(PREFIX):
            try:
                self._port.obey(central_values(self._catalog))
            except BraidError as error:  # reported; the node goes on with what it had
                _logger.error("a central setting cannot be obeyed", setting=setting.name, reason=error.message)

    def _view(self, facts: SettingFacts) -> SettingView:
        kept = self._catalog.setting(PREFIX + facts.key)
        return SettingView(
            key=facts.key,
            value=facts.value,
            origin=facts.origin,
            default=facts.default,
            type=facts.allowed,
            description=facts.description,
            changeable=facts.is_pushed,
            secret=facts.is_secret,
            central=None if kept is None else kept.value,
            changed_by="" if kept is None else kept.changed_by,
            changed_ms=0 if kept is None else kept.changed_ms,
            etag=_etag(kept),
        )


def central_values(catalog: Catalog) -> dict[str, str]:
    """What the centre says, by key."""
    return {each.name.removeprefix(PREFIX): each.value for each in catalog.settings() if each.name.startswith(PREFIX)}


def _unknown(key: str) -> UnknownSetting:
    return UnknownSetting(say("there is no setting {key}", key=repr(key[:100])))


def _fixed(key: str) -> SettingFixed:
    return SettingFixed(say("{key} cannot be changed while nodes run", key=key))


def _etag(kept: Setting | None) -> str:
    return '"0"' if kept is None else f'"{kept.revision}"'
