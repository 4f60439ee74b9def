"""RocketMQ's names for what a node is set up with, beside the node's own names.

A name is listed where its meaning is that of one of our settings; only the unit may differ. Which of them may be
changed while nodes run is the settings' business. A body of names and values is what `mqadmin updateBrokerConfig`
sends: lines of `name=value`, as in Java's properties.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from braidmq.core.central import SettingFacts
from braidmq.model.errors import BraidError, InvalidSetting, SettingFixed, UnknownSetting

TEXT_BYTES_MAX: Final = 64 * 1024
"""More than all settings together."""
_DIGITS_MAX: Final = 18
_SWITCHES: Final = {"true": "on", "false": "off"}
_NAME_MAX: Final = 80
_REFUSED_MAX: Final = 5
"""How much is told of what was refused."""


class Meaning(NamedTuple):
    """The setting of ours that a name of RocketMQ's stands for, and how its values are written there."""

    key: str
    steps: int = 1
    """How many of RocketMQ's units make one of ours; 0 for a switch."""

    def theirs(self, facts: SettingFacts) -> str:
        if not self.steps:
            return str(facts.value == "on").lower()
        return facts.value if facts.number is None else str(facts.number * self.steps)

    def ours(self, value: str) -> str:
        """Raises InvalidSetting."""
        if not self.steps:
            if value not in _SWITCHES:
                raise InvalidSetting(f"cannot be {value[:80]!r}; it is true or false")
            return _SWITCHES[value]
        if not value.isascii() or not value.isdigit() or len(value) > _DIGITS_MAX:
            raise InvalidSetting(f"cannot be {value[:80]!r}; it is a whole number")
        if int(value) % self.steps:
            raise InvalidSetting(f"cannot be {value}; it is a multiple of {self.steps}, as {self.key} counts seconds")
        return str(int(value) // self.steps)


MEANINGS: Final[Mapping[str, Meaning]] = {
    "maxMessageSize": Meaning("publish.body_bytes_max"),
    "timerMaxDelaySec": Meaning("timers.delay_max_s"),
    "traceOn": Meaning("trace.events", steps=0),
    "autoCreateTopicEnable": Meaning("topics.auto_create", steps=0),
    "defaultTopicQueueNums": Meaning("rocketmq.default_queues"),
    "maxTransferCountOnMessageInMemory": Meaning("rocketmq.pull_messages_max"),
    "maxPopPollingSize": Meaning("cursors.waiting_max"),
    "transactionTimeOut": Meaning("halves.immunity_s", steps=1_000),
    "transactionCheckInterval": Meaning("halves.check_interval_s", steps=1_000),
    "transactionCheckMax": Meaning("halves.checks_max"),
    "serverChannelMaxIdleTimeSeconds": Meaning("rocketmq.idle_s"),
}

FIXED: Final[Mapping[str, str]] = {
    "brokerName": "it is rocketmq.broker, which is read at the start",
    "brokerClusterName": "it is rocketmq.cluster, which is read at the start",
    "listenPort": "it is rocketmq.listen, which is read at the start",
    "flushDiskType": "it is log.flush, which is read at the start",
    "brokerPermission": "mqadmin wipeWritePerm and addWritePerm change it",
    "brokerId": "there is one broker for each name",
    "brokerRole": "there is one broker for each name",
    "brokerIP1": "clients are told the address by which they came, or the one in rocketmq.listen",
    "autoCreateSubscriptionGroup": "groups are made by being used",
    "enablePropertyFilter": "filters by SQL92 are always there",
    "fileReservedTime": "how long messages are kept is retention.ms of each topic",
    "messageDelayLevel": "the eighteen levels are RocketMQ's",
}
"""Names that stand for what cannot be changed by them, and why."""


def asked_changes(body: bytes) -> list[tuple[str, str]]:
    """The names and values of a body, in order; comments are left out. Of a body that is too long, the beginning."""
    lines = body[:TEXT_BYTES_MAX].decode(errors="replace").splitlines()
    parts = (line.partition("=") for line in lines if line.strip() and not line.lstrip().startswith(("#", "!")))
    return [(name.strip(), value.strip()) for name, _, value in parts]


class Change(NamedTuple):
    """A value for one of our settings, still to be checked, and the name by which it was asked for."""

    name: str
    value: str


def meant_changes(body: bytes) -> tuple[dict[str, Change], dict[str, BraidError]]:
    """What a body means, by key; and by name what stands for no setting of ours, or has no value of one, and why."""
    changes: dict[str, Change] = {}
    refused: dict[str, BraidError] = {}
    for name, text in asked_changes(body):
        try:
            key, value = _meant(name, text)
            if changes.setdefault(key, Change(name, value)).value != value:
                raise InvalidSetting(f"{key} is named twice, with different values")
        except BraidError as error:
            refused[name] = error
    return changes, refused


def _meant(name: str, value: str) -> tuple[str, str]:
    """Key and value. Raises SettingFixed, UnknownSetting, InvalidSetting."""
    if name in FIXED:
        raise SettingFixed(f"cannot be changed while nodes run: {FIXED[name]}")
    meaning = MEANINGS.get(name)
    if meaning is not None:
        return meaning.key, meaning.ours(value)
    if "." not in name:
        raise UnknownSetting("stands for no setting of this node")
    return name, value


def changeable_names(settings: Mapping[str, SettingFacts]) -> list[str]:
    """All names that may be changed now: RocketMQ's, then the node's."""
    ours = [key for key, facts in settings.items() if facts.is_pushed and not facts.is_own]
    return [name for name, meaning in MEANINGS.items() if meaning.key in ours] + ours


def refusal(refused: Mapping[str, BraidError], settings: Mapping[str, SettingFacts]) -> str:
    """Which names were refused and why, and what may be changed."""
    shown = [f"{name[:_NAME_MAX]}: {error.message}" for name, error in [*refused.items()][:_REFUSED_MAX]]
    more = len(refused) - len(shown)
    told = "; ".join(shown) + (f"; and {more} more" if more else "")
    return f"nothing was changed. {told}. While nodes run can be changed: {', '.join(changeable_names(settings))}"
